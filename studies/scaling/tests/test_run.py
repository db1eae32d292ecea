"""The harness as a whole, against a fake load generator."""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support import FAKE, HARNESS, environment, run_harness
from documents import can_draw

CELLS = "part=sweep,policy=loop|thread,store=memory,kind=create,clients=20,idle=0,cores=1"
SMALL = ("--only", CELLS, "--trials", "2")


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made = Path(folder.name) / "made"
        cls.first = run_harness("--out", cls.made, *SMALL)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "out"

    def begin(self):
        """The first run, once for all tests."""
        shutil.copytree(self.made, self.out)

    def run_small(self, *more, **environment_):
        return run_harness("--out", self.out, *SMALL, *more, **environment_)

    def trials(self):
        lines = (self.out / "trials.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines[1:]]

    def test_every_trial_is_kept_and_reported(self):
        self.begin()
        self.assertEqual(self.first.returncode, 0, self.first.stderr)
        self.assertEqual(len(self.trials()), 4)
        self.assertIn("No client saw an error.", (self.out / "tables.md").read_text())

    def test_it_goes_on_where_it_was(self):
        self.begin()
        file = self.out / "trials.jsonl"
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(lines[:3]) + lines[3][:40])  # two whole trials, one cut short
        done = self.run_small()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of 4 trials are there already", done.stderr)
        self.assertEqual([line.strip() for line in lines[:3]], file.read_text().splitlines()[:3])
        self.assertEqual(
            sorted((t["cell"], t["trial"]) for t in self.trials()),
            sorted((json.loads(t)["cell"], json.loads(t)["trial"]) for t in lines[1:]),
        )

    def test_other_settings_and_another_commit_are_refused_with_advice(self):
        self.begin()
        done = self.run_small("--seconds", "3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("another settings", done.stderr)
        self.assertIn("--fresh", done.stderr)
        file = self.out / "trials.jsonl"
        head, rest = file.read_text().split("\n", 1)
        file.write_text(json.dumps({**json.loads(head), "commit": "another"}) + "\n" + rest)
        done = self.run_small()
        self.assertEqual(done.returncode, 2)
        self.assertIn("another commit", done.stderr)
        self.assertEqual(self.run_small("--seconds", "3", "--fresh").returncode, 0)

    def test_a_report_can_be_made_again_without_running(self):
        self.begin()
        before = (self.out / "tables.md").read_bytes()
        (self.out / "tables.md").unlink()
        done = run_harness("--report-only", self.out, bin="/nowhere")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.out / "tables.md").read_bytes(), before)

    def test_errors_of_clients_end_in_exit_code_1_and_in_the_report(self):
        done = self.run_small(FAKE_ERRORS="thread:20:reset")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Clients saw errors in 1 cell:", done.stdout)
        self.assertIn("| reset 6 | 2 of 2 |", (self.out / "tables.md").read_text())

    def test_a_trial_that_cannot_start_is_reported_and_the_others_run(self):
        done = self.run_small(FAKE_FAIL="thread")
        self.assertEqual(done.returncode, 1)
        text = (self.out / "tables.md").read_text()
        self.assertIn("the server did not start: it refused", text)
        self.assertEqual(len(self.trials()), 4)

    def test_wrong_options_are_refused(self):
        for wrong in (("--only", "polcy=loop"), ("--bin", "/nowhere"), ("--trials", "0")):
            self.assertEqual(run_harness("--out", self.out, *wrong).returncode, 2, wrong)

    def test_an_interrupt_keeps_what_was_finished(self):
        process = subprocess.Popen(
            [sys.executable, "-B", HARNESS / "run", "--bin", FAKE, "--out", self.out, *SMALL],
            stderr=subprocess.PIPE,
            text=True,
            env=environment(FAKE_SECONDS="60"),
        )
        while not (self.out / "trials.jsonl").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("the same command goes on from there", errors)
        self.assertEqual(self.trials(), [])


@unittest.skipUnless(can_draw(), "no plots: install-dependencies.sh --report")
class Plots(unittest.TestCase):
    def test_a_run_draws_its_plots(self):
        with tempfile.TemporaryDirectory() as folder:
            cells = (
                "policy=loop|thread,kind=create,store=memory|sqlite,clients=20|200,idle=0,cores=1|2"
            )
            done = run_harness("--out", folder, "--only", f"part=sweep,{cells}", "--trials", "1")
            self.assertEqual(done.returncode, 0, done.stderr)
            plots = sorted(path.stem for path in (Path(folder) / "plots").glob("*.svg"))
            names = "cpu p99-1 p99-2 stages throughput-1 throughput-2"
            self.assertEqual(plots, names.split())
