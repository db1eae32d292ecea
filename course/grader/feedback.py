"""What a server got and lost, check by check, in the forms of other graders: results.json of
Gradescope, the result of a runner of GitHub Classroom, and JUnit XML. Each server's folder in
the output has all three."""

import base64
import json
from dataclasses import dataclass
from xml.etree import ElementTree

import figures
import server_page
import summary
import weights as weighing
from plain_text import plain, printable
from report import pre, text

EPSILON = 1e-9
OUTPUT_MAX = 20_000  # characters of one check: pages of other graders show all of it
NAME_MAX = 200
VARIABLE_MAX = 120_000  # the kernel allows 128 KiB
FILES = ("gradescope.json", "classroom.json", "junit.xml")


@dataclass
class Check:
    """One line for a student: points, and the words that explain them."""

    number: str
    part: str
    name: str
    points: float
    of: float
    output: str
    passed: bool = True

    def __post_init__(self):
        self.name = printable(" ".join(self.name.split()))[:NAME_MAX]
        if len(self.output) > OUTPUT_MAX:
            self.output = self.output[:OUTPUT_MAX] + " …"


def checks(row, reference, shared):
    """The checks of a row of summary.scored. Their points add up to those of the server."""
    grade, given, _, _ = row
    if grade.problem:
        of = sum(shared.weights["points"][part] for part in shared.wanted)
        notices = [text(one["text"]) for one in server_page.notices(grade)]
        words = plain([*notices, pre(grade.last_lines)])
        return [Check("1", "start", "the server can be graded", 0, of, words, passed=False)]
    measured = reference.parts.get("throughput") if reference else None
    made = {
        "conformance": rule_checks,
        "audit": audit_checks,
        "durability": durability_checks,
        "throughput": lambda *rest: throughput_checks(*rest, measured),
    }
    found = []
    for nth, (part, result) in enumerate(grade.parts.items(), 1):
        if part in given:
            found += made[part](str(nth), result, given[part], shared.weights)
    return found


def explained(result, *blocks):
    """What went wrong in the part as a whole comes first."""
    return plain([*server_page.problems(result), *map(text, result.get("events", [])), *blocks])


def rule_checks(number, result, given, weights):
    """One for the rules that are kept, and one for each rule that costs points."""
    points, of = given
    losses = weighing.rule_losses(result, weights)
    kept = summary.headline("conformance", result)
    rest = max(points, of - sum(cost for _, cost in losses))  # also what was not tested
    words = explained(result, *server_page.counts_blocks(result))
    is_whole = rest - points < EPSILON and bool(result.get("rules"))
    found = [
        Check(number, "conformance", f"rules kept: {kept}", points, rest, words, is_whole),
    ]
    for nth, (rule, cost) in enumerate(losses, 1):
        name = f"{rule.get('rule')} {server_page.outcome(rule)}: {rule.get('sentence', '')}"
        words = plain(server_page.quoted(rule))
        found.append(Check(f"{number}.{nth}", "conformance", name, 0, cost, words, False))
    return found


def audit_checks(number, result, given, weights):
    """One for each number of clients."""
    of, runs = given[1], {run["clients"]: run for run in result.get("runs", [])}
    total, found = sum(weights["audit"]["weights"]), []
    pairs = zip(weights["audit"]["clients"], weights["audit"]["weights"], strict=True)
    for nth, (clients, weight) in enumerate(pairs, 1):
        run = runs.get(clients, {"clients": clients, "problem": "not run"})
        share, most = weighing.audit_run_share(run, weights), of * weight / total
        words = explained(result, *server_page.audit_blocks({"runs": [run]}, weights))
        words += "".join(f"\n\n{event}" for event in run.get("events", []))
        name = f"audit with {figures.counted(clients, 'client')}"
        is_right = share > 1 - EPSILON
        found.append(Check(f"{number}.{nth}", "audit", name, share * most, most, words, is_right))
    return found


def durability_checks(number, result, given, _):
    points, of = given
    name = f"orders after kill -9: {summary.headline('durability', result)}"
    words = explained(result, *server_page.durability_blocks(result))
    return [Check(number, "durability", name, points, of, words, of - points < EPSILON)]


def throughput_checks(number, result, given, weights, measured):
    """A slow server is right: it passes unless it got no points at all."""
    points, of = given
    name = f"throughput: {summary.headline('throughput', result, measured)}"
    words = explained(result, *server_page.throughput_blocks(result, measured, weights))
    return [Check(number, "throughput", name, points, of, words, points > 0 or of == 0)]


def total(found):
    return sum(one.points for one in found), sum(one.of for one in found)


