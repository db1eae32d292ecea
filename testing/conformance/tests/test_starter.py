"""The starter code of the lab sheets (docs/teaching/starter): each server builds by its grade.toml, keeps the rules that its page
names, and no others that give points."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import tomllib
import unittest
from pathlib import Path

from test_faults import BIN, conformance, rules

STARTER = Path(__file__).parents[3] / "docs/teaching/starter"
# What a build needs: programs, and headers.
NEEDED = {
    "c": (["gcc", "make"], ["expat.h"]),
    "cpp": (["g++", "make"], ["expat.h"]),
    "java": (["javac", "java", "make"], []),
    "python": (["python3"], []),
}


def is_missing(language):
    programs, headers = NEEDED[language]
    for program in programs:
        if not shutil.which(program):
            return program
    for header in headers:
        if not any(
            Path(folder, header).exists() for folder in ("/usr/include", "/usr/local/include")
        ):
            return header
    return ""


def named_rules(level):
    """Those that the page of the starter code lists."""
    page = (STARTER / "README.md").read_text()
    (line,) = re.findall(rf"^\| {level} \| (.*) \|$", page, re.MULTILINE)
    return set(line.split())


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def starter(language):
    """Its port. Built and run as the grader does it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, language)
        shutil.copytree(STARTER / language, copy)
        settings = tomllib.loads((copy / "grade.toml").read_text())
        if build := settings.get("build"):
            subprocess.run(build, shell=True, cwd=copy, check=True, capture_output=True)
        port = free_port()
        command = settings["command"].format(port=port)
        with subprocess.Popen(command.split(), cwd=copy) as process:
            try:
                _wait_until_it_listens(port)
                yield port
            finally:
                process.kill()


def _wait_until_it_listens(port):
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise TimeoutError("the server does not listen")


@unittest.skipUnless((BIN / "conformance").exists(), "conformance is not built")
class Starter(unittest.TestCase):
    maxDiff = None

    def test_each_language_is_listed(self):
        folders = {file.parent.name for file in STARTER.glob("*/grade.toml")}
        self.assertEqual(set(NEEDED), folders)

    def test_each_keeps_the_rules_that_its_page_names_and_no_others(self):
        for language in NEEDED:
            with self.subTest(language):
                if missing := is_missing(language):
                    self.skipTest(f"{missing} is not installed")
                with starter(language) as port:
                    code, result, printed = conformance(port, timeout_s=5)
                self.assertEqual(1, code, printed)
                self.assertEqual("", result["stopped"])
                for level in ("must", "should"):
                    self.assertEqual(named_rules(level), rules(result, "kept", [level]), printed)


if __name__ == "__main__":
    unittest.main()
