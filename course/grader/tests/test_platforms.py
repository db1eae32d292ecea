"""Course platforms: gradebooks of Canvas and Moodle as these export and import them; results for
Gradescope, GitHub Classroom and JUnit, from a whole grading with stand-ins for the programs; what
is in bundles, and a grading with what was unpacked from one."""

import base64
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from xml.etree import ElementTree

import bundle
import feedback
import gradebook
import sandbox
import toys
import weights as weighing
from grading import Grade
from submissions import BadInput, Submission

try:
    from jsonschema import Draft202012Validator
except ImportError:
    Draft202012Validator = None

SCHEMA = Path(__file__).with_name("gradescope.schema.json")
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Essay (11),Exchange server (12),Final Score
    Points Possible,,,,,10,50,(read only)
"Lovelace, Ada",42,u42,al7,Section 1,9,,90
"Babbage, Charles",43,u43,cb8,Section 1,8,7,80
"Student, Test",99,,abc,Section 1,,,
"""
WORKSHEET = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (grade),Feedback comments
Participant 4711,Ada Lovelace,ada@uni.example,Submitted for grading,,20.00,Yes,-,
Participant 4712,Charles Babbage,cb@uni.example,Submitted for grading,3.00,20.00,Yes,"Monday, 2 November 2026, 9:00 AM",good
"""
GRADES = """\
First name,Last name,ID number,Email address,Assignment: Exchange server (Real)
Ada,Lovelace,100,ada@uni.example,-
Charles,Babbage,101,cb@uni.example,-
"""


def one(name, *students):
    return Submission(name, Path("."), students=list(students))


