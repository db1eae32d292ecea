"""From trials to figures: medians and spreads of each cell, and what limits it."""

from collections import Counter
from dataclasses import asdict
from statistics import median

from cells import KINDS, POLICIES, STORES, Settings, choose, place, trials_of, why_not
from figures import counted

BUSY = 0.85  # of what it could use: from here on it is what limits
STAGES = ("read", "parse", "queue", "apply", "commit", "deliver", "write")
PROCESSES = {"server": "server_process", "client": "client", "database": "database"}  # in reports


def spread(values):
    values = [value for value in values if value is not None]
    if not values:
        return None
    measured = {"median": median(values), "low": min(values), "high": max(values)}
    return {**measured, "trials": len(values)}


def middle(values):
    values = [value for value in values if value is not None]
    return median(values) if values else None


def figures_of(records):
    """What the trials of one cell measured. Everything else about the cell follows from it: see
    describe."""
    if all("refused" in record for record in records):
        return {"trials": len(records), "refused": records[0]["refused"]}
    reports = [record["report"] for record in records if record.get("report")]
    failures = [record["failed"] for record in records if record.get("failed")]
    answering = [report for report in reports if report["result"]["answered"]]
    figures, reason = {"trials": len(records)}, ""
    errors = dict(sum((+Counter(report["result"]["errors"]) for report in reports), Counter()))
    if len(answering) < len(reports):
        errors["no reply in the whole trial"] = len(reports) - len(answering)
        reason = "clients waited, and no reply came in the measured part"
    if failures:
        errors["trial failed"] = len(failures)
        reason = failures[0]
    if errors:
        clean = [report for report in answering if not any(report["result"]["errors"].values())]
        names = ("first_wrong_answer", "first_connect_error")
        messages = [report["result"].get(name) for report in reports for name in names]
        figures["errors"] = errors
        figures["reason"] = reason or next(filter(None, messages), "")
        figures["trials_with_errors"] = len(records) - len(clean)
    if not answering:
        return figures
    results = [report["result"] for report in answering]
    return {
        **figures,
        "requests_per_s": spread([r["requests_per_s"] for r in results]),
        "totals_ms": [r["seconds"] * 1000 for r in results],
        "p50_ms": spread([r["response_ms"]["p50"] for r in results]),
        "p99_ms": spread([r["response_ms"]["p99"] for r in results]),
        "cpu_us": {
            process: spread([(r.get(name) or {}).get("cpu_us_per_request") for r in answering])
            for process, name in PROCESSES.items()
        },
        "stages_us": stages([report.get("server_stages_us") for report in answering]),
        "core_thread_share": middle([record.get("core_thread_share") for record in records]),
        "machine_busy": middle([record.get("machine_busy") for record in records]),
        "workers": answering[0]["load"].get("workers", 1),
    }


def describe(cell, records, cpus, settings):
    """The summary of one cell; `records` is None if no trial of it was finished."""
    placement = place(cell, cpus)
    summary = {
        **asdict(cell),
        "key": cell.key,
        "clients_text": cell.clients_text,
        "placement": placement,
        "trials_wanted": trials_of(cell, settings),
        "trials": 0,
        "status": "ok",
        "reason": "",
        "errors": {},
        "trials_with_errors": 0,
        "limit": "",
    }

    def not_run(reason, **more):
        return {**summary, "status": "not run", "reason": reason, **more}

    if reason := why_not(cell, cpus):
        return not_run(reason, placement=None, trials_wanted=0)
    if records is None:
        return not_run("no trial of it was finished")
    summary.update(figures_of(records))
    if "refused" in summary:
        return not_run(summary["refused"], trials_wanted=0)
    if not has(summary):
        return {**summary, "status": "failed"}
    if cell.part == "sweep":
        summary["limit"] = limit(placement, summary, cpus)
    return summary


def pick(summary, **wanted):
    """The cells, in their order, that have these values."""
    return [
        cell
        for cell in summary["cells"]
        if all(cell[name] == value for name, value in wanted.items())
    ]


