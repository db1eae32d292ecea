"""The plots, as descriptions for charts. One colour and one mark for each policy."""

from cells import CORES, KINDS, LOADS, POLICIES, STORES
from charts import AMBER, BLUE, GREEN, GREY, PINK, SKY, VERMILION
from summary import STAGES, has, pick

COLOURS = {"thread": VERMILION, "pool-40": PINK, "pool-cpus": AMBER, "loop": BLUE}
MARKS = {"thread": "s", "pool-40": "^", "pool-cpus": "D", "loop": "o"}
PROCESS_COLOURS = {"server": BLUE, "database": GREEN, "client": GREY}
STAGE_COLOURS = dict(
    zip(STAGES, (SKY, BLUE, "#c9ccd1", VERMILION, AMBER, PINK, GREEN), strict=True)
)


def present(values, cells, name):
    return [value for value in values if any(cell[name] == value for cell in cells)]


def point(x, figures):
    return [x, figures["median"], figures["low"], figures["high"]]


def by_clients(summary, cores, name, label, log=False):
    """A panel for each kind and store, a line for each policy; cells with idle connections are not
    joined to it."""
    cells = list(filter(has, pick(summary, part="sweep", cores=cores)))
    stores, kinds = present(STORES, cells, "store"), present(KINDS, cells, "kind")
    loads = [load for load in LOADS if any((c["clients"], c["idle"]) == load for c in cells)]
    position = {load: nth + (0.4 if load[1] else 0) for nth, load in enumerate(loads)}

    def panel(kind, store):
        lines, texts = [], []
        for nth, policy in enumerate(POLICIES):
            joined, apart = [], []
            for cell in cells:
                if (cell["kind"], cell["store"], cell["policy"]) == (kind, store, policy):
                    x = position[cell["clients"], cell["idle"]] + (nth - 1.5) * 0.07
                    (apart if cell["idle"] else joined).append(point(x, cell[name]))
                    if cell["errors"]:
                        texts.append([x, cell[name]["median"], "errors", COLOURS[policy]])
            for points, dash in (joined, None), (apart, "none"):
                style = {"colour": COLOURS[policy], "mark": MARKS[policy], "dash": dash}
                lines += [{"name": policy, "points": points, **style}] if points else []
        return {"title": f"{kind}, {store}", "lines": lines, "texts": texts}

    ticks = [
        [at, f"{clients:,}" + (f"\n+ {idle // 1000}k idle" if idle else "")]
        for (clients, idle), at in position.items()
    ]
    return {
        "size": [1.2 + 3.5 * len(stores), 0.7 + 2.9 * len(kinds)],
        "panels": [[panel(kind, store) for store in stores] for kind in kinds],
        "share_y": True,
        "x": {"label": "clients", "ticks": ticks, "range": [-0.4, max(position.values()) + 0.4]},
        "y": {"label": label, "log": log},
        "legend": "top",
        "keys": [{"name": p, "colour": COLOURS[p], "mark": MARKS[p]} for p in POLICIES],
    }


def stacked(summary, cores, parts_of, colours, label, decimals):
    """A panel for each kind, a bar for each store and policy, divided into its parts."""
    cells = pick(summary, part="sweep", cores=cores, clients=200, idle=0)
    cells = [cell for cell in cells if has(cell) and parts_of(cell)]
    kinds = present(KINDS, cells, "kind")
    rows = [
        (s, p) for s in present(STORES, cells, "store") for p in present(POLICIES, cells, "policy")
    ]
    # Space between stores; the first row is at the top.
    at = {row: -nth - 0.7 * STORES.index(row[0]) for nth, row in enumerate(rows)}

    def panel(kind):
        own = [cell for cell in cells if cell["kind"] == kind]
        bars = [[at[cell["store"], cell["policy"]], parts_of(cell)] for cell in own]
        return {"title": kind, "bars": bars}

    used = {name for cell in cells for name in parts_of(cell)}
    return {
        "size": [1.8 + 4.8 * len(kinds), 1.3 + 0.36 * len(rows)],
        "panels": [[panel(kind) for kind in kinds]],
        "share_y": True,
        "x": {"label": label},
        "y": {"ticks": [[y, f"{store}  {policy}"] for (store, policy), y in at.items()]},
        "legend": "top",
        "keys": [{"name": n, "colour": colour} for n, colour in colours.items() if n in used],
        "decimals": decimals,
    }


def cpu_parts(cell):
    return {
        name: cell["cpu_us"][name]["median"] for name in PROCESS_COLOURS if cell["cpu_us"][name]
    }


def stage_parts(cell):
    return {name: figures["mean"] / 1000 for name, figures in cell["stages_us"].items()}


def all_charts(summary):
    """{name: chart}"""
    run = present(CORES, list(filter(has, pick(summary, part="sweep"))), "cores")
    made = {}
    for cores in run:
        made[f"throughput-{cores}"] = by_clients(summary, cores, "requests_per_s", "requests/s")
        made[f"p99-{cores}"] = by_clients(summary, cores, "p99_ms", "p99, ms", log=True)
    if run:
        label = "CPU us per request"
        made["cpu"] = stacked(summary, run[0], cpu_parts, PROCESS_COLOURS, label, 1)
        made["stages"] = stacked(summary, run[0], stage_parts, STAGE_COLOURS, "ms", 2)
    return {name: chart for name, chart in made.items() if any(chart["panels"])}
