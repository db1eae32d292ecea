"""Results in the forms of Gradescope, GitHub Classroom and JUnit, from a whole grading with
stand-ins for the programs."""

import base64
import json
import unittest
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import feedback
import toys
import weights as weighing
from grading import Grade
from submissions import Submission

try:
    from jsonschema import Draft202012Validator
except ImportError:
    Draft202012Validator = None

SCHEMA = Path(__file__).with_name("gradescope.schema.json")
NO_SCHEMAS = "python3-jsonschema is missing"


def problems_of(result):
    return [error.message for error in Draft202012Validator(schema()).iter_errors(result)]


def schema():
    return json.loads(SCHEMA.read_text())


@unittest.skipUnless(toys.SERVER.exists(), f"there is no {toys.SERVER}")
class Results(unittest.TestCase):
    """Of a server that keeps the rule M1, breaks M4 and forgets its orders, and of one that does
    not start."""

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
        self.assertEqual(["1", "1.1", "2.1", "2.2", "2.3", "3", "4"], list(tests))
        self.assertEqual(
            (30, 30, "passed"), tuple(map(tests["1"].get, ("score", "max_score", "status")))
        )
        rule = tests["1.1"]
        self.assertEqual((0, 10, "failed"), tuple(map(rule.get, ("score", "max_score", "status"))))
        self.assertEqual("M4 broken: What it says.", rule["name"])
        self.assertTrue(rule["output"].endswith("</script><img src=x>\n\n> <a>\n<b>"), rule)
        self.assertEqual("failed", tests["3"]["status"])

    def test_a_server_that_does_not_start_gets_the_reason(self):
        result = self.json("eve/gradescope.json")
        (test,) = result["tests"]
        self.assertEqual((0, 100, "failed"), (test["score"], test["max_score"], test["status"]))
        self.assertIn("ended with status 1", test["output"])
        self.assertIn("no \ufffd[1m luck", test["output"])  # no terminal obeys it
        self.assertIn("ended with status 1", result["output"])
        self.assertEqual("fail", self.json("eve/classroom.json")["status"])

    def test_the_leaderboard_shows_throughput(self):
        board = {one["name"]: one for one in self.json("toy/gradescope.json")["leaderboard"]}
        self.assertEqual(self.graded("toy")["points"], board["points"]["value"])
        column = board["requests/s, transactions, 1 core"]
        self.assertEqual((100, "desc"), (column["value"], column["order"]))
        self.assertEqual("asc", board["p99 in ms, transactions, 1 core"]["order"])

    @unittest.skipUnless(Draft202012Validator, NO_SCHEMAS)
    def test_gradescope_accepts_them(self):
        for name in ("toy", "eve"):
            self.assertEqual([], problems_of(self.json(f"{name}/gradescope.json")), name)

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
        failure = suites.find("testsuite/testcase/failure")
        self.assertEqual("0.00 of 10.00 points", failure.get("message"))
        self.assertIn("<img src=x>", failure.text)
        ElementTree.fromstring(self.text("eve/junit.xml"))


class Schema(unittest.TestCase):
    @unittest.skipUnless(Draft202012Validator, NO_SCHEMAS)
    def test_the_schema_refuses_what_gradescope_refuses(self):
        Draft202012Validator.check_schema(schema())
        for wrong in (
            {},
            {"tests": [{"name": "no score"}]},
            {"score": "7"},
            {"score": 7, "visibility": "students"},
            {"tests": [{"score": 1, "status": "pass"}]},
            {"score": 1, "leaderboard": [{"name": "no value"}]},
        ):
            self.assertTrue(problems_of(wrong), wrong)


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
