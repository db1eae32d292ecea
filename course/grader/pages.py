"""index.html with the table of all servers, a page for each, grades.json and grades.csv. The
template is that of all reports."""

import statistics
import time
from collections import Counter
from dataclasses import replace

import feedback
import figures
import machine
import plan
import server_page
import summary
from plan import PARTS
from report import code, columns, listed, render, section, table, text, values
from results import encoded, write_atomically
from weights import root_cause, rule_losses

RULES_MAX = 25  # of those that cost points, in the page
HOW = {
    "conformance": "The rules of docs/protocol.md that the server keeps: must counts 3, should 1.",
    "audit": (
        "loadgen --audit with several numbers of clients: every reply is right, cash and shares are"
        " conserved, and trades are those of price-time priority."
    ),
    "durability": (
        "Orders under load, kill -9, the same command again: each order that was acknowledged must"
        " be there, unchanged."
    ),
    "throughput": (
        "Requests per second, as a share of this project's own server on the same cores with its"
        " store on the disk."
    ),
}


def write_all(grades, reference, shared, every):
    """Called after each server, so that the folder shows what is known so far."""
    for name, content in documents(grades, reference, shared, every).items():
        file = shared.output / name
        file.parent.mkdir(exist_ok=True)
        if content is None:
            file.unlink(missing_ok=True)
        elif not has_text(file, content):
            write_atomically(file, content)


def presentable(grade, reference, shared, every):
    """The grade, or one without results if no page can be made of these: they hold the words of a
    server, and the pages of the others must be written."""
    try:
        documents([grade], reference, shared, every)
        return grade
    except Exception as error:  # noqa: BLE001
        problem = f"the grader cannot write its page: {error!r}"
        return replace(grade, parts={}, moments={}, problem=problem, is_ours=True)


def documents(grades, reference, shared, every):
    """{name in the output: text, or None if there must be no such file}"""
    rows = summary.scored(grades, reference, shared.weights)
    document = summary.as_json(rows, reference, shared)
    write = {
        "grades.json": figures.text(document) + "\n",
        "grades.csv": summary.as_csv(rows),
        "index.html": render(index(rows, reference, shared, len(every) - len(grades))),
    }
    for row in rows:
        model = server_page.model(*row, reference, shared)
        write[f"{row[0].submission.slug}.html"] = render(model)
        write |= feedback.files(row, reference, shared)
    return write


def has_text(file, text):
    """Most files of the servers before are as they were, and a write waits for the disk."""
    try:
        return file.read_bytes() == encoded(text)
    except OSError:
        return False


def index(rows, reference, shared, waiting):
    about = machine.describe()
    date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    took = summary.seconds(rows, reference)
    notices = []
    if waiting:
        words = "server is" if waiting == 1 else "servers are"
        notices.append({"kind": "warn", "text": f"{waiting} more {words} still to be graded."})
    if shared.settings.quick:
        notices.append({"kind": "warn", "text": "A quick look: runs are too short for grades."})
    if failed := [row[0] for row in rows if row[0].problem]:
        details = [[one.submission.name, ": ", one.problem] for one in failed]
        notices.append({"kind": "bad", "text": "Not graded:", "details": details})
    words = [figures.counted(len(rows), "server"), date, f"measured in {plan.duration(took)}"]
    words += [f"{about['cpu']}, {figures.counted(len(about['cpus']), 'CPU')}"]
    words += [f"seed {shared.settings.seed}", f"commit {machine.commit()}"]
    return {
        "title": "Grades",
        "about": " · ".join(words),
        "notices": notices,
        "sections": [
            section("grades", "Servers", grades_table(rows, reference, shared)),
            section("class", "The class", *class_blocks(rows, shared.weights)),
            section("parts", "What the parts are", parts_table(shared)),
            section("how", "How it was run", *how(reference, shared)),
        ],
    }


def grades_table(rows, reference, shared):
    wanted = [part for part in PARTS if part in shared.wanted]
    measured = reference.parts.get("throughput") if reference else None
    shown = []
    for rank, (grade, given, got, of) in zip(summary.ranks(rows), rows, strict=True):
        one = grade.submission
        cells = ["–" if rank is None else str(rank), {"text": one.name, "page": f"{one.slug}.html"}]
        if grade.problem:
            shown.append([*cells, f"not graded: {grade.problem}"])
            continue
        cells.append({"text": f"{got:.1f} of {of:g}", "kind": "strong"})
        for part in wanted:
            if part not in given:
                cells.append("not run")
                continue
            points, most = given[part]
            words = [{"text": f"{points:.1f}", "kind": "strong"}, " · "]
            words.append(summary.headline(part, grade.parts[part], measured))
            cells.append({"bar": [0, points / most if most else 0], "text": words})
        shown.append(cells)
    points = shared.weights["points"]
    heads = [f"{part}, of {points[part]:g}" for part in wanted]
    return table(["rank", "server", "points", *heads], shown)


def class_blocks(rows, weights):
    """What the class as a whole reached; servers that were not graded do not count. rows: of
    summary.scored."""
    graded = [row for row in rows if not row[0].problem]
    if not graded:
        return []
    return [*points_blocks(rows, graded), *rule_blocks(graded, weights)]


def points_blocks(rows, graded):
    parts = [("all", [got for _, _, got, _ in graded], max(of for *_, of in graded))]
    for part in PARTS:
        given = [row[1][part] for row in graded if part in row[1]]
        if given:
            parts.append((part, [points for points, _ in given], given[0][1]))
    shown = [[name, f"{most:g}", *spread(points)] for name, points, most in parts]
    heads = ["part", "#of", "#servers", "#mean", "#least", "#first quarter", "#median"]
    heads += ["#third quarter", "#most"]
    missing = len(rows) - len(graded)
    more = {"note": f"Left out, since they were not graded: {missing} of {len(rows)}."}
    return [table(heads, shown, title="Points", **(more if missing else {}))]


def spread(points):
    quarters = statistics.quantiles(points, method="inclusive") if points[1:] else points * 3
    shown = [statistics.mean(points), min(points), *quarters, max(points)]
    return [str(len(points)), *(f"{figure:.1f}" for figure in shown)]


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
    heads = ["rule", "level", "#broken", "#blocked", "#points lost", "#as root cause"]
    heads += ["what it says"]
    note = (
        "Servers that break the rule, or for which it could not be tested because another is"
        " broken; points lost, mean over the servers. As root cause: with the rules that it blocks."
    )
    if len(every) > RULES_MAX:
        rest = len(every) - RULES_MAX
        left = figures.counted(rest, "rule that costs less is", "rules that cost less are")
        note += f" {left} left out."
    return [table(heads, shown, title="Points lost per rule", note=note)]


def parts_table(shared):
    points = shared.weights["points"]
    rows = [[part, f"{points[part]:g}", HOW[part]] for part in PARTS if part in shared.wanted]
    return table(["part", "#points", "what is graded"], rows)


def how(reference, shared):
    """The blocks on settings; teachers compare them before they compare grades."""
    limits = vars(shared.limits).copy()
    limits["cpus"] = limits["cpus"] or "all"
    settings = values("Settings", vars(shared.settings).copy())
    words = "One server at a time, on loopback, each part with empty data. The weights are in "
    blocks = [
        text(words, code("grades.json"), ", with all figures."),
        columns(settings, values("Limits of a server", limits)),
    ]
    if reference:
        blocks += server_page.reference_blocks(reference)
    lines = server_page.not_measured(plan.skipped(shared.settings, shared.limits))
    return blocks + ([listed(lines)] if lines else [])
