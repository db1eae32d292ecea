"""Tables, facts and charts from the records of trials; Markdown and SVG, no library."""

import re
import sys
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[2] / "support"))
import figures
from rows import ORIGINALS, ROWS, USERS

MARKER = re.compile(r"(<!-- begin ([\w-]+) -->\n)(.*?)(<!-- end \2 -->)", re.S)
BUSY = 0.85  # of a CPU: a Python process that runs this much of the time has no time left
TITLES = {row.key: row.title for row in ROWS}


def number(value, digits=0):
    return "–" if value is None else f"{value:,.{digits}f}"


def milliseconds(value):
    return number(value, 2 if value < 10 else 1 if value < 100 else 0)


def middle(records):
    """{row: (the trial with the median throughput, lowest and highest throughput)}, in the order of ROWS."""
    found = {}
    for row in ROWS:
        trials = sorted((record for record in records if record["row"] == row.key), key=rate_of)
        if trials:
            found[row.key] = (
                trials[(len(trials) - 1) // 2],
                rate_of(trials[0]),
                rate_of(trials[-1]),
            )
    return found


def rate_of(record):
    return record["statistics"]["Aggregated"]["rate"]


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def statistics_table(records):
    """In the shape of table D, the originals beside ours."""
    rows = [
        [title, "", "", "", "", number(p99), number(average, 1), "", "", "", number(rate, 1), ""]
        for title, rate, average, p99 in ORIGINALS
    ]
    for key, (record, lowest, highest) in middle(records).items():
        all_ = record["statistics"]["Aggregated"]
        rate = number(all_["rate"], 1 if all_["rate"] < 100 else 0)
        if lowest != highest:
            rate += f" ({number(lowest)} – {number(highest)})"
        rows.append(
            [
                TITLES[key],
                number(all_["requests"]),
                number(all_["failures"]),
                *(
                    milliseconds(all_[name])
                    for name in ("median", "p95", "p99", "average", "minimum", "maximum")
                ),
                number(all_["size"]),
                rate,
                number(all_["failure_rate"], 1),
            ]
        )
    return markdown(
        [
            "set-up",
            "requests",
            "failures",
            "median (ms)",
            "95 %",
            "99 %",
            "average",
            "min",
            "max",
            "average size (bytes)",
            "requests/s",
            "failures/s",
        ],
        rows,
    )


def limit(record, row):
    """What keeps the row from being faster, from what was measured."""
    usage = record["usage"]
    if row.wait[1]:
        return f"the users, who wait {sum(row.wait) / 2:g} s between requests"
    if row.user and usage["locust_process"] >= BUSY:
        return f"Locust: its busiest process takes {usage['locust_process']:.0%} of a CPU"
    if usage["server_thread"] >= BUSY:
        return f"the server: its thread `{usage['server_thread_name']}` takes {usage['server_thread']:.0%} of a CPU"
    if usage["machine"] >= 0.9:
        others = f", others {usage['others']:.2f}" if usage["others"] > 0.1 else ""
        return f"the machine has no CPU left: the load takes {usage['locust']:.2f}, the server {usage['server']:.2f}{others}"
    if usage["commits"] >= BUSY:
        return "the server: it commits all the time"
    return "nothing is used up: latency"


def usage_table(records):
    rows = []
    for row in ROWS:
        if row.key not in middle(records):
            continue
        record = middle(records)[row.key][0]
        usage = record["usage"]
        of_a_request = 1e6 / max(rate_of(record), 1e-9)
        rows.append(
            [
                row.title,
                f"{usage['server']:.0%}",
                f"{usage['server_thread']:.0%} `{usage['server_thread_name']}`",
                f"{usage['locust']:.0%}",
                f"{usage['locust_process']:.0%}",
                f"{usage['others']:.0%}",
                f"{usage['machine']:.0%}",
                f"{usage['commits']:.0%}",
                number(usage["server"] * of_a_request),
                number(usage["locust"] * of_a_request),
                limit(record, row),
            ]
        )
    return markdown(
        [
            "set-up",
            "server, % of a CPU",
            "its busiest thread",
            "load, % of a CPU",
            "its busiest process",
            "others, % of a CPU",
            "machine busy",
            "time in commits",
            "server us per request",
            "load us per request",
            "what limits",
        ],
        rows,
    )


def facts(records):
    """Sentences that hold figures of this run, for the rows that were run."""
    there = middle(records)
    rate = {key: rate_of(record) for key, (record, _, _) in there.items()}
    usage = {key: record["usage"] for key, (record, _, _) in there.items()}
    found = []
    for name, title in (
        ("http", "HTTP, plain client"),
        ("fast", "HTTP, fast client"),
        ("xml", "XML port"),
        ("loadgen", "C++ load generator"),
    ):
        one, four = f"{name}-1", f"{name}-4"
        if one in rate and four in rate:
            found.append(
                f"**Four load workers against one, {title}**: {number(rate[four])} against {number(rate[one])} requests/s, a factor of {rate[four] / rate[one]:.2f}. With one, the server used "
                f"{usage[one]['server']:.2f} CPUs and the load {usage[one]['locust']:.2f}; with four {usage[four]['server']:.2f} and {usage[four]['locust']:.2f}."
            )
    if "http-1" in rate and "fast-1" in rate:
        found.append(
            f"**Plain against fast client**, one worker: {number(rate['http-1'])} against {number(rate['fast-1'])} requests/s, a factor of {rate['fast-1'] / rate['http-1']:.1f}."
        )
    best = max(
        (key for key in rate if key.startswith(("xml", "http", "fast"))), key=rate.get, default=None
    )
    if best and "loadgen-1" in rate:
        found.append(
            f"**Was it the server?** The C++ load generator, on one thread, gets {number(rate['loadgen-1'])} requests/s out of the same server; the best of Locust "
            f"({TITLES[best]}) {number(rate[best])}, {rate[best] / rate['loadgen-1']:.0%} of that."
        )
    for key in ("http-1-wait", "fast-1-wait", "xml-1-wait"):
        if key in there:
            all_ = there[key][0]["statistics"]["Aggregated"]
            found.append(
                f"**At the originals' rate**, {TITLES[key]}: {all_['rate']:.1f} requests/s, {milliseconds(all_['average'])} ms on average, {milliseconds(all_['p99'])} ms at 99 %; "
                f"the server used {usage[key]['server']:.1%} of a CPU."
            )
    sizes, rates = (
        {
            key: [point[figure] for point in there[key][0]["history"]]
            for key in ("grow", "control", "grow-http")
            if key in there
        }
        for figure in ("size", "rate")
    )
    if "grow" in there and "control" in there:
        if sizes["grow"] and sizes["control"]:
            found.append(
                f"**Replies that grow**: while the average reply grew from {number(sizes['grow'][0])} to {number(sizes['grow'][-1])} bytes, throughput went from {number(rates['grow'][0])} to "
                f"{number(rates['grow'][-1])} requests/s; with replies of {number(median(sizes['control']))} bytes it stayed around {number(median(rates['control']))}. "
                f"Overall {rate['grow'] / rate['control']:.0%} of the throughput."
            )
    if sizes.get("grow-http"):
        found.append(
            f"**The same over HTTP** (fast client): from {number(sizes['grow-http'][0])} to {number(sizes['grow-http'][-1])} bytes, {number(rates['grow-http'][0])} to "
            f"{number(rates['grow-http'][-1])} requests/s; the server's thread `{usage['grow-http']['server_thread_name']}` took {usage['grow-http']['server_thread']:.0%} of a CPU."
        )
    return "\n".join(f"- {fact}" for fact in found) + "\n"


def chart(title, unit, lines, logarithmic=False):
    """An SVG of lines over seconds: [(name, [(x, y)])]."""
    import math

    width, height, left, top, right, bottom = 760, 300, 70, 30, 20, 60
    lines = [(name, points) for name, points in lines if len(points) > 1]
    xs, ys = [x for _, points in lines for x, _ in points] or [0, 1], [
        y for _, points in lines for _, y in points
    ] or [1]
    scale = (lambda value: math.log10(max(value, 1))) if logarithmic else (lambda value: value)
    lowest, highest = (
        (math.floor(scale(min(ys))), math.ceil(scale(max(ys)) or 1))
        if logarithmic
        else (0, max(ys) * 1.05)
    )
    highest = max(highest, lowest + 1e-9)

    def at_x(x):
        return left + (x - min(xs)) / max(max(xs) - min(xs), 1e-9) * (width - left - right)

    def at_y(y):
        return height - bottom - (scale(y) - lowest) / (highest - lowest) * (height - top - bottom)

    ticks = (
        [10**power for power in range(lowest, highest + 1)]
        if logarithmic
        else [highest * part / 4 for part in range(5)]
    )
    colours = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="18" font-size="14">{title}</text>',
    ]
    for tick in ticks:
        svg.append(
            f'<line x1="{left}" x2="{width - right}" y1="{at_y(tick):.1f}" y2="{at_y(tick):.1f}" stroke="#ddd"/><text x="{left - 6}" y="{at_y(tick) + 4:.1f}" text-anchor="end">{tick:,.0f}</text>'
        )
    svg.append(
        f'<text x="{left}" y="{height - bottom + 16}">{min(xs):.0f} s</text><text x="{width - right}" y="{height - bottom + 16}" text-anchor="end">{max(xs):.0f} s</text>'
        f'<text x="14" y="{height / 2}" transform="rotate(-90 14 {height / 2})" text-anchor="middle">{unit}</text>'
    )
    for at, (name, points) in enumerate(lines):
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
        svg.append(
            f'<polyline points="{path}" fill="none" stroke="{colours[at % len(colours)]}" stroke-width="1.5"/>'
        )
        svg.append(
            f'<text x="{left + at % 3 * 225}" y="{height - 24 + at // 3 * 16}" fill="{colours[at % len(colours)]}">{name}</text>'
        )
    return "\n".join(svg + ["</svg>"]) + "\n"


