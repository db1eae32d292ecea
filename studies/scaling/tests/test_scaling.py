"""Which cells a run tries, in which order and where; and the harness as a whole, against a fake
load generator."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path

from cells import Cell, Settings, choose, place, schedule, trials_of, why_not
from documents import can_draw, fill
from journal import Journal
from summary import summarise
from tables import all_tables, blocks

HARNESS = Path(__file__).resolve().parents[1]
FAKE = HARNESS / "tests/fake"
PAGE = HARNESS.parents[1] / "docs/scaling.md"
CELL = Cell("sweep", "loop", "create", 200, 0, 1, "sqlite")
ONLY = "sweep policy=(loop|thread) kind=create clients=20 idle=0 cores=1 store=memory"
SMALL = ("--only", ONLY, "--trials", "2")


def cell(**factors):
    return replace(CELL, **factors)


def run_harness(*arguments, bin=FAKE, **more):
    return subprocess.run(
        [sys.executable, "-B", HARNESS / "run", "--bin", str(bin), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **more},
        timeout=300,
    )


class Cells(unittest.TestCase):
    def test_the_schedule_interleaves_and_a_seed_gives_its_order(self):
        settings = Settings(trials=2, table_trials=3, only="clients=20 .*sqlite|^a ")
        cells = choose(settings)
        plan = list(schedule(cells, settings))
        rounds = [[cell for trial, cell in plan if trial == nth] for nth in (1, 2, 3)]
        self.assertEqual([trial for trial, _ in plan], sorted(trial for trial, _ in plan))
        self.assertEqual(len(set(plan)), sum(trials_of(cell, settings) for cell in cells))
        self.assertEqual(plan, list(schedule(cells, settings)))
        self.assertNotEqual(plan, list(schedule(cells, replace(settings, seed=2))))
        self.assertNotEqual(rounds[0], rounds[1])

    def test_more_cores_than_cpus_cannot_be_run(self):
        four = cell(cores=4)
        self.assertEqual(why_not(four, (0, 1)), "4 cores wanted, 2 there")
        self.assertIsNone(why_not(four, (0, 1, 2, 3)))

    def test_the_client_has_a_cpu_of_its_own_while_there_is_one(self):
        for cores, store, cpus, wanted in (
            (1, "sqlite", (0, 1), ((0,), (1,), ())),
            (1, "postgresql", (0, 1), ((0,), (1,), (1,))),
            (1, "postgresql", (0, 1, 2, 3), ((0,), (3,), (1, 2))),
            (2, "postgresql", (0, 1), ((0, 1), (0, 1), (0, 1))),
        ):
            self.assertEqual(place(cell(cores=cores, store=store), cpus), wanted)


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made = Path(folder.name) / "made"
        cls.first = run_harness("--out", cls.made, *SMALL)

    def setUp(self):
        self.out = Path(self.enterContext(tempfile.TemporaryDirectory())) / "out"

    def begin(self):
        """The first run, once for all tests."""
        shutil.copytree(self.made, self.out)

    def run_small(self, *more, **environment):
        return run_harness("--out", self.out, *SMALL, *more, **environment)

    def trials(self):
        lines = (self.out / "trials.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines[1:]]

    def test_every_trial_is_kept_and_reported(self):
        self.begin()
        self.assertEqual(self.first.returncode, 0, self.first.stderr)
        self.assertEqual(len(self.trials()), 4)
        self.assertIn("No client saw an error.", (self.out / "tables.md").read_text())

    def test_the_page_shows_tables_that_a_run_makes(self):
        journal = Journal(self.made)
        summary = summarise(journal.head, journal.trials)
        made = blocks(summary, all_tables(summary))
        self.assertIn("4 interleaved trials", fill(PAGE.read_text(), made))  # refuses other blocks

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

    def test_what_went_wrong_is_in_the_report_and_the_other_trials_run(self):
        for environment, reported in (
            ({"FAKE_ERRORS": "thread:reset"}, "| reset 6 | 2 of 2 |"),
            ({"FAKE_SILENT": "thread"}, "| no reply in the whole trial 2 | 2 of 2 |"),
            ({"FAKE_FAIL": "thread"}, "the server did not start: it refused"),
        ):
            done = self.run_small("--fresh", **environment)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("Clients saw errors in 1 cell:", done.stdout)
            self.assertIn(reported, (self.out / "tables.md").read_text())
            self.assertEqual(len(self.trials()), 4)

    def test_wrong_options_are_refused(self):
        for wrong in (
            ("--only", "polcy=loop"),
            ("--only", "("),
            ("--bin", "/nowhere"),
            ("--trials", "0"),
        ):
            self.assertEqual(run_harness("--out", self.out, *wrong).returncode, 2, wrong)

    def test_an_interrupt_keeps_what_was_finished(self):
        process = subprocess.Popen(
            [sys.executable, "-B", HARNESS / "run", "--bin", FAKE, "--out", self.out, *SMALL],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "FAKE_SECONDS": "60"},
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
    def test_a_run_draws_its_plots_and_updates_the_page(self):
        docs = self.out.parent / "docs"
        docs.mkdir()
        shutil.copy(PAGE, docs)
        cells = (
            "sweep policy=(loop|thread) kind=create clients=200? idle=0 cores=[12] .*(memory|sql)"
        )
        only = ("--only", cells, "--trials", "1")
        done = run_harness("--out", self.out, *only, "--docs", docs)
        self.assertEqual(done.returncode, 0, done.stderr)
        plots = sorted(path.stem for path in (self.out / "plots").glob("*.svg"))
        self.assertEqual(plots, ["p99-1", "p99-2", "throughput-1", "throughput-2"])
        self.assertEqual(["throughput-1.svg"], [one.name for one in (docs / "scaling").iterdir()])
