"""The program as a teacher runs it, with stand-ins for the conformance test, the load generator and
the reference server."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import unittest
import zipfile
from pathlib import Path

import processes
import toys
from server import free_port
from settings import PARTS

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
        program = Path(processes.__file__).with_name("grade.py")
        slow = "import time\ntime.sleep(60)"
        self.write("bin/loadgen", f"#!{sys.executable}\n{slow}", True)
        command = [sys.executable, str(program), "--quick", "--bin", str(self.folder / "bin")]
        command += ["--output", str(self.folder / "out"), "--parts", "conformance,audit"]
        command += ["--server", f"toy={self.toy('{data}/orders')}"]
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

    def test_a_list_runs_nothing(self):
        status, out, _ = self.grade("--server", "ada=exit 1 # {port}", "--list")
        self.assertEqual(0, status)
        self.assertIn("ada: exit 1 # {port}", out)
        self.assertFalse((self.folder / "out").exists())

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


class WithTheRealPrograms(toys.TestCase):
    def test_the_own_server_keeps_all_rules_and_passes_the_audit(self):
        toys.require_programs("server", "loadgen", "conformance")
        command = f"ours='{toys.PROGRAMS}/server' --port {{port}} --http-port off --store memory:"
        parts = "conformance,audit"
        arguments = ["--server", command, "--parts", parts, "--bin", str(toys.PROGRAMS)]
        status, out, log = self.grade(*arguments)
        self.assertEqual(0, status, log)
        self.assertRegex(out, r"ours +65.0 of 65")
