"""docs/locust.md and docs/locust/tables.md from the records of trials: tables, sentences and charts."""

from statistics import median

import figures
from rows import ORIGINALS, ROWS, USERS
from studies.report.documents import fill, write_charts
from report_tables import Column, Table, fixed, number, percent, ranged, rows_of

PAGES = ("locust.md", "locust/tables.md")  # of docs
BUSY = 0.85  # of a CPU: a Python process that runs this much of the time has no time left
TITLES = {row.key: row.title for row in ROWS}


def rate_of(record):
    return record["statistics"]["Aggregated"]["rate"]


def middle(records):
    """{row: (the trial with the median throughput, lowest and highest throughput)}, in the order of ROWS."""
    found = {}
    for row in ROWS:
        trials = sorted((record for record in records if record["row"] == row.key), key=rate_of)
        if trials:
            record = trials[(len(trials) - 1) // 2]
            found[row.key] = (record, rate_of(trials[0]), rate_of(trials[-1]))
    return found


def statistics_table(records):
    """In the shape of table D, the originals beside ours."""

    def rate(one):
        record, lowest, highest = one
        if lowest != highest:
            return ranged(rate_of(record), lowest, highest, fixed)
        return number(lowest) if lowest < 100 else fixed(lowest)

    shown = (
        *(("requests", "requests", fixed), ("failures", "failures", fixed)),
        *(("median (ms)", "median", number), ("95 %", "p95", number), ("99 %", "p99", number)),
        *(("average", "average", number), ("min", "minimum", number), ("max", "maximum", number)),
        ("average size (bytes)", "size", fixed),
    )
    columns = [Column("set-up", lambda one: TITLES[one[0]["row"]], left=True)]
    for head, name, form in shown:
        columns.append(Column(head, lambda one, name=name, form=form: form(whole(one)[name])))
    columns.append(Column("requests/s", rate))
    columns.append(Column("failures/s", lambda one: fixed(whole(one)["failure_rate"], 1)))
    originals = [
        [title, "", "", "", "", fixed(p99), fixed(average, 1), "", "", "", fixed(rate, 1)]
        for title, rate, average, p99 in ORIGINALS
    ]
    rows = originals + rows_of(columns, middle(records).values())
    return Table("statistics", "", columns, rows).markdown()


def whole(one):
    return one[0]["statistics"]["Aggregated"]


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
    by_key = {row.key: row for row in ROWS}

    def share(head, name):
        return Column(head, lambda record: percent(record["usage"][name]))

    def thread(record):
        usage = record["usage"]
        return f"{percent(usage['server_thread'])} `{usage['server_thread_name']}`"

    def per_request(head, name):
        return Column(
            head, lambda record: fixed(record["usage"][name] * 1e6 / max(rate_of(record), 1e-9))
        )

    columns = [
        Column("set-up", lambda record: TITLES[record["row"]], left=True),
        share("server, % of a CPU", "server"),
        Column("its busiest thread", thread),
        share("load, % of a CPU", "locust"),
        share("its busiest process", "locust_process"),
        share("others, % of a CPU", "others"),
        share("machine busy", "machine"),
        share("time in commits", "commits"),
        per_request("server us per request", "server"),
        per_request("load us per request", "locust"),
        Column("what limits", lambda record: limit(record, by_key[record["row"]])),
    ]
    shown = [record for record, _, _ in middle(records).values()]
    return Table("usage", "", columns, rows_of(columns, shown)).markdown()


def facts(records):
    """Sentences that hold figures of this run, for the rows that were run."""
    there = middle(records)
    rate = {key: rate_of(record) for key, (record, _, _) in there.items()}
    usage = {key: record["usage"] for key, (record, _, _) in there.items()}
    found = []

    def compare(one, other, digits):
        factor = f"{rate[one] / rate[other]:.{digits}f}"
        return f"{fixed(rate[one])} against {fixed(rate[other])} requests/s, a factor of {factor}"

    for name, title in (
        ("http", "HTTP, plain client"),
        ("fast", "HTTP, fast client"),
        ("xml", "XML port"),
        ("loadgen", "C++ load generator"),
    ):
        one, four = f"{name}-1", f"{name}-4"
        if one in rate and four in rate:
            used = [usage[key][side] for key in (one, four) for side in ("server", "locust")]
            found.append(
                f"**Four load workers against one, {title}**: {compare(four, one, 2)}. With one, the server used "
                "{:.2f} CPUs and the load {:.2f}; with four {:.2f} and {:.2f}.".format(*used)
            )
    if "http-1" in rate and "fast-1" in rate:
        found.append(
            f"**Fast against plain client**, one worker: {compare('fast-1', 'http-1', 1)}."
        )
    ours = [key for key in rate if key.startswith(("xml", "http", "fast"))]
    if ours and "loadgen-1" in rate:
        best = max(ours, key=rate.get)
        found.append(
            f"**Was it the server?** The C++ load generator, on one thread, gets {fixed(rate['loadgen-1'])} requests/s out of the same server; the best of Locust "
            f"({TITLES[best]}) {fixed(rate[best])}, {rate[best] / rate['loadgen-1']:.0%} of that."
        )
    for key in ("http-1-wait", "fast-1-wait", "xml-1-wait"):
        if key in there:
            all_ = whole(there[key])
            found.append(
                f"**At the originals' rate**, {TITLES[key]}: {all_['rate']:.1f} requests/s, {number(all_['average'])} ms on average, {number(all_['p99'])} ms at 99 %; "
                f"the server used {usage[key]['server']:.1%} of a CPU."
            )
    return "\n".join(f"- {fact}" for fact in [*found, *growth(there)]) + "\n"


def growth(there):
    """What becomes of throughput while the reply grows."""
    there = {key: one for key, one in there.items() if one[0]["history"]}

    def course(key):
        ends = [there[key][0]["history"][nth] for nth in (0, -1)]
        return [fixed(point[name]) for name in ("size", "rate") for point in ends]

    if "grow" in there and "control" in there:
        control = there["control"][0]
        usual = {n: fixed(median(one[n] for one in control["history"])) for n in ("size", "rate")}
        yield (
            "**Replies that grow**: while the average reply grew from {} to {} bytes, throughput went from {} to {} requests/s; ".format(
                *course("grow")
            )
            + f"with replies of {usual['size']} bytes it stayed around {usual['rate']}. Overall {rate_of(there['grow'][0]) / rate_of(control):.0%} of the throughput."
        )
    if "grow-http" in there:
        usage = there["grow-http"][0]["usage"]
        yield (
            "**The same over HTTP** (fast client): from {} to {} bytes, {} to {} requests/s; ".format(
                *course("grow-http")
            )
            + f"the server's thread `{usage['server_thread_name']}` took {usage['server_thread']:.0%} of a CPU."
        )


def charts(records):
    """{file name: chart}. Workers report every few seconds, so only rows of one process are drawn second by second."""
    there = middle(records)
    pressure = {
        "http-1": "HTTP, plain client",
        "fast-1": "HTTP, fast client",
        "xml-1": "XML port",
    }
    growing = {
        "control": "one execution",
        "grow": "one more at each write",
        "grow-http": "the same over HTTP",
    }

    def chart(title, label, rows, figure, log=False):
        lines = [
            {
                "name": name,
                "points": [[point["second"], point[figure]] for point in there[key][0]["history"]],
            }
            for key, name in rows.items()
            if key in there
        ]
        return {
            "size": [8, 3.4],
            "panels": [[{"title": title, "lines": lines}]],
            "legend": "right",
            "x": {"label": "seconds"},
            "y": {"label": label, "log": log},
        }

    return {
        "throughput": chart(
            f"{USERS} users without pause, one load worker", "requests/s", pressure, "rate"
        ),
        "growing-rate": chart("The order that is read: throughput", "requests/s", growing, "rate"),
        "growing-size": chart(
            "The order that is read: average reply", "bytes", growing, "size", log=True
        ),
    }


def set_up(head, records):
    trials = figures.counted(head["trials"], "trial")
    others = [record["usage"]["others"] for record in records]
    return (
        f"{head['date']}, {head['processor']}, {head['cpus']} CPUs, {head['memory_gib']:.0f} GiB, kernel {head['kernel']}, Python {head['python']}, Locust {head['locust']}; "
        f"server `{head['server']}`; {head['seconds']:g} s a row after the users were there, {trials} of each row, interleaved. "
        f"The load average of the machine was {head['load_average']:.1f} before the first row; during the rows other processes used "
        f"{min(others):.2f} to {max(others):.2f} CPUs.\n"
    )


def failures(records, failed):
    lines = []
    for key, (record, _, _) in middle(records).items():
        each = [f"{sentence} ({times:,})" for sentence, times in record["failures"].items()]
        lines += [f"- {TITLES[key]}: {'; '.join(each)}"] if each else []
    lines = lines or ["No request failed."]
    return "\n".join(lines + [f"- {TITLES[key]}: not measured: {why}" for key, why in failed])


def blocks(results):
    records = results["trials"]
    return {
        "set-up": set_up(results["head"], records),
        "statistics": statistics_table(records),
        "usage": usage_table(records),
        "facts": facts(records),
        "failures": failures(records, results["failed"]),
    }


def update(docs, results):
    from charts import svg  # matplotlib is needed only here

    folder, results = docs / "locust", figures.rounded(results)
    for page in map(docs.joinpath, PAGES):
        page.write_text(fill(page.read_text(), blocks(results)))
    write_charts(folder, {name: svg(chart) for name, chart in charts(results["trials"]).items()})
    (folder / "results.json").write_text(figures.text(results) + "\n")
