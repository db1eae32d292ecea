"""The tables of the report, each declared by its columns."""

from itertools import groupby
from statistics import mean

from cells import CORES, KINDS, POLICIES
from documents import NONE, Column, Table, number, percent, ranged, rows_of
from figures import counted
from summary import STAGES, cores_text, find, grouped, has, pick

# What the original write-up measured, on another machine: for comparison of ratios only.
TABLE_A = [(policy, clients) for policy in ("thread", "pool-40") for clients in (20, 150, 200)]
THEIRS_A = {
    "average": ["90.7", "578.8", "797.2", "109.6", "980.8", NONE],
    "average delay per request (ms)": ["4.5", "3.9", "3.9", "5.5", "6.5", NONE],
    "requests per second": ["221", "259", "251", "182", "153", NONE],
}
TABLE_B = [(kind, cores) for kind in KINDS for cores in CORES]
THEIRS_B = {
    "average total time (ms)": ["434.9", "358.8", "376.6", "4251.5", "2836.3", "2539.9"],
    "average delay per request (ms)": ["4.3", "3.6", "3.7", "42.5", "28.4", "25.4"],
    "requests per second": ["229", "278", "265", "23.5", "35.2", "39.3"],
}
BURST_FIGURES = [  # the rows of A and B: from its average time and number of clients
    lambda total_ms, clients: total_ms,
    lambda total_ms, clients: total_ms / clients,
    lambda total_ms, clients: clients / total_ms * 1000,
]


def between(figures):
    """median (lowest – highest)"""
    if not figures:
        return NONE
    if figures["trials"] < 2:
        return number(figures["median"])
    return ranged(figures["median"], figures["low"], figures["high"])


def error_counts(cell):
    return ", ".join(f"{name} {count:,}" for name, count in cell["errors"].items())


def marked(text, cell):
    return text + " *" if cell["errors"] else text


def not_measured(cell):
    """Why a cell has no figures."""
    errors = f"; errors: {error_counts(cell)}" if cell["errors"] else ""
    return f"{cell['status']}: {cell['reason']}{errors}"


def text(head, cell=None, group=""):
    return Column(head, cell, group, left=True)


def factor(name):
    return Column(name, lambda cell: str(cell[name]), left=True)


STORE, KIND, POLICY = factor("store"), factor("kind"), factor("policy")
SERVER_CORES = Column("cores", lambda cell: str(cell["cores"]))
CLIENTS = Column("clients", lambda cell: cell["clients_text"])


# Tables A and B, in the shape of the original.


def burst_table(name, title, columns, cells, theirs, note):
    """The original's columns and ours. `columns`: head of the first one, then (group, head) of
    each; `theirs`: the original's rows."""
    first, *heads = columns
    columns = [text(first)] + [
        Column(head, group=f"{source}: {group}")
        for source in ("original", "here")
        for group, head in heads
    ]
    rows = [
        [label, *figures, *(burst_cell(cell, figure) for cell in cells)]
        for (label, figures), figure in zip(theirs.items(), BURST_FIGURES, strict=True)
    ]
    known = [cell for cell in cells if cell]
    reasons = {cell["reason"] for cell in known if cell["status"] == "not run"}
    reasons |= {"not part of this run"} if len(known) < len(cells) else set()
    note += " * clients saw errors." if any(cell["errors"] for cell in known) else ""
    note += f" Not run: {'; '.join(sorted(reasons))}." if reasons else ""
    return Table(name, title, columns, rows, note)


def burst_cell(cell, figure):
    if not has(cell):
        return "not run"
    return marked(number(figure(mean(cell["totals_ms"]), cell["clients"])), cell)


def table_a(summary):
    names = {"thread": "one thread per client", "pool-40": "40-thread pool"}
    return burst_table(
        "table-a",
        "Table A: time to finish all client tasks (ms), PostgreSQL",
        ["concurrent clients", *((names[policy], str(clients)) for policy, clients in TABLE_A)],
        [find(summary, part="a", policy=policy, clients=clients) for policy, clients in TABLE_A],
        THEIRS_A,
        (
            "Each client connects, sends one request and gets its reply; nothing is pinned. The"
            " originals come from another machine. Average delay per request: average total time /"
            " clients."
        ),
    )


def table_b(summary):
    return burst_table(
        "table-b-thread",
        (
            "Table B, one thread per client: total time (ms) of 100 requests (100 clients, one"
            " each), PostgreSQL"
        ),
        ["trial", *((kind, cores_text(cores)) for kind, cores in TABLE_B)],
        [find(summary, part="b", kind=kind, cores=cores) for kind, cores in TABLE_B],
        THEIRS_B,
        "The original pinned with taskset; so does --server-cpus.",
    )


# The sweep.


