"""Hostile submissions: each fails at what it tries, and the others get their grades all the same."""

import json
import os
import shutil
import socket
import subprocess
import unittest
import uuid
from pathlib import Path

import apart
import processes
import sandbox
import toys

ATTACK = Path(__file__).parent / "hostile/attack.py"
LIMITS = "--limit-threads 300 --limit-disk 20M --limit-start 20".split()
REAL = ("server", "loadgen", "conformance")


def why_no_sandbox():
    try:
        return apart.run(sandbox.why_not)
    except apart.Died as error:
        return str(error)


WHY_NOT = why_no_sandbox()
POINTS = 55.0  # of a good server, with the programs that stand in


class Hostile(toys.TestCase):
    def setUp(self):
        super().setUp()
        self.tools()
        self.all = self.folder / "all"

    def add(self, name, command):
        self.write(f"all/{name}/grade.toml", f"command = {json.dumps(command)}\n")
        shutil.copy(ATTACK, self.all / name)

    def attack(self, name, target=""):
        """A submission that attacks, between two good ones."""
        for good in ("a-good", "z-good"):
            self.add(good, self.toy("{data}/orders"))
        self.add(name, f"{toys.PYTHON} attack.py {name} {{port}} {target}")

    def run_all(self, mode="on", parts="conformance,audit", *more):
        """Returns the hostile one of the grades."""
        arguments = ["--submissions", str(self.all), "--parts", parts, "--sandbox", mode]
        _, _, self.said = self.grade(*arguments, *LIMITS, *more)
        file = self.folder / "out/grades.json"
        self.assertTrue(file.exists(), self.said)
        servers = json.loads(file.read_text())["servers"]
        good = [one["points"] for one in servers if one["name"].endswith("good")]
        self.assertEqual([POINTS, POINTS], good, self.said)
        return next(one for one in servers if not one["name"].endswith("good"))

    def log(self, name):
        return (self.folder / f"out/{name}/server.log").read_text(errors="replace")

    def becomes_of(self, name, success, needs_control=True):
        """The attack works without a sandbox, and fails in it. Returns what it printed then."""
        if needs_control:
            self.run_all("off")
            self.assertIn(success, self.log(name), self.said)
            shutil.rmtree(self.folder / "out")
        self.run_all()
        log = self.log(name)
        self.assertNotIn(success, log)
        self.assertIn(f"{name} failed: ", log)
        return log


