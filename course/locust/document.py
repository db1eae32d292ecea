"""The records of trials as blocks of course/docs/locust.md."""

import figures
from rows import ORIGINALS, ROWS
from documents import Column, Table, fill, fixed, number, percent, ranged, rows_of

PAGE = "locust.md"  # of course/docs
BUSY = 0.85  # of a CPU: a Python process that runs this much of the time has no time left
BY_KEY = {row.key: row for row in ROWS}


def rate_of(record):
    return record["statistics"]["Aggregated"]["rate"]


def middle(records):
    """{row: (the trial with the median throughput, lowest and highest throughput)}, in the order of
    ROWS."""
    found = {}
    for row in ROWS:
        trials = sorted((record for record in records if record["row"] == row.key), key=rate_of)
        if trials:
            record = trials[(len(trials) - 1) // 2]
            found[row.key] = (record, rate_of(trials[0]), rate_of(trials[-1]))
    return found


def statistics_table(records):
    """In the shape of table D, the originals beside ours; and what each process used."""

    def rate(one):
        record, lowest, highest = one
        if lowest != highest:
            return ranged(rate_of(record), lowest, highest, fixed)
        return number(lowest) if lowest < 100 else fixed(lowest)

    def usage(head, name):
        return Column(head, lambda one: percent(one[0]["usage"][name]))

    shown = (
        *(("requests", "requests", fixed), ("failures", "failures", fixed)),
        *(("median (ms)", "median", number), ("95 %", "p95", number), ("99 %", "p99", number)),
        *(("average", "average", number), ("average size (bytes)", "size", fixed)),
    )
    columns = [Column("set-up", lambda one: BY_KEY[one[0]["row"]].title, left=True)]
    for head, name, form in shown:
        columns.append(Column(head, lambda one, name=name, form=form: form(whole(one)[name])))
    columns.append(Column("requests/s", rate))
    columns += [usage("server, % of a CPU", "server"), usage("load, % of a CPU", "locust")]
    columns += [usage("others, % of a CPU", "others"), usage("time in commits", "commits")]
    columns.append(Column("what limits", lambda one: limit(one[0]), left=True))
    originals = [
        [title, "", "", "", "", fixed(p99), fixed(average, 1), "", fixed(rate, 1), *[""] * 5]
        for title, rate, average, p99 in ORIGINALS
    ]
    rows = originals + rows_of(columns, middle(records).values())
    return Table("statistics", "", columns, rows).markdown()


def whole(one):
    return one[0]["statistics"]["Aggregated"]


def limit(record):
    """What keeps the row from being faster, from what was measured."""
    usage, row = record["usage"], BY_KEY[record["row"]]
    if row.wait[1]:
        return f"the users, who wait {sum(row.wait) / 2:g} s between requests"
    if row.user and usage["locust_process"] >= BUSY:
        return f"Locust: its busiest process takes {usage['locust_process']:.0%} of a CPU"
    if usage["server_thread"] >= BUSY:
        return (
            f"the server: its thread `{usage['server_thread_name']}` takes"
            f" {usage['server_thread']:.0%} of a CPU"
        )
    if usage["machine"] >= 0.9:
        return "the machine has no CPU left"
    if usage["commits"] >= BUSY:
        return "the server: it commits all the time"
    return "nothing is used up: latency"


def set_up(head, records):
    trials = figures.counted(head["trials"], "trial")
    others = [record["usage"]["others"] for record in records]
    return (
        f"Measured on {head['processor']}, {head['cpus']} CPUs, {head['memory_gib']:.0f} GiB,"
        f" kernel {head['kernel']}, {head['date']}, commit {head['commit']}:\nPython"
        f" {head['python']}, Locust {head['locust']}, server `{head['server']}`;"
        f" {head['seconds']:g} s a row after the users were there,\n{trials} of each row,"
        f" interleaved. The load average of the machine was {head['load_average']:.1f} before the"
        f" first row; during the\nrows other processes used {min(others):.2f} to"
        f" {max(others):.2f} CPUs.\n"
    )


def failures(records, failed):
    lines = []
    for key, (record, _, _) in middle(records).items():
        each = [f"{sentence} ({times:,})" for sentence, times in record["failures"].items()]
        lines += [f"- {BY_KEY[key].title}: {'; '.join(each)}"] if each else []
    lines = lines or ["No request failed."]
    return "\n".join(lines + [f"- {BY_KEY[key].title}: not measured: {why}" for key, why in failed])


def blocks(results):
    records = results["trials"]
    return {
        "set-up": set_up(results["head"], records),
        "statistics": statistics_table(records),
        "failures": failures(records, results["failed"]),
    }


def update(docs, results):
    page = docs / PAGE
    page.write_text(fill(page.read_text(), blocks(figures.rounded(results))))
