"""Tables, of which docs/scaling.md shows some: what was measured on one and two cores, how well
that is predicted, and what more cores would bring."""

from statistics import median

from cells import CORES_SIMULATED, POLICIES, STORES, held_out_cells, on, simulated_cells
from documents import Column, Table, fixed, number, percent, rows_of
from figures import counted

GOOD = 0.15  # the error that a prediction should not exceed
FULL = 0.85  # from which share on a resource counts as the limit
SHOWN = ("requests_per_s", "p50_ms", "p99_ms", "cpus_busy")  # of a prediction
FIGURES = (
    ("requests/s", "requests_per_s", fixed),
    ("p50, ms", "p50_ms", number),
    ("p99, ms", "p99_ms", number),
)


def text(head, cell, group=""):
    return Column(head, cell, group, left=True)


POLICY = text("policy", lambda row: row[0].policy)
STORE = text("store", lambda row: row[0].store)
CORES = Column("cores", lambda row: str(row[0].cores))


def pairs(found):
    """(cell, measured, predicted) of the cells that no cost was fitted to."""
    for cell in held_out_cells():
        if cell.key in found["measured"] and cell.key in found["predicted"]:
            yield cell, found["measured"][cell.key], found["predicted"][cell.key]


def error_of(pair, figure):
    _, measured, predicted = pair
    return predicted[figure] / measured[figure] - 1


def validation_table(found):
    def load(pair):
        load = f"{pair[0].rate:,}/s" if pair[0].rate else "closed"
        return load + " *" * bool(pair[1].get("disturbed"))

    columns = [POLICY, STORE, CORES, Column("clients", lambda pair: str(pair[0].clients))]
    columns.append(text("load", load))
    for head, name, form in FIGURES:
        for nth, kind in ((1, "measured"), (2, "predicted")):
            cell = lambda pair, nth=nth, name=name, form=form: form(pair[nth][name])
            columns.append(Column(kind, cell, head))
        error = lambda pair, name=name: f"{100 * error_of(pair, name):+.0f} %"
        columns.append(Column("error", error, head))
    rows = rows_of(columns, pairs(found))
    note = "* The hypervisor took more than 1 % of the CPU time in every trial of this cell."
    is_disturbed = any(measured.get("disturbed") for _, measured, _ in pairs(found))
    return Table("validation", "", columns, rows, note if is_disturbed else "")


def within(errors):
    good = sum(abs(error) <= GOOD for error in errors)
    middle = median(map(abs, errors)) if errors else 0
    return (
        f"{good} of {len(errors)} (median error {middle:.0%}, largest"
        f" {max(map(abs, errors), default=0):.0%})"
    )


def validation_summary(found):
    """How many cells are predicted within 15 %: in all, of calm trials, and by number of cores."""
    everything = list(pairs(found))
    calm = [pair for pair in everything if not pair[1].get("disturbed")]
    closed = [pair for pair in everything if not pair[0].rate]
    groups = {
        "all cells": everything,
        "without those that the hypervisor disturbed": calm,
        "closed loops, 1 core": [pair for pair in closed if pair[0].cores == 1],
        "closed loops, 2 cores": [pair for pair in closed if pair[0].cores == 2],
        "open loops, 1 core": [pair for pair in everything if pair[0].rate],
    }
    columns = [text("cells", lambda group: group[0])]
    for head, name, _ in FIGURES:
        cell = lambda group, name=name: within([error_of(pair, name) for pair in group[1]])
        columns.append(Column(f"{head.partition(',')[0]} within 15 %", cell))
    return Table("summary", "", columns, rows_of(columns, groups.items()))


