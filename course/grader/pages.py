"""index.html with the table of all servers, a page for each, grades.json and grades.csv. The
template is that of all reports."""

import time
from dataclasses import replace

import feedback
import figures
import machine
import server_page
import settings as plan
import summary
from class_page import class_blocks
from progress import duration
from report import code, listed, render, section, table, text
from results import encoded, write_atomically
from settings import PARTS
from throughput_page import reference_blocks

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
    words = [figures.counted(len(rows), "server"), date, f"measured in {duration(took)}"]
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


def parts_table(shared):
    points = shared.weights["points"]
    rows = [[part, f"{points[part]:g}", HOW[part]] for part in PARTS if part in shared.wanted]
    return table(["part", "#points", "what is graded"], rows)


def how(reference, shared):
    """The blocks on settings; teachers compare them before they compare grades."""
    limits = vars(shared.limits).copy()
    limits["cpus"] = limits["cpus"] or "all"
    tables = [
        {"type": "values", "title": "Settings", "values": vars(shared.settings).copy()},
        {"type": "values", "title": "Limits of a server", "values": limits},
    ]
    words = "One server at a time, on loopback, each part with empty data. The weights are in "
    blocks = [
        text(words, code("grades.json"), ", with all figures."),
        {"type": "columns", "blocks": tables},
    ]
    if reference:
        blocks += reference_blocks(reference)
    skipped = {count: plan.why_not(count, shared.limits) for count in shared.settings.cores}
    lines = [
        f"{figures.counted(int(count), 'core was', 'cores were')} not measured: {why}"
        for count, why in skipped.items()
        if why
    ]
    return blocks + ([listed(lines)] if lines else [])
