"""The plots, as descriptions for charts. One colour and one mark for each policy."""

from cells import CORES, KINDS, LOADS, POLICIES, STORES
from charts import AMBER, BLUE, PINK, VERMILION
from summary import has, pick

COLOURS = {"thread": VERMILION, "pool-40": PINK, "pool-cpus": AMBER, "loop": BLUE}
MARKS = {"thread": "s", "pool-40": "^", "pool-cpus": "D", "loop": "o"}


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


def all_charts(summary):
    """{name: chart}"""
    made = {}
    for cores in present(CORES, list(filter(has, pick(summary, part="sweep"))), "cores"):
        made[f"throughput-{cores}"] = by_clients(summary, cores, "requests_per_s", "requests/s")
        made[f"p99-{cores}"] = by_clients(summary, cores, "p99_ms", "p99, ms", log=True)
    return made
