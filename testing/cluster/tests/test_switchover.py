"""ops/cluster/switchover asks both servers first, and says when the other one is active."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster import HTTP, OPS
from fake_server import FakeServer

ADDRESSES = ("127.79.1.1", "127.79.1.2")


class Switchover(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.signaled = Path(folder.name, "signaled")
        first = FakeServer(ADDRESSES[0], lambda: not self.signaled.exists())
        second = FakeServer(ADDRESSES[1], self.signaled.exists)
        self.addCleanup(first.close)
        self.addCleanup(second.close)

    def run_it(self, standby, active, signal=None):
        command = [OPS / "switchover", f"{standby}:{HTTP}", f"--active={active}:{HTTP}"]
        command += [f"--signal={signal or 'touch ' + str(self.signaled)}", "--wait-s=5"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        return done.returncode, done.stdout + done.stderr

    def test_the_standby_becomes_active(self):
        status, text = self.run_it(ADDRESSES[1], ADDRESSES[0])
        self.assertRegex(text, rf"^{ADDRESSES[1]}:{HTTP} is active after [\d.]+ s$")
        self.assertEqual(0, status)

    def test_nothing_is_done_if_the_servers_are_not_what_they_should_be(self):
        for standby, active in ((ADDRESSES[0], ADDRESSES[1]), ("127.79.1.3", ADDRESSES[0])):
            status, text = self.run_it(standby, active)
            self.assertEqual(1, status)
            self.assertIn("nothing was done", text)
        self.assertFalse(self.signaled.exists())

    def test_a_signal_that_cannot_be_sent(self):
        status, text = self.run_it(ADDRESSES[1], ADDRESSES[0], "false")
        self.assertEqual((1, "switchover: 'false' failed; nothing was done\n"), (status, text))
