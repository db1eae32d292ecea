"""The page of one server: what was found, with the words of its replies. All of them become text nodes of the page, never markup."""

import summary
import weights as weighing
from settings import KINDS
from studies.report.page import code, section, text

QUOTED_RULES = 12  # broken ones with their conversations
RESULTS = {"kept": "good", "broken": "bad", "blocked": "bad", "untested": None}
ERRORS = {"refused": "no connection", "reset": "closed before the reply", "timeout": "no reply"}
POSITIONS = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}


def model(grade, given, got, of, reference, shared):
    one, measured = grade.submission, reference.parts.get("throughput") if reference else None
    sections = []
    blocks = {
        "conformance": conformance_blocks,
        "audit": lambda result: audit_blocks(result, shared.weights),
        "durability": durability_blocks,
        "throughput": lambda result: throughput_blocks(result, measured, shared.weights),
    }
    for part, result in grade.parts.items():
        title = part.capitalize()
        if part in given:
            title += f": {given[part][0]:.1f} of {given[part][1]:g} points"
        sections.append(section(part, title, *problems(result), *blocks[part](result)))
    if grade.last_lines:
        sections.append(section("log", "Last lines of its log", pre(grade.last_lines)))
    sections.append(section("run", "How it was run", {"type": "values", "values": facts(one)}))
    return {
        "title": one.name,
        "about": [{"text": "all servers", "page": "index.html"}, " · ", code(one.shown_command)],
        "notices": notices(grade),
        "cards": [] if grade.problem else cards(grade, given, got, of, measured),
        "sections": sections,
    }


def facts(one):
    kept = "yes" if one.keeps_data else "no {data} or restart in its settings"
    found = {"command": one.shown_command, "folder": str(one.folder), "keeps data": kept}
    return found | {name: getattr(one, name) for name in ("build", "restart") if getattr(one, name)}


def pre(words):
    return {"type": "pre", "text": words}


def table(columns, rows, **more):
    """Columns that begin with # hold numbers."""
    heads = [{"name": name.lstrip("#"), "number": name.startswith("#")} for name in columns]
    return {"type": "table", "columns": heads, "rows": rows, **more}


def notices(grade):
    if grade.problem:
        return [{"kind": "bad", "text": ["Not graded: ", grade.problem]}]
    found = []
    for part, result in grade.parts.items():
        pieces = [result, *result.get("runs", []), *result.get("trials", [])]
        for event in dict.fromkeys(event for piece in pieces for event in piece.get("events", [])):
            found.append({"kind": "bad", "text": [part, ": ", event]})
    return found


def cards(grade, given, got, of, measured):
    made = [{"title": "Points", "figure": f"{got:.1f}", "facts": [["of", f"{of:g}"]]}]
    for part, (points, most) in given.items():
        words = summary.headline(part, grade.parts[part], measured)
        fact = [[f"of {most:g}", words]]
        made.append({"title": part.capitalize(), "figure": f"{points:.1f}", "facts": fact})
    return made


def problems(result):
    found = []
    if result.get("problem"):
        found.append(text({"text": result["problem"], "kind": "bad"}))
    if result.get("last_lines"):
        title = "Last lines of its log when it had ended"
        found.append({"type": "details", "title": title, "blocks": [pre(result["last_lines"])]})
    return found


def conformance_blocks(result):
    rules = result.get("rules", [])
    if not rules:
        return []
    kept = summary.rules_kept(result)
    counts = [f"{there} of {of} {level}" for level, (there, of) in kept.items() if of]
    words = f"Kept: {', '.join(counts)}. Restarts after it had died: {result.get('restarts') or 0}."
    blocks = [text(words)]
    if result.get("stopped"):
        blocks.append(text({"text": f"It stopped early: {result['stopped']}", "kind": "bad"}))
    broken = [rule for rule in rules if rule.get("result") in ("broken", "blocked")]
    counting = [rule for rule in broken if rule.get("level") in ("must", "should")]
    # A blocked rule is the consequence of a broken one; must stands before should.
    counting.sort(key=lambda rule: (rule["result"] == "blocked", rule["level"]))
    if counting:
        blocks += first_broken(counting[0])
        blocks += [folded(rule) for rule in counting[1:QUOTED_RULES]]
    if others := [rule for rule in broken if rule not in counting]:
        title = f"Decisions of this project that it does not share, without loss of points ({len(others)})"
        inner = [folded(rule) for rule in others[:QUOTED_RULES]]
        blocks.append({"type": "details", "title": title, "blocks": inner})
    if result.get("form"):
        listed = {"type": "list", "items": list(map(str, result["form"]))}
        blocks.append(
            {
                "type": "details",
                "title": "Differs in form alone, without loss of points",
                "blocks": [listed],
            }
        )
    rows = [rule_row(rule) for rule in rules]
    columns = ["rule", "level", "result", "#cases", "what it says", "why"]
    return [*blocks, table(columns, rows, title="All rules", wide=True)]