class Gradebook(unittest.TestCase):
    def filled(self, text, grades, assignment="Exchange server", encoding="utf-8-sig"):
        with TemporaryDirectory() as folder:
            file = Path(folder) / "roster.csv"
            file.write_text(text, encoding=encoding)
            roster = gradebook.read(file, assignment)
            written, unplaced = gradebook.filled(roster, grades, assignment)
        delimiter = roster.delimiter
        return list(csv.reader(io.StringIO(written), delimiter=delimiter)), unplaced

    def test_canvas_gets_its_columns_and_the_assignment_alone(self):
        ada = one("lovelaceada", ["42", "lovelaceada"])
        rows, unplaced = self.filled(CANVAS, [(ada, 80, 100)])
        head = "Student,ID,SIS User ID,SIS Login ID,Section,Exchange server (12)".split(",")
        self.assertEqual(head, rows[0])
        self.assertEqual(["    Points Possible", "", "", "", "", "50"], rows[1])
        self.assertEqual(["Lovelace, Ada", "42", "u42", "al7", "Section 1", "40.00"], rows[2])
        self.assertEqual("7", rows[3][-1])  # an empty cell would delete it
        self.assertEqual([], unplaced)

    def test_canvas_gets_a_new_assignment_with_its_points(self):
        rows, _ = self.filled(CANVAS, [(one("cb8"), 60, 90)], "Server")
        self.assertEqual(["Server", "90", "", "60.00", ""], [row[-1] for row in rows])

    def test_a_worksheet_of_moodle_is_filled_in_and_stays_as_it_is(self):
        group = one("group", ["4711", "Ada Lovelace"], ["none@uni.example", "Charles Babbage"])
        rows, unplaced = self.filled(WORKSHEET, [(group, 50, 100)])
        before = list(csv.reader(io.StringIO(WORKSHEET)))
        for row in before[1:]:
            row[4] = "10.00"
        self.assertEqual((before, []), (rows, unplaced))

    def test_exported_grades_of_moodle_are_filled_in(self):
        rows, _ = self.filled(GRADES, [(one("Lovelace Ada"), 70, 100), (one("cb"), 0, 100)])
        self.assertEqual(["70.00", "0.00"], [row[-1] for row in rows[1:]])
        rows, _ = self.filled(GRADES.replace(",", ";"), [(one("100"), 70, 100)], "Server")
        self.assertEqual(["Server", "70.00", ""], [row[-1] for row in rows])

    def test_who_cannot_be_placed_is_named_and_gets_nothing(self):
        twins = GRADES + "Ada,Lovelace,102,al@uni.example,-\n"
        failed = Submission("cb", Path("."), problem="its build failed")
        given = [(one("Ada Lovelace"), 70, 100), (one("eve"), 1, 100), (failed, None, 100)]
        rows, unplaced = self.filled(twins, given)
        self.assertEqual(["-", "-", "-"], [row[-1] for row in rows[1:]])
        self.assertEqual(3, len(unplaced))

    def test_what_is_no_table(self):
        for text in ("", "a,b\n", "words\nmore\n"):
            with self.assertRaises(BadInput, msg=text):
                self.filled(text, [])

    def test_of_two_that_would_fill_one_row_none_wins(self):
        ada, eve = one("ada", ["4711", "Ada Lovelace"]), one("eve", ["eve@x", "Ada Lovelace"])
        for given in ([(ada, 90, 100), (eve, 10, 100)], [(eve, 10, 100), (ada, None, 100)]):
            rows, unplaced = self.filled(WORKSHEET, given)
            self.assertEqual(["", "3.00"], [row[4] for row in rows[1:]])
            self.assertTrue(unplaced)

    def test_a_number_counts_where_students_are_named_and_with_their_name(self):
        """Not if it is that of a group, or equal to the points of another."""
        team, bob = one("Team", ["4711", "Team 7"]), one("bob", ["9", "bob"])
        rows, unplaced = self.filled(WORKSHEET, [(team, 90, 100)])
        self.assertEqual((["", "3.00"], 1), ([row[4] for row in rows[1:]], len(unplaced)))
        rows, unplaced = self.filled(CANVAS, [(bob, 90, 100)])  # 9 are Ada's points of the essay
        self.assertEqual(("", 1), (rows[2][-1], len(unplaced)))
        blind = "Identifier,Status,Grade,Maximum Grade\nParticipant 4711,Submitted,,20\n"
        rows, _ = self.filled(blind, [(one("x", ["4711", "Teilnehmer in"]), 90, 100)])
        self.assertEqual("18.00", rows[1][2])

    def test_names_are_compared_as_people_read_them(self):
        decomposed = "Name,Login\nZoe\u0308  Mu\u0308ller ,z\n"
        rows, unplaced = self.filled(decomposed, [(one("zo\xeb m\xfcller"), 7, 7)])
        self.assertEqual(("7.00", []), (rows[1][2], unplaced))

    def test_what_a_spreadsheet_saves_as_unicode_text_is_read(self):
        for encoding in ("utf-16", "utf-8", "utf-8-sig"):
            text = '"Name, all"\tLogin\nZo\xeb\tz\n'
            rows, _ = self.filled(text, [(one("Zo\xeb"), 1, 1)], encoding=encoding)
            self.assertEqual(["Zo\xeb", "z", "1.00"], rows[1])
        rows, _ = self.filled("sep=;\r\nName;Login\r\nZoe;z\r\n", [(one("z"), 1, 1)])
        self.assertEqual(["Zoe", "z", "1.00"], rows[1])
        with self.assertRaises(BadInput):
            self.filled("Name,Login\nZo\xeb,z\n", [], encoding="latin-1")

    def test_a_table_that_would_lose_students_is_refused(self):
        for text in (
            'Name,Login\nAda,"a\nBob,b\n',  # a quote that does not end
            "Name,Login\nLovelace, Ada,a\n",
            "Server (1),Server (2),Name\n,,Ada\n",
        ):
            with self.assertRaises(BadInput, msg=text):
                self.filled(text, [], "Server")
        long = "x" * 200_000
        rows, _ = self.filled(f'Name,Login\nAda,a,,\nBob,"{long}"\n', [(one("ada"), 1, 1)])
        self.assertEqual(long, rows[2][1])