def charts(records):
    """{file name: SVG}. Workers report every few seconds, so only rows of one process are drawn second by second."""
    there = middle(records)

    def lines(keys, figure):
        return [
            (short, [(point["second"], point[figure]) for point in there[key][0]["history"]])
            for key, short in keys
            if key in there
        ]

    pressure = (
        ("http-1", "HTTP, plain client"),
        ("fast-1", "HTTP, fast client"),
        ("xml-1", "XML port"),
    )
    growth = (
        ("control", "one execution"),
        ("grow", "one more at each write"),
        ("grow-http", "the same over HTTP"),
    )
    return {
        "throughput.svg": chart(
            f"{USERS} users without pause, one load worker", "requests/s", lines(pressure, "rate")
        ),
        "growing-rate.svg": chart(
            "The order that is read: throughput", "requests/s", lines(growth, "rate")
        ),
        "growing-size.svg": chart(
            "The order that is read: average reply",
            "bytes",
            lines(growth, "size"),
            logarithmic=True,
        ),
    }


def set_up(head):
    return (
        f"{head['date']}, {head['processor']}, {head['cpus']} CPUs, {head['memory_gib']:.0f} GiB, kernel {head['kernel']}, Python {head['python']}, Locust {head['locust']}; "
        f"server `{head['server']}`; {head['seconds']:g} s a row after the users were there, {head['trials']} {'trial' if head['trials'] == 1 else 'trials'} of each row, interleaved. "
        f"Load average of the machine before the first row: {head['load_average']:.1f}"
        + (
            ": **others were at work on it**, so read the ratios."
            if head["load_average"] > 0.5
            else "."
        )
        + "\n"
    )


