"""Bundles for course platforms: what is in them, and a grading with what was unpacked from one."""

import base64
import io
import json
import os
import shutil
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path

import bundle
import sandbox
import toys
from submissions import BadInput


class Bundles(toys.TestCase):
    def setUp(self):
        toys.require_programs(*bundle.PROGRAMS)
        super().setUp()

    def bundle(self, kind, *arguments):
        made = subprocess.run(
            [sys.executable, str(Path(bundle.__file__).with_name("grade.py")), "--bundle", kind]
            + ["--bin", str(toys.PROGRAMS), "--output", str(self.folder / "made"), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(0, made.returncode, made.stderr)
        return zipfile.ZipFile(made.stdout.strip())

    def unpacked(self, opened, into):
        for info in opened.infolist():
            path = Path(opened.extract(info, self.folder / into))
            path.chmod(info.external_attr >> 16 & 0o777)
        return self.folder / into

    def autograde(self, source, *arguments):
        command = [sys.executable, str(source / "course/grader/autograde.py"), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_gradescope_finds_what_it_calls(self):
        weights = Path(bundle.__file__).with_name("weights.toml").read_text()
        file = self.write("w.toml", weights.replace("conformance = 40", "conformance = 60"))
        arguments = ["--weights", str(file), "--packages", "default-jdk maven", "--seed", "7"]
        opened = self.bundle("gradescope", *arguments, "--limit-memory", "1G")
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in opened.infolist()}
        for name in ("setup.sh", "run_autograder"):
            self.assertEqual(0o755, modes[name], name)
            subprocess.run(["sh", "-n"], input=opened.read(name), check=True)
        self.assertEqual(0o755, modes["build/bin/server"])
        self.assertIn(b"conformance = 60", opened.read("course/grader/weights.toml"))
        self.assertEqual(b"default-jdk maven\n", opened.read("packages"))
        given = "--seed 7 --limit-time 300 --limit-memory 1073741824".split()
        self.assertEqual(given, json.loads(opened.read("bundle.json")))

    def test_a_bundle_grades_with_its_own_programs_and_libraries(self):
        source = self.unpacked(self.bundle("gradescope", "--quick", "--parts", "audit"), "source")
        for name in bundle.PROGRAMS:
            program = source / "build/bin" / name
            done = subprocess.run(
                [str(program), "--help"], capture_output=True, env={}, check=False
            )
            self.assertEqual(0, done.returncode, done.stderr)
        toy = self.toy().format(port="$1").replace(str(toys.SERVER), "./faulty_server")
        shutil.copy(toys.SERVER, self.write("handed-in/server/faulty_server", ""))
        run = f"#!/bin/sh\nexec {toy}\n"
        self.write("handed-in/server/run.sh", run)  # a browser drops that it is executable
        result = self.folder / "results/results.json"
        self.autograde(source, "gradescope", self.folder / "handed-in", result)
        found = json.loads(result.read_text())
        self.assertEqual(25, found["score"], found)
        self.assertEqual(3, len(found["tests"]))

    def test_a_classroom_runs_the_grader_and_hands_its_result_over(self):
        opened = self.bundle("github-classroom", "--quick", "--parts", "audit")
        self.assertEqual(
            [".github/grader.zip", ".github/workflows/classroom.yml"], sorted(opened.namelist())
        )
        workflow = opened.read(".github/workflows/classroom.yml").decode()
        self.check_workflow(workflow)
        inner = zipfile.ZipFile(io.BytesIO(opened.read(".github/grader.zip")))
        source = self.unpacked(inner, "source")
        deep = "mkdir -p " + "d/" * 1500
        self.write("repository/grade.toml", f"command = 'exit 3 # {{port}}'\nbuild = '{deep}'")
        outputs = self.write("outputs", "earlier=1\n")
        pages = self.folder / "grades"
        self.autograde(source, "classroom", self.folder / "repository", outputs, "--output", pages)
        earlier, line = outputs.read_text().splitlines()
        name, _, text = line.partition("=")
        self.assertEqual(("earlier=1", "result"), (earlier, name))
        result = json.loads(base64.b64decode(text))
        self.assertEqual(("fail", 25), (result["status"], result["max_score"]))
        self.assertTrue((pages / "index.html").exists())

    def test_without_a_result_of_the_grader_there_is_none(self):
        """A 0 would be wrong: the platform shows the teacher an error."""
        source = self.unpacked(self.bundle("gradescope", "--quick"), "source")
        (source / "build/bin/server").unlink()
        self.write("handed-in/run.sh", "#!/bin/sh\nexit 1 # $1\n")
        command = [sys.executable, str(source / "course/grader/autograde.py"), "gradescope"]
        command += [str(self.folder / "handed-in"), str(self.folder / "results.json")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(1, done.returncode)
        self.assertFalse((self.folder / "results.json").exists())

    def test_what_a_student_hands_in_may_be_anything(self):
        source = self.unpacked(self.bundle("gradescope", "--quick", "--parts", "audit"), "source")
        (self.folder / "handed-in").mkdir()
        os.mkfifo(self.folder / "handed-in/pipe")
        (self.folder / "handed-in/run.sh").symlink_to("/proc/kmsg")
        deep = ["mkdir", "-p", "/".join(["d"] * 1500)]
        subprocess.run(deep, cwd=self.folder / "handed-in", check=True)
        self.addCleanup(sandbox.remove, self.folder / "handed-in")
        result = self.folder / "results/results.json"
        self.autograde(source, "gradescope", self.folder / "handed-in", result)
        self.assertEqual(0, json.loads(result.read_text())["score"])

    def check_workflow(self, text):
        """The variable of the reporter is named after its runner, which is the step with the
        result."""
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is missing")
        (job,) = yaml.safe_load(text)["jobs"].values()
        *_, reporter = job["steps"]
        runner = reporter["with"]["runners"]
        self.assertRegex(reporter["uses"], "^classroom-resources/autograding-grading-reporter@")
        value = f"${{{{ steps.{runner}.outputs.result }}}}"
        self.assertEqual({f"{runner.upper()}_RESULTS": value}, reporter["env"])
        (step,) = [step for step in job["steps"] if step.get("id") == runner]
        self.assertIn('classroom . "$GITHUB_OUTPUT"', step["run"])
        subprocess.run(["sh", "-n"], input=step["run"].encode(), check=True)
        self.assertNotIn("@PACKAGES@", text)

    def test_a_list_of_packages_is_no_command(self):
        for words in ("", "g++; rm -rf /", "--purge", "a\nb"):
            with self.assertRaises(BadInput, msg=words):
                bundle.check_packages(words)
