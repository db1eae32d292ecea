"""Servers and programs that stand in for real ones: build/bin/faulty_server, and Python programs in
a temporary folder."""

import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import processes
from exchange_server import is_sanitized
from server import CommandServer, Limits
from submissions import Submission

PATIENCE_S = 60  # for what comes at once, but on a busy machine
# One that a submission sees too; that of a virtual environment is in a home.
IN_SYSTEM = sys.executable.startswith("/usr/") or not os.path.exists("/usr/bin/python3")
PYTHON = shlex.quote(sys.executable if IN_SYSTEM else "/usr/bin/python3")
PROGRAMS = Path(os.environ.get("EXCHANGE_BIN") or "build/bin").resolve()
SERVER = PROGRAMS / "faulty_server"

# The exact style of the real one's result; it asks for one restart.
CONFORMANCE = """
import json, subprocess, sys
value = lambda name: sys.argv[sys.argv.index(name) + 1]
status = subprocess.run(value("--restart"), shell=True).returncode
rule = lambda number, level, result: {"rule": number, "level": level, "result": result, "sentence": "What it says.",
    "cases": 1, "why": "" if result == "kept" else "</script><img src=x>", "conversation": [{"sent": "<a>", "got": "<b>"}]}
json.dump({"program": "conformance", "style": {"framing": "bare", "connection": "persistent"}, "stopped": "",
    "restarts": 1 - status, "points": 3, "points_max": 4, "score": 75.0, "form": [],
    "rules": [rule("M1", "must", "kept"), rule("M4", "should", "broken"), rule("F3", "ours", "untested")]},
    open(value("--json"), "w"))
"""

LOADGEN = """
import json, socket, sys
value = lambda name: sys.argv[sys.argv.index(name) + 1]
socket.create_connection(("127.0.0.1", int(value("--connect").split(":")[1]))).close()
times = dict.fromkeys(["p50", "p75", "p90", "p95", "p99", "p99_9", "max"], 1.5)
audit = {"passed": True, "orders": 5, "executions": 2, "cash_moved": "7", "findings": [], "not_checked": ""}
json.dump({"result": {"answered": 100, "requests_per_s": 100.0, "response_ms": times, "errors": {"reset": 0},
    "deviations": []}, "audit": audit if "--audit" in sys.argv else None}, open(value("--json"), "w"))
"""


@unittest.skipUnless(SERVER.exists(), f"there is no {SERVER}")
class TestCase(unittest.TestCase):
    """With a temporary folder, and no process left behind."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.folder.chmod(0o755)  # submissions are another user if root runs the grader
        processes.adopt_orphans()
        self.addCleanup(processes.kill_all, None)

    def write(self, name, text, executable=False):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if executable:
            file.chmod(0o755)
        return file

    def toy(self, journal="", fault="none", style="bare"):
        """The command of a server with a fault or a style of faulty_server."""
        command = f"{shlex.quote(str(SERVER))} --port {{port}} --fault {fault} --style {style}"
        return command + (f" --journal {journal}" if journal else "")

    def python(self, code):
        """The command of a server that runs this."""
        return f"{PYTHON} -c {shlex.quote(code)} {{port}}"

    def server(self, command, restart="", **limits):
        submission = Submission("toy", self.folder, command, restart=restart, slug="toy")
        limits = Limits(**{"start_s": PATIENCE_S, **limits})
        return CommandServer(submission, limits, self.folder)

    def tools(self):
        """A folder with the stand-ins of all programs."""
        for name, code in (("conformance", CONFORMANCE), ("loadgen", LOADGEN)):
            self.write(f"bin/{name}", f"#!{sys.executable}\n{code}", executable=True)
        self.write("bin/server", f'#!/bin/sh\nexec {SERVER} --port "$2"\n', executable=True)
        return self.folder / "bin"

    def command(self, *arguments):
        """The words that start the program."""
        program = Path(processes.__file__).with_name("grade.py")
        command = [sys.executable, str(program), "--quick", "--output", str(self.folder / "out")]
        return [*command, "--bin", str(self.folder / "bin"), *arguments]

    def grade(self, *arguments, **options):
        """Runs the program. Returns (exit status, stdout, stderr)."""
        environment = {**os.environ, **options.pop("env", {})}
        done = subprocess.run(
            self.command("--sandbox-read", str(SERVER), *arguments),
            capture_output=True,
            text=True,
            timeout=900,
            env=environment,
            check=False,
            **options,
        )
        return done.returncode, done.stdout, done.stderr


def require_programs(*names):
    """Skips the test unless the grader can run them: sanitizers reserve more than its limits."""
    for name in names:
        if not os.access(PROGRAMS / name, os.X_OK):
            raise unittest.SkipTest(f"there is no {PROGRAMS / name}")
        if is_sanitized(PROGRAMS / name):
            raise unittest.SkipTest("sanitizers reserve more memory than the grader's limits")


def is_running(mark):
    """Whether a process has this text in its command line."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and mark.encode() in Path(f"/proc/{entry}/cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False
