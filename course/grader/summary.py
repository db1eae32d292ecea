"""The grades of all servers: their order, grades.json, grades.csv and the lines at the end."""

import csv
import io
import time
from collections import Counter

import machine
import weights as weighing
from plain_text import printable
from plan import PARTS

FORMAT = "exchange-grades/1"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def scored(grades, reference, weights):
    """[(grade, points by part, sum, best sum)], best first; those that were not graded come last,
    by name."""
    measured = reference.parts.get("throughput") if reference else None
    rows = []
    for grade in grades:
        given, got, of = weighing.points(grade.parts, measured, weights)
        rows.append((grade, given, got, of))
    share = {id(row): row[2] / row[3] if row[3] else 0.0 for row in rows}
    rows.sort(key=lambda row: (bool(row[0].problem), -share[id(row)], row[0].submission.name))
    return rows


def ranks(rows):
    """Equal scores have the same rank; None for what was not graded."""
    found = []
    for nth, (grade, _, got, of) in enumerate(rows):
        if grade.problem:
            found.append(None)
        elif nth and found[-1] and round(rows[nth - 1][2], 2) == round(got, 2):
            found.append(found[-1])
        else:
            found.append(nth + 1)
    return found


def rules_kept(result):
    """{level: (kept, of those that were tried)}"""
    count = Counter((rule.get("level"), rule.get("result")) for rule in result.get("rules", []))
    tried = ("kept", "broken", "blocked")
    return {
        level: (count[level, "kept"], sum(count[level, result] for result in tried))
        for level in ("must", "should", "ours")
    }


def headline(part, result, reference=None):
    """A few words for a table."""
    if part == "conformance":
        kept, of = rules_kept(result)["must"]
        return f"{kept} of {of} must" if of else "not tested"
    if part == "audit":
        runs = result.get("runs", [])
        passed = sum(1 for run in runs if run.get("passed") and not run.get("problem"))
        return f"{passed} of {len(runs)} passed"
    if part == "durability":
        there = result.get("acknowledged", 0)
        gone = result.get("gone", 0) + result.get("changed", 0) + result.get("unknown", 0)
        return f"{min(gone, there):,} of {there:,} lost" if there else "no orders"
    ratios = weighing.ratios(result, reference)
    return f"up to {max(ratios.values()):.0%} of ours" if ratios else "not measured"


def seconds(rows, reference):
    """How long all that the grades are made of took, also in earlier runs."""
    grades = [row[0] for row in rows] + ([reference] if reference else [])
    return sum(part.get("seconds", 0) for grade in grades for part in grade.parts.values())


def part_json(given, words, result):
    points, most = given or (None, None)
    points = points if points is None else round(points, 2)
    problem = result.get("problem", "")
    return {"points": points, "points_max": most, "summary": words, "problem": problem}


def rates_of(result):
    rates = weighing.rates(result).items()
    return {f"{kind}, {cores} cores": round(rate, 1) for (kind, cores), rate in rates}


def as_json(rows, reference, shared):
    """All that a program may want to read."""
    measured = reference.parts.get("throughput") if reference else None
    servers = []
    for rank, (grade, given, got, of) in zip(ranks(rows), rows, strict=True):
        servers.append(
            {
                "rank": rank,
                "name": grade.submission.name,
                "page": f"{grade.submission.slug}.html",
                "command": grade.submission.shown_command,
                "graded": not grade.problem,
                "problem": grade.problem,
                "points": None if grade.is_ours else round(got, 2),
                "points_max": round(of, 2),
                "parts": {
                    part: part_json(given.get(part), headline(part, result, measured), result)
                    for part, result in grade.parts.items()
                },
                "requests_per_s": rates_of(grade.parts.get("throughput")),
            }
        )
    return {
        "format": FORMAT,
        "written": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "seconds": round(seconds(rows, reference), 1),
        "commit": machine.commit(),
        "machine": machine.describe(),
        "settings": vars(shared.settings).copy(),
        "limits": vars(shared.limits).copy(),
        "weights": shared.weights,
        "reference": rates_of(measured),
        "servers": servers,
    }


def as_csv(rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["rank", "name", "points", "of", *PARTS, "problem"])
    for rank, (grade, given, got, of) in zip(ranks(rows), rows, strict=True):
        cells = [f"{given[part][0]:.2f}" if part in given else "" for part in PARTS]
        total = [f"{got:.2f}", f"{of:g}"] if not grade.problem else ["0", ""]
        total = ["", ""] if grade.is_ours else total
        name, problem = plain_cell(grade.submission.name), plain_cell(grade.problem)
        writer.writerow([rank or "", name, *total, *cells, problem])
    return out.getvalue()


def plain_cell(text):
    """A spreadsheet would take these for formulas, and a name is its author's choice."""
    text = " ".join(text.split())
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def closing(grades, reference, shared):
    """The table in plain text."""
    rows = scored(grades, reference, shared.weights)
    width = max((len(row[0].submission.name) for row in rows), default=0)
    for rank, (grade, given, got, of) in zip(ranks(rows), rows, strict=True):
        name = f"{rank or '-':>3}  {printable(grade.submission.name):{width}}"
        if grade.problem:
            yield f"{name}  not graded: {printable(grade.problem)}"
            continue
        parts = ", ".join(f"{part} {points:.1f}/{most:g}" for part, (points, most) in given.items())
        yield f"{name}  {got:5.1f} of {of:g}  {parts}"