def cost_table(found):
    """found: (cell, measured) of the cells that were measured with 200 clients."""
    kinds = ("transport", "core", "projector", "other")
    of_server = lambda row: sum(row[1]["cpu_us"][kind] for kind in kinds)
    columns = [POLICY, STORE, CORES, Column("requests/s", lambda r: fixed(r[1]["requests_per_s"]))]
    for kind in kinds:
        cell = lambda row, kind=kind: number(row[1]["cpu_us"][kind], 2)
        columns.append(Column(kind, cell, "server, us"))
    columns.append(Column("in all", lambda row: number(of_server(row)), "server, us"))
    columns.append(Column("client, us", lambda row: number(row[1]["cpu_us"]["client"])))
    for head, serial in (("serial share: core", kinds[1:2]), ("with projector", kinds[1:3])):
        share = lambda row, serial=serial: percent(
            sum(row[1]["cpu_us"][kind] for kind in serial) / of_server(row)
        )
        columns.append(Column(head, share))
    cells = [
        on(cores, policy=policy, store=store, clients=200)
        for store in STORES
        for policy in POLICIES
        for cores in (1, 2)
    ]
    rows = [(c, found["measured"][c.key]) for c in cells if c.key in found["measured"]]
    note = (
        "200 clients, closed loop. CPU time of one request by kind of thread, from /proc; the"
        " client's counts apart."
    )
    return Table("cost", "", columns, rows_of(columns, rows), note)


def limit_of(cell, predicted):
    """The resource that is full."""
    busy = predicted["cpus_busy"]
    core = busy["core"] + busy["commit"]
    if busy["server"] >= FULL * cell.cores:
        return f"CPUs of the server ({percent(busy['server'] / cell.cores)})"
    if busy["client"] >= FULL * cell.workers:
        return f"CPUs of the client ({percent(busy['client'] / cell.workers)})"
    if core >= FULL:
        return f"core thread ({percent(busy['core'])} CPU, {percent(busy['commit'])} commit)"
    return (
        f"no resource is full (core thread {percent(core)}, CPUs of the server"
        f" {percent(busy['server'] / cell.cores)})"
    )


def simulated_table(found):
    rows = {}  # (store, clients, policy): {cores: (cell, predicted)}
    for cell in simulated_cells():
        row = rows.setdefault((cell.store, cell.clients, cell.policy), {})
        row[cell.cores] = cell, found["predicted"][cell.key]
    of_row = lambda nth, form=str: lambda row: form(row[0][nth])
    columns = [text("store", of_row(0)), Column("clients", of_row(1, "{:,}".format))]
    columns.append(text("policy", of_row(2)))
    many = [cores for cores in CORES_SIMULATED if cores >= 4]
    for group, shown, figure, form in (
        ("requests/s", CORES_SIMULATED, "requests_per_s", fixed),
        ("p99, ms", many, "p99_ms", number),
    ):
        for cores in shown:
            cell = lambda row, n=cores, figure=figure, form=form: form(row[1][n][1][figure])
            columns.append(Column(counted(cores, "core"), cell, group))
    for cores in many:
        columns.append(
            text(f"at {cores}", lambda row, n=cores: limit_of(*row[1][n]), "limited by,")
        )
    note = (
        "Simulated, in all columns: closed loop; the client has CPUs of its own, as many as the"
        " server."
    )
    return Table("simulated", "", columns, rows_of(columns, rows.items()), note)


def disk_text(found):
    disk, probes = found["disk"], found["measured"]["probes"]
    middle = len(disk["alone"]) // 2
    return (
        f"A commit waits for the disk {disk['waits_per_commit']:.1f} times,"
        f" {disk['alone'][middle]:.0f} us each at the median, and {disk['beside'][middle]:.0f} us"
        " while a projection waits for it too. A write of 1 KiB with its fdatasync alone takes"
        f" {probes['sync_us'][middle]:.0f} us. Waking a thread on another CPU takes"
        f" {found['wake_us']:.1f} us longer than on the same."
    )


def about_text(found):
    measured, machine = found["measured"], found["machine"]
    trials = [
        one["trials"] for name, one in measured.items() if not name.startswith(("probes", "disk"))
    ]
    discarded = sum(one.get("discarded", 0) for one in measured.values())
    return (
        f"Measured on {machine['cpu']}, {counted(len(machine['cpus']), 'CPU')}, kernel"
        f" {machine['kernel']}, {found['measured_on']}, commit"
        f" {found['commit']}:\n{counted(len(trials), 'cell')},"
        f" {counted(sum(trials), 'trial')} used; {discarded} were discarded, because the hypervisor"
        " took more than 1 % of the CPU time, or other processes more than 10 %."
    )


def blocks(found):
    made = {"about": f"{about_text(found)}\n\n{disk_text(found)}"}
    tables = (cost_table, validation_summary, validation_table, simulated_table)
    return made | {table.name: table.markdown() for table in (make(found) for make in tables)}
