#!/usr/bin/env python3
"""Makes a page of what the load generator wrote with --json: of a run, or of several runs side by
side.

    build/bin/loadgen -c 50 -d 10s --json run.json
    client/report/loadgen_page.py run.json > run.html
    client/report/loadgen_page.py before.json after1.json,after2.json -o both.html
    client/report/loadgen_page.py --hdr run.json

Files with commas between are runs of one side, as for `loadgen compare`."""

import argparse
import json
import math
import shlex
from bisect import bisect_left
from collections import Counter
from itertools import accumulate, cycle
from pathlib import Path
from statistics import median

from figures import counted
from report import chart, code, columns, line, listed, pre, render, section, table, text, values

FORMAT = "exchange-loadgen/1"
STOLEN_MAX = 0.01  # of the CPU time: from here on the load generator warns too
FINDINGS_SHOWN = 5
SETTINGS = ("load", "workload", "server", "machine")
EXAMPLES = ("first_rejection", "first_wrong_answer", "first_connect_error")
PROCESSES = {"client": "client", "server": "server_process", "database": "database"}
COLORS = ("orange", "green", "blue", "violet", "red", "grey")
SHARES = [0.5, *(1 - 10 ** (-step / 40) for step in range(13, 201))]  # even on the page's axis
SECONDS = {"name": "seconds from the start", "unit": "s"}
MS = {"name": "ms", "unit": "ms", "scale": "log"}
CPU = {"name": "%: server of one CPU, client of those it could use, stolen of all", "unit": "%"}
LATENCIES = (
    "response_max_ms grey, response_p99_ms orange, response_p50_ms blue, service_p99_ms green"
    " dashed"
)
# The title of a chart, its axis, and of each line the figure of a second and the look.
OVER_TIME = (
    ("Rate", "requests/s", "requests_per_s blue, planned_per_s grey dashed"),
    ("Latency", MS, LATENCIES),
    ("CPU", CPU, "server_cpu_share violet, client_cpu_share orange, stolen_cpu_share red"),
    ("Requests in flight", "requests", "in_flight blue"),
    ("Errors and rejections", "a second", "errors red, rejected violet"),
)
# the columns of a table of several runs, and where each figure stands
RATE = "result.requests_per_s"
MEDIANS = {
    "#p50, ms": "result.response_ms.p50",
    "#p99, ms": "result.response_ms.p99",
    "#p99.9, ms": "result.response_ms.p99_9",
    "#server µs/req": "server_process.cpu_us_per_request",
    "#client µs/req": "client.cpu_us_per_request",
}
COLUMNS = ["throughput", "#requests/s", "#least", "#greatest", *MEDIANS, "#errors"]
BOTTLENECK = "The client was the bottleneck: the server could do more than this."
STOLEN = "The hypervisor took CPU time from this machine: the latencies include its pauses."
AUDIT_FAILED = "The audit failed: the server’s answers do not add up."
RESPONSE = (
    "Response counts from when a request was planned or its client free; service from the first"
    " byte sent."
)


def at(report, place):
    """None if any of its keys is missing."""
    for key in place.split("."):
        report = report.get(key) if isinstance(report, dict) else None
    return report


def verdict(good, yes, no):
    return {"text": yes, "kind": "good"} if good else {"text": no, "kind": "bad"}


def measured(expectation):
    value = expectation["measured"]
    return "not measured" if value is None else [value, " ", expectation["unit"]]


def errors_of(run):
    return sum(run["result"]["errors"].values())


def examples(run, *keys):
    """What the server sent, word for word."""
    sent = {key.replace("_", " ").capitalize(): run["result"].get(key) for key in keys}
    return [[f"{what}: ", code(words)] for what, words in sent.items() if words]


def notices(*found):
    """found: tuples of (whether it holds, kind, words, and maybe details)."""
    keys = ("kind", "text", "details")
    return [dict(zip(keys, notice)) for holds, *notice in found if holds]


