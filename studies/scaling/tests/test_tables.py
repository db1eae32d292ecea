import unittest

from support import HARNESS, made_head, made_record
from cells import Settings, choose
from documents import fill
from summary import find, summarise
from tables import all_tables, blocks, headline, markdown_page, table_a
from waits import count_waits, parse_samples

SETTINGS = Settings(
    trials=2,
    table_trials=2,
    only=("part=a", "part=b", "policy=loop", "policy=thread,idle=10000,store=memory"),
)
CELLS = choose(SETTINGS)
ONE = {"store": "sqlite", "policy": "loop", "kind": "create", "clients": 200, "idle": 0}


def summary_of(change=lambda cell, trial: {}, wanted=lambda cell: True):
    records = [
        made_record(cell, trial, **{"rate": 50_000.0 + trial, **change(cell, trial)})
        for cell in CELLS
        if cell.cores <= 2 and wanted(cell)
        for trial in (1, 2)
    ]
    return summarise(made_head(SETTINGS), records)


class Tables(unittest.TestCase):
    def test_table_a_has_the_rows_of_the_original(self):
        summary = summary_of(lambda cell, trial: {"rate": 1000.0 * trial, "answered": cell.clients})
        table = table_a(summary)
        self.assertEqual(len(table.columns), 1 + 6 + 6)
        names = ["average", "average delay per request (ms)", "requests per second"]
        self.assertEqual([row[0] for row in table.rows], names)
        # 20 clients: 20 ms and 10 ms, 15 ms on average
        self.assertEqual([row[7] for row in table.rows], ["15.0", "0.75", "1,333"])
        self.assertEqual([row[1] for row in table.rows], ["90.7", "4.5", "221"])

    def test_cells_that_the_machine_cannot_run_stay_in_every_table(self):
        summary = summary_of()
        tables = all_tables(summary)
        for name in "table-b-thread table-b-loop table-b-sustained throughput placements".split():
            self.assertIn("4 cores wanted, 2 there", tables[name].markdown(), name)
        self.assertIn("Not run: 46 cells (4 cores wanted, 2 there).", headline(summary))

    def test_errors_are_marked_in_the_cell_and_named_in_the_headline(self):
        self.assertIn("No client saw an error.", headline(summary_of()))
        erring = ("a", 200, 2)
        summary = summary_of(
            lambda cell, trial: {"errors": {"refused": 3}}
            if (cell.part, cell.clients, trial) == erring
            else {}
        )
        self.assertRegex(" ".join(headline(summary)), "Clients saw errors in 4 cells")
        self.assertIn(" * |", table_a(summary).markdown())
        tables = all_tables(summary)
        self.assertIn("refused 3 (in 1 of 2 trials)", tables["table-a-sustained"].markdown())
        self.assertIn("| refused 3 | 1 of 2 |", tables["errors"].markdown())

    def test_a_trial_without_a_reply_is_an_error(self):
        summary = summary_of(
            lambda cell, trial: {"answered": 0} if cell.idle and cell.policy == "thread" else {}
        )
        cell = find(summary, policy="thread", idle=10_000, cores=1, store="memory", kind="create")
        failed = ("failed", {"no reply in the whole trial": 2})
        self.assertEqual((cell["status"], cell["errors"]), failed)
        self.assertIn("failed: clients waited", all_tables(summary)["throughput"].markdown())

    def test_a_quick_look_and_missing_trials_are_reported(self):
        summary = summary_of(wanted=lambda cell: cell.part == "a")
        summary["settings"]["quick"] = True
        self.assertTrue(headline(summary)[0].startswith("This is a quick look"))
        self.assertTrue(headline(summary)[1].startswith("Unfinished: "))


class Limits(unittest.TestCase):
    def test_the_limit_is_named(self):
        waits = {"rate": 20_000.0, "p50": 1.0, "commit_us": 600.0}
        serial = {"cpu_us": 12.0, "core": 0.9, "client_us": 1.0}
        for words, cores, report in (
            ("CPU of the server (95%)", 1, {"cpu_us": 10.0}),
            ("CPU of the client (95%)", 1, {"cpu_us": 5.0, "client_us": 10.0}),
            (
                "CPUs shared by server and client (94% busy: server 67%, client 33%)",
                2,
                {"rate": 90_000.0, "cpu_us": 14.0, "client_us": 7.0},
            ),
            ("commit (0.60 ms, 60% of a median reply)", 1, {**waits, "busy": 0.2}),
            ("core thread of the server (the serial stage) (103%)", 2, serial),
            (
                "other work on this machine (took 80% of its CPU time)",
                1,
                {**waits, "busy": 0.95},
            ),
            (
                "waiting: no CPU is busy (most: CPU of the server 20%)",
                1,
                {"rate": 20_000.0, "p50": 9.0, "busy": 0.2},
            ),
        ):
            with self.subTest(words):
                summary = summary_of(
                    lambda cell, trial: {"rate": 95_000.0, **report},
                    lambda cell: (cell.part, cell.store) == ("sweep", "sqlite"),
                )
                cell = find(summary, part="sweep", cores=cores, **ONE)
                self.assertEqual(cell["limit"]["verdict"], words)


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