def find(summary, **wanted):
    return next(iter(pick(summary, **wanted)), None)


def has(cell):
    """Whether it was measured."""
    return cell is not None and bool(cell.get("requests_per_s"))


def cores_text(cores):
    return "not pinned" if cores == 0 else counted(cores, "core")


def stages(measured):
    """{stage: its mean and p50 in us}, at the median of the trials."""
    found = {}
    for name in STAGES:
        of_stage = [one[name] for one in filter(None, measured) if one.get(name, {}).get("count")]
        if of_stage:
            found[name] = {key: median(one[key] for one in of_stage) for key in ("mean", "p50")}
    return found


def limit(placement, summary, cpus):
    """The most loaded of what the processes could use; if none is busy, what they wait for."""
    rate = summary["requests_per_s"]["median"]
    at = {process: getattr(placement, process) or cpus for process in PROCESSES}
    used = {name: f["median"] * rate / 1e6 for name, f in summary["cpu_us"].items() if f}
    caps = {name: len(cpus) for name, cpus in at.items()}
    caps["client"] = min(caps["client"], summary["workers"])
    loads = {f"CPU of the {name}": used[name] / caps[name] for name in used}
    core = "core thread of the server (the serial stage)"
    if summary["core_thread_share"] is not None and "server" in used:
        loads[core] = summary["core_thread_share"] * used["server"]
    most = max(loads, key=loads.get, default=None)
    load = loads.get(most, 0)
    if most == "CPU of the server" and loads.get(core, 0) >= BUSY and len(at["server"]) > 1:
        most = core
    if load >= BUSY:
        return f"{most} ({load:.0%})"
    for shared in set(map(at.get, used)):
        group = sorted((p for p in used if at[p] == shared), key=used.get, reverse=True)
        share = sum(map(used.get, group)) / len(shared)
        if len(group) > 1 and share >= BUSY:
            parts = ", ".join(f"{p} {used[p] / share / len(shared):.0%}" for p in group)
            *first, last = (process for process in used if process in group)
            return f"CPUs shared by {', '.join(first)} and {last} ({share:.0%} busy: {parts})"
    busy = summary["machine_busy"]  # over the whole trial, start and end included: a rough figure
    others = 0 if busy is None else busy - sum(used.values()) / len(cpus)
    if others >= 0.3:
        return f"other work on this machine (took {others:.0%} of its CPU time)"
    commit_ms = summary["stages_us"].get("commit", {}).get("p50", 0) / 1000
    response_ms = summary["p50_ms"]["median"]
    if response_ms and commit_ms / response_ms >= 0.3:
        return f"commit ({commit_ms:.2f} ms, {commit_ms / response_ms:.0%} of a median reply)"
    return f"waiting: no CPU is busy (most: {most} {load:.0%})" if most else "not known"


def grouped(cells, names):
    groups = {}
    for cell in cells:
        groups.setdefault(tuple(cell[name] for name in names), []).append(cell)
    order = {name: nth for names_ in (STORES, KINDS, POLICIES) for nth, name in enumerate(names_)}
    return sorted(groups.items(), key=lambda item: [order.get(value, value) for value in item[0]])


def summarise(head, records):
    """Everything that tables and plots show."""
    settings = Settings(**head["settings"])
    of_cell = {}
    for record in records:
        of_cell.setdefault(record["cell"], []).append(record)
    cells = [
        describe(cell, of_cell.get(cell.key), tuple(head["cpus"]), settings)
        for cell in choose(settings)
    ]
    return {
        **head,
        "trials_finished": len(records),
        "measuring_s": sum(float(record.get("wall_s", 0)) for record in records),
        "stolen": spread([record.get("machine_stolen") for record in records]),
        "trials_wanted": sum(cell["trials_wanted"] for cell in cells),
        "errors": [cell for cell in cells if cell["errors"]],
        "cells": cells,
    }
