"""How samples and scheduler events become the tables of a profile."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from stacks import budget, read_samples, stage_of
from waits import disk_waits, meanwhile, pauses, read_stays

RUN = Path(__file__).resolve().parents[1] / "run"
SCRIPT = """loop
\tffff1 tcp_sendmsg_locked
\tffff2 __x64_sys_sendto
\t5555 exchange::(anonymous namespace)::run(int, std::vector<int>&)

loop
\t7f01 __memmove_avx
\t5556 exchange::Exchange::place(exchange::PlaceOrder const&) const

projector
\t7f02 sqlite3VdbeExec

"""
TIMEHIST = """           time    cpu  task name                       wait time  sch delay   run time  state
                        [tid/pid]                          (msec)     (msec)     (msec)
--------------- ------  ------------------------------  ---------  ---------  ---------  -----
  100.000000 [0000]  loop[12/10]                         0.100      0.000      0.050      S
  100.001000 [0000]  core[11/10]                         0.000      0.000      0.900      D
  100.005000 [0000]  projector[13/10]                    0.000      0.000      4.000      D
  100.006000 [0000]  loop[12/10]                         5.000      4.500      1.000      S
  100.010000 [0000]  core[11/10]                         8.000      1.000      1.000      S
  100.020000 [0000]  core[11/10]                         9.000      0.000      1.000      S
"""


def perf_works():
    """Whether perf may record events, and may know the kernel's functions."""
    try:
        command = ["perf", "sched", "record", "-o", "/dev/null", "--", "true"]
        recorded = subprocess.run(command, capture_output=True, timeout=30).returncode == 0
        return recorded and int(Path("/proc/kallsyms").open().readline().split()[0], 16) != 0
    except OSError:
        return False


class Stacks(unittest.TestCase):
    def test_stacks_are_read_from_the_outermost_function(self):
        samples = read_samples(SCRIPT)
        self.assertEqual(sum(samples.values()), 3)
        self.assertIn(
            (
                "loop",
                ("exchange::(anonymous namespace)::run", "__x64_sys_sendto", "tcp_sendmsg_locked"),
            ),
            samples,
        )

    def test_the_innermost_known_function_decides_and_some_threads_are_a_stage(self):
        self.assertEqual(
            stage_of("loop", ("exchange::Session::reply", "tcp_sendmsg")), "kernel: sockets"
        )
        self.assertEqual(stage_of("loop", ("exchange::Exchange::place", "__memmove")), "engine")
        self.assertEqual(
            stage_of("loop", ("exchange::Exchange::place", "malloc")), "memory allocation"
        )
        self.assertEqual(stage_of("projector", ("tcp_sendmsg",)), "projection")
        self.assertEqual(stage_of("loop", ("start_thread",)), "other")

    def test_the_shares_of_a_budget_add_up(self):
        shares = dict(budget(read_samples(SCRIPT)))
        self.assertEqual(set(shares), {"kernel: sockets", "engine", "projection"})
        self.assertAlmostEqual(sum(shares.values()), 1)


class Waits(unittest.TestCase):
    def setUp(self):
        self.stays = read_stays(TIMEHIST)

    def test_a_pause_is_a_time_without_a_transport_thread(self):
        ((begin, end),) = pauses(self.stays)
        self.assertAlmostEqual(begin, 100.000)
        self.assertAlmostEqual(end, 100.005)

    def test_a_wait_counts_for_the_disk_by_its_begin_and_without_the_wait_for_the_cpu(self):
        ((begin, end),) = disk_waits(self.stays, "core")
        self.assertAlmostEqual(begin, 100.001)
        self.assertAlmostEqual(end, 100.008)

    def test_what_was_done_in_a_pause_is_counted_within_it_only(self):
        spent = meanwhile(self.stays, pauses(self.stays))
        self.assertEqual(set(spent), {"projector ran", "core ran", "core waited for the disk"})
        self.assertAlmostEqual(spent["projector ran"], 4.0)
        self.assertAlmostEqual(spent["core ran"], 0.9)
        self.assertAlmostEqual(spent["core waited for the disk"], 4.0)


class Run(unittest.TestCase):
    @unittest.skipUnless(perf_works(), "perf is not installed, or not permitted")
    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "needs two CPUs")
    def test_a_run_writes_the_tables_and_the_flame_graph(self):
        cpus = sorted(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(RUN), folder, "--seconds", "1", "--clients", "20"]
            command += ["--server-cpu", str(cpus[0]), "--client-cpu", str(cpus[1])]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = (Path(folder) / "profile.md").read_text()
            self.assertRegex(text, r"\| kernel: sockets \| \d+\.\d% \|")
            self.assertIn("tcp_sendmsg", (Path(folder) / "flame-graph.svg").read_text())
