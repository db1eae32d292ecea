"""Tables and plot of docs/scaling.md: what was measured on one and two cores, how well that is predicted, and what more cores would bring."""

from statistics import median

from cells import CORES_SIMULATED, POLICIES, STORES, held_out_cells, on, simulated_cells
from figures import counted
from studies.report.tables import Column, Table, fixed, number, percent

GOOD = 0.15  # the error that a prediction should not exceed
FULL = 0.85  # from which share on a resource counts as the limit
SHOWN = ("requests_per_s", "p50_ms", "p99_ms", "cpus_busy")  # of a prediction
COLOURS = {"thread": "#d55e00", "pool": "#e69f00", "loop": "#0072b2"}
MARKS = {"thread": "s", "pool": "D", "loop": "o"}


def text(head, group=""):
    return Column(head, None, group, left=True)


def error_of(predicted, measured):
    return predicted / measured - 1


def signed(error):
    return f"{100 * error:+.0f} %"


def load_text(cell):
    return f"{cell.rate:,}/s" if cell.rate else "closed"


def pairs(found):
    """(cell, measured, predicted) of the cells that no cost was fitted to."""
    for cell in held_out_cells():
        if cell.key in found["measured"] and cell.key in found["predicted"]:
            yield cell, found["measured"][cell.key], found["predicted"][cell.key]


def validation_table(found):
    columns = [text("policy"), text("store"), Column("cores"), Column("clients"), text("load")]
    for figure in ("requests/s", "p50, ms", "p99, ms"):
        columns += [Column(head, None, figure) for head in ("measured", "predicted", "error")]
    rows, is_disturbed = [], False
    for cell, measured, predicted in pairs(found):
        star = " *" if measured.get("disturbed") else ""
        is_disturbed |= bool(star)
        row = [cell.policy, cell.store, str(cell.cores), str(cell.clients), load_text(cell) + star]
        for name, form in (("requests_per_s", fixed), ("p50_ms", number), ("p99_ms", number)):
            error = signed(error_of(predicted[name], measured[name]))
            row += [form(measured[name]), form(predicted[name]), error]
        rows.append(row)
    note = (
        "* The hypervisor took more than 1 % of the CPU time in every trial of this cell."
        if is_disturbed
        else ""
    )
    return Table("validation", "", columns, rows, note)


def within(errors):
    good = sum(abs(error) <= GOOD for error in errors)
    middle = median(map(abs, errors)) if errors else 0
    return f"{good} of {len(errors)} (median error {middle:.0%}, largest {max(map(abs, errors), default=0):.0%})"


def validation_summary(found):
    """How many cells are predicted within 15 %: in all, of calm trials, and by number of cores."""
    everything = list(pairs(found))
    groups = {
        "all cells": everything,
        "without those that the hypervisor disturbed": [
            p for p in everything if not p[1].get("disturbed")
        ],
        "closed loops, 1 core": [p for p in everything if p[0].cores == 1 and not p[0].rate],
        "closed loops, 2 cores": [p for p in everything if p[0].cores == 2],
        "open loops, 1 core": [p for p in everything if p[0].rate],
    }
    columns = [text("cells")] + [
        Column(f"{name} within 15 %") for name in ("requests/s", "p50", "p99")
    ]
    rows = []
    for name, group in groups.items():
        errors = [
            [error_of(p[what], m[what]) for _, m, p in group]
            for what in ("requests_per_s", "p50_ms", "p99_ms")
        ]
        rows.append([name, *map(within, errors)])
    return Table("summary", "", columns, rows)


def cost_table(found):
    columns = [text("policy"), text("store"), Column("cores"), Column("requests/s")]
    kinds = ("transport", "core", "projector", "other")
    columns += [Column(kind, None, "server, us") for kind in (*kinds, "in all")]
    columns += [Column("client, us"), Column("serial share: core"), Column("with projector")]
    rows = []
    for store in STORES:
        for policy in POLICIES:
            for cores in (1, 2):
                if measured := found["measured"].get(
                    on(cores, policy=policy, store=store, clients=200).key
                ):
                    cpu = measured["cpu_us"]
                    of_server = sum(cpu[kind] for kind in kinds)
                    rows.append(
                        [policy, store, str(cores), fixed(measured["requests_per_s"])]
                        + [number(cpu[kind], 2) for kind in kinds]
                        + [
                            number(of_server),
                            number(cpu["client"]),
                            percent(cpu["core"] / of_server),
                        ]
                        + [percent((cpu["core"] + cpu["projector"]) / of_server)]
                    )
    note = "200 clients, closed loop. CPU time of one request by kind of thread, from /proc; the client's counts apart."
    return Table("cost", "", columns, rows, note)


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
    return f"no resource is full (core thread {percent(core)}, CPUs of the server {percent(busy['server'] / cell.cores)})"


