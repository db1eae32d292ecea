"""From trials to figures: medians and spreads of each cell, what limits it, and the fits over cells."""

from dataclasses import asdict
from statistics import median

from cells import KINDS, POLICIES, STORES, Settings, choose, place, trials_of, why_not
from figures import rounded
from fit import fit_with_interval, projection

FORMAT = "exchange-scaling/2"  # of results.json
BUSY = 0.85  # of what it could use: from here on it is what limits
STAGES = ("read", "parse", "queue", "apply", "commit", "deliver", "write")
PROJECTED_CORES = (4, 8, 16)


def spread(values):
    values = [value for value in values if value is not None]
    if not values:
        return None
    measured = {"median": median(values), "low": min(values), "high": max(values)}
    return {**measured, "trials": len(values)}


def middle(values):
    values = [value for value in values if value is not None]
    return median(values) if values else None


def per_request(process):
    return process.get("cpu_us_per_request") if process else None


def switches(report):
    process, answered = report.get("server_process"), report["result"]["answered"]
    if not process or not answered or process.get("voluntary_switches") is None:
        return None
    return process["voluntary_switches"] / answered


def figures_of(records):
    """What the trials of one cell measured. Everything else about the cell follows from it: see describe."""
    if all("refused" in record for record in records):
        return {"trials": len(records), "refused": records[0]["refused"]}
    reports = [record["report"] for record in records if record.get("report")]
    failures = [record["failed"] for record in records if record.get("failed")]
    figures, errors = {"trials": len(records)}, {}
    for report in reports:
        for name, count in report["result"]["errors"].items():
            if count:
                errors[name] = errors.get(name, 0) + count
    answering = [report for report in reports if report["result"]["answered"]]
    reason = ""
    if len(answering) < len(reports):
        errors["no reply in the whole trial"] = len(reports) - len(answering)
        reason = "clients waited, and no reply came in the measured part"
    if failures:
        errors["trial failed"] = len(failures)
        reason = failures[0]
    if errors:
        clean = [report for report in answering if sum(report["result"]["errors"].values()) == 0]
        reason = reason or next(
            (
                r["result"][name]
                for r in reports
                for name in ("first_wrong_answer", "first_connect_error")
                if r["result"].get(name)
            ),
            "",
        )
        figures.update(
            {"errors": errors, "reason": reason, "trials_with_errors": len(records) - len(clean)}
        )
    if not answering:
        return figures
    results = [report["result"] for report in answering]
    return rounded(
        {
            **figures,
            "rates": [r["requests_per_s"] for r in results],
            "totals_ms": [r["seconds"] * 1000 for r in results],
            "p50_ms": spread([r["response_ms"]["p50"] for r in results]),
            "p99_ms": spread([r["response_ms"]["p99"] for r in results]),
            "cpu_us": {
                "server": spread([per_request(r.get("server_process")) for r in answering]),
                "client": spread([per_request(r.get("client")) for r in answering]),
                "database": spread([per_request(r.get("database")) for r in answering]),
            },
            "stages_us": stages([report.get("server_stages_us") for report in answering]),
            "switches_per_request": middle([switches(report) for report in answering]),
            "core_thread_share": middle([record.get("core_thread_share") for record in records]),
            "machine_busy": middle([record.get("machine_busy") for record in records]),
            "waits": waits([record.get("waits") for record in records]),
            "workers": answering[0]["load"].get("workers", 1),
        }
    )


def describe(cell, figures, cpus, settings):
    """The summary of one cell; `figures` is None if no trial of it was finished."""
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
    if reason := why_not(cell, cpus):
        unrun = {"status": "not run", "reason": reason, "placement": "", "trials_wanted": 0}
        return {**summary, **unrun}
    if figures is None:
        return {**summary, "status": "not run", "reason": "no trial of it was finished"}
    summary.update(figures)
    if "refused" in figures:
        unrun = {"status": "not run", "reason": figures["refused"], "trials_wanted": 0}
        return {**summary, **unrun}
    if summary["errors"]:
        summary["status"] = "errors"
    if not summary["rates"]:
        return {**summary, "status": "failed"}
    summary["total_ms"] = spread(summary["totals_ms"])
    summary["requests_per_s"] = spread(summary["rates"])
    summary["limit"] = limit(cell, placement, summary, cpus) if cell.load == "sustained" else None
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
    return "not pinned" if cores == 0 else f"{cores} core{'s' if cores > 1 else ''}"


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
    sessions = {}
    for one in measured:
        for event, count in one["sessions"].items():
            sessions[event] = sessions.get(event, 0) + count
    return {
        "samples": samples,
        "sessions": {event: count / samples for event, count in sorted(sessions.items())},
    }


