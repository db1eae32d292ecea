"""The commands of the study, its tables, and what it reads of a server."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import tables
from cells import fit_cells, held_out_cells
from measure import quantiles, split, stage_median, thread_usage
from documents import fill, names

RUN = Path(__file__).resolve().parents[1] / "run"
DOCS = RUN.parents[2] / "docs"
COSTS = DOCS / "scaling/cores/costs.json"


def run(*arguments):
    command = [sys.executable, str(RUN), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


class Commands(unittest.TestCase):
    def test_a_prediction_is_repeated_exactly(self):
        command = ("predict", "--clients", 20, "--seconds", 0.1, "--cores", 2)
        first, second = run(*command), run(*command)
        self.assertEqual((first[0], first), (0, second))
        self.assertIn("limited by:", first[1])


class Tables(unittest.TestCase):
    def test_the_tables_of_the_document_are_those_of_its_costs(self):
        page = (DOCS / "scaling.md").read_text()
        self.assertIn("simulated", names(page, "cores/"))
        found = json.loads(COSTS.read_text())
        self.assertEqual(fill(page, tables.blocks(found), "cores/"), page)

    def test_no_cell_is_both_fitted_and_held_out(self):
        keys = [cell.key for cell in fit_cells() + held_out_cells()]
        self.assertEqual(len(keys), len(set(keys)))


class Measuring(unittest.TestCase):
    def test_waits_are_split_by_where_they_begin(self):
        waits, others = [(0.1, 0.2), (1.5, 1.8), (2.5, 2.6)], [(1.0, 2.0), (3.0, 4.0)]
        alone, beside = split(waits, others)
        self.assertEqual([round(us) for us in alone], [100_000, 100_000])
        self.assertEqual([round(us) for us in beside], [300_000])

    def test_the_median_of_a_stage_is_interpolated_in_its_bucket(self):
        prefix = 'exchange_stage_seconds_bucket{stage="parse",le='
        counts = {'"1e-06"}': 0, '"2e-06"}': 10, '"5e-06"}': 10, '"+Inf"}': 10}
        buckets = {prefix + name: value for name, value in counts.items()}
        self.assertAlmostEqual(stage_median(buckets, "parse"), 1.5)

    def test_quantiles_of_nothing_are_zero(self):
        self.assertEqual(set(quantiles([])), {0.0})

    def test_the_cpu_time_of_threads_is_read(self):
        self.assertGreater(thread_usage(os.getpid())["other"], 0)
