"""A cluster on loopback addresses comes up, loses servers and connections under load, and every reply was right."""

import os
import subprocess
import tempfile
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
        self.assertEqual("quorum", dcs["synchronous_mode"])
        self.assertTrue(dcs["synchronous_mode_strict"] and dcs["check_timeline"])
        self.assertIn("data-checksums", settings["bootstrap"]["initdb"])
        self.assertEqual("127.80.0.2:5432", settings["postgresql"]["listen"])

    def test_a_measurement_may_have_settings_of_its_own(self):
        cluster = Cluster("/nonexistent", "127.80", settings=[("loop_wait", 5)])
        settings = patroni_settings(cluster, {"postgresql": "/bin"}, 2, Path("/nonexistent/node2"))
        dcs = settings["bootstrap"]["dcs"]
        self.assertEqual((5, 20), (dcs["loop_wait"], dcs["ttl"]))


class Refusals(unittest.TestCase):
    """What is missing is named at once, in one line, and nothing was started."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def up(self, **environment):
        state = self.folder / "cluster"
        done = subprocess.run(
            [CLUSTER / "run", "--folder", state, "--net", "127.78", "up"],
            capture_output=True,
            text=True,
            timeout=30,
            env={**os.environ, **environment},
        )
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertFalse(state.exists())
        self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        return done.stderr

    def test_no_server(self):
        problem = self.up(EXCHANGE_BIN=str(self.folder))
        self.assertIn(f"there is no server at {self.folder}: build it", problem)

    def test_a_patroni_that_the_user_of_postgresql_cannot_run(self):
        for program in ("server", "etcd", "haproxy", "patroni"):
            (self.folder / program).write_text("#!/bin/sh\necho 1 4.1.0\n")
            (self.folder / program).chmod(0o755 if program != "patroni" else 0o600)
        self.folder.chmod(0o700)  # root's own, as a venv below /root
        problem = self.up(
            EXCHANGE_BIN=str(self.folder),
            PATRONI=str(self.folder / "patroni"),
            PATH=f"{self.folder}:{os.environ['PATH']}",
        )
        if "a cluster needs" in problem:
            self.skipTest(problem)
        self.assertIn(f"cannot run {self.folder}/patroni: ", problem)


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
