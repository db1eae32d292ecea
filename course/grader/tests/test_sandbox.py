"""Hostile submissions: each fails at what it tries, and the others get their grades all the same.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import unittest
import uuid
from pathlib import Path

import compose
import processes
import sandbox
import toys
from exchange_server import wait_until
from grading import sandbox_problem
from watch import machine_memory

ATTACK = Path(__file__).parent / "hostile/attack.py"
# Few threads: a process of Python has some MB, and those of a fork must not exceed the limit of
# memory first.
LIMITS = "--limit-threads 60 --limit-disk 20M --limit-start 60 --restart-from-scratch".split()
HOME = "/home/of-the-grader"


def why_no_sandbox():
    if not toys.PYTHON.startswith("/usr/"):
        return f"submissions there do not see {toys.PYTHON}"
    return sandbox_problem()


def counts_sockets():
    """Whether enough can be opened to exceed a limit, and the kernel lists what is in them."""
    sender, receiver = socket.socketpair(socket.AF_UNIX)
    with sender, receiver:
        sender.send(b"x")
        return processes.socket_bytes() > 0 and processes.open_files()[1] >= 4096


WHY_NOT = why_no_sandbox()
SOCKETS = ["sockets"] if counts_sockets() else []
MEMORY_LEFT = machine_memory()[1]
POINTS = 30.0  # of a good server, with the programs that stand in


class Course(toys.TestCase):
    """A folder of submissions: an attack each, between two good ones."""

    def setUp(self):
        super().setUp()
        self.tools()
        self.all = self.folder / "all"
        for good in ("a-good", "z-good"):
            self.add(good, self.toy("{data}/orders"))

    def add(self, name, command, build=""):
        lines = [f"command = {json.dumps(command)}\n"]
        lines += [f"build = {json.dumps(build)}\n"] * bool(build)
        self.write(f"all/{name}/grade.toml", "".join(lines))
        shutil.copy(ATTACK, self.all / name)

    def attack(self, name, target="", kind=""):
        self.add(name, f"{toys.PYTHON} attack.py {kind or name} {{port}} {target}")

    def run_all(self, mode, *more):
        """Returns {name: grade}."""
        arguments = ["--submissions", str(self.all), "--parts", "conformance"]
        arguments += ["--sandbox", mode, *LIMITS, *more]
        _, _, self.said = self.grade(*arguments, env={"HOME": HOME})
        file = self.folder / "out/grades.json"
        self.assertTrue(file.exists(), self.said)
        found = {one["name"]: one for one in json.loads(file.read_text())["servers"]}
        for good in ("a-good", "z-good"):
            self.assertEqual(POINTS, found[good]["points"], self.said)
        return found

    def log(self, name, kind="server"):
        return (self.folder / f"out/{name}/{kind}.log").read_text(errors="replace")


@unittest.skipIf(WHY_NOT, f"no sandbox here: {WHY_NOT}")
@unittest.skipUnless(toys.SERVER.exists(), f"there is no {toys.SERVER}")
class Attacks(unittest.TestCase):
    """All of them in one run. Those that a machine survives are also run without a sandbox, where
    they must work."""

    @classmethod
    def setUpClass(cls):
        course = cls.course = Course()
        course.setUp()
        cls.addClassCleanup(course.doCleanups)
        outside = socket.create_server(("0.0.0.0", 0))
        cls.addClassCleanup(outside.close)
        address = f"127.0.0.1:{outside.getsockname()[1]}"
        cls.secret, cls.mark = uuid.uuid4().hex, str(uuid.uuid4().int)
        course.write("all/a-good/secret", cls.secret)
        course.attack("read", str(course.all / "a-good/secret"))
        course.attack("write", str(course.folder / "out/write/conformance.json"))
        course.attack("connect", address)
        code = f"import attack; print(attack.connect('{address}'))"
        cls.build = f"{toys.PYTHON} -c {json.dumps(code)} || true"
        course.add("build", course.toy(), cls.build)
        course.run_all("off")
        cls.off = {name: course.log(name) for name in ("read", "write", "connect")}
        shutil.rmtree(course.folder / "out")
        course.attack("kill", str(course.folder / "out"))
        course.attack("outside", "192.0.2.1:80", kind="connect")
        course.attack("fork")
        course.add("build-fork", "x {port}", f"{toys.PYTHON} attack.py fork 0")
        course.attack("fill", "{data},/tmp")
        course.attack("fill-home", HOME, kind="fill")
        course.attack("fill-memory", "/dev/shm", kind="fill")
        for name in ("memfd", "segments", "semaphores", *SOCKETS):
            course.attack(name)
        for name in ("unnamed", "closed", "litter"):
            course.attack(name, "{data}")
        if MEMORY_LEFT > 4 << 30:
            course.attack("in_flight")
        course.attack("pipes")
        course.add("daemon", course.toy("{data}/orders"), f"setsid sleep 600.1{cls.mark} & true")
        course.attack("dig", "{data}")
        course.attack("outlive", cls.mark)
        course.add("in-background", f"({course.toy('{data}/orders')} &) ; exit 0")
        cls.grades = course.run_all("on", "--limit-memory", "500M")

    def fails(self, name, why, success=""):
        """`success`: what it printed without a sandbox."""
        log = self.course.log(name)
        self.assertIn(" failed: ", log)
        self.assertIn(why, log)
        if success:
            self.assertIn(success, self.off[name])
            self.assertNotIn(success, log)

    def killed(self, name, pattern):
        self.assertRegex(self.grades[name]["problem"], pattern)

    def test_files_of_another_are_not_read(self):
        self.fails("read", "FileNotFoundError", self.secret)

    def test_the_own_grade_is_not_changed(self):
        self.fails("write", "Read-only file system", "write: written")
        found = json.loads((self.course.folder / "out/write/conformance.json").read_text())
        self.assertNotEqual({"points": 100}, found)

    def test_the_grader_is_not_killed(self):
        self.fails("kill", "the grader is not seen")

    def test_an_outside_address_is_not_reached(self):
        self.fails("connect", "Connection refused", "connect: connected")
        self.fails("outside", "Network is unreachable")

    def test_the_network_of_a_build_is_an_option(self):
        self.assertIn("Connection refused", self.course.log("build", "build"))
        self.course.run_all(
            "on", "--build-network", "--only", "build", "--only", "a-good", "--only", "z-good"
        )
        self.assertIn("\nconnected", self.course.log("build", "build"))

    def test_forks_without_end(self):
        self.killed("fork", "killed: it had [0-9]+ threads and processes, the limit is 60")
        self.killed("build-fork", "its build was killed: it had [0-9]+ threads and processes")

    def test_a_build_does_not_wait_for_what_it_leaves_in_the_background(self):
        self.assertEqual(POINTS, self.grades["daemon"]["points"])
        self.assertFalse(toys.is_running("600.1" + self.mark))

    def test_pipes_and_devices_in_place_of_files_are_not_waited_for(self):
        self.assertIn("left pipes", self.course.log("pipes"))
        self.assertIn("it ended with status 1", self.grades["pipes"]["problem"])

    def test_a_disk_that_is_filled(self):
        for name in ("fill", "fill-home", "unnamed", "closed", "litter"):
            self.killed(name, "killed: its data took [0-9]+ MB, the limit is 20 MB")
            for folder in (*sandbox.PRIVATE, *sandbox.FILES):
                self.assertFalse((self.course.folder / "out" / name / folder).exists(), folder)

    def test_memory_that_is_filled_with_files(self):
        for name in ("fill-memory", "memfd", "segments", "semaphores", *SOCKETS):
            self.killed(name, "killed: it used [0-9]+ MB of memory, the limit is 500 MB")

    @unittest.skipIf(MEMORY_LEFT <= 4 << 30, "this machine has less than 4 GB of memory left")
    def test_memory_on_its_way_from_one_process_to_another(self):
        self.killed("in_flight", "killed: files in the machine's memory grew by [0-9]+ MB")

    def test_folders_without_end_in_each_other_are_removed(self):
        self.assertIn("dig: dug", self.course.log("dig"))
        self.assertFalse((self.course.folder / "out/dig/data").exists())

    def test_what_goes_into_the_background_is_ended(self):
        self.assertIn("outlive: left", self.course.log("outlive"))
        self.assertFalse(toys.is_running(self.mark))

    def test_a_server_that_starts_in_the_background_is_graded(self):
        self.assertEqual(POINTS, self.grades["in-background"]["points"])


@unittest.skipIf(WHY_NOT, f"no sandbox here: {WHY_NOT}")
class Ends(Course):
    def test_the_end_of_the_grader_is_that_of_its_servers(self):
        mark = str(uuid.uuid4().int)
        self.attack("outlive", mark)
        self.write("bin/conformance", f"#!{toys.PYTHON}\nimport time; time.sleep(60)", True)
        arguments = ["--submissions", str(self.all), "--only", "outlive", "--sandbox", "on"]
        command = self.command(*arguments, "--parts", "conformance")
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as grader:
            is_left = lambda: toys.is_running("600.0" + mark)
            wait_until(is_left, "what it leaves in the background", toys.PATIENCE_S)
            grader.kill()
        wait_until(lambda: not toys.is_running(mark), "its end", toys.PATIENCE_S)

    def test_a_file_of_its_data_that_the_command_names_is_writable_after_a_kill(self):
        arguments = ["--server", "toy=" + self.toy("{data}/orders"), "--parts", "durability"]
        _, out, said = self.grade(*arguments, "--sandbox", "on")
        self.assertRegex(out, r"1  toy +20.0 of 20", said)

    def test_replies_without_end(self):
        toys.require_programs("server", "loadgen", "conformance")
        self.attack("flood")
        arguments = ["--submissions", str(self.all), "--parts", "audit", "--sandbox", "on"]
        # Less memory than the grader gives it: the machine of the tests may not have that.
        bounded = f'#!/bin/sh\nulimit -d {1 << 20}\nexec "{toys.PROGRAMS}/loadgen" "$@"\n'
        self.write("bin/loadgen", bounded, executable=True)
        status, _, said = self.grade(*arguments)
        self.assertEqual(0, status, said)
        points = json.loads((self.folder / "out/grades.json").read_text())["servers"]
        self.assertEqual([25, 25, 0], [one["points"] for one in points], said)
        audit = json.loads((self.folder / "out/flood/audit.json").read_text())["result"]
        for one in audit["runs"]:
            told = one.get("problem", "") + one.get("wrong", "")
            self.assertRegex(told, "not a reply|more than 4 GB in the load generator|not run")


class Modes(Course):
    def test_without_a_sandbox_it_says_so_and_goes_on_unless_one_is_asked_for(self):
        self.write("path/bwrap", "#!/bin/sh\necho 'bwrap: No permissions' >&2; exit 1\n", True)
        environment = {"PATH": f"{self.folder / 'path'}:{os.environ['PATH']}"}
        arguments = ["--server", f"toy={self.toy()}", "--parts", "conformance"]
        for mode, status in (("auto", 0), ("on", 2), ("off", 0)):
            done, _, said = self.grade(*arguments, "--sandbox", mode, env=environment)
            self.assertEqual(status, done, said)
            self.assertEqual(mode != "off", "sandbox" in said, said)

    def test_secrets_of_the_environment_stay_with_the_grader(self):
        every = {"PATH": "/bin", "API_TOKEN": "x", "JAVA_HOME": "/j", "https_proxy": "user:word@x"}
        kept = sandbox.environment(every)
        own = {"USER": sandbox.USER, "LOGNAME": sandbox.USER} if sandbox.user() else {}
        self.assertEqual({"PATH": "/bin", "JAVA_HOME": "/j", **own}, kept)
        self.assertIn("https_proxy", sandbox.environment(every, has_network=True))


@unittest.skipIf(WHY_NOT, f"no sandbox here: {WHY_NOT}")
class ComposeProjects(Course):
    def grades_of(self, *arguments):
        """{name: what --list prints of it}"""
        _, out, said = self.grade("--list", "--parts", "conformance", *arguments)
        return dict(re.findall(r"^(\S+): (.*)", out, re.M)), said

    def test_a_submission_does_not_choose_to_be_outside_of_the_sandbox(self):
        self.write("all/eve/docker-compose.yml", "services: {}")
        self.write("all/cyd/grade.toml", "compose = 'x'")
        self.write("all/cyd/x/compose.yml", "services: {}")
        self.write("own/compose.yml", "services: {}")
        arguments = ["--submissions", str(self.all), "--compose", str(self.folder / "own")]
        for more, is_refused in (
            (["--sandbox", "on"], True),
            ([], True),
            (["--sandbox", "off", "--compose-projects", "refuse"], True),
            (["--sandbox", "off"], False),
            (["--sandbox", "on", "--compose-projects", "allow"], False),
        ):
            found, said = self.grades_of(*arguments, *more)
            for name in ("eve", "cyd"):
                self.assertEqual(is_refused, compose.REFUSED in found[name], (more, said))
            self.assertIn("docker compose up -d", found["own"])
            self.assertNotIn("cannot be graded", found["a-good"])


@unittest.skipIf(WHY_NOT, f"no sandbox here: {WHY_NOT}")
@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "there is one CPU")
class AtOnce(toys.TestCase):
    def grade_all(self, *more):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        arguments = ["--submissions", str(self.folder / "all"), "--parts", "conformance"]
        _, _, log = self.grade(*arguments, *more, env={"HOME": HOME})
        file = self.folder / "out/grades.json"
        self.assertTrue(file.exists(), log)
        found = {one["name"]: one["points"] for one in json.loads(file.read_text())["servers"]}
        return found, log

    def test_several_at_once_get_the_grades_that_they_get_alone(self):
        self.tools()
        times = "date +%s%N > began; sleep 2; date +%s%N > ended"
        for name in ("ada", "bob", "cyd"):
            command = json.dumps(self.toy("{data}/orders"))
            self.write(f"all/{name}/grade.toml", f"command = {command}\nbuild = '{times}'")
        self.write("all/eve/grade.toml", "command = 'exit 1 # {port}'")
        alone, _ = self.grade_all("--sandbox", "on")
        self.assertEqual(set(alone), {"ada", "bob", "cyd", "eve"})
        at_once, log = self.grade_all("--sandbox", "on", "--jobs", "2")
        self.assertEqual(at_once, alone, log)
        self.assertEqual(log.count("reused from before"), 3, log)
        # Those of ada and of bob; cyd came after ada.
        began, ended = (
            [int((self.folder / f"all/{name}/{what}").read_text()) for name in ("ada", "bob")]
            for what in ("began", "ended")
        )
        self.assertLess(max(began), min(ended), log)
        _, log = self.grade_all("--sandbox", "off", "--jobs", "2")
        self.assertIn("one after another: without a sandbox", log)
