"""The examples, the notebook among them, and the programs of the tutorials, against the real
server."""

import contextlib
import importlib.util
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import unittest

import support
from exchange_server import OPERATOR_KEY, ServerError, wait_until
from support import PYTHON, ROOT, Case, Served, needs_websockets, run_python, wait_for

EXAMPLES = ROOT / "client/python/examples"
NOTEBOOK = EXAMPLES / "lab.ipynb"
NEEDED = ("pandas", "matplotlib", "websockets")  # by the notebook
MISSING = [name for name in NEEDED if not importlib.util.find_spec(name)]


def cells(kind):
    found = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


class Files(Case):
    def test_examples_are_short_and_explain_themselves(self):
        for example in set(EXAMPLES.glob("*.py")) - {EXAMPLES / "first.py"}:
            self.assertLessEqual(len(example.read_text().splitlines()), 120, example)
            done = run_python(example, "--help")
            self.assertEqual(0, done.returncode, done.stderr)

    def test_the_notebook_has_no_outputs_and_its_links_lead_to_files(self):
        notebook = json.loads(NOTEBOOK.read_text())
        self.assertEqual([], [cell["outputs"] for cell in notebook["cells"] if cell.get("outputs")])
        for link in re.findall(r"\]\(([^)#]+)", "\n".join(cells("markdown"))):
            self.assertTrue((EXAMPLES / link).exists(), link)


@needs_websockets
class Examples(Served):
    """Each example trades with the demo bots for a few seconds."""

    def trade(self, *words, wanted, times=3, meanwhile=lambda: None):
        """Waits until this many lines of its output are as wanted, and again once the
        server was killed; then meanwhile(), and the end by Ctrl-C."""
        self.start_bots("A,B")
        for symbol in "AB":
            self.client().create_symbol(symbol)
        example = subprocess.Popen(
            [sys.executable, EXAMPLES / words[0], *words[1:]]
            + ["--connect", self.address, "--http", self.http],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **PYTHON,
        )
        lines, killed = [], False
        too_late = threading.Timer(60, example.terminate)
        too_late.start()
        try:
            for line in example.stdout:
                lines.append(line)
                if sum(1 for one in lines if re.search(wanted, one)) == times:
                    if killed:
                        return meanwhile()
                    self.kill_and_restart()
                    lines, killed = [], True
            self.fail(f"{words[0]} ended, or was stopped after a minute: {''.join(lines)}")
        finally:
            too_late.cancel()
            example.send_signal(signal.SIGINT)
            example.stdout.close()
            self.assertIn(
                example.wait(20), (0, 1, -signal.SIGINT, -signal.SIGTERM, -signal.SIGPIPE, 120)
            )

    def make_market(self, quotes, spread, **more):
        """With so many quotes, which end with the example."""
        account = self.client(9001)

        def has_quotes(count):
            wait_for(count, lambda: len(account.open_orders()))

        words = ("market_maker.py", "A", "--spread", spread)
        self.trade(*words, meanwhile=lambda: has_quotes(quotes), **more)
        has_quotes(0)

    def test_market_maker(self):
        self.make_market(2, "0.001", wanted=r"(buy|sell) [1-9]")

    def test_market_maker_without_shares(self):
        """Its sells are refused, and it goes on with one buy, of a spread too wide to buy any."""
        self.client().create_account(9001, 1_000_000)
        self.make_market(1, "0.05", wanted="refused: insufficient", times=9)

    def test_momentum(self):
        self.trade("momentum.py", "A", wanted=r"sold [1-9]", times=2)

    def test_arbitrage(self):
        words = ("arbitrage.py", "A", "B", "--edge", "0")
        self.trade(*words, wanted=r"(bought|sold) [1-9]", times=10)


class Tutorial(Served):
    def test_its_first_program_runs_again(self):
        text = (ROOT / "docs/python.md").read_text()
        program = (EXAMPLES / "first.py").read_text()
        shown, output = re.search(
            r"```python\n(from exchange_client import Exchange, .*?)```\n.*?```text\n(.*?)```",
            text,
            re.DOTALL,
        ).groups()
        self.assertEqual(program.partition("\n\n")[2], shown)
        for _ in range(2):
            done = run_python("-c", program.replace("127.0.0.1:12345", self.address))
            self.assertEqual((output, "", 0), (done.stdout, done.stderr, done.returncode))

    @needs_websockets
    def test_its_program_of_events_goes_on_where_it_was(self):
        text = (ROOT / "docs/python.md").read_text()
        program = re.search(r"```python\n(from pathlib import Path\n.*?)```", text, re.DOTALL)[1]
        for address, own in (("127.0.0.1:12345", self.address), ("127.0.0.1:8080", self.http)):
            program = program.replace(address, own)

        def run(trade, wanted, last):
            """Until it has printed that, and written the last number; trade() follows the first
            line."""
            with subprocess.Popen(
                [sys.executable, "-c", program],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self.folder,
                **PYTHON,
            ) as process:
                try:
                    self.assertEqual(wanted[0], process.stdout.readline())
                    trade()
                    self.assertEqual(wanted[1:], [process.stdout.readline() for _ in wanted[1:]])
                    done = self.folder / "last-event"
                    wait_until(lambda: done.read_text() == last, "the last number")
                finally:
                    # One that comes in a finalizer of Python's is lost: people press Ctrl-C again.
                    while process.poll() is None:
                        process.send_signal(signal.SIGINT)
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            process.wait(timeout=2)

        alice, bob = self.client(1001), self.client(1002)
        alice.create_account(1001, 100)
        alice.create_account(1002, 0)
        alice.create_symbol("ABC", {1002: 9})
        alice.buy("ABC", 9, 10)
        lines = ["has 10 and 1 open orders\n", "buy 1 ABC at 10\n"]
        run(lambda: bob.sell("ABC", 1, 9), lines, "2")
        bob.sell("ABC", 2, 9)
        lines = ["buy 2 ABC at 10\n", "buy 3 ABC at 10\n"]
        run(lambda: bob.sell("ABC", 3, 9), lines, "4")


class OperatorsTutorial(Served):
    arguments = ("--auth",)

    def test_its_programs_run_in_their_order(self):
        text = (ROOT / "docs/python-operator.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertEqual(3, len(blocks))
        (self.folder / "operator.key").write_text(OPERATOR_KEY)
        program = "\n".join([*blocks, "print(executed, operator.begin_round('morning'))"])
        program = program.replace("127.0.0.1:12345", self.address)
        done = run_python("-c", program, cwd=self.folder)
        self.assertEqual(("None None\n", ""), (done.stdout, done.stderr))


class Notebook(Served):
    @unittest.skipIf(MISSING, f"no {', '.join(MISSING)} here (pip install {' '.join(MISSING)})")
    def test_its_cells_trade_read_fills_and_compare_two_back_tests(self):
        self.start_bots("SPY")
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
        shutil.copy(EXAMPLES / "market_maker.py", self.folder)
        environment = PYTHON["env"] | {"MPLBACKEND": "Agg"}
        done = run_python("-c", program, cwd=self.folder, env=environment)
        self.assertEqual(0, done.returncode, done.stderr)
        for name in ("1.png", "2.png"):
            self.assertGreater((self.folder / name).stat().st_size, 10_000)
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
