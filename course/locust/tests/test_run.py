"""The runner as a whole, with real Locust: opt-in, since it may install Locust and takes CPU for a
while."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LOCUST = Path(__file__).resolve().parents[1]
WANTED = (
    os.environ.get("EXCHANGE_LOCUST_TEST") == "1" or importlib.util.find_spec("locust") is not None
)


@unittest.skipUnless(
    WANTED, "Locust is not installed; EXCHANGE_LOCUST_TEST=1 installs it into a cache folder"
)
class Run(unittest.TestCase):
    def test_rows_of_each_kind_give_figures_and_no_failures(self):
        keys = (
            "fast-1 xml-1 loadgen-1 http-1-wait grow grow-http".split()
        )  # in the order of the table
        with tempfile.TemporaryDirectory() as folder:
            figures = Path(folder, "figures.json")
            command = f"-B {LOCUST}/run --seconds 3 --only {','.join(keys)} --json {figures}"
            done = subprocess.run(
                [sys.executable, *command.split()], capture_output=True, text=True, timeout=900
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            results = json.loads(figures.read_text())
        self.assertEqual([trial["row"] for trial in results["trials"]], keys)
        names = {
            "fast-1": {"/api/orders/{id}", "/api/books/{symbol}", "/api/xml"},
            "xml-1": {"query", "order"},
            "grow": {"query", "order"},
            "grow-http": {"/api/orders/{id}", "/api/xml"},
        }
        for trial in results["trials"]:
            with self.subTest(trial["row"]):
                all_ = trial["statistics"]["Aggregated"]
                self.assertGreater(all_["requests"], 0)
                self.assertEqual(all_["failures"], 0, trial["failures"])
                self.assertGreater(trial["usage"]["server"], 0)
                self.assertGreater(trial["usage"]["locust"], 0)
                if trial["row"] in names:
                    self.assertEqual(set(trial["statistics"]), names[trial["row"]] | {"Aggregated"})
        self.assertIn("| XML port, raw socket, 1 worker |", done.stdout)
