"""Points in the forms of learning platforms: gradebooks of Canvas and Moodle as these export and
import them, and results for Gradescope, GitHub Classroom and JUnit, from a whole grading with
stand-ins for the programs."""

import base64
import csv
import io
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from xml.etree import ElementTree

import feedback
import gradebook
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
