"""Throughput and response times of one server beside the reference, as blocks of a page."""

import figures
import weights as weighing
from report import listed, table
from settings import KINDS

POSITIONS = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}


def latency(result, kind, cores, name):
    values = [
        trial["ms"].get(name)
        for trial in (result or {}).get("trials", [])
        if (trial["kind"], trial["cores"]) == (kind, cores) and trial.get("ms")
    ]
    values = [value for value in values if isinstance(value, (int, float))]
    return weighing.median(values) if values else None


def throughput_blocks(result, measured, weights):
    ratios = weighing.ratios(result, measured)
    own, other = weighing.rates(result), weighing.rates(measured)
    rows = []
    for key in sorted(set(own) | set(other), key=lambda key: (key[0], key[1])):
        kind, cores = key
        ratio = ratios.get(key)
        of_points = "–" if ratio is None else f"{weighing.ratio_share(ratio, weights):.0%}"
        percentiles = [latency(result, kind, cores, name) for name in ("p50", "p99")]
        percentiles.append(latency(measured, kind, cores, "p99"))
        share = None if ratio is None else f"{ratio:.1%}"
        rows.append(
            [kind, str(cores), own.get(key), other.get(key), share, *percentiles, of_points]
        )
    columns = ["request", "#cores", "#requests/s", "#of the reference", "#share"]
    columns += ["#p50, ms", "#p99, ms", "#p99 of the reference, ms", "#of the points"]
    blocks = [table(columns, rows)] if rows else []
    items = [scaling(result, measured, kind) for kind in KINDS]
    items += [
        f"{figures.counted(int(cores), 'core was', 'cores were')} not measured: {why}"
        for cores, why in result.get("skipped", {}).items()
    ]
    items += remarks(result)
    if items := [item for item in items if item]:
        blocks.append(listed(items))
    return blocks + charts(result, measured)


def remarks(result):
    trials = result.get("trials", [])
    found = [
        f"{trial['kind']}, {figures.counted(trial['cores'], 'core')}: {trial['problem']}"
        for trial in trials
        if trial.get("problem")
    ]
    shared = sorted({trial["cores"] for trial in trials if trial.get("shares_cpus")})
    if shared:
        words = f"With {', '.join(map(str, shared))} cores the load generator had no CPU of its own"
        found.append(f"{words}, beside the reference too.")
    if any(trial.get("client_was_the_bottleneck") for trial in trials):
        found.append("In some runs the load generator was the bottleneck, not the server.")
    for trial in trials:
        if sum((trial.get("errors") or {}).values()) and not weighing.valid_rate(trial):
            what = f"{trial['kind']}, {figures.counted(trial['cores'], 'core')}"
            words = trial.get("wrong") or ", ".join(trial["errors"])
            found.append(f"{what}: too many requests failed, so it counts as 0. {words}")
    return list(dict.fromkeys(found))


def scaling(result, measured, kind):
    own, other = weighing.scaling_factor(result, kind), weighing.scaling_factor(measured, kind)
    if not own:
        return ""
    words = (
        f"{kind}: on {figures.counted(own[0], 'core')} {own[1]:.2f} times the throughput of one"
        " core"
    )
    return words + (f"; the reference {other[1]:.2f} times." if other else ".")


def charts(result, measured):
    made = []
    for kind in KINDS:
        rates, latencies = rate_chart(result, measured, kind), latency_chart(result, measured, kind)
        if both := [block for block in (rates, latencies) if block]:
            made.append({"type": "columns", "blocks": both})
    return made


def pair(own, other):
    """The lines of the server and of the reference, without one that has no values."""
    lines = [
        {"name": "this server", "values": own, "color": "blue"},
        {"name": "reference", "values": other, "color": "grey", "look": "dashed"},
    ]
    return [line for line in lines if any(value is not None for value in line["values"])]


def rate_chart(result, measured, kind):
    own, other = weighing.rates(result), weighing.rates(measured)
    positions = sorted({cores for of, cores in {*own, *other} if of == kind})
    lines = pair(*([rates.get((kind, cores)) for cores in positions] for rates in (own, other)))
    return positions and {
        "type": "chart",
        "title": f"Throughput of {kind} requests",
        "x": {"name": "cores of the server"},
        "y": {"name": "requests/s", "unit": "requests/s", "scale": "log"},
        "positions": positions,
        "lines": lines,
    }


def latency_chart(result, measured, kind):
    cores = max((cores for of, cores in weighing.rates(result) if of == kind), default=None)
    values = [[latency(one, kind, cores, name) for name in POSITIONS] for one in (result, measured)]
    lines = cores and pair(*values)
    return lines and {
        "type": "chart",
        "title": f"Response time of {kind} requests on {figures.counted(cores, 'core')}",
        "x": {"name": "share of the requests that were faster", "scale": "percentile"},
        "y": {"name": "response time, ms", "unit": "ms", "scale": "log"},
        "positions": list(POSITIONS.values()),
        "lines": lines,
    }


def reference_blocks(reference):
    measured = reference.parts.get("throughput") or {}
    rows = [
        [kind, str(cores), rate] + [latency(measured, kind, cores, name) for name in ("p50", "p99")]
        for (kind, cores), rate in sorted(weighing.rates(measured).items())
    ]
    columns = ["request", "#cores", "#requests/s", "#p50, ms", "#p99, ms"]
    title = "The reference: this project's server, policy loop, SQLite on the disk"
    return [table(columns, rows, title=title)]
