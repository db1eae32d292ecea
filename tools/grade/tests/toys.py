"""Servers and programs that stand in for real ones, as Python programs in a temporary folder."""

import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import processes
from server import CommandServer, Limits
from submissions import Submission

PYTHON = shlex.quote(sys.executable)

# Accounts and orders, without matching. With a file, orders are in it before the reply; with "late", a little later.
SERVER = """
import json, os, re, socket, sys, threading, time
port, file, late = int(sys.argv[1]), (sys.argv[2:] or [""])[0], "late" in sys.argv
orders, lock = {}, threading.Lock()
if file and os.path.exists(file):
    orders = dict(json.loads(line) for line in open(file))
def keep(number, order):
    with open(file, "a") as out:
        out.write(json.dumps([number, order]) + chr(10))
def answer(text):
    account = re.search('id="([0-9]+)"', text)[1] if "id=" in text else ""
    if "<create" in text:
        made = re.findall("<account|<symbol", text)
        return "<results>" + "<created/>" * len(made) + "</results>"
    if found := re.search('<query id="(.*?)"', text):
        order = orders.get(found[1])
        if not order or order[0] != account:
            return "<results><error>unknown order</error></results>"
        return '<results><status id="%s"><open shares="%d"/></status></results>' % (found[1], abs(order[1]))
    amount = int(re.search('amount="(-?[0-9]+)"', text)[1])
    with lock:
        number = str(1 + max(map(int, orders), default=0))
        orders[number] = [account, amount]
        if file and late:
            threading.Timer(0.2, keep, [number, orders[number]]).start()
        elif file:
            keep(number, orders[number])
    return '<results><opened amount="%d" id="%s"/></results>' % (amount, number)
def serve(one):
    with one, one.makefile("rb") as stream:
        while line := stream.readline():
            one.sendall((answer(stream.read(int(line)).decode()) + chr(10)).encode())
with socket.create_server(("127.0.0.1", port)) as listener:
    while True:
        threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
"""

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


class TestCase(unittest.TestCase):
    """With a temporary folder, and no process left behind."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        processes.adopt_orphans()
        self.addCleanup(processes.kill_all, None)

    def write(self, name, text, executable=False):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if executable:
            file.chmod(0o755)
        return file

    def toy(self, *arguments):
        """The command of the toy server."""
        file = self.write("toy.py", SERVER)
        return " ".join([PYTHON, str(file), "{port}", *arguments])

    def python(self, code):
        """The command of a server that runs this."""
        return f"{PYTHON} -c {shlex.quote(code)} {{port}}"

    def server(self, command, restart="", **limits):
        submission = Submission("toy", self.folder, command, restart=restart, slug="toy")
        limits = Limits(**{"start_s": 10, **limits})
        return CommandServer(submission, limits, self.folder)

    def tools(self):
        """A folder with the stand-ins of all programs."""
        for name, code in (("conformance", CONFORMANCE), ("loadgen", LOADGEN)):
            self.write(f"bin/{name}", f"#!{sys.executable}\n{code}", executable=True)
        strip = "import sys\nsys.argv = [sys.argv[0], sys.argv[2]]\n"
        self.write("bin/server", f"#!{sys.executable}\n{strip}{SERVER}", executable=True)
        return self.folder / "bin"

    def grade(self, *arguments, **options):
        """Runs the program. Returns (exit status, stdout, stderr)."""
        program = Path(processes.__file__).with_name("grade.py")
        command = [sys.executable, str(program), "--quick", "--output", str(self.folder / "out")]
        command += ["--bin", str(self.folder / "bin"), *arguments]
        environment = {**os.environ, **options.pop("env", {})}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, env=environment, **options
        )
        return done.returncode, done.stdout, done.stderr


def is_running(mark):
    """Whether a process has this text in its command line."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and mark.encode() in Path(f"/proc/{entry}/cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False
