"""What course/sheets gives to students. The starter code: each server builds by its grade.toml,
keeps the rules that its page names, and no others that give points. The exercise on writes without
a sync: what a sync has reached stays, the rest is cut off."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

from exchange_server import free_ports, wait_until
from test_faults import BIN, conformance, rules

TEACHING = Path(__file__).parents[3] / "course/sheets"
STARTER = TEACHING / "starter"
# What a build needs: programs, and headers.
NEEDED = {
    "c": "gcc make expat.h",
    "cpp": "g++ make expat.h",
    "java": "javac java make",
    "python": "python3",
}


def is_there(needed):
    headers = (Path(top, needed) for top in ("/usr/include", "/usr/local/include"))
    return shutil.which(needed) or any(header.exists() for header in headers)


def named_rules(level):
    """Those that the page of the starter code lists."""
    page = (STARTER / "README.md").read_text()
    (line,) = re.findall(rf"^\| {level} \| (.*) \|$", page, re.MULTILINE)
    return set(line.split())


@contextlib.contextmanager
def starter(language):
    """Its port. Built and run as the grader does it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, language)
        shutil.copytree(STARTER / language, copy)
        settings = tomllib.loads((copy / "grade.toml").read_text())
        if build := settings.get("build"):
            subprocess.run(build, shell=True, cwd=copy, check=True, capture_output=True)
        (port,) = free_ports(1)
        command = settings["command"].format(port=port)
        with subprocess.Popen(command.split(), cwd=copy) as process:
            try:
                wait_until(lambda: listens(port), "the server to listen")
                yield port
            finally:
                process.kill()


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True


@unittest.skipUnless((BIN / "conformance").exists(), "conformance is not built")
class Starter(unittest.TestCase):
    def test_each_language_is_listed(self):
        folders = {file.parent.name for file in STARTER.glob("*/grade.toml")}
        self.assertEqual(set(NEEDED), folders)

    def test_each_keeps_the_rules_that_its_page_names_and_no_others(self):
        for language in NEEDED:
            with self.subTest(language):
                for needed in NEEDED[language].split():
                    if not is_there(needed):
                        self.skipTest(f"{needed} is not installed")
                with starter(language) as port:
                    code, result, printed = conformance(port, timeout_s=5)
                self.assertEqual(1, code, printed)
                self.assertEqual("", result["stopped"])
                for level in ("must", "should"):
                    self.assertEqual(named_rules(level), rules(result, "kept", [level]), printed)


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
            shutil.copytree(TEACHING / "power-cut", copy)
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
