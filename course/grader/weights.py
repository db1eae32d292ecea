"""The weights of a grading, read from a TOML file and checked, and the points that they give."""

import math
import statistics
from collections import Counter

from plan import KINDS, PARTS
from submissions import UNREADABLE, BadInput, read_toml

AUDIT_ERRORS_MAX = 0.01  # of the requests, for part of the points
THROUGHPUT_ERRORS_MAX = 0.01  # with a larger share of errors, a throughput does not count
SHAPE = {
    "points": set(PARTS),
    "audit": {"clients", "weights", "lost_requests"},
    "durability": {"partial"},
    "throughput": {*KINDS, "floor", "full"},
}


def read(file):
    """The weights. Raises BadInput with one sentence."""
    try:
        weights = read_toml(file)
    except FileNotFoundError:
        raise BadInput(f"there is no weights file {file}") from None
    except UNREADABLE as error:
        raise BadInput(f"{file} cannot be read: {error}") from None
    if problem := _problem(weights):
        raise BadInput(f"{file}: {problem}")
    return weights


def _problem(weights):
    for section, names in SHAPE.items():
        values = weights.get(section)
        if not isinstance(values, dict):
            return f"the section [{section}] is missing"
        for name in sorted(names - set(values)):
            return f"[{section}] has no {name}"
        for name in sorted(set(values) - names):
            return (
                f"[{section}] has an unknown setting {name!r}; known are {', '.join(sorted(names))}"
            )
        for name, value in values.items():
            if not isinstance(value, list) and not _is_amount(value):
                return f"{name} in [{section}] must be a number of at least 0, not {value!r}"
    for section in sorted(set(weights) - set(SHAPE)):
        return f"there is no section [{section}]; known are {', '.join(SHAPE)}"
    return _wrong_values(weights)


def _wrong_values(weights):
    audit, throughput = weights["audit"], weights["throughput"]
    if sum(weights["points"].values()) <= 0:
        return "no part has points"
    clients, shares = audit["clients"], audit["weights"]
    if not isinstance(clients, list) or not clients:
        return "clients in [audit] must be a list such as [1, 20, 200]"
    if any(not isinstance(one, int) or isinstance(one, bool) or one < 1 for one in clients):
        return "clients in [audit] must be whole numbers of at least 1"
    if not isinstance(shares, list) or len(shares) != len(clients):
        return "weights in [audit] must have as many numbers as clients"
    if not all(map(_is_amount, shares)) or sum(shares) <= 0:
        return "weights in [audit] must be numbers of at least 0, not all of them 0"
    for section, name in (("audit", "lost_requests"), ("durability", "partial")):
        if isinstance(weights[section][name], list) or weights[section][name] > 1:
            return f"{name} in [{section}] is a share, from 0 to 1"
    if any(isinstance(throughput[name], list) for name in throughput):
        return "the settings of [throughput] are numbers"
    if sum(throughput[kind] for kind in KINDS) <= 0:
        return "create and transactions in [throughput] cannot both be 0"
    if not 0 < throughput["floor"] < throughput["full"]:
        return "floor in [throughput] must be above 0 and below full"
    return ""


