"""Costs of the model from what was measured: CPU times of each kind of thread in the cells of
fit_cells(), and waits for the disk."""

import json
from statistics import mean, median

from cells import POLICIES, STORES, fit_cells, on
from measure import OTHERS_MAX, STOLEN_MAX
from model import Exchange

FORMAT = "exchange-cores/1"
LEFT_OUT = ("apply_us", "write_p50_us", "others")  # of the file
TRIAL_S = (2.1, 0.65)  # simulated, and before that: as a trial, so that projections are as far
ROUNDS = 4  # the costs decide how often threads sleep, and that decides the costs
FEW_CLIENTS = 20
START = {
    "transport_cold": 10,
    "apply": 0.5,
    "complete": 0.5,
    "batch": 20,
    "project": 2,
    "projection": 1000,
    "replica": 0.2,
    "client_cold": 10,
}
LIGHT_WEIGHT = 0.5  # of the cell with a light load: full load matters more


class CalibrationError(ValueError):
    pass


def medians(trials):
    """{cell: medians of its trials}. Disturbed trials are left out if calm ones remain: see
    STOLEN_MAX."""
    cells, found = {}, {}
    for trial in trials:
        figures = {name: one for name, one in trial.items() if name not in ("cell", "trial")}
        cells.setdefault(trial["cell"], []).append(figures)
    for name, all_of_it in cells.items():
        calm = [one for one in all_of_it if is_calm(one)]
        kept = calm or all_of_it
        counts = {"trials": len(kept), "discarded": len(all_of_it) - len(kept)}
        found[name] = merged(kept) | counts | ({} if calm else {"disturbed": True})
    return found


def is_calm(trial):
    return trial.get("stolen", 0) <= STOLEN_MAX and trial.get("others", 0) <= OTHERS_MAX


def merged(values):
    first = values[0]
    if isinstance(first, dict):
        return {name: merged([one[name] for one in values if name in one]) for name in first}
    if isinstance(first, list):
        return [median(column) for column in zip(*values, strict=True)]
    return median(values)


def non_negative(rows, targets, weights):
    """Both costs of the rows [x, y], by least squares of the relative errors: each residual is
    taken relative to its target, and no cost is below zero."""
    scaled = [
        (x / target * weight, y / target * weight, weight)
        for (x, y), target, weight in zip(rows, targets, weights, strict=True)
    ]

    def total(i, j):
        return sum(row[i] * row[j] for row in scaled)

    def error(costs):
        return sum((costs[0] * x + costs[1] * y - wanted) ** 2 for x, y, wanted in scaled)

    xx, xy, yy = total(0, 0), total(0, 1), total(1, 1)
    x_wanted, y_wanted = total(0, 2), total(1, 2)
    found = [(x_wanted / xx if xx else 0.0, 0.0), (0.0, y_wanted / yy if yy else 0.0)]
    if determinant := xx * yy - xy * xy:
        both = x_wanted * yy - y_wanted * xy, y_wanted * xx - x_wanted * xy
        found.append(tuple(numerator / determinant for numerator in both))
    return min((costs for costs in found if min(costs) >= 0), key=error)


def fit_policy(policy, store, measured, disk, wake_us):
    """{"one": costs on one core, "several": on more}."""
    cells = [cell for cell in fit_cells() if (cell.policy, cell.store) == (policy, store)]
    missing = [cell.key for cell in cells if cell.key not in measured]
    if missing:
        raise CalibrationError(f"no trial of {missing[0]}: run measure first")
    single = [cell for cell in cells if cell.cores == 1]
    (double,) = (cell for cell in cells if cell.cores == 2)
    costs = dict(START)
    full = measured[on(1, policy=policy, store=store, clients=200).key]
    # At full load few threads sleep: what they use there is nearly the cost of a request.
    split_transport(costs, full["cpu_us"]["transport"], full["write_p50_us"])
    costs["client"] = full["cpu_us"]["client"]
    weights = [LIGHT_WEIGHT if cell.rate else 1.0 for cell in single]
    for _ in range(ROUNDS):
        seen = [simulated(cell, costs, disk, wake_us) for cell in single]
        facts = [measured[cell.key] for cell in single]
        cpu = {
            name: [fact["cpu_us"][name] for fact in facts]
            for name in ("transport", "core", "projector", "client")
        }
        cold = {name: [one["cold_wakes"][name] for one in seen] for name in cpu}
        per_request, costs["transport_cold"] = non_negative(
            [[1, n] for n in cold["transport"]], cpu["transport"], weights
        )
        costs["client"], costs["client_cold"] = non_negative(
            [[1, n] for n in cold["client"]], cpu["client"], weights
        )
        batches = [[1, 1 / fact["requests_per_batch"]] for fact in facts]
        core, costs["batch"] = non_negative(batches, cpu["core"], weights)
        # Not at full load, where a trial has few whole projections.
        projections = [[one["done"]["project"], one["done"]["projection"]] for one in seen[1:]]
        costs["project"], costs["projection"] = non_negative(
            projections, cpu["projector"][1:], weights[1:]
        )
        costs["replica"] = full["cpu_us"]["other"] / (seen[0]["done"]["project"] or 1)
        split_transport(costs, per_request, full["write_p50_us"])
        costs["apply"] = min(full["apply_us"] / max(full["requests_per_batch"], 1), 0.8 * core)
        costs["complete"] = core - costs["apply"]
    return {"one": costs, "several": on_several(double, costs, measured, disk, wake_us)}


