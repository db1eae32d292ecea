"""The program as a teacher runs it, with stand-ins for the conformance test, the load generator and
the reference server. Whatever one submission is, the others are listed and graded, and it gets a
line of its own."""

import csv
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pages
import processes
import toys
from grading import Grade
from plan import PARTS
from server import free_port
from submissions import Submission

ESCAPE = "\\u001b]0;mine\\u0007\\u202e\\u001b[2J"
SECRET = "</script><script>alert(1)</script>"


class Run(toys.TestCase):
    def setUp(self):
        super().setUp()
        self.tools()

    def json(self, name="grades"):
        return json.loads((self.folder / f"out/{name}.json").read_text())

    def test_a_folder_of_several_and_a_second_run(self):
        toy = self.toy("{data}/orders")
        self.write("all/ada/grade.toml", f"command = {json.dumps(toy)}\nbuild = 'echo x >> built'")
        self.write("all/bob/run.sh", f"#!/bin/sh\nexec {self.toy().format(port='$1')}\n", True)
        self.write("all/eve/grade.toml", "command = 'echo no luck; exit 1 # {port}'")
        self.write("all/fay/readme", "")
        self.write("all/gus/grade.toml", "command = 'x {port}'\nbuild = 'echo no compiler; exit 4'")
        arguments = ["--submissions", str(self.folder / "all")]
        status, _, log = self.grade(*arguments)
        self.assertEqual(1, status, log)
        servers = self.json()["servers"]
        self.assertEqual("ada bob eve fay gus".split(), [server["name"] for server in servers])
        self.assertEqual([1, 2, None, None, None], [server["rank"] for server in servers])
        ada, bob, eve, fay, gus = servers
        self.assertEqual(
            (30, 25, 20), tuple(ada["parts"][part]["points"] for part in list(ada["parts"])[:3])
        )
        self.assertEqual(0, bob["parts"]["durability"]["points"])
        self.assertIn("status 1", eve["problem"])
        self.assertIn("grade.toml", fay["problem"])
        self.assertIn("build ended with 4", gus["problem"])
        table = csv.DictReader(io.StringIO((self.folder / "out/grades.csv").read_text()))
        self.assertEqual(5, len(list(table)))
        self.assertEqual(1, self.json("ada/conformance")["result"]["restarts"])
        for name in ("index", "ada", "bob", "eve", "fay", "gus"):
            self.assertTrue((self.folder / f"out/{name}.html").exists())
        self.assertFalse(processes.servers_processes(None))

        saved = {self.folder / f"out/ada/{part}.json" for part in PARTS}
        saved = {path: path.stat().st_mtime_ns for path in saved}
        status, again, log = self.grade(*arguments, "--only", "ada")
        self.assertEqual(0, status)
        self.assertEqual(5, log.count("reused from before"), log)  # the reference's throughput too
        self.assertEqual("x\n", (self.folder / "all/ada/built").read_text())
        self.assertEqual(saved, {path: path.stat().st_mtime_ns for path in saved})

        self.assertEqual(["ada", "bob"], [server["name"] for server in self.json()["servers"]])

        self.write("all/ada/main.c", "repaired")
        _, _, log = self.grade(*arguments, "--only", "ada", "--parts", "conformance")
        self.assertIn("ada: conformance, rules", log)

    def test_servers_of_one_fixed_port_do_not_disturb_each_other(self):
        port = free_port()
        for name in ("ada", "bob"):
            toy = self.toy("{data}/orders").replace("{port}", str(port))
            self.write(f"all/{name}/grade.toml", f"command = {json.dumps(toy)}\nport = {port}")
        arguments = ["--submissions", str(self.folder / "all"), "--parts", "audit,durability"]
        status, out, log = self.grade(*arguments)
        self.assertEqual(0, status, log)
        self.assertEqual([45, 45], [server["points"] for server in self.json()["servers"]], out)

    def test_a_server_that_answers_nothing_is_not_tried_again_and_again(self):
        page = "HTTP/1.1 400 Bad Request\\r\\n\\r\\n<html>no</html>"
        code = f"""import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as s:
    while True:
        one = s.accept()[0]; one.recv(99); one.sendall(b"{page}"); one.close()"""
        self.write("bin/loadgen", "#!/bin/sh\ntouch was-run\n", True)
        deaf = toys.CONFORMANCE.replace('"kept"), rule', '"untested"), rule').replace("75.0", "0")
        self.write("bin/conformance", f"#!{sys.executable}\n{deaf}", True)
        status, out, log = self.grade("--server", f"ada={self.python(code)}", cwd=self.folder)
        self.assertEqual(0, status, log)
        (ada,) = self.json()["servers"]
        self.assertEqual(0, ada["points"])
        for part in ("audit", "durability", "throughput"):
            self.assertIn("<html>no</html>", ada["parts"][part]["problem"], part)
        self.assertFalse(list(self.folder.glob("**/ada/was-run")))

    def test_changed_points_need_no_new_run(self):
        server = ["--server", self.toy(), "--parts", "conformance"]
        self.grade(*server)
        weights = Path(processes.__file__).with_name("weights.toml").read_text()
        file = self.write("w.toml", weights.replace("conformance = 40", "conformance = 80"))
        status, out, log = self.grade(*server, "--weights", str(file))
        self.assertIn("conformance, reused from before", log)
        self.assertIn("60.0 of 80", out)
        _, _, log = self.grade(*server, "--restart-from-scratch")
        self.assertNotIn("reused", log)

    def test_interrupted_it_goes_on_from_there(self):
        slow = "import time\ntime.sleep(60)"
        self.write("bin/loadgen", f"#!{sys.executable}\n{slow}", True)
        server = f"toy={self.toy('{data}/orders')}"
        command = self.command("--parts", "conformance,audit", "--server", server)
        for number in (signal.SIGTERM, signal.SIGINT):
            run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            seen = ""
            while "audit, 1 client" not in seen:
                line = run.stderr.readline()
                self.assertTrue(line, seen)
                seen += line
            time.sleep(0.3)
            run.send_signal(number)
            _, rest = run.communicate(timeout=toys.PATIENCE_S)
            self.assertEqual(130, run.returncode, rest)
            self.assertFalse(toys.is_running(str(self.folder / "out")))
        self.assertIn("toy: conformance, reused from before", seen)

    def test_a_hostile_server_is_quoted_as_text(self):
        self.write(
            f"all/{SECRET.replace('/', '_')}/grade.toml", f"command = 'echo \"{SECRET}\" {{port}}'"
        )
        status, _, _ = self.grade("--submissions", str(self.folder / "all"), "--parts", "audit")
        self.assertEqual(1, status)
        self.grade("--server", f"toy={self.toy()}", "--parts", "conformance")
        pages = list(self.folder.glob("out/*.html"))
        self.assertGreaterEqual(len(pages), 3)
        for page in pages:
            text = page.read_text()
            self.assertNotIn("alert(1)</script>", text)
            self.assertNotIn("<img src=x", text)

    def test_wrong_command_lines_are_refused(self):
        server = ["--server", "x {port}"]
        for arguments in (
            [],
            ["--submissions", str(self.folder / "none")],
            [*server, "--only", "y"],
            [*server, "--weights", str(self.folder / "none")],
            [*server, "--limit-memory", "much"],
        ):
            status, _, log = self.grade(*arguments)
            self.assertEqual(2, status, arguments)
            self.assertNotIn("Traceback", log)

    def test_a_class_from_an_export_to_its_gradebook(self):
        with zipfile.ZipFile(self.folder / "export.zip", "w") as export:
            run = f"#!/bin/sh\nexec {self.toy().format(port='$1')}\n"
            for name in ("Ada Lovelace_4711", "Bob_4712"):
                export.writestr(f"{name}_assignsubmission_file_/run.sh", run)
            export.writestr("Eve_4713_assignsubmission_file_/readme", "")
        head, rows = "Identifier,Full name,Grade,Maximum Grade", ("4711,Ada Lovelace", "4713,Eve")
        lines = "".join(f"Participant {row},,50.00\n" for row in rows)
        roster = self.write("roster.csv", f"{head}\n{lines}")
        arguments = ["--submissions", str(self.folder / "export.zip"), "--roster", str(roster)]
        arguments += ["--parts", "conformance"]
        for more in ([], ["--only", "Bob"]):  # the others keep their grades
            status, out, log = self.grade(*arguments, *more)
            self.assertEqual(0 if more else 1, status, log)
            written = (self.folder / "out/gradebook.csv").read_text().splitlines()
            self.assertEqual("Participant 4711,Ada Lovelace,37.50,50.00", written[1])
            self.assertEqual("Participant 4713,Eve,,50.00", written[2])
        self.assertEqual(2, self.grade(*arguments, "--roster", str(self.folder / "none.csv"))[0])

    def test_without_docker_a_project_is_reported_and_the_others_are_graded(self):
        self.write("all/ada/docker-compose.yml", "services: {}")
        self.write("all/bob/run.sh", f"#!/bin/sh\nexec {self.toy().format(port='$1')}\n", True)
        self.write("path/docker", "#!/bin/sh\necho 'no engine' >&2; exit 1\n", True)
        path = {"PATH": f"{self.folder / 'path'}:{os.environ['PATH']}"}
        arguments = ["--submissions", str(self.folder / "all"), "--parts", "conformance"]
        arguments += ["--compose-projects", "allow"]
        status, out, log = self.grade(*arguments, env=path)
        self.assertEqual(1, status)
        self.assertIn("no engine", log)
        self.assertRegex(out, r"bob +30.0 of 40")


