"""Where submissions come from, and when an earlier result is still theirs."""

import time
from pathlib import Path

import submissions
import toys
from results import Results
from submissions import BadInput, Submission


class Found(toys.TestCase):
    def test_a_command_may_have_a_name(self):
        one = submissions.from_command("ada=./server -p {port} --env A=1", self.folder)
        self.assertEqual(("ada", "./server -p {port} --env A=1"), (one.name, one.command))
        other = submissions.from_command("./bin/server {port}", self.folder)
        self.assertEqual(("server", "./bin/server {port}"), (other.name, other.command))

    def test_a_command_needs_its_port(self):
        with self.assertRaises(BadInput) as caught:
            submissions.from_command("./server 12345", self.folder)
        self.assertIn("{port}", str(caught.exception))

    def test_a_folder_of_several(self):
        self.write(
            "all/ada/grade.toml", 'command = "./a {port}"\nbuild = "make"\nrestart = "./b"\n'
        )
        self.write("all/bob/run.sh", "#!/bin/sh\n", executable=True)
        self.write("all/cyd/docker-compose.yml", "services: {}\n")
        self.write("all/dan/run.sh", "#!/bin/sh\n")
        self.write("all/eve/readme", "")
        self.write("all/fay/grade.toml", "command = ")
        self.write("all/gus/grade.toml", 'command = "./server"')
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
        for name, words in (
            ("dan", "executable"),
            ("eve", "there is no grade.toml"),
            ("fay", "cannot be read"),
            ("gus", "{port}"),
            ("hal", "'start'"),
        ):
            self.assertIn(words, found[name].problem)

    def test_folders_that_are_none(self):
        self.write("empty/file", "")
        for call in (submissions.from_submissions, submissions.from_compose):
            for folder in ("missing", "empty"):
                with self.assertRaises(BadInput):
                    call(self.folder / folder)

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
        one = Submission("ada", self.folder / "ada", is_own_folder=True)
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