@unittest.skipUnless(toys.SERVER.exists(), f"there is no {toys.SERVER}")
class Results(unittest.TestCase):
    """Results of a server that keeps the rule M1, breaks M4 and forgets its orders, and of one that
    does not start."""

    @classmethod
    def setUpClass(cls):
        course = toys.TestCase()
        course.setUp()
        cls.addClassCleanup(course.doCleanups)
        course.tools()
        course.write("all/toy/grade.toml", f"command = {json.dumps(course.toy())}")
        eve = "command = 'printf \"no \\033[1m luck\"; exit 1 # {port}'"
        course.write("all/eve/grade.toml", eve)
        _, _, cls.log = course.grade("--submissions", str(course.folder / "all"))
        cls.out = course.folder / "out"

    def text(self, name):
        return (self.out / name).read_text()

    def json(self, name):
        return json.loads(self.text(name))

    def graded(self, name):
        servers = json.loads(self.text("grades.json"))["servers"]
        (found,) = [one for one in servers if one["name"] == name]
        return found

    def test_points_are_those_of_the_table(self):
        toy = self.graded("toy")
        result, other = self.json("toy/gradescope.json"), self.json("toy/classroom.json")
        self.assertEqual(toy["points"], result["score"], self.log)
        for found in (result["tests"], other["tests"]):
            total = sum(test["score"] for test in found)
            self.assertAlmostEqual(toy["points"], total, delta=0.05)
        self.assertAlmostEqual(100, sum(test["max_score"] for test in result["tests"]))
        self.assertEqual(100, other["max_score"])
        self.assertEqual(0, self.json("eve/gradescope.json")["score"])

    def test_a_rule_that_costs_points_has_its_conversation(self):
        tests = {test["number"]: test for test in self.json("toy/gradescope.json")["tests"]}
        rule = tests["1.1"]
        self.assertEqual((0, 10, "failed"), tuple(map(rule.get, ("score", "max_score", "status"))))
        self.assertIn("M4", rule["name"])
        self.assertIn("> <a>\n<b>", rule["output"])
        self.assertEqual(["passed", "failed"], [tests[number]["status"] for number in ("1", "3")])

    def test_a_server_that_does_not_start_gets_the_reason(self):
        result = self.json("eve/gradescope.json")
        (test,) = result["tests"]
        self.assertEqual((0, 100, "failed"), (test["score"], test["max_score"], test["status"]))
        self.assertIn("status 1", test["output"])
        self.assertIn("no ?[1m luck", test["output"])  # no terminal obeys it
        self.assertEqual("fail", self.json("eve/classroom.json")["status"])

    @unittest.skipUnless(Draft202012Validator, "python3-jsonschema is missing")
    def test_gradescope_accepts_them(self):
        validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
        self.assertTrue(list(validator.iter_errors({"score": "7"})))
        for name in ("toy", "eve"):
            validator.validate(self.json(f"{name}/gradescope.json"))
        board = {one["name"]: one for one in self.json("toy/gradescope.json")["leaderboard"]}
        self.assertEqual(self.graded("toy")["points"], board["points"]["value"])

    def test_the_reporter_of_classrooms_reads_them(self):
        """As its sources do: status, max_score, and of each test status, name, score, line_no and
        test_code."""
        for name in ("toy", "eve"):
            result = self.json(f"{name}/classroom.json")
            again = json.loads(base64.b64decode(feedback.encoded(result)))
            self.assertEqual(result, again)
            self.assertIn(result["status"], ("pass", "fail", "error"))
            self.assertEqual(1, result["version"])
            for test in result["tests"]:
                self.assertIn(test["status"], ("pass", "fail", "error"))
                self.assertIsInstance(test["score"], (int, float))
                self.assertEqual(0, test["line_no"])
                self.assertEqual(test["status"] == "fail", bool(test["test_code"]), test)

    def test_junit_has_a_suite_for_each_part(self):
        suites = ElementTree.fromstring(self.text("toy/junit.xml"))
        counts = {one.get("name"): (one.get("tests"), one.get("failures")) for one in suites}
        self.assertEqual(("2", "1"), counts["conformance"])
        self.assertEqual(["conformance", "audit", "durability", "throughput"], list(counts))
        self.assertIn("<img src=x>", suites.find("testsuite/testcase/failure").text)
        ElementTree.fromstring(self.text("eve/junit.xml"))


class Size(unittest.TestCase):
    def test_a_result_fits_in_a_variable_of_the_environment(self):
        rules = [
            {"rule": f"X{nth}", "level": "must", "result": "broken", "sentence": "é" * 500}
            | {"why": "ü" * 500, "conversation": [{"sent": "<ä>" * 900, "got": "<b>" * 900}]}
            for nth in range(150)
        ]
        part = {"rules": rules, "points_max": 450, "score": 0}
        weights = weighing.read(Path(weighing.__file__).with_name("weights.toml"))
        grade = Grade(Submission("toy", Path("."), slug="toy"), {"conformance": part})
        row = (grade, {"conformance": (0, 40)}, 0, 40)
        shared = SimpleNamespace(weights=weights, wanted=("conformance",))
        result = feedback.classroom(row, None, shared)
        self.assertLess(len(feedback.encoded(result)), 128 << 10)
        self.assertEqual(151, len(result["tests"]))


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

    def autograde(self, source, *arguments, status=0):
        command = [sys.executable, str(source / "course/grader/autograde.py"), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)

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
        result = self.folder / "results.json"
        self.autograde(source, "gradescope", self.folder / "handed-in", result, status=1)
        self.assertFalse(result.exists())

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