def rule_row(rule):
    result = str(rule.get("result"))
    shown = {"text": result, "kind": RESULTS.get(result)} if RESULTS.get(result) else result
    return [
        str(rule.get("rule")),
        str(rule.get("level")),
        shown,
        str(rule.get("cases", "")),
        str(rule.get("sentence", "")),
        str(rule.get("why", "")),
    ]


def quoted(rule):
    """What it says, why it is broken, and the conversation that shows it."""
    blocks = [text(f"{rule.get('level')}: ", str(rule.get("sentence", "")))]
    blocks.append(text({"text": str(rule.get("why", "")), "kind": "bad"}))
    lines = [
        f"> {turn.get('sent', '')}\n{turn.get('got') or '(no reply)'}"
        for turn in rule.get("conversation") or []
        if isinstance(turn, dict)
    ]
    return blocks + ([pre("\n".join(lines))] if lines else [])


def first_broken(rule):
    title = f"The first rule that is {rule.get('result')}: {rule.get('rule')}"
    return [text({"text": title, "kind": "strong"}), *quoted(rule)]


def folded(rule):
    title = f"{rule.get('rule')} is {rule.get('result')}: {rule.get('why', '')}"
    return {"type": "details", "title": title[:160], "blocks": quoted(rule)}


def audit_blocks(result, weights):
    rows, blocks = [], []
    for run in result.get("runs", []):
        clients = f"{run['clients']:,}"
        if run.get("problem"):
            rows.append([clients, {"text": run["problem"], "kind": "bad"}])
            continue
        passed = (
            {"text": "passed", "kind": "good"}
            if run["passed"]
            else {"text": "failed", "kind": "bad"}
        )
        lost = sum(run["errors"].values())
        share = weighing.audit_run_share(run, weights)
        rows.append(
            [clients, passed, run["orders"], run["executions"], run["answered"], run["rate"]]
            + [run["ms"].get("p99"), lost, f"{share:.0%}"]
        )
        blocks += run_details(run)
    columns = ["#clients", "audit", "#orders", "#executions", "#requests", "#requests/s"]
    columns += ["#p99, ms", "#failed requests", "#of the points"]
    return [table(columns, rows), *blocks]


def run_details(run):
    items = list(map(str, run["findings"]))
    if run.get("not_checked"):
        items.append(f"Not checked: {run['not_checked']}")
    items += [
        f"{count:,} requests: {ERRORS.get(name, name)}" for name, count in run["errors"].items()
    ]
    if run.get("wrong"):
        items.append(f"First: {run['wrong']}")
    blocks = []
    if items:
        title = {
            "text": f"With {run['clients']:,} client{'s' * (run['clients'] > 1)}",
            "kind": "strong",
        }
        blocks += [text(title), {"type": "list", "items": items}]
    if run.get("deviations"):
        listed = {"type": "list", "items": [deviation(one) for one in run["deviations"]]}
        title = f"Differs in form alone, with {run['clients']:,} client{'s' * (run['clients'] > 1)}"
        blocks.append({"type": "details", "title": title, "blocks": [listed]})
    return blocks


def deviation(one):
    if isinstance(one, dict):
        return ", ".join(f"{name}: {value}" for name, value in one.items())
    return str(one)


def durability_blocks(result):
    found = result.get("acknowledged", 0)
    words = f"{found:,} orders were acknowledged, {result.get('gone', 0):,} of them are gone and "
    words += f"{result.get('changed', 0):,} changed."
    if result.get("unknown"):
        words += f" The server did not say what became of {result['unknown']:,}."
    if not result.get("keeps_data"):
        words += " The command has no {data}, and there is no restart command: unless the server keeps its orders in its own folder, a kill "
        words += "loses all of them."
    rows = []
    for nth, one in enumerate(result.get("rounds", [])):
        again = one.get("seconds")
        again = {"text": "never", "kind": "bad"} if again is None else f"{again:.2f}"
        counts = [one.get(name, "–") for name in ("acknowledged", "gone", "changed", "unknown")]
        before = "yes" if one.get("ended_by_itself") else "no"
        rows.append([str(nth + 1), *counts, again, before])
    columns = ["#kill", "#acknowledged", "#gone", "#changed", "#not answered"]
    columns += ["#seconds to answer again", "ended before the kill"]
    blocks = [text(words), table(columns, rows)] if rows else [text(words)]
    if result.get("examples"):
        blocks.append({"type": "list", "items": list(map(str, result["examples"]))})
    return blocks


def latency(result, kind, cores, name):
    values = [
        trial["ms"].get(name)
        for trial in (result or {}).get("trials", [])
        if (trial["kind"], trial["cores"]) == (kind, cores) and trial.get("ms")
    ]
    values = [value for value in values if isinstance(value, (int, float))]
    return weighing.median(values) if values else None


