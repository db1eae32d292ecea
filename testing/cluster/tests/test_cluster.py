"""A cluster on loopback addresses comes up, loses servers and connections under load, and every reply was right."""

import subprocess
import unittest
from pathlib import Path

from cluster import Cluster, ClusterError, patroni_settings, programs, yaml

CLUSTER = Path(__file__).resolve().parents[1]


@unittest.skipUnless(yaml, "no yaml here (Debian: python3-yaml)")
class Settings(unittest.TestCase):
    cluster = Cluster("/nonexistent", "127.80")

    def test_commits_wait_for_a_replica(self):
        settings = patroni_settings(
            self.cluster, {"postgresql": "/bin"}, 2, Path("/nonexistent/node2")
        )
        dcs = settings["bootstrap"]["dcs"]
        self.assertTrue(
            dcs["synchronous_mode"] and dcs["synchronous_mode_strict"] and dcs["check_timeline"]
        )
        self.assertIn("data-checksums", settings["bootstrap"]["initdb"])
        self.assertEqual("127.80.0.2:5432", settings["postgresql"]["listen"])


class UnderFire(unittest.TestCase):
    def setUp(self):
        try:
            programs()
        except ClusterError as error:
            self.skipTest(str(error))

    def test_takeovers_under_load(self):
        kinds = ("kill_active", "switch_over", "terminate_all")
        command = [
            CLUSTER / "chaos",
            "--faults",
            str(len(kinds)),
            "--pairs",
            "0",
            "--net",
            "127.73",
        ]
        for kind in kinds:
            command += ["--only", kind]
        done = subprocess.run(command, capture_output=True, text=True, timeout=400)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("3 rounds, 0 violations", done.stdout)


if __name__ == "__main__":
    unittest.main()
