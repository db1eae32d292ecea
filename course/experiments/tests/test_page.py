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
LINES = [{"name": "mutex", "points": [[1, 20, 15, 25]]}, {"name": "none", "points": []}]
PLOT = {"key": "turn", "title": "T", "x": "threads", "y": "ns", "log_x": True, "log_y": True}
LOCKS = {
    "name": "locks",
    "title": "5. Locks",
    "tables": [TABLE],
    "plots": [{**PLOT, "series": LINES}],
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

    def test_blocks_hold_what_was_measured(self):
        text = page.filled(self.docs, made_run())
        self.assertNotIn("stale", text)
        for part in (
            "a CPU, 2 CPUs, Linux 6, 2026-01-01, commit abc, seed 7,\n5 repetitions",
            "1 of 1 checks",
            "**Wall time**\n\n| lock | here |\n|---|---:|\n| a\\|b | 2 |",
            "as asked: SCHED_FIFO: Operation not permitted",
            "- mutual exclusion: 0 violations",
        ):
            self.assertIn(part, text)
        self.assertNotIn("--quick", text)
        self.assertIn("--quick", page.filled(self.docs, made_run(quick=True)))

        run = made_run()
        run["experiments"][0]["checks"][0]["holds"] = False
        text = page.filled(self.docs, run)
        self.assertIn("- locks: **a check did not hold: mutual exclusion**: 0 violations", text)
        self.assertIn("0 of 1 checks", text)

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
        (self.docs / "experiments/old.svg").touch()
        run = made_run(quick=True)
        run["experiments"][0]["plots"].append({**PLOT, "key": "more", "series": LINES})
        all_charts, written = self.docs / "all", []
        for _ in range(2):  # the same run gives the same bytes
            done = self.run_with(run, "--charts", all_charts)
            self.assertEqual(0, done.returncode, done.stderr)
            written.append([file.read_bytes() for file in sorted(self.docs.rglob("*.*"))])
        self.assertEqual(*written)
        for folder, names in ((self.docs / "experiments", "turn"), (all_charts, "more turn")):
            names = [f"locks-{name}.svg" for name in names.split()]
            self.assertEqual(names, sorted(file.name for file in folder.iterdir()))


class Overlap(unittest.TestCase):
    def test_threads_that_hardly_overlap_are_named(self):
        heads = ["mix", "keys", "std::mutex"]
        mixes = {"key": "mixes", "columns": heads, "rows": [["99:1", "all", "1.1 (1-2)"]]}
        cpu = {"key": "cpu", "columns": heads, "rows": [["99:1", "all", "900 ns (800-950)"]]}
        self.assertIn(
            "99:1 all, std::mutex: 1.0.", page.hardly_overlapped({"tables": [mixes, cpu]})
        )
        cpu["rows"][0][2] = "1.80 us"
        self.assertEqual("", page.hardly_overlapped({"tables": [mixes, cpu]}))