def wait_shares(waits):
    """{event: its share of the time in which sessions were active}, the largest first."""
    active = {event: count for event, count in waits["sessions"].items() if event != "idle"}
    in_all = sum(active.values())
    return {
        event: count / in_all for event, count in sorted(active.items(), key=lambda item: -item[1])
    }


def limit(cell, placement, summary, cpus):
    """The most loaded of what the processes could use; where none is busy, what they wait for."""
    rate = summary["requests_per_s"]["median"]
    may_use = {
        "server": len(placement.server or cpus),
        "client": len(placement.client or cpus),
        "database": len(placement.database or cpus),
    }
    where = {"server": placement.server, "client": placement.client, "database": placement.database}
    used = {
        who: figures["median"] * rate / 1e6 for who, figures in summary["cpu_us"].items() if figures
    }
    caps = {
        who: min(may_use[who], summary["workers"]) if who == "client" else may_use[who]
        for who in used
    }
    numbers = {f"{who}_share": used[who] / caps[who] for who in used}
    if summary["core_thread_share"] is not None and "server" in used:
        numbers["core_thread"] = summary["core_thread_share"] * used["server"]
    groups = {}
    for who in used:
        groups.setdefault(where[who], []).append(who)
    shared = [
        (sum(used[who] for who in group) / len(at or cpus), group)
        for at, group in groups.items()
        if len(group) > 1
    ]
    response, commit = summary["p50_ms"]["median"], summary["stages_us"].get("commit", {}).get(
        "p50"
    )
    if commit is not None:
        numbers["commit_p50_ms"] = commit / 1000
        numbers["commit_part"] = commit / 1000 / response if response else 0
    if summary["waits"]:
        numbers["lock_waits"] = sum(
            share
            for event, share in wait_shares(summary["waits"]).items()
            if event.startswith(("Lock:", "LWLock:"))
        )
    busy = summary["machine_busy"]  # over the whole trial, start and end included: a rough figure
    numbers["others"] = None if busy is None else max(0.0, busy - sum(used.values()) / len(cpus))
    numbers["switches_per_request"] = summary["switches_per_request"]

    names = {
        "server_share": "CPU of the server",
        "client_share": "CPU of the client",
        "database_share": "CPU of the database",
        "core_thread": "core thread of the server (the serial stage)",
    }
    load, most = max(
        ((numbers[name], name) for name in names if name in numbers), default=(0, None)
    )
    if most == "server_share" and numbers.get("core_thread", 0) >= BUSY and may_use["server"] > 1:
        most = "core_thread"
    group_load, group = max(shared, default=(0, []), key=lambda pair: pair[0])
    if load >= BUSY:
        verdict = f"{names[most]} ({load:.0%})"
    elif group_load >= BUSY:
        parts = ", ".join(
            f"{who} {used[who] / group_load / len(where[who] or cpus):.0%}"
            for who in sorted(group, key=lambda who: -used[who])
        )
        verdict = f"CPUs shared by {' and '.join([', '.join(group[:-1]), group[-1]])} ({group_load:.0%} busy: {parts})"
    elif numbers["others"] is not None and numbers["others"] >= 0.3:
        verdict = f"other work on this machine (took {numbers['others']:.0%} of its CPU time)"
    elif numbers.get("commit_part", 0) >= 0.3:
        verdict = f"commit ({numbers['commit_p50_ms']:.2f} ms, {numbers['commit_part']:.0%} of a median reply)"
    elif numbers.get("lock_waits", 0) >= 0.3:
        verdict = f"lock waits in the database ({numbers['lock_waits']:.0%} of its active time)"
    else:
        verdict = (
            f"waiting: no CPU is busy (most: {names[most]} {load:.0%})" if most else "not known"
        )
    numbers["shared_cpus"] = group_load or None
    return {"verdict": verdict, "numbers": numbers}


