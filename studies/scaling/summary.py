"""From trials to figures: medians and spreads of each cell, what limits it, and the fits over
cells."""

from collections import Counter
from dataclasses import asdict
from statistics import median

from cells import KINDS, POLICIES, STORES, Settings, choose, place, trials_of, why_not
from figures import counted
from fit import fit_with_interval

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


def switches(report):
    process, answered = report.get("server_process"), report["result"]["answered"]
    if not process or not answered or process.get("voluntary_switches") is None:
        return None
    return process["voluntary_switches"] / answered


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
        "rates": [r["requests_per_s"] for r in results],
        "totals_ms": [r["seconds"] * 1000 for r in results],
        "p50_ms": spread([r["response_ms"]["p50"] for r in results]),
        "p99_ms": spread([r["response_ms"]["p99"] for r in results]),
        "cpu_us": {
            process: spread([(r.get(name) or {}).get("cpu_us_per_request") for r in answering])
            for process, name in PROCESSES.items()
        },
        "stages_us": stages([report.get("server_stages_us") for report in answering]),
        "switches_per_request": middle([switches(report) for report in answering]),
        "core_thread_share": middle([record.get("core_thread_share") for record in records]),
        "machine_busy": middle([record.get("machine_busy") for record in records]),
        "waits": waits([record.get("waits") for record in records]),
        "workers": answering[0]["load"].get("workers", 1),
    }


def describe(cell, records, cpus, settings):
    """The summary of one cell; `records` is None if no trial of it was finished."""
    placement = place(cell, cpus)
    summary = {
        **asdict(cell),
        "key": cell.key,
        "clients_text": cell.clients_text,
        "placement": placement.words,
        "shared": placement.shared,
        "trials_wanted": trials_of(cell, settings),
        "trials": 0,
        "status": "ok",
        "reason": "",
        "errors": {},
        "trials_with_errors": 0,
        "rates": [],
        "totals_ms": [],
    }

    def not_run(reason, **more):
        return {**summary, "status": "not run", "reason": reason, **more}

    if reason := why_not(cell, cpus):
        return not_run(reason, placement="", trials_wanted=0)
    if records is None:
        return not_run("no trial of it was finished")
    summary.update(figures_of(records))
    if "refused" in summary:
        return not_run(summary["refused"], trials_wanted=0)
    if summary["errors"]:
        summary["status"] = "errors"
    if not summary["rates"]:
        return {**summary, "status": "failed"}
    summary["requests_per_s"] = spread(summary["rates"])
    sustained = cell.load == "sustained"
    summary["limit"] = limit(placement, summary, cpus) if sustained else None
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
    measured = [one for one in measured if one]
    found = {}
    for name in STAGES:
        of_stage = [one[name] for one in measured if name in one and one[name].get("count")]
        if of_stage:
            found[name] = {
                figure: middle([one.get(figure) for one in of_stage])
                for figure in ("mean", "p50", "p99")
            }
    return found


def waits(measured):
    """Sessions of the exchange in each state, on average over the samples of all trials."""
    measured = [one for one in measured if one and one["samples"]]
    samples = sum(one["samples"] for one in measured)
    if not samples:
        return None
    sessions = sum((Counter(one["sessions"]) for one in measured), Counter())
    sessions = {event: count / samples for event, count in sorted(sessions.items())}
    return {"samples": samples, "sessions": sessions}


def wait_shares(waits):
    """{event: its share of the time in which sessions were active}, the largest first."""
    active = Counter(waits["sessions"])
    del active["idle"]
    return {event: count / active.total() for event, count in active.most_common()}


