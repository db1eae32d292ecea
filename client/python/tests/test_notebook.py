"""The notebook of the examples: its cells run one after another, against the real server."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from exchange_server import BIN, ServerError, wait_until
from support import ROOT, Served

EXAMPLES = ROOT / "client/python/examples"
NOTEBOOK = EXAMPLES / "lab.ipynb"
NEEDED = ("pandas", "matplotlib", "websockets")
MISSING = [name for name in NEEDED if not importlib.util.find_spec(name)]


def cells(kind):
    found = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


class Notebook(Served):
    def test_it_has_no_outputs_and_its_links_lead_to_files(self):
        notebook = json.loads(NOTEBOOK.read_text())
        self.assertEqual([], [cell["outputs"] for cell in notebook["cells"] if cell.get("outputs")])
        for link in re.findall(r"\]\(([^)#]+)", "\n".join(cells("markdown"))):
            self.assertTrue((EXAMPLES / link).exists(), link)

    @unittest.skipIf(MISSING, f"no {', '.join(MISSING)} here (pip install {' '.join(MISSING)})")
    def test_its_cells_trade_read_fills_and_compare_two_back_tests(self):
        bots = subprocess.Popen(
            [BIN / "demo-bots", "--http", self.http, "--rate", "400", "--symbols", "SPY"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(bots.wait)
        self.addCleanup(bots.terminate)
        wait_until(self.is_traded, "trades of the bots")
        save = "[plt.figure(number).savefig(f'{number}.png') for number in plt.get_fignums()]"
        program = "\n".join([*cells("code"), save, "print(_)"])
        program = re.sub(r"^(?=pd\.DataFrame\()", "_ = ", program, flags=re.M)  # the last value
        for mine, usual in (
            (self.address, "127.0.0.1:12345"),
            (self.http, "127.0.0.1:8080"),
            ("SECONDS = 4", "SECONDS = 60"),
            ("MESSAGES, SPEED = 6_000, 20", "MESSAGES, SPEED = 60_000, 20"),
        ):
            self.assertEqual(1, program.count(usual), usual)
            program = program.replace(usual, mine)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(EXAMPLES / "market_maker.py", folder)
            done = subprocess.run(
                [sys.executable, "-c", program],
                cwd=folder,
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT / "client/python/src"),
                    "MPLBACKEND": "Agg",
                },
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(0, done.returncode, done.stderr)
            for name in ("1.png", "2.png"):
                self.assertGreater(Path(folder, name).stat().st_size, 10_000)
        self.assertRegex(done.stdout, r"(?m)^[1-9]\d* looks at the book, -?\d+ shares held$")
        for spread in ("0.0002", "0.0003"):
            self.assertRegex(
                done.stdout,
                rf"spread {spread}:\ntrades: [\d,]+ of the tape, .*\nother accounts: executed \d",
            )
        for row in ("fills", "largest position", "lowest profit", "profit"):
            self.assertRegex(done.stdout, rf"(?m)^{row}( +-?[\d.]+)+$")

    def is_traded(self):
        try:
            return bool(json.loads(self.server.http("/api/trades?sym=SPY"))["trades"])
        except (ServerError, KeyError, OSError):
            return False


if __name__ == "__main__":
    unittest.main()
