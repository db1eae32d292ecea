"""The thread policies side by side: which is first, and the program as its users run it."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from exchange_server import LOADGEN, POLICIES

PROGRAM = Path(__file__).resolve().parents[1] / "policies"
loader = SourceFileLoader("policies", str(PROGRAM))
policies = module_from_spec(spec_from_loader(loader.name, loader))
loader.exec_module(policies)
QUICK = "-c 2 -d 100ms --warmup 10ms".split()


def cell(policy, *rates, p99_ms=3.5, mode="closed", shared=False):
    run = {"load": {"mode": mode}}
    runs = [
        run | {"result": {"requests_per_s": rate, "response_ms": {"p99": p99_ms}}} for rate in rates
    ]
    return policies.Cell(1, policy, [0], [0] if shared else [1], runs)


class First(unittest.TestCase):
    def test_the_first_has_the_highest_rate_and_the_others_are_told_from_it_by_the_rounds(self):
        cells = [cell("thread", 59, 60, 61), cell("pool", 105, 104, 109), cell("loop", 108, 103)]
        words = "1 CPU: loop is first; the rounds do not tell pool from it"
        self.assertEqual(policies.first_of(cells), words)

    def test_where_a_plan_gives_all_the_same_rate_the_lowest_latency_is_first(self):
        cells = [cell("thread", 5, p99_ms=1.5, mode="open"), cell("pool", 9, mode="open")]
        self.assertEqual(policies.first_of(cells), "1 CPU: thread is first")


@unittest.skipUnless(LOADGEN.is_file(), f"{LOADGEN} is not built")
class Program(unittest.TestCase):
    def command(self, *words):
        return [sys.executable, "-B", str(PROGRAM), *QUICK, *words]

    def run_it(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=300)

    def test_each_policy_is_measured_on_each_number_of_cpus_that_fits(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "policies.html")
            done = self.run_it("--cores", "1,1024", "--rounds", "2", "-o", str(page))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual({row[1] for row in rows if row[:1] == ["1"]}, set(POLICIES))
        self.assertEqual(done.stdout.count("not run: "), len(POLICIES))
        self.assertIn("1 CPU: ", done.stdout)
        shared = len(os.sched_getaffinity(0)) == 1
        self.assertEqual("share them" in done.stdout, shared)

    def test_a_server_that_does_not_start_is_reported(self):
        done = self.run_it("--cores", "1", "--rounds", "1", "--store", "sqlite:/nowhere/x.db")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Nothing was measured. loadgen: ", done.stdout)

    def test_options_that_the_load_generator_does_not_take_end_it(self):
        for words in (["--rate", "fast"], ["--cores", "0"], ["--cpus", "a"]):
            done = self.run_it("--cores", "1", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(words[0], done.stderr)

    def test_an_interrupted_one_reports_what_it_has(self):
        command = self.command("--cores", "1", "--rounds", "1000")
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            self.assertIn("round 1 of 1000: thread on 1 CPU", process.stderr.readline())
            process.send_signal(signal.SIGINT)
            self.assertIn("requests/s", process.communicate(timeout=60)[0])
        self.assertEqual(process.returncode, 130)
