"""The whole proof, where it is asked for: it takes root, or a Docker engine, and some ten minutes."""

import os
import subprocess
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parents[1] / "run"
SKIPPED = 77


class Proof(unittest.TestCase):
    @unittest.skipUnless(
        os.environ.get("EXCHANGE_COMPOSE_TEST") == "1",
        "EXCHANGE_COMPOSE_TEST is not 1: testing/deploy/compose/run takes some ten minutes",
    )
    def test_docker_compose_up_does_what_it_says(self):
        lines = []
        with subprocess.Popen(
            [RUN], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as proof:
            for line in proof.stdout:
                print(line, end="", flush=True)
                lines.append(line)
        if proof.returncode == SKIPPED:
            self.skipTest(lines[-1].strip())
        self.assertEqual(proof.returncode, 0, "".join(lines))