def remarks(run):
    """What must not be overlooked; first what else than the server shaped the figures."""
    result, audit = run["result"], run["audit"] or {"passed": True, "findings": []}
    bound = f"It used {100 * run['client']['cpu_share']:.0f} % of the CPU that it had."
    stolen = result.get("stolen_cpu_share") or 0
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in result["errors"].items() if n)
    findings, more = audit["findings"], len(audit["findings"]) - FINDINGS_SHOWN
    rest = [{"text": f"and {more} more", "section": "audit"}] if more > 0 else []
    missed = [[one["text"], ": ", measured(one)] for one in run["expectations"] if not one["met"]]
    why, forms, unsent = audit.get("not_checked"), result.get("deviations"), result["unsent"]
    return notices(
        (run["client_was_the_bottleneck"], "warn", BOTTLENECK, [bound]),
        (stolen > STOLEN_MAX, "warn", STOLEN, [f"It took {stolen:.1%} of it."]),
        (kinds, "bad", f"Errors: {kinds}.", examples(run, *EXAMPLES[1:])),
        (findings, "bad", AUDIT_FAILED, findings[:FINDINGS_SHOWN] + rest),
        (not audit["passed"] and not findings, "bad", "Nothing was audited."),
        (forms, "warn", "Replies differ from the protocol in form.", forms),
        (why, "warn", "The audit did not check everything.", [why]),
        (missed, "bad", f"{counted(len(missed), 'expectation')} missed.", missed),
        (result["stopped_early"], "warn", "The run was stopped early."),
        (unsent, "warn", f"{unsent:,} of {result['planned']:,} planned requests were never sent."),
        (not run["load"]["reply_check"], "warn", "Replies were not checked."),
    )


def all_well(run):
    words = [f"No errors in {counted(run['result']['answered'], 'answer')}."]
    words += ["The audit passed."] if run["audit"] else []
    words += [f"{counted(len(met), 'expectation')} met."] if (met := run["expectations"]) else []
    return notices((True, "good", " ".join(words)))


def cards(run):
    result, ms, errors = run["result"], run["result"]["response_ms"], errors_of(run)
    cpu = {name: run[key]["cpu_us_per_request"] for name, key in PROCESSES.items() if run[key]}
    rejected, best = sum(result["rejected"].values()), run.get("capacity")
    found = [
        ("Throughput, requests/s", result["requests_per_s"], {"answered": result["answered"]}),
        ("Response p99, ms", ms["p99"], {"p50": ms["p50"], "p99.9": ms["p99_9"]}),
        ("Errors", errors, {"rejected": rejected}),
        ("Server CPU, µs/request", cpu.pop("server", None), cpu),
    ]
    if best:
        facts = {"while": best["expectation"]}
        found.insert(0, ("Capacity, requests/s", best["requests_per_s"], facts))
    return [dict(title=of, figure=figure, facts=list(facts.items())) for of, figure, facts in found]


def column(rows, key):
    factor = 100 if key.endswith("_share") else 1
    return [None if row.get(key) is None else factor * row[key] for row in rows]


def over_time(run):
    series, warm_up = run["series"], [one["second"] for one in run["series"] if one["warmup"]]
    shade, charts = {"shade_to": warm_up[-1] + 0.5} if warm_up else {}, []
    for title, axis, figures in OVER_TIME:
        lines = []
        for key, *look in map(str.split, figures.split(", ")):
            name = key.replace("_ms", "").replace("_cpu_share", "").replace("_per_s", "")
            lines.append(line(name.replace("_", " "), column(series, key), *look))
        if lines := [one for one in lines if any(one["values"])]:
            charts.append(chart(title, SECONDS, axis, column(series, "second"), lines, **shade))
    return [columns(*charts)] if charts else []


def percentiles(buckets):
    """The milliseconds that each of SHARES of the requests took at most; None where less than one
    took longer."""
    ends = list(accumulate(count for _, count in buckets))
    total = ends[-1] if ends else 0
    known = [share for share in SHARES if (1 - share) * total > 1 - 1e-6]
    found = [buckets[bisect_left(ends, share * total)][0] / 1000 for share in known]
    return found + [None] * (len(SHARES) - len(found))


def distribution(title, *lines):
    """lines: tuples of a name, buckets of (microseconds at most, count), and the look."""
    lines = [line(name, percentiles(buckets), *look) for name, buckets, *look in lines]
    x = {"name": "per cent of the requests that took no longer", "scale": "percentile"}
    return chart(title, x, MS, SHARES, lines)