@unittest.skipIf(WHY_NOT, f"no sandbox here: {WHY_NOT}")
class InTheSandbox(Hostile):
    def test_files_of_another_are_not_read(self):
        secret = uuid.uuid4().hex
        self.write("all/a-good/secret", secret)
        self.attack("read", str(self.all / "a-good/secret"))
        self.assertIn("FileNotFoundError", self.becomes_of("read", secret))

    def test_the_own_grade_is_not_changed(self):
        file = self.folder / "out/write/audit.json"
        self.attack("write", str(file))
        self.assertIn("Read-only file system", self.becomes_of("write", "write: written"))
        self.assertNotEqual({"points": 100}, json.loads(file.read_text()))

    def test_the_grader_is_not_killed(self):
        self.attack("kill", str(self.folder / "out"))
        self.run_all()
        self.assertIn("kill failed: ProcessLookupError('the grader is not seen')", self.log("kill"))

    def test_an_outside_address_is_not_reached(self):
        with socket.create_server(("0.0.0.0", 0)) as outside:
            self.attack("connect", f"127.0.0.1:{outside.getsockname()[1]}")
            log = self.becomes_of("connect", "connect: connected")
            self.assertIn("Connection refused", log)
        self.attack("connect", "192.0.2.1:80")
        self.run_all()
        self.assertIn("Network is unreachable", self.log("connect"))

    def test_the_network_of_a_build_is_an_option(self):
        with socket.create_server(("127.0.0.1", 0)) as outside:
            self.attack("connect")
            target = f"127.0.0.1:{outside.getsockname()[1]}"
            code = f"import attack; print(attack.connect('{target}'))"
            build = f"{toys.PYTHON} -c {json.dumps(code)} || true"
            file = self.all / "connect/grade.toml"
            file.write_text(file.read_text() + f"build = {json.dumps(build)}\n")
            self.run_all()
            log = (self.folder / "out/connect/build.log").read_text()
            self.assertIn("Connection refused", log)
            self.run_all("on", "conformance,audit", "--build-network", "--restart-from-scratch")
            log = (self.folder / "out/connect/build.log").read_text()
            self.assertIn("\nconnected", log)

    def test_forks_without_end(self):
        self.attack("fork")
        problem = self.run_all()["problem"]
        self.assertRegex(problem, "killed: it had [0-9]+ threads and processes, the limit is 300")

    def test_a_build_that_forks_without_end(self):
        self.attack("fork")
        build = f"build = '{toys.PYTHON} attack.py fork 0'"
        self.write("all/fork/grade.toml", f"command = 'x {{port}}'\n{build}\n")
        problem = self.run_all()["problem"]
        self.assertRegex(problem, "its build was killed: it had [0-9]+ threads and processes")

    def test_a_disk_that_is_filled(self):
        for folders in ("{data},/tmp", os.environ.get("HOME", "/tmp")):
            with self.subTest(folders):
                self.attack("fill", folders)
                problem = self.run_all("on", "conformance,audit", "--restart-from-scratch")[
                    "problem"
                ]
                self.assertRegex(problem, "killed: its data took [0-9]+ MB, the limit is 20 MB")
                self.assertFalse((self.folder / "out/fill/tmp").exists())

    def test_memory_that_is_filled_with_files(self):
        self.attack("fill_memory", "/dev/shm")
        limit = ["--limit-memory", "200M"]
        problem = self.run_all("on", "conformance,audit", *limit)["problem"]
        self.assertRegex(problem, "killed: it used [0-9]+ MB of memory, the limit is 200 MB")

    def test_folders_without_end_in_each_other_are_removed(self):
        self.attack("dig", "{data}")
        self.run_all()
        self.assertIn("dig: dug", self.log("dig"))
        self.assertFalse((self.folder / "out/dig/data").exists())

    def test_what_goes_into_the_background_is_ended(self):
        mark = str(uuid.uuid4().int)
        self.attack("outlive", mark)
        self.run_all()
        self.assertIn("outlive: left", self.log("outlive"))
        self.assertFalse(toys.is_running(mark))

    def test_the_end_of_the_grader_is_that_of_its_servers(self):
        mark = str(uuid.uuid4().int)
        self.attack("outlive", mark)
        self.write("bin/conformance", f"#!{toys.PYTHON}\nimport time; time.sleep(60)", True)
        program = Path(processes.__file__).with_name("grade.py")
        command = [toys.PYTHON, str(program), "--submissions", str(self.all), "--only", "outlive"]
        command += ["--output", str(self.folder / "out"), "--bin", str(self.folder / "bin")]
        command += ["--parts", "conformance"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as grader:
            self.assertTrue(toys.waits_for(lambda: toys.is_running("600.0" + mark)))
            grader.kill()
        self.assertTrue(toys.waits_for(lambda: not toys.is_running(mark)))

    def test_a_server_that_starts_in_the_background_is_graded(self):
        good = self.toy("{data}/orders")
        self.attack("x-forks")
        self.add("x-forks", f"({good} &) ; exit 0")
        self.assertEqual(POINTS, self.run_all()["points"])

    def test_replies_without_end(self):
        programs = toys.SERVER.parent
        for name in REAL:
            if not os.access(programs / name, os.X_OK):
                self.skipTest(f"there is no {programs / name}")
        self.attack("flood")
        self.run_all("off")
        arguments = ["--submissions", str(self.all), "--only", "flood", "--parts", "audit"]
        status, _, said = self.grade(*arguments, "--bin", str(programs), "--sandbox", "on")
        self.assertEqual(0, status, said)
        audit = json.loads((self.folder / "out/flood/audit.json").read_text())["result"]
        for one in audit["runs"]:
            told = one.get("problem", "") + one.get("wrong", "")
            self.assertRegex(told, "not a reply|more than 4 GB in the load generator|not run")


class Modes(Hostile):
    def test_without_bubblewrap_it_says_so_and_goes_on(self):
        path = self.folder / "path"
        path.mkdir()
        for folder in os.environ["PATH"].split(":"):
            for program in Path(folder).glob("*"):
                if program.name != "bwrap" and not (path / program.name).exists():
                    (path / program.name).symlink_to(program)
        options = {"env": {"PATH": str(path)}}
        arguments = ["--server", f"toy={self.toy()}", "--parts", "conformance"]
        status, _, said = self.grade(*arguments, **options)
        self.assertEqual(0, status, said)
        self.assertRegex(said, "no sandbox, so .*: bubblewrap is not installed")
        status, _, said = self.grade(*arguments, "--sandbox", "on", **options)
        self.assertEqual(2, status)
        self.assertIn("there can be none: bubblewrap is not installed", said)
        status, _, said = self.grade(*arguments, "--sandbox", "off", **options)
        self.assertEqual(0, status)
        self.assertNotIn("sandbox", said)

    def test_secrets_of_the_environment_stay_with_the_grader(self):
        kept = sandbox.environment({"PATH": "/bin", "API_TOKEN": "x", "JAVA_HOME": "/j"})
        self.assertEqual({"PATH": "/bin", "JAVA_HOME": "/j"}, kept)


class Apart(toys.TestCase):
    def test_a_result_comes_back(self):
        self.assertEqual([os.getpid()], apart.run(lambda: [os.getppid()]))

    def test_an_end_without_a_result_is_a_sentence(self):
        with self.assertRaises(apart.Died) as caught:
            apart.run(lambda: os.kill(os.getpid(), 9))
        self.assertIn("signal 9", str(caught.exception))
