"""Where submissions come from, and when an earlier result is still theirs."""

import os
import subprocess
import time
from pathlib import Path
from unittest import mock

import sandbox
import submissions
import toys
from results import Results
from submissions import BadInput, Submission


class Found(toys.TestCase):
    def test_a_command_may_have_a_name_and_a_port(self):
        one = submissions.from_command("ada=./server -p {port} --env A=1", self.folder)
        self.assertEqual(("ada", "./server -p {port} --env A=1"), (one.name, one.command))
        self.assertEqual(0, one.fixed_port)
        other = submissions.from_command("./bin/server", self.folder)
        self.assertEqual(("server", 12345), (other.name, other.fixed_port))
        with self.assertRaises(BadInput):
            submissions.from_command("ada= ", self.folder)

    def test_a_folder_of_several(self):
        self.write(
            "all/ada/grade.toml", 'command = "./a {port}"\nbuild = "make"\nrestart = "./b"\n'
        )
        self.write("all/bob/run.sh", "#!/bin/sh\nexec ./server $1", executable=True)
        self.write("all/cyd/docker-compose.yml", "services: {}\n")
        self.write("all/dan/run.sh", "#!/bin/sh\n")
        self.write("all/eve/readme", "")
        self.write("all/fay/grade.toml", "command = ")
        self.write("all/gus/grade.toml", 'command = "./server"\nport = 0')
        self.write("all/hal/grade.toml", 'command = "x {port}"\nstart = "y"')
        self.write("all/.git/config", "")
        self.write("all/notes.txt", "")
        found = {one.name: one for one in submissions.from_submissions(self.folder / "all")}
        self.assertEqual("ada bob cyd dan eve fay gus hal".split(), list(found))
        ada = found["ada"]
        self.assertEqual(
            ("./a {port}", "make", "./b", ""), (ada.command, ada.build, ada.restart, ada.problem)
        )
        self.assertEqual(("./run.sh {port}", ""), (found["bob"].command, found["bob"].problem))
        self.assertTrue(found["cyd"].is_compose)
        for name, words in (("dan", "executable"), ("gus", "65535"), ("hal", "start")):
            self.assertIn(words, found[name].problem)
        self.assertTrue(found["eve"].problem and found["fay"].problem)

    def test_a_compose_file_in_a_subfolder_is_found_and_a_foreign_script_does_not_win(self):
        project, script = "services: {a: {ports: ['12345:12345']}}\n", "#!/bin/sh\n./server\n"
        self.write("all/ada/docker-deploy/docker-compose.yml", project)
        self.write("all/ada/database/compose.yml", "services: {}")
        self.write("all/ada/run.sh", script, executable=True)
        self.write("all/bob/docker-compose.yml", project)
        self.write("all/bob/run.sh", "#!/bin/sh\n./server -p ${1}\n", executable=True)
        self.write("all/cyd/run.sh", script, executable=True)
        self.write("all/dan/grade.toml", "compose = 'x'")
        self.write("all/dan/x/compose.yaml", project)
        self.write("all/eve/grade.toml", "compose = '../dan/x'")
        ada, bob, cyd, dan, eve = submissions.from_submissions(self.folder / "all")
        self.assertTrue(ada.is_compose)
        self.assertEqual("docker-deploy", ada.folder.name)
        self.assertEqual((False, "./run.sh {port}", 0), (bob.is_compose, bob.command, bob.port))
        self.assertEqual((12345, ""), (cyd.fixed_port, cyd.problem))
        self.assertEqual((True, "x", ""), (dan.is_compose, dan.folder.name, dan.problem))
        self.assertIn("outside", eve.problem)
        before = submissions.fingerprint(ada)
        self.write("all/ada/src/main.c", "int main;")
        self.assertNotEqual(before, submissions.fingerprint(ada))

    def test_a_byte_order_mark_is_skipped(self):
        self.write("all/ada/grade.toml", "\ufeffcommand = './server {port}'\r\nbuild = 'make'\r\n")
        (ada,) = submissions.from_submissions(self.folder / "all")
        self.assertEqual(("", "./server {port}", "make"), (ada.problem, ada.command, ada.build))
        self.write("all/ada/grade.toml", "").write_bytes("command = './x {port}'".encode("utf-16"))
        (ada,) = submissions.from_submissions(self.folder / "all")
        self.assertEqual(("", "./x {port}"), (ada.problem, ada.command))

    def test_scripts_that_windows_spoilt_are_named(self):
        self.write("ada/run.sh", "")
        (self.folder / "ada/run.sh").write_bytes(b"#!/bin/sh\r\nexec ./server $1\r\n")
        (self.folder / "ada/Makefile").write_bytes(b"\xef\xbb\xbfall:\n")
        self.write("ada/main.c", "int main;\r\n")
        words = submissions.windows_scripts(submissions.from_folder(self.folder / "ada"))
        self.assertIn("run.sh", words)
        self.assertIn("Makefile", words)
        self.assertNotIn("main.c", words)

    def test_pipes_and_deep_folders_do_not_stop_the_grader(self):
        self.write("ada/a.sh", "#!/bin/sh\r\n")
        for name in ("b.sh", "run.sh", "docker-compose.yml"):
            os.mkfifo(self.folder / "ada" / name)
        deep = "/".join(["d"] * 1500)
        subprocess.run(["mkdir", "-p", deep], cwd=self.folder / "ada", check=True)
        self.addCleanup(sandbox.remove, self.folder / "ada")
        one = submissions.from_folder(self.folder / "ada")
        self.assertIn("a.sh", submissions.windows_scripts(one))
        before = submissions.fingerprint(one)
        self.write("ada/d/d/main.c", "int main;")
        self.assertNotEqual(before, submissions.fingerprint(one))

    def test_settings_that_no_parser_takes_are_the_problem_of_one(self):
        settings = {
            "brackets": "command = " + "[" * 500,
            "digits": f"command = 'x {{port}}'\nport = {'9' * 5000}",
            "long": f"command = 'x {{port}} {'y' * (16 << 10)}'",
            "nul": 'command = "x {port} \\u0000"',
            "path": "compose = '" + "x" * 5000 + "'",
        }
        for name, text in settings.items():
            self.write(f"all/{name}/grade.toml", text)
        for name in ("bytes", "pipe", "outside", "sparse", "kernel", "good"):
            (self.folder / "all" / name).mkdir()
        top = self.folder / "all"
        (top / "bytes/grade.toml").write_bytes(b"command = '\xff'")
        os.mkfifo(top / "pipe/grade.toml")
        (top / "outside/grade.toml").symlink_to(self.write("secret", "command = 'x {port}'"))
        (top / "kernel/grade.toml").symlink_to("/proc/kmsg")
        self.write("all/good/settings", "command = './x {port}'")
        (top / "good/grade.toml").symlink_to("settings")
        with open(top / "sparse/grade.toml", "wb") as file:
            file.truncate(3 << 30)
        found = {one.name: one for one in submissions.from_submissions(top)}
        self.assertEqual(len(settings) + 6, len(found))
        good = found.pop("good")
        self.assertEqual(("./x {port}", ""), (good.command, good.problem))
        for name, one in found.items():
            self.assertTrue(0 < len(one.problem) < 600, name)

    def test_any_exception_is_the_problem_of_one(self):
        self.write("all/ada/run.sh", "#!/bin/sh\nexec x $1\n", executable=True)
        for error in (MemoryError(), RecursionError("x"), PermissionError(13, "denied")):
            with mock.patch("submissions.compose_folders", side_effect=error):
                (ada,) = submissions.from_submissions(self.folder / "all")
            self.assertTrue(ada.problem, repr(error))

    def test_a_link_that_leads_out_is_not_read(self):
        secret = self.write("secret", "#!/bin/sh\nexec x 12345 $1\r\n")
        (self.folder / "ada").mkdir()
        for name in ("run.sh", "docker-compose.yml", "a.sh"):
            (self.folder / "ada" / name).symlink_to(secret)
        self.write("ada/x/compose.yml", "services: 12345")
        one = submissions.from_folder(self.folder / "ada")
        self.assertEqual("x", one.folder.name)  # run.sh does not count as one that takes a port
        self.assertEqual("", submissions.windows_scripts(one))

    def test_folders_of_moodle_that_were_unpacked_by_hand_have_students(self):
        for name in ("Ada L._4711_assignsubmission_file_", "Bob_4712"):
            self.write(f"all/{name}/run.sh", "")
        ada, bob = submissions.from_submissions(self.folder / "all")
        self.assertEqual(([["4711", "Ada L."]], []), (ada.students, bob.students))

    def test_what_a_mac_adds_to_a_zip_is_not_a_submission(self):
        for name in ("ada", "__MACOSX"):
            self.write(f"all/{name}/run.sh", "#!/bin/sh\nexec ./server $1\n", True)
        (ada,) = submissions.from_submissions(self.folder / "all")
        self.assertEqual("ada", ada.name)

    def test_names_and_names_of_files_are_unique(self):
        every = [Submission(name, Path(".")) for name in ("a", "a", "A", "../x", "index", "\udcff")]
        submissions.slugged(every)
        self.assertEqual(["a", "a-2", "A", "../x", "index", "?"], [one.name for one in every])
        self.assertEqual(["a", "a-2", "a-3", "x", "index-2", "server"], [one.slug for one in every])