def latency(run):
    result, service = run["result"], run["result"]["service_ms"]
    drawn = distribution(
        "Distribution",
        ("response", result["response_histogram"], "blue"),
        ("service", result["service_histogram"], "green", "dashed"),
    )
    rows = [[key.replace("_", "."), ms, service[key]] for key, ms in result["response_ms"].items()]
    return [columns(drawn, table(["", "#response, ms", "#service, ms"], rows, note=RESPONSE))]


def capacity(run):
    if not (found := run.get("capacity")):
        return []
    keys = ("requests_per_s", "achieved_per_s", "response_p99_ms", "measured")
    rows = [
        [*map(trial.get, keys), verdict(trial["held"], "held", "not held")]
        for trial in sorted(found["trials"], key=lambda trial: trial["requests_per_s"])
    ]
    note = f"Held: {found['expectation']}."
    heads = ["#planned/s", "#achieved/s", "#response p99, ms", f"#measured, {found['unit']}", ""]
    return [table(heads, rows, note=note)]


def errors_and_rejections(run):
    result = run["result"]
    tables = values("Errors", result["errors"]), values("Rejections", result["rejected"])
    return [columns(*tables), *(text(*example) for example in examples(run, *EXAMPLES))]


def expectations(run):
    rows = [
        [one["text"], measured(one), verdict(one["met"], "met", "not met")]
        for one in run["expectations"]
    ]
    return [table(["expected", "#measured", ""], rows)] if rows else []


def audit(run):
    if not (found := dict(run["audit"] or {})):
        return []
    passed, findings = found.pop("passed"), found.pop("findings")
    words = verdict(passed, "Passed.", "Failed." if findings else "Nothing was audited.")
    return [text(words), *([listed(findings)] if findings else []), values("", found)]


def stages(run):
    """Each bar begins where the mean of the stage before ends."""
    found, keys = run["server_stages_us"] or {}, ("mean", "p50", "p99", "count")
    ends = [0, *accumulate(stage["mean"] for stage in found.values())]
    total = ends[-1] or 1
    bars = [{"bar": [begin / total, end / total]} for begin, end in zip(ends, ends[1:])]
    rows = [[name, bar, *map(found[name].get, keys)] for name, bar in zip(found, bars)]
    heads = ["stage", "mean, in order", "#mean, µs", "#p50", "#p99", "#count"]
    note = ["As the server measured them; together ", ends[-1], " µs on average."]
    return [table(heads, rows, note=note)] if rows else []


def resources(run):
    used = {name: run[key] for name, key in PROCESSES.items() if run[key]}
    rows = [[key.replace("_", " "), *(of[key] for of in used.values())] for key in run["client"]]
    return [table(["", *(f"#{name}" for name in used)], rows)]


def settings(run):
    seed = {"seed": str(run["workload"]["seed"])}  # scripts lose digits of such numbers
    shown = {key: run[key] for key in SETTINGS} | {"workload": run["workload"] | seed}
    tables = [values(key.capitalize(), of) for key, of in shown.items()]
    return [pre(shlex.join(run["command"])), columns(*tables)]


def run_page(run):
    load, kind = run["load"], run["workload"]["kind"]
    is_bad = any(one["kind"] == "bad" for one in remarks(run))
    parts = [capacity, over_time, latency, errors_and_rejections, expectations, audit, stages]
    parts += [resources, settings]
    titles = {part: part.__name__.replace("_", " ").capitalize() for part in parts}
    return {
        "title": f"Load test: {kind}, {counted(load['clients'], 'client')}, {load['mode']} loop",
        "about": f"{run['server']['description']} · {run['started']} · commit {run['commit']}",
        "notices": remarks(run) if is_bad else remarks(run) + all_well(run),
        "cards": cards(run),
        "sections": [section(part.__name__, title, *part(run)) for part, title in titles.items()],
    }


def spread(runs, place):
    """Median, least and greatest."""
    found = [figure for run in runs if (figure := at(run, place)) is not None]
    return [median(found), min(found), max(found)] if found else [None] * 3


def figures(heads, sides):
    """A row for each side: how it begins, its runs, and why there are none."""
    best, rows = max(spread(runs, RATE)[0] or 0 for _, runs, _ in sides) or 1, []
    for begin, runs, why in sides:
        rate, *ends = spread(runs, RATE)
        found = [{"bar": [0, (rate or 0) / best]}, rate, *ends]
        found += [spread(runs, place)[0] for place in MEDIANS.values()]
        rows.append([*begin, *found, sum(map(errors_of, runs))] if runs else [*begin, why])
    note = "Medians of the runs; least and greatest are of the throughput."
    return section("figures", "Figures", table([*heads, *COLUMNS], rows, note=note))


