"""The formulas of the points, and what is wrong with a weights file."""

import csv
import io
import math
from pathlib import Path

import summary
import toys
import weights as weighing
from grading import Grade
from submissions import BadInput, Submission

DEFAULT = Path(weighing.__file__).with_name("weights.toml")
WEIGHTS = weighing.read(DEFAULT)


def trial(rate, kind="create", cores=1, **more):
    return {"kind": kind, "cores": cores, "rate": rate, "answered": 1000, "errors": {}, **more}


def throughput(*trials):
    return {"trials": list(trials)}


class Formulas(toys.TestCase):
    def test_throughput_is_on_a_logarithmic_scale(self):
        for ratio, share in ((1, 1), (2, 1), (0.1, 0.5), (0.01, 0), (0.001, 0), (0, 0)):
            self.assertAlmostEqual(share, weighing.ratio_share(ratio, WEIGHTS))
        self.assertAlmostEqual(1 + math.log10(0.5) / 2, weighing.ratio_share(0.5, WEIGHTS))

    def test_throughput_is_compared_with_the_reference_on_the_same_cores(self):
        reference = throughput(trial(1000), trial(2000, cores=2), trial(500, "transactions"))
        own = throughput(trial(1000), trial(200, cores=2), trial(50, "transactions"))
        self.assertEqual(
            {("create", 1): 1.0, ("create", 2): 0.1, ("transactions", 1): 0.1},
            weighing.ratios(own, reference),
        )
        share = weighing.throughput_share(own, reference, WEIGHTS)
        self.assertAlmostEqual((0.75 + 0.5) / 2, share)
        self.assertIsNone(weighing.throughput_share(own, None, WEIGHTS))

    def test_throughput_is_the_median_and_runs_with_many_errors_count_as_none(self):
        own = throughput(trial(100), trial(300), trial(900, errors={"reset": 100}))
        self.assertEqual({("create", 1): 100}, weighing.rates(own))
        self.assertEqual(300, weighing.valid_rate(trial(300, errors={"reset": 10})))

    def test_a_run_of_the_audit(self):
        run = {"passed": True, "answered": 1000, "errors": {}}
        for more, share in (
            ({}, 1),
            ({"errors": {"reset": 1}}, 0.5),
            ({"errors": {"reset": 100}}, 0),
            ({"errors": {"wrong answer": 1}}, 0),
            ({"passed": False}, 0),
            ({"problem": "it died"}, 0),
        ):
            self.assertEqual(share, weighing.audit_run_share({**run, **more}, WEIGHTS), more)

    def test_the_audit_weighs_its_runs(self):
        run = {"passed": True, "answered": 1000, "errors": {}}
        runs = [{**run, "clients": 1}, {**run, "clients": 20}]
        self.assertAlmostEqual(3 / 5, weighing.audit_share({"runs": runs}, WEIGHTS))

    def test_durability_is_all_or_at_most_a_part(self):
        kept = {"acknowledged": 1000, "gone": 0, "changed": 0, "rounds": [{}]}
        for more, share in (
            ({}, 1),
            ({"gone": 100, "changed": 100}, 0.4),
            ({"gone": 1000}, 0),
            ({"unknown": 500}, 0.25),
            ({"acknowledged": 0}, 0),
        ):
            got = weighing.durability_share({**kept, **more}, WEIGHTS)
            self.assertAlmostEqual(share, got, msg=str(more))

    def test_the_sum_is_of_the_parts_that_were_run(self):
        parts = {"conformance": {"score": 75.0}, "durability": {"acknowledged": 0}}
        given, got, of = weighing.points(parts, None, WEIGHTS)
        self.assertEqual({"conformance": (30.0, 40), "durability": (0.0, 20)}, given)
        self.assertEqual((30.0, 60), (got, of))


class Losses(toys.TestCase):
    def rule(self, number, result, level="must", **more):
        return {"rule": number, "result": result, "level": level, "sentence": "S", **more}

    def test_root_causes_come_first_with_what_they_block(self):
        rules = [
            self.rule("C9", "blocked", blocked_by="F1"),
            self.rule("A1", "broken"),
            self.rule("F1", "broken", "should"),
            self.rule("F2", "kept"),
            self.rule("X1", "blocked", "should"),
            self.rule("F3", "broken", "ours"),
        ]
        losses = weighing.rule_losses({"points_max": 20, "rules": rules}, WEIGHTS)
        self.assertEqual(
            [("F1", 2.0), ("C9", 6.0), ("A1", 6.0), ("X1", 2.0)],
            [(rule["rule"], points) for rule, points in losses],
        )
        self.assertEqual([], weighing.rule_losses({"rules": rules}, WEIGHTS))


class WeightsFile(toys.TestCase):
    def test_what_is_wrong_is_named(self):
        text = DEFAULT.read_text()
        for old, new, named in (
            ("conformance = 40", "conformance = nan", "conformance"),
            ("audit = 25", "audit = 25\nstyle = 3", "style"),
            ("[durability]", "[durable]", "[durability]"),
            ("clients = [1, 20, 200]", "clients = [1, 20]", "clients"),
            ("floor = 0.01", "floor = 3", "floor"),
        ):
            self.assertIn(old, text)
            with self.assertRaises(BadInput) as caught:
                weighing.read(self.write("weights.toml", text.replace(old, new)))
            self.assertIn(named, str(caught.exception))


def graded(name, score=None, problem=""):
    parts = {} if score is None else {"conformance": {"score": score, "rules": []}}
    return Grade(Submission(name, Path("."), "x {port}", slug=name), parts, problem)


class Order(toys.TestCase):
    def test_best_first_equal_points_with_equal_rank_and_the_ungraded_last(self):
        every = [graded("b", 50), graded("x", problem="no build"), graded("c", 90), graded("a", 50)]
        rows = summary.scored(every, None, WEIGHTS)
        self.assertEqual(["c", "a", "b", "x"], [row[0].submission.name for row in rows])
        self.assertEqual([1, 2, 2, None], summary.ranks(rows))

    def test_a_spreadsheet_gets_no_formula(self):
        rows = summary.scored([graded("=cmd()", 50)], None, WEIGHTS)
        table = list(csv.reader(io.StringIO(summary.as_csv(rows))))
        self.assertIn("'=cmd()", table[1])
