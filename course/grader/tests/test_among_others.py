"""One submission among others: whatever it is, the others are listed and graded, and it gets a
line of its own."""

import json
import os
import shutil
import socket
import subprocess
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

import pages
import processes
import toys
from grading import Grade
from submissions import Submission

ESCAPE = "\\u001b]0;mine\\u0007\\u202e\\u001b[2J"


class Run(toys.TestCase):
    def setUp(self):
        super().setUp()
        self.tools()
        self.good("ada")
        self.good("zoe")

    def good(self, name):
        self.write(f"all/{name}/run.sh", f"#!/bin/sh\nexec {self.toy().format(port='$1')}\n", True)

    def graded(self, *arguments, **options):
        common = ["--submissions", str(self.folder / "all"), "--parts", "conformance"]
        status, out, log = self.grade(*common, *arguments, **options)
        self.assertNotIn("Traceback", out + log)
        servers = json.loads((self.folder / "out/grades.json").read_text())["servers"]
        self.assertTrue((self.folder / "out/index.html").exists())
        return status, out, log, {one["name"]: one for one in servers}

    def test_a_folder_whose_name_is_not_utf_8_is_graded_to_the_end(self):
        for name in (b"b\xff", b"b\xfe"):
            shutil.copytree(self.folder / "all/ada", self.folder / "all" / os.fsdecode(name))
        roster = self.write("roster.csv", "Name,Login\nada,a\nb?,b\n")
        environment = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        for _ in range(2):  # then from what is saved
            status, _, log, servers = self.graded("--roster", str(roster), env=environment)
            self.assertEqual(0, status, log)
            self.assertEqual({"ada", "zoe", "b?", "b?-2"}, set(servers))
            self.assertEqual({30}, {one["points"] for one in servers.values()})

    def test_a_list_obeys_no_terminal_and_no_submission_ends_it(self):
        settings = f'command = "x {ESCAPE} {{port}}"\nbuild = "make {ESCAPE}"'
        self.write("all/bob/grade.toml", settings)
        self.write("all/\x1b[2Jeve/grade.toml", "port = " + "9" * 5000)
        self.write("all/fay/grade.toml", f'"{ESCAPE}" = 1')
        os.mkfifo(self.write("all/gus/readme", "").with_name("grade.toml"))
        arguments = ["--submissions", str(self.folder / "all"), "--list"]
        status, out, log = self.grade(*arguments)
        self.assertEqual((0, ""), (status, log))
        for name in ("ada", "zoe"):
            self.assertIn(f"{name}: ./run.sh {{port}}", out)
        self.assertIn("eve: cannot be graded", out)
        self.assertEqual([], [char for char in out if not char.isprintable() and char != "\n"])

    @toys.with_namespaces
    def test_without_a_loopback_there_are_no_points_and_no_0(self):
        self.graded()
        self.assertTrue((self.folder / "out/ada/gradescope.json").exists())
        program = str(Path(processes.__file__).with_name("grade.py"))
        command = [*toys.NO_NETWORK, sys.executable, program, "--quick", "--sandbox", "off"]
        command += ["--output", str(self.folder / "out"), "--bin", str(self.folder / "bin")]
        command += ["--submissions", str(self.folder / "all"), "--parts", "conformance"]
        command += ["--restart-from-scratch"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(1, done.returncode, done.stderr)
        for name in ("gradescope", "classroom"):
            self.assertFalse((self.folder / f"out/ada/{name}.json").exists())
        junit = (self.folder / "out/ada/junit.xml").read_text()
        self.assertIn('failures="0" errors="1"', junit)
        servers = json.loads((self.folder / "out/grades.json").read_text())["servers"]
        self.assertEqual([None, None], [one["points"] for one in servers])
        self.assertIn(",ada,,,", (self.folder / "out/grades.csv").read_text())
        status, _, _, servers = self.graded()  # nothing of it was saved
        self.assertEqual((0, 30), (status, servers["ada"]["points"]))

    def in_sandbox(self, **options):
        _, _, log, servers = self.graded("--restart-from-scratch", **options)
        if "no sandbox" in log:
            self.skipTest("this machine has no sandbox")
        self.assertEqual([30, 30], [servers[name]["points"] for name in ("ada", "zoe")])
        return servers

    BWRAP = """#!/bin/sh
case "$*" in
  *"exit 7"*) [ -e {mark} ] && fails=1; touch {mark} ;;  # a look whether there can be a sandbox
  *of-bob*) fails=1 ;;
esac
[ "$fails" ] && echo "bwrap: no more" >&2 && exit 1
exec {real} "$@"
"""

    def test_a_sandbox_that_cannot_be_made_gives_no_points_and_no_0(self):
        real, mark = shutil.which("bwrap") or "/bin/false", self.folder / "mark"
        self.write("path/bwrap", self.BWRAP.format(real=real, mark=mark), True)
        environment = {"PATH": f"{self.folder / 'path'}:{os.environ['PATH']}"}
        for build, command in (("", "exec true of-bob"), ("true of-bob", "x")):
            settings = f"build = '{build}'\n" * bool(build) + f"command = '{command} # {{port}}'"
            self.write("all/bob/grade.toml", settings)
            mark.unlink(missing_ok=True)
            one = self.in_sandbox(env=environment)["bob"]
            self.assertEqual(None, one["points"], build)
            self.assertIn("bwrap", one["problem"])

    def test_a_submission_that_writes_the_words_of_the_sandbox_gets_its_0(self):
        says = "echo bwrap: no more; exit 1"
        for settings in (
            f"command = '{says} # {{port}}'",
            f"build = '{says}'\ncommand = 'x {{port}}'",
        ):
            self.write("all/bob/grade.toml", settings)
            one = self.in_sandbox()["bob"]
            self.assertEqual(0, one["points"], one)

    def test_a_port_that_the_machine_has_taken_gives_no_points_and_no_0(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            self.write("all/bob/grade.toml", f"command = './x'\nport = {port}")
            _, _, _, servers = self.graded("--sandbox", "off")
        self.assertEqual(None, servers["bob"]["points"])

    def test_what_the_grader_fails_at_is_the_problem_of_one(self):
        self.good("bob")
        self.write("out/bob/files.json/x", "")  # where a file of its results would be
        status, out, _, servers = self.graded()
        self.assertEqual(1, status)
        self.assertEqual([30, 30, None], [one["points"] for one in servers.values()])


class Presentable(unittest.TestCase):
    def test_a_result_that_no_page_shows_is_replaced_by_a_problem(self):
        bad = Grade(Submission("bob", Path("."), slug="bob"), {"audit": {"runs": [{}]}})
        shared = SimpleNamespace(weights={"points": {}}, wanted=("audit",))
        made = pages.presentable(bad, None, shared, [])
        self.assertEqual(({}, True), (made.parts, made.is_ours))
        self.assertTrue(made.problem)
