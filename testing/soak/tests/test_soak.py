"""The soak and the size run in their short forms, against real servers."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

SOAK = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True

import stores  # noqa: E402
from exchange_server import BIN, Connection, ServerError, is_sanitized  # noqa: E402
from filling import Filler, FillError, account, orders, symbol_name  # noqa: E402
from server import Server  # noqa: E402


def program(name):
    """`run` or `size`, as a module."""
    loader = SourceFileLoader(f"soak_{name}", str(SOAK / name))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(
            self.enterContext(tempfile.TemporaryDirectory(prefix="exchange-soak-test-"))
        )

    def run_quick(self, name, *arguments):
        command = [sys.executable, SOAK / name, "--quick", "--output", self.folder / "out"]
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=120, cwd=self.folder
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return (
            json.loads((self.folder / "out/results.json").read_text()),
            (self.folder / "out/section.md").read_text(),
        )


class TestSoak(Case):
    def test_a_short_soak_samples_judges_audits_and_starts_anew(self):
        sanitized = is_sanitized(BIN / "server")
        if sanitized:
            print("growth of memory is not judged: sanitizers keep freed memory")
        result, section = self.run_quick(
            "run", *(["--memory-allowed", "1000000"] if sanitized else [])
        )
        self.assertGreater(len(result["samples"]), 10)
        self.assertIn(20, [sample["connections"] for sample in result["samples"]])
        self.assertGreater(result["samples"][-1]["requests"], result["samples"][2]["requests"])
        self.assertGreater(result["result"]["answered"], 0)
        self.assertTrue(result["audit"]["passed"])
        self.assertGreater(result["restart"]["replayed"] + result["audit"]["orders"], 0)
        self.assertEqual(result["conservation"], [])
        judged = [one["name"] for one in result["judgements"] if one["allowed"] is not None]
        self.assertEqual(judged, ["resident memory", "descriptors", "threads"])
        self.assertIn("| resident memory |", section)

    def test_memory_that_grows_too_much_fails(self):
        sample = {"fds": 40, "threads": 8, "orders_in_memory": 5, "lag_s": 0.1}
        samples = [{"t": t, "rss": (30 + t) << 20, **sample} for t in range(0, 100, 5)]
        run = program("run")
        with contextlib.redirect_stdout(io.StringIO()):
            soak = run.Soak(run.parse(["--store", "memory"]), self.folder)
            soak.judge({"samples": samples, "latency": []})
        self.assertEqual(len(soak.failures), 1)
        self.assertIn("resident memory: 102.5 MiB", soak.failures[0])


class TestConservation(Case):
    def test_tables_that_lost_something_are_found(self):
        store = stores.SqliteFiles(self.folder)
        with Server(BIN / "server", store.url) as server:
            Filler(server.port).create()
            Filler(server.port).fill(40, 8)
            server.stop()
        self.assertEqual(stores.conservation(store), [])
        for change, problem in (
            ("accounts SET balance_e16 = balance_e16 || '0' WHERE number = 0", "in cash, where"),
            ("positions SET shares_e8 = shares_e8 - 1 WHERE account = 0", "units of SIZE"),
        ):
            copy = store.copy_to(self.enterContext(tempfile.TemporaryDirectory(dir=self.folder)))
            subprocess.run(["sqlite3", str(copy.path), f"UPDATE {change}"], check=True)
            problems = stores.conservation(copy)
            self.assertEqual(len(problems), 1)
            self.assertIn(problem, problems[0])


class TestFilling(Case):
    def test_a_fill_closes_and_leaves_open_what_it_is_asked_for_and_goes_on_from_there(self):
        sizes = program("size")
        options = sizes.parse(["--folder", str(self.folder), "--bin", str(BIN)])
        with contextlib.redirect_stdout(io.StringIO()):
            work = sizes.Sizes(options, self.folder)
            store = work.filled("one", 10_000, 1_000)
            self.assertEqual(work.held(store), (10_000, 1_000))
            store = work.filled("one", 26_000, 1_000)
            self.assertEqual(work.held(store), (26_000, 1_000))
            self.assertEqual(work.held(work.filled("two", 26_000, 2_000, store)), (26_000, 2_000))
            self.assertEqual(work.held(store), (26_000, 1_000))

    def test_open_orders_alone_come_in_documents_that_the_server_takes(self):
        store = stores.SqliteFiles(self.folder)
        with Server(BIN / "server", store.url) as server:
            Filler(server.port).create()
            Filler(server.port).fill(0, 60_000)
            server.stop()
        self.assertEqual(int(store.query(stores.OPEN)[0][0]), 60_000)

    def test_open_orders_are_spread_among_those_that_close(self):
        text = orders(3, "sell", 6, 2).decode()
        limits = [part.split('"')[0] for part in text.split('limit="')[1:]]
        self.assertEqual(limits, ["100", "100", "100", "200.00", "100", "100", "100", "200.01"])
        self.assertEqual(text.count('amount="-1"'), 8)

    def test_an_order_that_is_refused_stops_the_fill(self):
        with Server(BIN / "server", "memory:") as server:
            with self.assertRaises(FillError) as caught:
                Filler(server.port).fill(10, 0)
            self.assertIn("unknown account", str(caught.exception))
            server.stop()

    def test_replies_are_separated_however_they_arrive(self):
        with Server(BIN / "server", "memory:") as server:
            connection = Connection(server.port)
            for _ in range(3):
                order = f'<order sym="{symbol_name(0)}" amount="1" limit="1"/>'
                connection.send(f'<transactions id="{account(0, 0)}">{order}</transactions>')
            for _ in range(3):
                self.assertTrue(
                    connection.receive().endswith(b"unknown account</error></results>\n")
                )
            connection.close()
            server.stop()

    def test_a_server_that_does_not_start_is_reported_with_its_messages(self):
        with self.assertRaises(ServerError) as caught:
            Server(BIN / "server", f"sqlite:{self.folder}/nowhere/x.db").start()
        self.assertIn("nowhere", str(caught.exception))


class TestSize(Case):
    def test_a_short_size_run_measures_both_stores(self):
        result, section = self.run_quick("size")
        for name, closed, still_open in (("small", 2_000, 200), ("large", 20_000, 2_000)):
            figures = result[name]
            self.assertEqual((figures["closed"], figures["open"]), (closed, still_open))
            self.assertGreater(figures["orders_per_s"], 0)
            self.assertGreater(figures["query_closed_again_us"]["p50"], 0)
            self.assertEqual(len(figures["ready_cold_s"]), 1)
        self.assertIn("| closed orders | 2,000 | 20,000 | 10.00 |", section)

    def test_memory_that_follows_history_and_starts_that_grow_faster_than_the_store_fail(self):
        judge = program("size").judge
        small = {"closed": 1_000_000, "open": 100_000, "rss_ready": 60 << 20}
        small["ready_cpu_s"] = [0.5, 0.4, 0.4]
        large = {"closed": 10_000_000, "open": 1_000_000, "rss_ready": 500 << 20}
        large["ready_cpu_s"] = [4, 5, 11]
        self.assertEqual(judge(small, large), [])
        [finding] = judge(small, large | {"rss_ready": 60 + 9 * 256 << 20})
        self.assertIn("memory: 2,304 MiB more for 900,000 open orders more", finding)
        [finding] = judge(small, large | {"ready_cpu_s": [40, 4, 40]})
        self.assertIn(
            "start: 40.00 s of CPU, 100 times that of the small store, for 10 times the orders",
            finding,
        )