def fill(text, blocks):
    """Replaces what stands between the markers; the rest was written by hand and stays."""
    missing = set(re.findall(r"<!-- begin ([\w-]+) -->", text)) - set(blocks)
    if missing:
        raise SystemExit(f"docs: no table or text named {', '.join(sorted(missing))}")
    return MARKER.sub(lambda match: f"{match[1]}{blocks[match[2]].rstrip()}\n{match[4]}", text)


def blocks(results):
    records = results["trials"]
    failed = "".join(f"- {TITLES[key]}: not measured: {why}\n" for key, why in results["failed"])
    sentences = {}
    for key, (record, _, _) in middle(records).items():
        for sentence, times in record["failures"].items():
            sentences.setdefault(TITLES[key], []).append(f"{sentence} ({times:,})")
    failures = (
        "".join(f"- {title}: {'; '.join(each)}\n" for title, each in sentences.items())
        or "No request failed.\n"
    )
    return {
        "set-up": set_up(results["head"]),
        "statistics": statistics_table(records),
        "usage": usage_table(records),
        "facts": facts(records),
        "failures": failures + failed,
    }


def update(docs, results):
    page, folder, results = docs / "locust.md", docs / "locust", figures.rounded(results)
    page.write_text(fill(page.read_text(), blocks(results)))
    folder.mkdir(exist_ok=True)
    for name, svg in charts(results["trials"]).items():
        (folder / name).write_text(svg)
    (folder / "results.json").write_text(figures.text(results) + "\n")