def split_transport(costs, per_request, write_us):
    costs["write"] = min(write_us, 0.8 * per_request)
    costs["read"] = per_request - costs["write"]


def simulated(cell, costs, disk, wake_us):
    """Means of some runs: few clients may keep step for a whole run, and then the server sleeps
    more often, or never."""
    seeds = range(1, 2 if cell.clients > FEW_CLIENTS else 5)
    runs = [Exchange(cell, costs, disk, wake_us, seed).run(*TRIAL_S) for seed in seeds]
    return {
        name: {one: mean(run[name][one] for run in runs) for one in runs[0][name]}
        for name in ("cold_wakes", "done")
    }


def on_several(cell, costs, measured, disk, wake_us):
    """What the same work costs when its threads run on two CPUs: the ratio of each kind of thread,
    measured in one cell."""
    fact = measured[cell.key]
    seen = Exchange(cell, costs, disk, wake_us).run(*TRIAL_S)["cpu_us"]
    seen["core"] = costs["apply"] + costs["complete"] + costs["batch"] / fact["requests_per_batch"]
    ratio = {name: fact["cpu_us"][name] / us for name, us in seen.items()}
    kinds = {
        "transport": ("read", "write", "transport_cold"),
        "core": ("apply", "complete", "batch"),
        "projector": ("project", "projection"),
        "other": ("replica",),
        "client": ("client", "client_cold"),
    }
    return {name: costs[name] * ratio[kind] for kind, names in kinds.items() for name in names}


def set_core(costs, least, most, requests_per_batch):
    """Moves cost between requests and batches on the core thread, so that a request costs `least`
    to `most`. What both cost together was measured."""
    request = costs["apply"] + costs["complete"]
    moved = min(max(request, least), most) - request
    costs["complete"] += moved
    if costs["complete"] < 0:
        costs["apply"], costs["complete"] = costs["apply"] + costs["complete"], 0.0
    costs["batch"] = max(0.0, costs["batch"] - moved * requests_per_batch)


def calibrate(trials, about):
    measured = medians(trials)
    disk, wake_us = disk_of(measured)
    costs = {p: {s: fit_policy(p, s, measured, disk, wake_us) for s in STORES} for p in POLICIES}
    # If batches are small in all trials, these cannot tell the cost of a request on the core thread
    # from that of a batch. But loops hand over the most requests at once, so no other policy costs
    # less per request; and the store makes no difference to a request, only to a batch.
    for policy in POLICIES:
        for store in ("sqlite", "memory"):
            for cores, which in enumerate(("one", "several"), 1):
                of_loop, of_sqlite = costs["loop"][store][which], costs[policy]["sqlite"][which]
                least = of_loop["apply"] + of_loop["complete"]
                most = of_sqlite["apply"] + of_sqlite["complete"] if store == "memory" else 1e9
                full = measured[on(cores, policy=policy, store=store, clients=200).key]
                set_core(
                    costs[policy][store][which], least, max(least, most), full["requests_per_batch"]
                )
    kept = {
        cell: {k: v for k, v in one.items() if k not in LEFT_OUT} for cell, one in measured.items()
    }
    found = {"wake_us": wake_us, "disk": disk, "costs": costs, "measured": kept}
    return {"format": FORMAT, **about, **found}


def disk_of(measured):
    """Waits of commits, alone and beside a projection that waits for the disk too, and of
    projections. Seen on two cores, where a thread that is ready does not wait for a CPU for long;
    the fixed part of a projection under light load."""
    try:
        light = measured["disk loop sqlite cores=1 clients=200 rate=2000"]
        full = measured["disk loop sqlite cores=2 clients=200 closed"]
        probes = measured["probes"]
    except KeyError as missing:
        raise CalibrationError(f"no measurement of {missing.args[0]}: run measure first") from None
    fixed_us = light["projector_us_per_request"] - full["projector_us_per_request"]
    disk = {
        "alone": full["alone_us"],
        "beside": full["beside_us"],
        "waits_per_commit": full["waits_per_commit"],
        "project": full["projector_us_per_request"],
        "projection": max(0.0, fixed_us * 2000 / 5),
    }
    return disk, max(0.0, probes["hand_over_us"] - probes["hand_over_same_cpu_us"])


def load(file):
    """The calibration in a file. Raises CalibrationError, with what is wrong with it."""
    try:
        found = json.loads(file.read_text())
    except OSError as error:
        raise CalibrationError(f"{file}: {error.strerror}; run calibrate first") from None
    except ValueError as error:
        raise CalibrationError(f"{file} is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise CalibrationError(f"{file} is not of the format {FORMAT}")
    return found


def predict(cell, calibration, seconds=TRIAL_S[0]):
    costs = calibration["costs"][cell.policy][cell.store]["one" if cell.cores == 1 else "several"]
    exchange = Exchange(cell, costs, calibration["disk"], calibration["wake_us"])
    return exchange.run(seconds, TRIAL_S[1])
