import unittest

from support import HARNESS, made_head, made_record
from cells import Settings, choose
from documents import fill
from summary import find, summarise
from tables import all_tables, blocks, markdown_page
from waits import count_waits, parse_samples

SETTINGS = Settings(
    trials=2,
    table_trials=2,
    only=("part=a", "part=b", "policy=loop", "policy=thread,idle=10000,store=memory"),
)
CELLS = choose(SETTINGS)


def summary_of(change=lambda cell: {}):
    records = [
        made_record(cell, trial, **{"rate": 50_000.0 + trial, **change(cell)})
        for cell in CELLS
        if cell.cores <= 2
        for trial in (1, 2)
    ]
    return summarise(made_head(SETTINGS), records)


class Summary(unittest.TestCase):
    def test_a_trial_without_a_reply_is_an_error(self):
        summary = summary_of(
            lambda cell: {"answered": 0} if cell.idle and cell.policy == "thread" else {}
        )
        cell = find(summary, policy="thread", idle=10_000, cores=1, store="memory", kind="create")
        failed = ("failed", {"no reply in the whole trial": 2})
        self.assertEqual((cell["status"], cell["errors"]), failed)


class Documents(unittest.TestCase):
    def test_its_tables_are_those_that_a_run_makes(self):
        summary = summary_of()
        tables = all_tables(summary)
        self.assertIn("## Table A", markdown_page(summary, tables))
        page = (HARNESS.parents[1] / "docs/scaling.md").read_text()
        filled = fill(page, blocks(summary, tables))  # refuses a block that no run makes
        self.assertIn("commit abc:\n208 interleaved trials. No client saw an error.", filled)


class Waits(unittest.TestCase):
    def test_samples_are_read_from_what_psql_prints(self):
        self.assertEqual(
            parse_samples("Sat Nov 21 (every 0.1s)\n\n10.5|IO:WALSync|1\n10.5|idle|2\n10.6|idle\n"),
            [(10.5, "IO:WALSync", 1), (10.5, "idle", 2)],
        )

    def test_only_samples_under_load_count(self):
        samples = [(1.0, "idle", 9), (2.0, "idle", 2), (2.0, "running", 1), (2.1, "running", 1)]
        counted = {"samples": 2, "sessions": {"idle": 2, "running": 2}}
        self.assertEqual(count_waits([*samples, (3.0, "idle", 9)], 1.5, 2.5), counted)
