import unittest

from support import HARNESS, made_head, made_record
from cells import Settings, choose
from claims import problems_of
from fit import fit_with_interval, law, peak, why_no_fit
from progress import Progress
from studies.report.claims import markdown_tables
from studies.report.documents import fill
from studies.report.tables import number
from summary import find, summarise
from tables import PAGES, all_tables, blocks, fits_clients_table, headline, markdown_page, table_a
from waits import count_waits, parse_samples

SETTINGS = Settings(
    trials=2,
    table_trials=2,
    only=("part=a", "part=b", "policy=loop", "policy=thread,idle=10000,store=memory"),
)
CELLS = choose(SETTINGS)


def summary_of(change=lambda cell, trial: {}, cpus=(0, 1), wanted=lambda cell: True):
    records = [
        made_record(cell, trial, **{"rate": 50_000.0 + trial, **change(cell, trial)})
        for cell in CELLS
        if cell.cores <= len(cpus) and wanted(cell)
        for trial in (1, 2)
    ]
    return summarise(made_head(SETTINGS, cpus), records)


class Tables(unittest.TestCase):
    def test_table_a_has_the_shape_of_the_original_and_its_closing_rows(self):
        summary = summary_of(lambda cell, trial: {"rate": 1000.0 * trial, "answered": cell.clients})
        table = table_a(summary)
        self.assertEqual(len(table.columns), 1 + 6 + 6)
        self.assertEqual(
            [row[0] for row in table.rows],
            [f"trial {n}" for n in range(1, 11)]
            + ["average", "average delay per request (ms)", "requests per second"],
        )
        # 20 clients: 20 ms and 10 ms, 15 ms on average
        self.assertEqual([row[7] for row in table.rows[:3]], ["20.0", "10.0", "–"])
        self.assertEqual([row[7] for row in table.rows[10:]], ["15.0", "0.75", "1,333"])
        self.assertEqual([row[1] for row in table.rows[10:]], ["90.7", "4.5", "221"])

    def test_cells_that_the_machine_cannot_run_stay_in_every_table(self):
        summary = summary_of()
        tables = all_tables(summary)
        for name in (
            "table-b-thread",
            "table-b-loop",
            "table-b-sustained",
            "throughput",
            "placements",
        ):
            self.assertIn("4 cores wanted, 2 there", tables[name].markdown(), name)
        self.assertIn("Not run: 46 cells (4 cores wanted, 2 there).", headline(summary))

    def test_a_run_without_errors_says_so(self):
        self.assertIn("No client saw an error.", headline(summary_of()))

    def test_errors_are_marked_in_the_cell_and_named_in_the_headline(self):
        summary = summary_of(
            lambda cell, trial: {"errors": {"refused": 3}}
            if (cell.part, cell.load, cell.clients, trial) == ("a", "burst", 200, 2)
            else {}
        )
        self.assertTrue(
            any(
                "Clients saw errors in 2 cells" in sentence and "refused 3" in sentence
                for sentence in headline(summary)
            )
        )
        text = table_a(summary).markdown()
        self.assertIn(" * |", text)
        self.assertIn("refused 3 (in 1 of 2 trials)", text)

    def test_a_trial_without_a_reply_is_an_error(self):
        summary = summary_of(
            lambda cell, trial: {"answered": 0} if cell.idle and cell.policy == "thread" else {}
        )
        cell = find(summary, policy="thread", idle=10_000, cores=1, store="memory", kind="create")
        self.assertEqual(
            (cell["status"], cell["errors"]), ("failed", {"no reply in the whole trial": 2})
        )
        self.assertIn("failed: clients waited", all_tables(summary)["throughput"].markdown())

    def test_a_quick_look_and_missing_trials_are_reported(self):
        summary = summary_of(wanted=lambda cell: cell.part == "a")
        summary["settings"]["quick"] = True
        self.assertTrue(headline(summary)[0].startswith("This is a quick look"))
        self.assertTrue(headline(summary)[1].startswith("Unfinished: "))

    def test_the_whole_of_the_markdown_can_be_written(self):
        summary = summary_of()
        page = markdown_page(summary, all_tables(summary))
        self.assertIn("## Table A", page)
        self.assertIn("Amdahl (kappa = 0)", page)


class Limits(unittest.TestCase):
    def verdict(self, cores=1, store="sqlite", **report):
        summary = summary_of(
            lambda cell, trial: report,
            wanted=lambda c: (c.part, c.store, c.policy) == ("sweep", store, "loop"),
        )
        return find(
            summary,
            part="sweep",
            store=store,
            policy="loop",
            kind="create",
            clients=200,
            idle=0,
            cores=cores,
        )["limit"]["verdict"]

    def test_the_server_that_fills_its_cpu(self):
        self.assertEqual(self.verdict(rate=95_000.0, cpu_us=10.0), "CPU of the server (95%)")

    def test_the_client_that_fills_its_cpu(self):
        self.assertEqual(
            self.verdict(rate=95_000.0, cpu_us=5.0, client_us=10.0), "CPU of the client (95%)"
        )

    def test_cpus_that_all_share(self):
        self.assertEqual(
            self.verdict(cores=2, rate=90_000.0, cpu_us=14.0, client_us=7.0),
            "CPUs shared by server and client (94% busy: server 67%, client 33%)",
        )

    def test_the_commit_where_no_cpu_is_busy(self):
        self.assertEqual(
            self.verdict(rate=20_000.0, p50=1.0, commit_us=600.0, busy=0.2),
            "commit (0.60 ms, 60% of a median reply)",
        )

    def test_the_one_serial_thread_on_several_cores(self):
        self.assertEqual(
            self.verdict(cores=2, rate=95_000.0, cpu_us=12.0, core=0.9, client_us=1.0),
            "core thread of the server (the serial stage) (103%)",
        )

    def test_other_work_on_the_machine(self):
        self.assertEqual(
            self.verdict(rate=20_000.0, p50=1.0, commit_us=600.0, busy=0.95),
            "other work on this machine (took 80% of its CPU time)",
        )

    def test_waiting_where_nothing_is_busy(self):
        self.assertEqual(
            self.verdict(rate=20_000.0, p50=9.0, busy=0.2),
            "waiting: no CPU is busy (most: CPU of the server 20%)",
        )