def _is_amount(value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0


# Shares of the points of a part, from 0 to 1. A result is what the part saved.


def conformance_share(result):
    return min(1.0, max(0.0, result.get("score", 0) / 100))


RULE_WEIGHTS = {"must": 3, "should": 1}  # as the conformance test counts them


def root_cause(rule):
    """The number of the rule that is to be mended first: its own, or of the one that blocks it."""
    return str(rule.get("blocked_by") or rule.get("rule"))


def rule_losses(result, weights):
    """[(rule, points that it costs)] of the rules that are not kept. Each root cause stands before
    the rules that it blocks; the one that costs most, with these, comes first."""
    of = result.get("points_max") or 0
    lost = [rule for rule in result.get("rules", []) if rule.get("result") in ("broken", "blocked")]
    lost = [rule for rule in lost if of and rule.get("level") in RULE_WEIGHTS]
    broken = {str(rule.get("rule")) for rule in lost if rule["result"] == "broken"}
    together = Counter()
    for rule in lost:
        together[root_cause(rule)] += RULE_WEIGHTS[rule["level"]]
    # A rule that is blocked by none of these is the consequence of one that costs no points.
    lost.sort(
        key=lambda rule: (
            root_cause(rule) not in broken,
            -together[root_cause(rule)],
            root_cause(rule),
            rule["result"] == "blocked",
        )
    )
    share = weights["points"]["conformance"] / of if of else 0
    return [(rule, RULE_WEIGHTS[rule["level"]] * share) for rule in lost]


def audit_run_share(run, weights):
    """All if the audit passed and no request was lost."""
    errors, answered = run.get("errors") or {}, run.get("answered", 0)
    if run.get("problem") or not run.get("passed"):
        return 0.0
    if errors.get("wrong answer") or errors.get("protocol"):
        return 0.0
    lost = sum(errors.values())
    if lost == 0:
        return 1.0
    allowed = AUDIT_ERRORS_MAX * (answered + lost)
    return weights["audit"]["lost_requests"] if lost <= allowed else 0.0


def audit_share(result, weights):
    runs = {run["clients"]: run for run in result.get("runs", [])}
    pairs = list(zip(weights["audit"]["clients"], weights["audit"]["weights"], strict=True))
    got = sum(
        weight * audit_run_share(runs[count], weights) for count, weight in pairs if count in runs
    )
    return got / sum(weight for _, weight in pairs)


def durability_share(result, weights):
    acknowledged = result.get("acknowledged", 0)
    bad = result.get("gone", 0) + result.get("changed", 0) + result.get("unknown", 0)
    if not acknowledged or not result.get("rounds"):
        return 0.0
    if not bad and not result.get("problem"):
        return 1.0
    return weights["durability"]["partial"] * max(0.0, 1 - bad / acknowledged)


def ratio_share(ratio, weights):
    """On a logarithmic scale from `floor` to `full`."""
    floor, full = weights["throughput"]["floor"], weights["throughput"]["full"]
    if not ratio or ratio <= floor:
        return 0.0
    return min(1.0, math.log(ratio / floor) / math.log(full / floor))


def valid_rate(trial):
    """Requests per second; 0 if too many of them failed."""
    lost = sum((trial.get("errors") or {}).values())
    answered = trial.get("answered", 0)
    if not answered or lost > THROUGHPUT_ERRORS_MAX * (answered + lost):
        return 0.0
    return trial.get("rate", 0.0)


def rates(result):
    """{(kind, cores): median of the rounds}"""
    every = {}
    for trial in (result or {}).get("trials", []):
        every.setdefault((trial["kind"], trial["cores"]), []).append(valid_rate(trial))
    return {key: statistics.median(values) for key, values in every.items()}


def ratios(result, reference):
    """{(kind, cores): throughput as a share of the reference's}. What one of them did not measure
    is left out; what the server did not reach is 0."""
    own, other = rates(result), rates(reference)
    return {key: own.get(key, 0.0) / rate for key, rate in other.items() if rate > 0}


def throughput_share(result, reference, weights):
    """The mean over the cores of each kind, then by the weights of the kinds. None without a
    reference."""
    found = ratios(result, reference)
    total = got = 0.0
    for kind in KINDS:
        shares = [ratio_share(ratio, weights) for key, ratio in found.items() if key[0] == kind]
        if shares:
            total += weights["throughput"][kind]
            got += weights["throughput"][kind] * sum(shares) / len(shares)
    return got / total if total else None


def scaling_factor(result, kind):
    """(cores, throughput on them / throughput on one core) of the most cores, or None."""
    own = {cores: rate for (of, cores), rate in rates(result).items() if of == kind}
    most = max(own, default=0)
    return (most, own[most] / own[1]) if most > 1 and own.get(1) else None


def points(parts, reference, weights):
    """({part: (points, of how many)} of the parts that were run, sum, best sum). parts: {part:
    result}"""
    given = {}
    for part in PARTS:
        if part not in parts:
            continue
        share = share_of(part, parts[part], reference, weights)
        if share is not None:
            given[part] = (share * weights["points"][part], weights["points"][part])
    return given, sum(got for got, _ in given.values()), sum(of for _, of in given.values())


def share_of(part, result, reference, weights):
    if part == "conformance":
        return conformance_share(result)
    if part == "audit":
        return audit_share(result, weights)
    if part == "durability":
        return durability_share(result, weights)
    return throughput_share(result, reference, weights)