def throughput(summary):
    """Requests per second, all policies side by side."""
    lead = [STORE, KIND, SERVER_CORES, CLIENTS]
    rows, sweep = [], pick(summary, part="sweep")
    for _, group in groupby(
        sweep, lambda c: (c["store"], c["kind"], c["cores"], c["clients_text"])
    ):
        cells = {cell["policy"]: cell for cell in group}
        row = [column.cell(next(iter(cells.values()))) for column in lead]
        if any(map(has, cells.values())):
            row += [throughput_of(cells.get(policy)) for policy in POLICIES]
        else:
            row.append("; ".join(sorted(set(map(not_measured, cells.values())))))
        rows.append(row)
    settings = summary["settings"]
    group = "requests/s: median (lowest – highest)"
    return Table(
        "throughput",
        "Requests per second of every cell",
        lead + [Column(policy, group=group) for policy in POLICIES],
        rows,
        "Persistent connections, one request in flight each,"
        f" {counted(settings['trials'], 'interleaved trial')} of {settings['seconds']:g} s."
        + (" * clients saw errors, listed below." if any(c["errors"] for c in sweep) else ""),
    )


def throughput_of(cell):
    if cell is None:
        return NONE
    return marked(between(cell["requests_per_s"]), cell) if has(cell) else not_measured(cell)


def of_one_core(summary, name, title, lead, columns, note, **kind):
    """A table of the sweep's cells with 200 clients and one core."""
    cells = pick(summary, part="sweep", clients=200, idle=0, cores=1, **kind)
    columns = [*lead, *columns]
    title = title.format("200 clients, server on 1 core")
    return Table(name, title, columns, rows_of(columns, filter(has, cells)), note)


def cpu_table(summary):
    def used_by(process):
        return lambda cell: between(cell["cpu_us"][process])

    def total(cell):
        return number(sum(figures["median"] for figures in cell["cpu_us"].values() if figures))

    group = "us per request"
    return of_one_core(
        summary,
        "cpu",
        "CPU time of one request, {}",
        [STORE, KIND, POLICY],
        [
            *(Column(name, used_by(name), group) for name in ("server", "client", "database")),
            Column("in all", total, group),
            Column("core thread's part of the server's", lambda c: percent(c["core_thread_share"])),
        ],
        "The core thread applies and commits; it is the one serial stage.",
    )


def stages_table(summary):
    def mean_of(stage):
        return lambda cell: number(cell["stages_us"].get(stage, {}).get("mean"))

    measured = [s for s in STAGES if any(s in c.get("stages_us", {}) for c in summary["cells"])]
    return of_one_core(
        summary,
        "stages",
        "Stages of a request: mean time in each (us), kind transactions, {}",
        [STORE, POLICY],
        [Column(stage, mean_of(stage), "mean, us") for stage in measured]
        + [Column("reply p50, us", lambda cell: number(cell["p50_ms"]["median"] * 1000))],
        "Apply and commit are of a whole batch, which every request in it waits for.",
        kind="transactions",
    )


def verdicts_table(summary):
    """How often each limit was met."""
    cells = list(filter(has, pick(summary, part="sweep")))
    rows = []
    for (store, cores, policy), group in grouped(cells, ("store", "cores", "policy")):
        clients = {}
        for cell in group:
            name = cell["limit"].split(" (")[0].split(":")[0]
            clients.setdefault(name, []).append(cell["clients_text"])
        counts = [
            (
                f"{name}, {own[0]} clients ({len(own)})"
                if len(own) > len({*own}) == 1
                else f"{name} ({len(own)})"
            )
            for name, own in sorted(clients.items(), key=lambda item: -len(item[1]))
        ]
        rows.append([store, str(cores), policy, "; ".join(counts)])
    columns = [STORE, SERVER_CORES, POLICY, text("limited by (cells)")]
    note = (
        "The busiest CPU user from 85 % on (of its own CPUs, then of CPUs that several share); else"
        " other work that took 30 % of the machine or more; else the commit, if it is 30 % of a"
        " median reply or more; else waiting."
    )
    return Table("verdicts", "What limits, in how many cells", columns, rows, note)


def policies_table(summary):
    """The fastest policy of each setting, and those whose trials overlap with its own."""
    cells = [cell for cell in pick(summary, part="sweep", idle=0) if has(cell)]
    clients = sorted({cell["clients"] for cell in cells})
    rows = []
    for key, group in grouped(cells, ("store", "kind", "cores")):
        found = []
        for count in clients:
            names = [cell["policy"] for cell in leaders(group, count)]
            found.append(", ".join(names) or NONE)
        rows.append([*map(str, key), *found])
    columns = [text("store"), text("kind"), Column("cores")]
    columns += [text(f"{count:,}", group="clients:") for count in clients]
    note = (
        "The policy with the most requests per second at the median first; then those whose highest"
        " trial reaches the lowest of the first."
    )
    return Table("policies", "The fastest policy", columns, rows, note)


def leaders(cells, clients):
    """The fastest of the cells with this number of clients, then those that the spread of the
    trials does not tell from it."""
    cells = [cell for cell in cells if cell["clients"] == clients]
    cells.sort(key=lambda cell: -cell["requests_per_s"]["median"])
    least = cells[0]["requests_per_s"]["low"] if cells else 0
    return [cell for cell in cells if cell["requests_per_s"]["high"] >= least]