class Fits(unittest.TestCase):
    def test_two_numbers_of_cores_give_amdahl_only(self):
        fits = summary_of()["fits_over_cores"]
        self.assertEqual(
            {fit["law"] for one in fits for fit in one["fits"]}, {"Amdahl (kappa = 0)"}
        )
        self.assertEqual({tuple(one["shared_at"]) for one in fits}, {(2,)})

    def test_three_numbers_of_cores_give_both_laws(self):
        fits = summary_of(
            lambda cell, trial: {"rate": 1000.0 * (cell.cores or 1)}, cpus=(0, 1, 2, 3, 4, 5)
        )["fits_over_cores"]
        self.assertEqual(
            [fit["law"] for fit in fits[0]["fits"]],
            ["Amdahl (kappa = 0)", "universal scalability law"],
        )

    def test_by_cpu_the_core_thread_is_the_serial_share(self):
        one = summary_of(lambda cell, trial: {"cpu_us": 10.0, "core": 0.25})["fits_over_cores"][0][
            "by_cpu"
        ]
        self.assertEqual(
            (one["capacity"], one["serial_share"], one["most_speedup"]),
            ({"1": 100_000.0, "2": 200_000.0}, 0.25, 4.0),
        )
        self.assertAlmostEqual(one["projection"]["4"], 100_000 * 4 / 1.75)


class Documents(unittest.TestCase):
    docs = HARNESS.parents[1] / "docs"

    def test_its_sentences_follow_from_the_tables(self):
        self.assertEqual([], problems_of(self.docs))

    def test_its_tables_are_those_that_a_run_makes(self):
        summary = summary_of()
        made = blocks(summary, all_tables(summary))
        for name in PAGES:  # each block is known, and each column stands there
            text = (self.docs / name).read_text()
            old, new = markdown_tables(text), markdown_tables(fill(text, made))
            for table in filter(None, {*old} & {*made}):
                if old[table] and new[table]:
                    self.assertLessEqual({*new[table][0]}, {*old[table][0]}, table)

    def test_a_page_is_read_in_ten_minutes(self):
        page = (self.docs / PAGES[0]).read_text()
        self.assertLess(sum(line.startswith("|") for line in page.splitlines()), 150)


class ShownFits(unittest.TestCase):
    def fit(self, rates, kappa=True):
        return fit_with_interval({n: [x, x * 1.01] for n, x in rates.items()}, kappa)

    def test_a_law_that_does_not_describe_the_data_is_not_shown(self):
        noise = self.fit({20: 1000, 150: 30, 200: 900, 800: 20, 2000: 800})
        self.assertIn("no fit of universal scalability law: R²", why_no_fit(noise))
        two = self.fit({1: 100, 2: 150}, kappa=False)
        self.assertEqual(
            "no fit of Amdahl (kappa = 0): 2 points cannot test a law of 2 parameters",
            why_no_fit(two),
        )
        good = self.fit({n: law(n, 100, 0.05, 1e-5) for n in (20, 150, 200, 800, 2000)})
        self.assertEqual("", why_no_fit(good))
        table = fits_clients_table(
            {
                "fits_over_clients": [
                    {
                        **one,
                        "store": "x",
                        "kind": "k",
                        "cores": 1,
                        "policy": "p",
                        "measured": [20, 2000],
                    }
                    for one in (noise, good)
                ]
            }
        )
        self.assertEqual(5, len(table.rows[0]))
        self.assertEqual(number(good["peak_n"]), table.rows[1][7])

    def test_a_peak_that_was_not_measured_is_none(self):
        good = self.fit({n: law(n, 100, 0.05, 1e-5) for n in (20, 150, 200, 800, 2000)})
        self.assertAlmostEqual(308, peak(good, [20, 2000]), delta=1)
        self.assertIsNone(peak(good, [20, 200]))
        self.assertIsNone(peak({**good, "kappa_interval": [0.0, 1.0]}, [20, 2000]))


class Waits(unittest.TestCase):
    def test_samples_are_read_from_what_psql_prints(self):
        self.assertEqual(
            parse_samples("Sat Nov 21 (every 0.1s)\n\n10.5|IO:WALSync|1\n10.5|idle|2\n10.6|idle\n"),
            [(10.5, "IO:WALSync", 1), (10.5, "idle", 2)],
        )

    def test_only_samples_under_load_count(self):
        samples = [
            (1.0, "idle", 9),
            (2.0, "idle", 2),
            (2.0, "running", 1),
            (2.1, "running", 1),
            (3.0, "idle", 9),
        ]
        self.assertEqual(
            count_waits(samples, 1.5, 2.5), {"samples": 2, "sessions": {"idle": 2, "running": 2}}
        )


class TimeLeft(unittest.TestCase):
    def test_it_comes_from_what_was_measured(self):
        cells = [cell for cell in CELLS if cell.store == "memory" and not cell.idle][:4]
        progress = Progress(cells, SETTINGS)
        first = progress.seconds_left()
        progress.finished(2 * first / 4)  # twice as long as was thought
        self.assertAlmostEqual(progress.seconds_left(), 2 * first * 3 / 4)


if __name__ == "__main__":
    unittest.main()