class Saved(toys.TestCase):
    def test_a_result_is_reused_for_its_key_alone(self):
        results = Results(self.folder, "ada")
        results.save("audit", {"command": "x", "cpus": (0, 1)}, {"runs": []})
        again = Results(self.folder, "ada")
        self.assertEqual({"runs": []}, again.load("audit", {"command": "x", "cpus": (0, 1)}))
        self.assertIsNone(again.load("audit", {"command": "y", "cpus": (0, 1)}))
        self.assertIsNone(again.load("durability", {"command": "x", "cpus": (0, 1)}))

    def test_a_damaged_file_is_no_result(self):
        results = Results(self.folder, "ada")
        results.save("audit", {}, {"runs": []})
        file = self.folder / "ada/audit.json"
        file.write_text(file.read_text()[:20])
        self.assertIsNone(Results(self.folder, "ada").load("audit", {}))

    def test_states_of_the_files_that_the_grader_left_are_known(self):
        self.write("ada/main.c", "int main;")
        one = Submission("ada", self.folder / "ada", top=self.folder / "ada")
        results = Results(self.folder / "out", "ada")
        results.files_are(submissions.fingerprint(one))
        self.write("ada/main.o", "object")  # by its build
        results.files_are(submissions.fingerprint(one))
        again = Results(self.folder / "out", "ada")
        self.assertTrue(again.is_known(submissions.fingerprint(one)))
        time.sleep(0.01)
        self.write("ada/main.c", "int repaired;")
        self.assertFalse(again.is_known(submissions.fingerprint(one)))

    def test_a_command_is_known_by_the_files_that_it_names(self):
        self.write("server.py", "a")
        one = Submission("ada", self.folder, "python3 server.py {port}")
        before = submissions.fingerprint(one)
        self.write("other.py", "b")
        self.assertEqual(before, submissions.fingerprint(one))
        self.write("server.py", "longer")
        self.assertNotEqual(before, submissions.fingerprint(one))