def response_times(title, sides):
    """A line for each name, of the requests of all its runs."""
    merged = []
    for (name, runs), color in zip(sides.items(), cycle(COLORS)):
        buckets = Counter()
        for run in runs:
            buckets.update(dict(run["result"]["response_histogram"]))
        merged.append((name, sorted(buckets.items()), color))
    return distribution(title, *merged)


def comparison_page(sides):
    """`sides`: the runs of files, under their names with commas between."""
    doubts, every = [], []
    for (side, runs), color in zip(sides.items(), cycle(COLORS)):
        for file, run in zip(side.split(","), runs):
            doubts += [[file, ": ", one["text"]] for one in remarks(run)]
            every.append((file, run["series"][:-1], color))  # the last second may be cut short
    seconds = sorted({second["second"] for _, series, _ in every for second in series})
    charts, setups = [response_times("Response time", sides)], []
    for title, axis, key in (
        ("Throughput", "requests/s", "requests_per_s"),
        ("Response p99", MS, "response_p99_ms"),
    ):
        lines = []
        for file, series, color in every:
            found = dict(zip(column(series, "second"), column(series, key)))
            lines.append(line(file, [found.get(second) for second in seconds], color))
        charts.append(chart(title, SECONDS, axis, seconds, lines))
    for name, (run, *_) in sides.items():
        setups += [text(name, ": ", run["server"]["description"]), pre(shlex.join(run["command"]))]
    return {
        "title": "Load tests side by side",
        "notices": notices((doubts, "warn", "What to know about these runs", doubts)),
        "sections": [
            figures(["runs"], [([name], runs, "") for name, runs in sides.items()]),
            section("charts", "Charts", columns(*charts)),
            section("setup", "Set-up", *setups),
        ],
    }


def read(name):
    """Raises ValueError if it is not a report."""
    try:
        report = json.loads(Path(name).read_text())
    except ValueError:
        report = None
    if at(report, "format") != FORMAT:
        raise ValueError(f"{name} is not a report of the load generator")
    return report


def hdr_text(buckets):
    """Percentiles in milliseconds, in the text format that HdrHistogram prints and its plotters
    read; `buckets`: [[highest value in microseconds, number of values]]."""
    total = sum(count for _, count in buckets)
    mean = sum(value * count for value, count in buckets) / max(total, 1)
    variance = sum(count * (value - mean) ** 2 for value, count in buckets) / max(total, 1)
    lines, seen = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} 1/(1-Percentile)", ""], 0
    for value, count in buckets:
        seen += count
        rest = f" {total / (total - seen):14.2f}" if seen < total else ""
        lines.append(f"{value / 1e3:12.3f} {seen / total:14.12f} {seen:10}{rest}")
    greatest = buckets[-1][0] if buckets else 0
    lines += [
        f"#[Mean    = {mean / 1e3:12.3f}, StdDeviation   = {math.sqrt(variance) / 1e3:12.3f}]",
        f"#[Max     = {greatest / 1e3:12.3f}, Total count    = {total:12}]",
    ]
    return "\n".join(lines) + "\n"


def page(arguments):
    """`arguments`: names of files; several of one side with commas between."""
    sides = {one: list(map(read, one.split(","))) for one in arguments}
    (first, *more), *others = sides.values()
    return comparison_page(sides) if more or others else run_page(first)


def main():
    keep = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=keep)
    parser.add_argument("reports", nargs="+", metavar="REPORT.json")
    parser.add_argument("-o", "--output", help="file of the page (default: stdout)")
    hdr = "percentiles of the response times of one run, as text for HdrHistogram's plotter"
    parser.add_argument("--hdr", action="store_true", help=hdr)
    chosen = parser.parse_args()
    try:
        if chosen.hdr:
            (name,) = chosen.reports
            made = hdr_text(read(name)["result"]["response_histogram"])
        else:
            made = render(page(chosen.reports))
        if chosen.output:
            Path(chosen.output).write_text(made)
        else:
            print(made, end="")
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
