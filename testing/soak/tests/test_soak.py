"""What counts as growth and as a loss, and both programs in their short forms."""

import json
import random
import runpy
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import Server, SqliteStore

SOAK = Path(__file__).resolve().parents[1]
RUN, SIZE = runpy.run_path(SOAK / "run"), runpy.run_path(SOAK / "size")
CREATE = (
    '<create><account id="1" balance="99"/><symbol sym="A"><account'
    ' id="1">9</account></symbol></create>'
)
ORDERS = '<order sym="A" amount="3" limit="10"/><order sym="A" amount="-2" limit="20"/>'


def grows(value_at):
    """Whether a value of such a course, with some noise, grows too much in half an hour."""
    noise = random.Random(1)
    samples = [
        {"second": t, **dict.fromkeys(RUN["ALLOWED"], value_at(t) + noise.uniform(-1, 1))}
        for t in range(0, 1801, 5)
    ]
    verdicts = {judgement["passed"] for judgement in RUN["judge"](samples)}
    return verdicts == {False}


class TestSoak(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="exchange-soak-test-"))

    def test_growth_in_the_second_half_is_found(self):
        self.assertTrue(grows(lambda t: 40 + t / 60))
        self.assertTrue(grows(lambda t: 44 + t // 90))
        self.assertFalse(grows(lambda t: 40))
        self.assertFalse(grows(lambda t: 30 + 20 * min(1, t / 600)))
        self.assertFalse(grows(lambda t: 100 - t / 100))

    def test_outliers_do_not_move_the_slope(self):
        line = [(x, 3 + 2 * x) for x in range(100)]
        line[10], line[50], line[90] = (10, 1e9), (50, -1e9), (90, 1e9)
        self.assertAlmostEqual(RUN["slope"](line), 2, places=2)

    def test_memory_and_starts_of_a_large_store_are_judged(self):
        small = {"open_orders": 1e5, "closed_orders": 1e6, "resident_bytes": 6e7, "start_cpu_s": 1}
        large = {"open_orders": 1e6, "closed_orders": 1e7, "resident_bytes": 5e8, "start_cpu_s": 9}
        self.assertEqual(SIZE["judge"](small, large), [])
        self.assertEqual(len(SIZE["judge"](small, large | {"resident_bytes": 2e9})), 1)
        self.assertEqual(len(SIZE["judge"](small, large | {"start_cpu_s": 40})), 1)

    def test_lost_cash_and_shares_are_found(self):
        store = SqliteStore(self.folder)
        with Server(store) as server:
            server.request(CREATE, f'<transactions id="1">{ORDERS}</transactions>')
            server.catch_up_and_stop()
        self.assertEqual(RUN["lost"](store), [])
        with sqlite3.connect(store.path) as database:
            database.execute("UPDATE accounts SET balance_e16 = balance_e16 || '0'")
            database.execute("UPDATE positions SET shares_e8 = shares_e8 - 1")
        self.assertEqual(len(RUN["lost"](store)), 2)

    def test_the_short_forms_pass(self):
        for program in ("run", "size"):
            command = [sys.executable, SOAK / program, "--quick", "--output", self.folder]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            result = json.loads(Path(self.folder, "results.json").read_text())
            if program == "run":
                self.assertGreater(len(result["samples"]), 10)
                self.assertGreater(result["samples"][-1]["resident_mib"], 1)
