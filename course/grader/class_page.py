"""What the class as a whole reached: statistics of the points, and the points that each rule cost.
"""

import statistics
from collections import Counter

import figures
from report import table
from settings import PARTS
from weights import root_cause, rule_losses

RULES_MAX = 25  # of those that cost points, in the page


def class_blocks(rows, weights):
    """rows: of summary.scored. Servers that were not graded do not count."""
    graded = [row for row in rows if not row[0].problem]
    if not graded:
        return []
    return [*points_blocks(rows, graded), *rule_blocks(graded, weights)]


def points_blocks(rows, graded):
    listed = [("all", [got for _, _, got, _ in graded], max(of for *_, of in graded))]
    for part in PARTS:
        given = [row[1][part] for row in graded if part in row[1]]
        if given:
            listed.append((part, [points for points, _ in given], given[0][1]))
    shown = [[name, f"{most:g}", *spread(points)] for name, points, most in listed]
    columns = ["part", "#of", "#servers", "#mean", "#least", "#first quarter", "#median"]
    columns += ["#third quarter", "#most"]
    missing = len(rows) - len(graded)
    more = {"note": f"Left out, since they were not graded: {missing} of {len(rows)}."}
    return [table(columns, shown, title="Points", **(more if missing else {}))]


def spread(points):
    quarters = statistics.quantiles(points, method="inclusive") if points[1:] else points * 3
    values = [statistics.mean(points), min(points), *quarters, max(points)]
    return [str(len(points)), *(f"{figure:.1f}" for figure in values)]


def rule_blocks(graded, weights):
    """Which rules cost the class most."""
    lost, caused = {}, Counter()
    for grade, *_ in graded:
        for rule, points in rule_losses(grade.parts.get("conformance") or {}, weights):
            one = lost.setdefault(str(rule.get("rule")), {"rule": rule, "points": 0.0})
            one[rule["result"]] = one.get(rule["result"], 0) + 1
            one["points"] += points
            caused[root_cause(rule)] += points
    every = sorted(lost.items(), key=lambda item: (-caused[item[0]], -item[1]["points"]))
    if not every:
        return []
    count = len(graded)
    shown = [
        [number, one["rule"].get("level"), str(one.get("broken", 0)), str(one.get("blocked", 0))]
        + [f"{one['points'] / count:.2f}", f"{caused[number] / count:.2f}"]
        + [one["rule"].get("sentence", "")]
        for number, one in every[:RULES_MAX]
    ]
    columns = ["rule", "level", "#broken", "#blocked", "#points lost", "#as root cause"]
    columns += ["what it says"]
    note = (
        "Servers that break the rule, or for which it could not be tested because another is"
        " broken; points lost, mean over the servers. As root cause: with the rules that it blocks."
    )
    if len(every) > RULES_MAX:
        rest = len(every) - RULES_MAX
        left = figures.counted(rest, "rule that costs less is", "rules that cost less are")
        note += f" {left} left out."
    return [table(columns, shown, title="Points lost per rule", note=note)]