def limit(placement, summary, cpus):
    """The most loaded of what the processes could use; if none is busy, what they wait for."""
    rate = summary["requests_per_s"]["median"]
    at = {process: getattr(placement, process) or cpus for process in PROCESSES}
    used = {name: f["median"] * rate / 1e6 for name, f in summary["cpu_us"].items() if f}
    caps = {name: len(cpus) for name, cpus in at.items()}
    caps["client"] = min(caps["client"], summary["workers"])
    numbers = {f"{name}_share": used[name] / caps[name] for name in used}
    if summary["core_thread_share"] is not None and "server" in used:
        numbers["core_thread"] = summary["core_thread_share"] * used["server"]
    commit = summary["stages_us"].get("commit", {}).get("p50")
    if commit is not None:
        response = summary["p50_ms"]["median"]
        numbers["commit_p50_ms"] = commit / 1000
        numbers["commit_part"] = commit / 1000 / response if response else 0
    if summary["waits"]:
        shares = wait_shares(summary["waits"]).items()
        locks = ("Lock:", "LWLock:")
        numbers["lock_waits"] = sum(share for event, share in shares if event.startswith(locks))
    busy = summary["machine_busy"]  # over the whole trial, start and end included: a rough figure
    numbers["others"] = None if busy is None else max(0.0, busy - sum(used.values()) / len(cpus))
    numbers["switches_per_request"] = summary["switches_per_request"]
    return {"verdict": verdict(numbers, used, at), "numbers": numbers}


def verdict(numbers, used, at):
    names = {f"{process}_share": f"CPU of the {process}" for process in PROCESSES}
    names["core_thread"] = "core thread of the server (the serial stage)"
    loads = {name: numbers[name] for name in names if name in numbers}
    most = max(loads, key=loads.get, default=None)
    load = loads.get(most, 0)
    if most == "server_share" and loads.get("core_thread", 0) >= BUSY and len(at["server"]) > 1:
        most = "core_thread"
    if load >= BUSY:
        return f"{names[most]} ({load:.0%})"
    for cpus in set(map(at.get, used)):
        group = sorted((p for p in used if at[p] == cpus), key=used.get, reverse=True)
        share = sum(map(used.get, group)) / len(cpus)
        if len(group) > 1 and share >= BUSY:
            parts = ", ".join(f"{p} {used[p] / share / len(cpus):.0%}" for p in group)
            *first, last = (process for process in used if process in group)
            sharing = f"{', '.join(first)} and {last}"
            return f"CPUs shared by {sharing} ({share:.0%} busy: {parts})"
    if (numbers["others"] or 0) >= 0.3:
        return f"other work on this machine (took {numbers['others']:.0%} of its CPU time)"
    if numbers.get("commit_part", 0) >= 0.3:
        return (
            f"commit ({numbers['commit_p50_ms']:.2f} ms, {numbers['commit_part']:.0%} of a median"
            " reply)"
        )
    if numbers.get("lock_waits", 0) >= 0.3:
        return f"lock waits in the database ({numbers['lock_waits']:.0%} of its active time)"
    return f"waiting: no CPU is busy (most: {names[most]} {load:.0%})" if most else "not known"


def fits_over_clients(cells):
    fits = []
    names = ("store", "kind", "policy", "cores")
    for key, group in grouped([cell for cell in cells if not cell["idle"]], names):
        samples = {cell["clients"]: cell["rates"] for cell in group if has(cell)}
        fitted = fit_with_interval(samples) if len(samples) >= 4 else None
        if fitted:
            fits.append(
                {**dict(zip(names, key, strict=True)), "measured": sorted(samples), **fitted}
            )
    return fits


def grouped(cells, names):
    groups = {}
    for cell in cells:
        groups.setdefault(tuple(cell[name] for name in names), []).append(cell)
    order = {name: nth for names_ in (STORES, KINDS, POLICIES) for nth, name in enumerate(names_)}
    return sorted(groups.items(), key=lambda item: [order.get(value, value) for value in item[0]])


def summarise(head, records):
    """Everything that tables and plots show."""
    settings = Settings(**{**head["settings"], "only": tuple(head["settings"]["only"])})
    of_cell = {}
    for record in records:
        of_cell.setdefault(record["cell"], []).append(record)
    cells = [
        describe(cell, of_cell.get(cell.key), tuple(head["cpus"]), settings)
        for cell in choose(settings)
    ]
    sweep = [cell for cell in cells if cell["part"] == "sweep"]
    return {
        **head,
        "trials_finished": len(records),
        "measuring_s": sum(float(record.get("wall_s", 0)) for record in records),
        "stolen": spread([record.get("machine_stolen") for record in records]),
        "trials_wanted": sum(cell["trials_wanted"] for cell in cells),
        "errors": [cell for cell in cells if cell["errors"]],
        "cells": cells,
        "fits_over_clients": fits_over_clients(sweep),
    }