class AmongOthers(toys.TestCase):
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

    def test_a_list_runs_nothing_obeys_no_terminal_and_no_submission_ends_it(self):
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
        self.assertFalse((self.folder / "out").exists())
        self.assertEqual([], [char for char in out if not char.isprintable() and char != "\n"])

    def test_without_a_loopback_there_are_no_points_and_no_0(self):
        self.graded()
        self.assertTrue((self.folder / "out/ada/gradescope.json").exists())
        arguments = ["--submissions", str(self.folder / "all"), "--parts", "conformance"]
        command = self.command(*arguments, "--sandbox", "off", "--restart-from-scratch")
        alone = ["unshare", "--map-root-user", "--net", "--"]  # a new network's loopback is down
        done = subprocess.run([*alone, *command], capture_output=True, text=True, check=False)
        if done.stderr.startswith("unshare: "):
            self.skipTest("this machine has no user namespaces")
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


class WithTheRealPrograms(toys.TestCase):
    def test_the_own_server_keeps_all_rules_and_passes_the_audit(self):
        toys.require_programs("server", "loadgen", "conformance")
        command = f"ours='{toys.PROGRAMS}/server' --port {{port}} --http-port off --store memory:"
        parts = "conformance,audit"
        arguments = ["--server", command, "--parts", parts, "--bin", str(toys.PROGRAMS)]
        status, out, log = self.grade(*arguments)
        self.assertEqual(0, status, log)
        self.assertRegex(out, r"ours +65.0 of 65")