# The run.


def duration(seconds):
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"


def placements_table(summary):
    rows = {}
    for cell in summary["cells"]:
        database = "with a database" if cell["store"] == "postgresql" else "without"
        cpus = [",".join(map(str, each)) or "any" for each in cell["placement"] or ()]
        shown = cpus[: 3 if cell["store"] == "postgresql" else 2] or [f"not run: {cell['reason']}"]
        rows.setdefault((cores_text(cell["cores"]), database), shown)
    columns = [text("server on"), text("database process"), text("CPUs of the server")]
    columns += [text("of the client"), text("of the database")]
    rows = [[*key, *shown] for key, shown in rows.items()]
    return Table("placements", "CPUs of each process", columns, rows)


def errors_table(summary):
    columns = [
        text("cell", lambda one: one["key"]),
        text("errors by class", error_counts),
        Column("trials with errors", lambda one: f"{one['trials_with_errors']} of {one['trials']}"),
        text("first words", lambda one: one["reason"]),
    ]
    rows = rows_of(columns, summary["errors"])
    note = "" if rows else "No client saw an error."
    return Table("errors", "Errors that clients saw", columns, rows, note)


def machine_table(summary):
    machine, settings, stolen = summary["machine"], summary["settings"], summary["stolen"]
    scratch = machine["scratch"]
    rows = {
        "processor": f"{machine['cpu']}, CPUs usable: {len(machine['cpus'])}",
        "memory": f"{machine['memory_bytes'] / 2**30:.1f} GiB",
        "kernel": machine["kernel"],
        "stores on": f"{scratch['filesystem']} ({scratch['folder']})",
        "PostgreSQL": summary.get("postgresql") or "not used",
        "commit": f"{summary['commit']} (programs {summary['binaries']})",
        "started": summary.get("started", NONE),
        "trials": (
            f"{summary['trials_finished']} of {summary['trials_wanted']}; order shuffled with seed"
            f" {settings['seed']}"
        ),
        "a trial": (
            f"{settings['seconds']:g} s after {settings['warmup']:g} s of warm-up;"
            f" {counted(settings['trials'], 'trial')} a cell, {settings['table_trials']} in tables"
            " A and B" + (f"; only {settings['only']}" if settings["only"] else "")
        ),
        "CPU time stolen from this machine": (
            f"median {stolen['median']:.1%} of a trial, most {stolen['high']:.1%}"
            if stolen
            else NONE
        ),
        "measuring took": duration(summary["measuring_s"]) if summary["measuring_s"] else NONE,
    }
    columns = [text("what"), text("here")]
    return Table("machine", "Machine and build", columns, list(map(list, rows.items())))


def headline(summary):
    """Sentences that stand before everything else."""
    sentences, errors = [], summary["errors"]
    missing = summary["trials_wanted"] - summary["trials_finished"]
    if missing > 0:
        sentences.append(
            f"Unfinished: {counted(missing, 'trial is', 'trials are')} missing of"
            f" {summary['trials_wanted']}."
        )
    if errors:
        cells = counted(len(errors), "cell")
        sentences.append(f"Clients saw errors in {cells}: the table of errors has them.")
    elif summary["trials_finished"]:
        sentences.append("No client saw an error.")
    disturbed = sum(cell["limit"].startswith("other work") for cell in summary["cells"])
    if disturbed:
        sentences.append(
            f"In {counted(disturbed, 'cell')} other work took much of the machine's CPU time:"
            " measure again when it is quiet."
        )
    reasons = [cell["reason"] for cell in summary["cells"] if cell["status"] == "not run"]
    if reasons:
        counts = [
            f"{counted(reasons.count(one), 'cell')} ({one})" for one in dict.fromkeys(reasons)
        ]
        sentences.append(f"Not run: {'; '.join(counts)}.")
    return sentences


def all_tables(summary):
    tables = [
        machine_table(summary),
        placements_table(summary),
        errors_table(summary),
        table_a(summary),
        table_b(summary),
        throughput(summary),
        policies_table(summary),
        verdicts_table(summary),
        cpu_table(summary),
        stages_table(summary),
    ]
    return {table.name: table for table in tables}


def markdown_page(summary, tables):
    parts = ["# Scaling\n", " ".join(headline(summary)) + "\n"]
    return "\n".join(parts + [f"## {t.title}\n\n{t.markdown()}\n" for t in tables.values()])


def measured(summary):
    machine = summary["machine"]
    return (
        f"Measured on {machine['cpu']}, {counted(len(machine['cpus']), 'CPU')}, kernel"
        f" {machine['kernel']}, {summary.get('started', NONE)}, commit"
        f" {summary['commit']}:\n{summary['trials_finished']} interleaved trials. "
        + " ".join(headline(summary))
    )


def blocks(summary, tables):
    """The blocks that a page can include. docs/scaling.md shows some of them."""
    parts = {name: table.markdown() for name, table in tables.items()}
    return {**parts, "measured": measured(summary)}