def headline(grade, found):
    if grade.problem:
        return "Not graded: " + printable(grade.problem, kept="\n")
    points, of = total(found)
    more = "" if of - points < EPSILON else " Of broken rules, root causes stand first."
    return f"{points:.2f} of {of:g} points.{more}"


def gradescope(row, reference, shared):
    """https://gradescope-autograders.readthedocs.io/en/latest/specs/"""
    found, grade = checks(row, reference, shared), row[0]
    tests = [
        {
            "number": one.number,
            "name": one.name,
            "score": round(one.points, 2),
            "max_score": round(one.of, 2),
            "status": "passed" if one.passed else "failed",
            "output": one.output,
            "output_format": "text",
            "tags": [one.part],
            "visibility": "visible",
        }
        for one in found
    ]
    took = summary.seconds([row], reference)
    return {
        "score": round(total(found)[0], 2),
        "execution_time": round(took),
        "output": headline(grade, found),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",  # the lines of the grader are for the teacher
        "tests": tests,
        "leaderboard": leaderboard(grade, total(found)[0]),
    }


def leaderboard(grade, points):
    result = grade.parts.get("throughput")
    columns = [{"name": "points", "value": round(points, 2), "order": "desc"}]
    for (kind, cores), rate in sorted(weighing.rates(result).items()):
        where = f"{kind}, {figures.counted(cores, 'core')}"
        columns.append({"name": f"requests/s, {where}", "value": round(rate), "order": "desc"})
        if (p99 := server_page.latency(result, kind, cores, "p99")) is not None:
            columns.append({"name": f"p99 in ms, {where}", "value": round(p99, 2), "order": "asc"})
    return columns


def classroom(row, reference, shared):
    """What classroom-resources/autograding-grading-reporter reads. It adds up the scores, and
    prints names and test codes. They are clipped until all of it fits in a variable of the
    environment."""
    found = checks(row, reference, shared)
    points, of = total(found)
    for clip in (4000, 1000, 300, 100, 0):
        result = {
            "version": 1,
            "status": "pass" if of - points < EPSILON else "fail",
            "max_score": round(of, 6),
            "tests": [classroom_test(one, clip) for one in found],
        }
        if len(encoded(result)) < VARIABLE_MAX:
            break
    return result


def classroom_test(one, clip):
    shown = "" if one.passed else one.output
    return {
        "name": f"{one.number} {one.name} ({one.points:.2f}/{one.of:.2f})",
        "status": "pass" if one.passed else "fail",
        "score": round(one.points * 64) / 64,  # the reporter adds them up without rounding errors
        "message": "",
        "test_code": shown if len(shown) <= clip else shown[:clip] + " …",
        "filename": "",
        "line_no": 0,
        "execution_time": "",
    }


def encoded(result):
    """As an output of a step of a workflow."""
    text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(text.encode("utf-8", "replace")).decode()


def junit(row, reference, shared):
    grade, found = row[0], checks(row, reference, shared)
    suites = ElementTree.Element("testsuites", name=printable(grade.submission.name))
    for part in dict.fromkeys(one.part for one in found):
        cases = [one for one in found if one.part == part]
        failures = sum(not one.passed for one in cases)
        took = grade.parts.get(part, {}).get("seconds", 0)
        counts = {"tests": len(cases), "failures": failures, "errors": 0, "time": took}
        if grade.is_ours:
            counts |= {"failures": 0, "errors": failures}
        texts = {name: str(value) for name, value in counts.items()}
        suite = ElementTree.SubElement(suites, "testsuite", name=part, **texts)
        for one in cases:
            case = ElementTree.SubElement(suite, "testcase", classname=part, name=one.name)
            points = f"{one.points:.2f} of {one.of:.2f} points"
            if grade.is_ours:
                ElementTree.SubElement(case, "error", message="no result").text = one.output
            elif one.passed:
                ElementTree.SubElement(case, "system-out").text = f"{points}\n\n{one.output}"
            else:
                ElementTree.SubElement(case, "failure", message=points).text = one.output
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def files(row, reference, shared):
    """{name in the output: text, or None if there must be no such file}"""
    given, folder = (row, reference, shared), row[0].submission.slug
    # If the grader or the machine failed there are no points to report, and no 0 either.
    is_known = not row[0].is_ours
    texts = (
        json.dumps(gradescope(*given), indent=1) if is_known else None,
        json.dumps(classroom(*given), indent=1) if is_known else None,
        junit(*given),
    )
    return {f"{folder}/{name}": text for name, text in zip(FILES, texts, strict=True)}
