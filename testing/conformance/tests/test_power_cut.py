"""The exercise on writes without a sync (docs/teaching/power-cut): what a sync has reached stays, the rest is cut off."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EXERCISE = Path(__file__).parents[3] / "docs/teaching/power-cut"
# Appends ten records, and ends as a kill does.
WRITER = """
import os, signal, sys
with open(sys.argv[1], "ab", buffering=0) as journal:
    for record in range(10):
        journal.write(b"record %d\\n" % record)
        if record < int(sys.argv[2]):
            (os.fsync if record % 2 else os.fdatasync)(journal.fileno())
os.kill(os.getpid(), signal.SIGKILL)
"""


@unittest.skipUnless(shutil.which("cc") and shutil.which("make"), "there is no C compiler")
class PowerCut(unittest.TestCase):
    def test_what_was_not_synced_is_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            copy, data = Path(folder, "exercise"), Path(folder, "data")
            shutil.copytree(EXERCISE, copy)
            data.mkdir()
            subprocess.run(["make"], cwd=copy, check=True, capture_output=True)
            for synced in (0, 6, 10):
                with self.subTest(synced=synced):
                    journal = data / f"journal {synced}"
                    done = subprocess.run(
                        [sys.executable, "-c", WRITER, journal, str(synced)],
                        env={**os.environ, "LD_PRELOAD": str(copy / "synced.so")},
                    )
                    self.assertEqual(-signal.SIGKILL, done.returncode)
                    self.assertEqual(10, len(journal.read_text().splitlines()))
            subprocess.run([copy / "cut", data], check=True, capture_output=True)
            for synced in (0, 6, 10):
                left = (data / f"journal {synced}").read_text().splitlines()
                self.assertEqual([f"record {i}" for i in range(synced)], left)


if __name__ == "__main__":
    unittest.main()
