"""Runs and the page fit together."""

import copy
import json
import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import page
from documents import can_draw

RUN = Path(__file__).resolve().parents[1] / "run"
TABLE = {"key": "wall", "title": "Wall time", "columns": ["lock", "here"], "rows": [["a|b", "2"]]}
LINES = [{"name": "mutex", "points": [[1, 20, 15, 25]]}]
PLOT = {"key": "turn", "title": "T", "x": "threads", "y": "ns", "series": LINES}
LOCKS = {
    "name": "locks",
    "title": "5. Locks",
    "tables": [TABLE],
    "plots": [PLOT],
    "checks": [{"what": "mutual exclusion", "holds": True, "seen": "0 violations"}],
    "notes": ["SCHED_FIFO: Operation not permitted"],
}
MACHINE = {"cpu": "a CPU", "cpus": 2, "kernel": "6"}
PAGE = '<a id="locks"></a>\n' + "\n".join(
    f"<!-- begin {name} -->\nstale\n<!-- end {name} -->"
    for name in ("run/machine", "locks/wall", "locks/held")
)


def made_run(**more):
    return {
        **{"format": "exchange-experiments/1", "started": "2026-01-01", "commit": "abc"},
        **{"machine": MACHINE, "seed": 7, "repetitions": 5, "quick": False},
        "known": [{"name": "locks", "title": "5. Locks"}],
        "experiments": [copy.deepcopy(LOCKS)],
        **more,
    }


class Page(unittest.TestCase):
    def setUp(self):
        temporary = TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.docs = Path(temporary.name) / "docs"
        (self.docs / "experiments").mkdir(parents=True)
        (self.docs / page.PAGE).write_text(PAGE + "\n![T](experiments/locks-turn.svg)\n")

    def run_with(self, run, *arguments):
        file = self.docs / "run.json"
        file.write_text(json.dumps(run))
        command = [RUN, "--report-only", file, "--docs", self.docs, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def test_what_failed_what_was_not_measured_and_a_quick_run_are_named(self):
        run = made_run(quick=True)
        run["experiments"][0]["checks"][0]["holds"] = False
        text = page.filled(self.docs, run)
        self.assertNotIn("stale", text)
        for part in ("not hold: mutual exclusion", "0 of 1 checks", "SCHED_FIFO", "--quick"):
            self.assertIn(part, text)

    def test_what_does_not_fit_writes_nothing(self):
        before = (self.docs / page.PAGE).read_text()
        (self.docs / page.PAGE).write_text(before := before + "<!-- begin lokcs/wall -->\n")
        without = copy.deepcopy(LOCKS) | {"plots": []}
        for run, words in (
            (made_run(experiments=[without]), "shows: locks-turn, lokcs"),
            (made_run(known=[{"name": "locks"}, {"name": "files"}]), "it lacks files"),
            ({"format": "other"}, "not of the format"),
        ):
            done = self.run_with(run)
            self.assertEqual(2, done.returncode, done.stderr)
            self.assertIn(words, done.stderr)
        self.assertEqual(before, (self.docs / page.PAGE).read_text())

    @unittest.skipUnless(can_draw(), "no plots: install-dependencies.sh --report")
    def test_a_run_updates_the_page_and_draws_the_plots_that_it_shows(self):
        run = made_run()
        run["experiments"][0]["plots"].append({**PLOT, "key": "more"})
        all_charts = self.docs / "all"
        done = self.run_with(run, "--charts", all_charts)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertNotIn("stale", (self.docs / page.PAGE).read_text())
        for folder, names in ((self.docs / "experiments", "turn"), (all_charts, "more turn")):
            names = [f"locks-{name}.svg" for name in names.split()]
            self.assertEqual(names, sorted(file.name for file in folder.iterdir()))