def simulated_table(found):
    columns = [text("store"), Column("clients"), text("policy")]
    columns += [
        Column(f"{cores} cores" if cores > 1 else "1 core", None, "requests/s")
        for cores in CORES_SIMULATED
    ]
    columns += [
        Column(f"{cores} cores", None, "p99, ms") for cores in CORES_SIMULATED if cores >= 4
    ]
    columns += [text(f"at {cores}", "limited by,") for cores in (4, 8, 16)]
    rows = {}
    for cell in simulated_cells():
        rows.setdefault((cell.store, cell.clients, cell.policy), {})[cell.cores] = cell
    table = []
    for (store, clients, policy), by_cores in rows.items():
        seen = {cores: found["predicted"][cell.key] for cores, cell in by_cores.items()}
        row = [store, f"{clients:,}", policy]
        row += [fixed(seen[cores]["requests_per_s"], 0) for cores in CORES_SIMULATED]
        row += [number(seen[cores]["p99_ms"]) for cores in CORES_SIMULATED if cores >= 4]
        row += [limit_of(by_cores[cores], seen[cores]) for cores in (4, 8, 16)]
        table.append(row)
    note = "Simulated, in all columns: closed loop; the client has CPUs of its own, as many as the server."
    return Table("simulated", "", columns, table, note)


def disk_text(found):
    disk, probes = found["disk"], found["measured"]["probes"]
    middle = len(disk["alone"]) // 2
    return (
        f"A commit waits for the disk {disk['waits_per_commit']:.1f} times, {disk['alone'][middle]:.0f} us each at the median, and {disk['beside'][middle]:.0f} us while "
        f"a projection waits for it too. A write of 1 KiB with its fdatasync alone takes {probes['sync_us'][middle]:.0f} us. Waking a thread "
        f"on another CPU takes {found['wake_us']:.1f} us longer than on the same."
    )


def about_text(found):
    trials = [
        one["trials"]
        for name, one in found["measured"].items()
        if name != "probes" and not name.startswith("disk")
    ]
    discarded = sum(one.get("discarded", 0) for one in found["measured"].values())
    return (
        f"{found['machine']['cpu']}, {counted(len(found['machine']['cpus']), 'CPU')}, kernel {found['machine']['kernel']}; commit {found['commit']} (programs {found['binaries']}). {counted(len(trials), 'cell')}, {counted(sum(trials), 'trial')} used; "
        f"{discarded} were discarded, because the hypervisor took more than 1 % of the CPU time, or other processes more than 10 %."
    )


def blocks(found):
    return {
        "about": f"{about_text(found)}\n\n{disk_text(found)}",
        "cost": cost_table(found).markdown(),
        "summary": validation_summary(found).markdown(),
        "validation": validation_table(found).markdown(),
        "simulated": simulated_table(found).markdown(),
    }


def chart(found):
    """A panel for each store and number of clients, a line for each policy. Measured: the points at 1 and 2 cores, with 200 clients."""
    position = {cores: at for at, cores in enumerate(CORES_SIMULATED)}

    def panel(store, clients):
        lines = []
        for policy in POLICIES:
            style = {"colour": COLOURS[policy]}
            cells = [
                c
                for c in simulated_cells()
                if (c.policy, c.store, c.clients) == (policy, store, clients)
            ]
            points = [
                [position[c.cores], found["predicted"][c.key]["requests_per_s"]] for c in cells
            ]
            lines.append({"points": points, "dash": "dashed", **style})
            for cores in (1, 2):
                one = found["measured"].get(
                    on(cores, policy=policy, store=store, clients=clients).key
                )
                if one:
                    mark = {"mark": MARKS[policy], "dash": "none", "hollow": cores == 2}
                    lines.append(
                        {"points": [[position[cores], one["requests_per_s"]]], **mark, **style}
                    )
        return {"title": f"{store}, {counted(clients, 'client')}", "lines": lines}

    clients = sorted({cell.clients for cell in simulated_cells()})
    return {
        "size": [1.2 + 4 * len(clients), 0.8 + 3 * len(STORES)],
        "panels": [[panel(store, number) for number in clients] for store in STORES],
        "share_y": True,
        "x": {
            "label": "cores of the server",
            "ticks": [[at, str(cores)] for cores, at in position.items()],
            "range": [-0.3, len(position) - 0.7],
        },
        "y": {"label": "requests/s"},
        "legend": "top",
        "keys": [
            {"name": f"{policy}, simulated", "colour": COLOURS[policy], "dash": "dashed"}
            for policy in POLICIES
        ]
        + [
            {"name": "measured", "colour": "#111213", "mark": "o", "dash": "none"},
            {
                "name": "measured, shared CPUs",
                "colour": "#111213",
                "mark": "o",
                "dash": "none",
                "hollow": True,
            },
        ],
    }