def throughput_blocks(result, measured, weights):
    ratios = weighing.ratios(result, measured)
    own, other = weighing.rates(result), weighing.rates(measured)
    rows = []
    for key in sorted(set(own) | set(other), key=lambda key: (key[0], key[1])):
        kind, cores = key
        ratio = ratios.get(key)
        of_points = "–" if ratio is None else f"{weighing.ratio_share(ratio, weights):.0%}"
        percentiles = [latency(result, kind, cores, name) for name in ("p50", "p99")]
        percentiles.append(latency(measured, kind, cores, "p99"))
        share = None if ratio is None else f"{ratio:.1%}"
        rows.append(
            [kind, str(cores), own.get(key), other.get(key), share, *percentiles, of_points]
        )
    columns = ["request", "#cores", "#requests/s", "#of the reference", "#share"]
    columns += ["#p50, ms", "#p99, ms", "#p99 of the reference, ms", "#of the points"]
    blocks = [table(columns, rows)] if rows else []
    items = [scaling(result, measured, kind) for kind in KINDS]
    items += [
        f"{cores} cores were not measured: {why}"
        for cores, why in result.get("skipped", {}).items()
    ]
    items += remarks(result)
    if items := [item for item in items if item]:
        blocks.append({"type": "list", "items": items})
    return blocks + charts(result, measured)


def remarks(result):
    trials = result.get("trials", [])
    found = [
        f"{trial['kind']}, {trial['cores']} cores: {trial['problem']}"
        for trial in trials
        if trial.get("problem")
    ]
    shared = sorted({trial["cores"] for trial in trials if trial.get("shares_cpus")})
    if shared:
        words = ", ".join(map(str, shared))
        found.append(
            f"With {words} cores the load generator had no CPU of its own, beside the reference too."
        )
    if any(trial.get("client_was_the_bottleneck") for trial in trials):
        found.append("In some runs the load generator was the bottleneck, not the server.")
    for trial in trials:
        if sum((trial.get("errors") or {}).values()) and not weighing.valid_rate(trial):
            words = trial.get("wrong") or ", ".join(trial["errors"])
            found.append(
                f"{trial['kind']}, {trial['cores']} cores: too many requests failed, so it counts as 0. {words}"
            )
    return list(dict.fromkeys(found))


def scaling(result, measured, kind):
    own, other = weighing.scaling_factor(result, kind), weighing.scaling_factor(measured, kind)
    if not own:
        return ""
    words = f"{kind}: on {own[0]} cores {own[1]:.2f} times the throughput of one core"
    return words + (f"; the reference {other[1]:.2f} times." if other else ".")


def charts(result, measured):
    made = []
    for kind in KINDS:
        rates, latencies = rate_chart(result, measured, kind), latency_chart(result, measured, kind)
        if both := [block for block in (rates, latencies) if block]:
            made.append({"type": "columns", "blocks": both})
    return made


def pair(own, other):
    """The lines of the server and of the reference, without one that has no values."""
    lines = [
        {"name": "this server", "values": own, "color": "blue"},
        {"name": "reference", "values": other, "color": "grey", "look": "dashed"},
    ]
    return [line for line in lines if any(value is not None for value in line["values"])]


def rate_chart(result, measured, kind):
    own, other = weighing.rates(result), weighing.rates(measured)
    positions = sorted({cores for of, cores in {*own, *other} if of == kind})
    lines = pair(*([rates.get((kind, cores)) for cores in positions] for rates in (own, other)))
    return positions and {
        "type": "chart",
        "title": f"Throughput of {kind} requests",
        "x": {"name": "cores of the server"},
        "y": {"name": "requests/s", "unit": "requests/s", "scale": "log"},
        "positions": positions,
        "lines": lines,
    }


def latency_chart(result, measured, kind):
    cores = max((cores for of, cores in weighing.rates(result) if of == kind), default=None)
    values = [[latency(one, kind, cores, name) for name in POSITIONS] for one in (result, measured)]
    lines = pair(*values)
    return (
        cores
        and lines
        and {
            "type": "chart",
            "title": f"Response time of {kind} requests on {cores} core{'s' * (cores > 1)}",
            "x": {"name": "share of the requests that were faster", "scale": "percentile"},
            "y": {"name": "response time, ms", "unit": "ms", "scale": "log"},
            "positions": list(POSITIONS.values()),
            "lines": lines,
        }
    )


def reference_blocks(reference, shared):
    measured = reference.parts.get("throughput") or {}
    rows = [
        [
            kind,
            str(cores),
            rate,
            latency(measured, kind, cores, "p50"),
            latency(measured, kind, cores, "p99"),
        ]
        for (kind, cores), rate in sorted(weighing.rates(measured).items())
    ]
    columns = ["request", "#cores", "#requests/s", "#p50, ms", "#p99, ms"]
    title = "The reference: this project's server, policy loop, SQLite on the disk"
    return [table(columns, rows, title=title)]