def fits_over_cores(cells):
    """One for each store, kind, policy and load of the sweep: over the measured throughput, and by CPU."""
    fits = []
    names = ("store", "kind", "policy", "clients", "idle")
    for key, group in grouped(cells, names):
        measured = {cell["cores"]: cell for cell in group if has(cell)}
        samples = {cores: cell["rates"] for cores, cell in measured.items()}
        laws = []
        for with_kappa in (False, True) if len(samples) >= 3 else (False,):
            if fitted := fit_with_interval(samples, with_kappa):
                ahead = [n for n in PROJECTED_CORES if n > max(samples)]
                fitted["projection"] = {str(n): projection(fitted, n) for n in ahead}
                del fitted["fits"]
                laws.append(fitted)
        one = {
            **dict(zip(names, key)),
            "shared_at": [cores for cores, cell in sorted(measured.items()) if cell["shared"]],
            "fits": laws,
            "by_cpu": by_cpu(measured),
        }
        if one["fits"] or one["by_cpu"]:
            fits.append(one)
    return fits


def by_cpu(measured):
    """What the cores could carry if the server had them to itself: cores / server CPU per request; and Amdahl's law with
    the core thread's part of the server's CPU time as the serial share."""
    capacity = {
        cores: cores * 1e6 / cell["cpu_us"]["server"]["median"]
        for cores, cell in measured.items()
        if cell["cpu_us"]["server"] and cell["cpu_us"]["server"]["median"]
    }
    if not capacity:
        return None
    serial = measured[min(capacity)]["core_thread_share"]
    first = min(capacity)
    one_core = capacity[first] / first
    return {
        "capacity": {str(cores): value for cores, value in sorted(capacity.items())},
        "serial_share": serial,
        "most_speedup": 1 / serial if serial else None,
        "projection": {
            str(n): one_core * n / (1 + serial * (n - 1)) for n in (1, 2, *PROJECTED_CORES)
        }
        if serial is not None
        else {},
    }


def fits_over_clients(cells):
    fits = []
    names = ("store", "kind", "policy", "cores")
    for key, group in grouped([cell for cell in cells if not cell["idle"]], names):
        samples = {cell["clients"]: cell["rates"] for cell in group if has(cell)}
        fitted = fit_with_interval(samples, True) if len(samples) >= 4 else None
        if fitted:
            fits.append({**dict(zip(names, key)), **fitted})
    return fits


def grouped(cells, names):
    groups = {}
    for cell in cells:
        groups.setdefault(tuple(cell[name] for name in names), []).append(cell)
    order = {name: nth for names_ in (STORES, KINDS, POLICIES) for nth, name in enumerate(names_)}
    return sorted(groups.items(), key=lambda item: [order.get(value, value) for value in item[0]])


def results_of(head, records):
    """What is kept of a run, as results.json: what was measured in each cell, without anything that follows from it."""
    of_cell, calls = {}, {}
    for record in records:
        of_cell.setdefault(record["cell"], []).append(record)
        if record.get("command"):
            words = record["cell"].split()
            calls.setdefault((words[0], words[1], words[-1]), call_text(record["command"]))
    return {
        "format": FORMAT,
        **{name: value for name, value in head.items() if name not in ("format", "command")},
        "trials_finished": len(records),
        "measuring_s": rounded(sum(float(record.get("wall_s", 0)) for record in records)),
        "stolen": rounded(spread([record.get("machine_stolen") for record in records])),
        "calls": sorted(set(calls.values())),
        "cells": {cell: figures_of(own) for cell, own in sorted(of_cell.items())},
    }


def call_text(command):
    """A command without what differs between trials: seeds, and where a private cluster was."""
    words = ["postgresql:…" if word.startswith("postgresql:") else word for word in command]
    for before, word in enumerate(words[1:]):
        if words[before] in ("--seed", "--database-pid"):
            words[before + 1] = "…"
    return " ".join(words)


def summarise(results):
    """Everything that tables, plots and the page show."""
    settings = Settings(**{**results["settings"], "only": tuple(results["settings"]["only"])})
    cpus = tuple(results["cpus"])
    cells = [
        describe(cell, results["cells"].get(cell.key), cpus, settings) for cell in choose(settings)
    ]
    sweep = [cell for cell in cells if cell["part"] == "sweep"]
    return {
        **results,
        "trials_wanted": sum(cell["trials_wanted"] for cell in cells),
        "errors": [cell for cell in cells if cell["errors"]],
        "cells": cells,
        "fits_over_cores": fits_over_cores(sweep),
        "fits_over_clients": fits_over_clients(sweep),
    }
