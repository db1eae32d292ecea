"""The page of one server: what was found, with the words of its replies. All of them become text
nodes of the page, never markup."""

import statistics

import figures
import moments
import summary
import weights as weighing
from plan import KINDS
from report import chart, code, columns, details, line, listed, pre, section, table, text, values
from student_files import shown

QUOTED_RULES = 12  # broken ones with their conversations
RESULTS = {"kept": "good", "broken": "bad", "blocked": "bad", "untested": None}
NO_REPLY = "no reply"
POSITIONS = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
ERRORS = {"refused": "no connection", "reset": "closed before the reply", "timeout": NO_REPLY}


def model(grade, given, got, of, reference, shared):
    one, measured = grade.submission, reference.parts.get("throughput") if reference else None
    sections = []
    blocks = {
        "conformance": lambda result: conformance_blocks(result, grade.moments, shared),
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
    sections.append(section("run", "How it was run", values("", facts(one))))
    return {
        "title": one.name,
        "about": [{"text": "all servers", "page": "index.html"}, " · ", code(one.shown_command)],
        "notices": notices(grade),
        "cards": [] if grade.problem else cards(grade, given, got, of, measured),
        "sections": sections,
    }


def facts(one):
    kept = "yes" if one.keeps_data else "no {data} or restart in its settings"
    found = {"command": one.shown_command, "folder": shown(one.folder), "keeps data": kept}
    return found | {name: getattr(one, name) for name in ("build", "restart") if getattr(one, name)}


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
        found.append(details(title, pre(result["last_lines"])))
    return found


def counts_blocks(result):
    kept = summary.rules_kept(result)
    counts = [f"{there} of {of} {level}" for level, (there, of) in kept.items() if of]
    words = f"Kept: {', '.join(counts)}. Restarts after it had died: {result.get('restarts') or 0}."
    blocks = [text(words)]
    if result.get("stopped"):
        blocks.append(text({"text": f"It stopped early: {result['stopped']}", "kind": "bad"}))
    return blocks


def conformance_blocks(result, found, shared):
    """`found`: moments of its rules."""
    rules = result.get("rules", [])
    if not rules:
        return []
    blocks = counts_blocks(result)
    if found:
        words = "This project's own server got the same requests, with other ids; "
        blocks.append(text(words, code(moments.serving(shared)), " shows what its book was."))
    broken = [rule for rule in rules if rule.get("result") in ("broken", "blocked")]
    losses = weighing.rule_losses(result, shared.weights)
    counting = [rule for rule, _ in losses]
    if counting:
        blocks.append(losses_table(losses, result, shared.weights))
        blocks += first_broken(counting[0], found)
        blocks += [folded(rule, found) for rule in counting[1:QUOTED_RULES]]
    if others := [rule for rule in broken if rule not in counting]:
        title = (
            "Decisions of this project that it does not share, without loss of points"
            f" ({len(others)})"
        )
        quotes = [folded(rule, found) for rule in others[:QUOTED_RULES]]
        blocks.append(details(title, *quotes))
    if result.get("form"):
        title = "Differs in form alone, without loss of points"
        blocks.append(details(title, listed(result["form"])))
    rows = [rule_row(rule) for rule in rules]
    heads = ["rule", "level", "result", "#cases", "what it says", "why"]
    return [*blocks, table(heads, rows, title="All rules", wide=True)]


def outcome(rule):
    """Such as 'broken', or 'blocked by M2' where that is known."""
    by = rule.get("blocked_by")
    return str(rule.get("result")) + (f" by {by}" if by else "")


def losses_table(losses, result, weights):
    """What each rule costs; a blocked rule is the consequence of a broken one."""
    most = weights["points"]["conformance"]
    rest = most * (1 - weighing.conformance_share(result)) - sum(points for _, points in losses)
    rows = [
        [str(rule.get("rule")), str(rule.get("level")), {"text": outcome(rule), "kind": "bad"}]
        + [f"{points:.2f}", str(rule.get("why", ""))]
        for rule, points in losses
    ]
    heads = ["rule", "level", "result", "#points lost", "why"]
    more = {"note": f"{rest:.1f} more points: rules that were not tested."} if rest > 0.05 else {}
    return table(heads, rows, title="Points lost, root causes first", **more)


def rule_row(rule):
    result = str(rule.get("result"))
    shown = {"text": result, "kind": RESULTS.get(result)} if RESULTS.get(result) else result
    ends = [str(rule.get(name, "")) for name in ("cases", "sentence", "why")]
    return [str(rule.get("rule")), str(rule.get("level")), shown, *ends]


def quoted(rule):
    """What it says, why it is broken, and the conversation that shows it."""
    blocks = [text(f"{rule.get('level')}: ", str(rule.get("sentence", "")))]
    blocks.append(text({"text": str(rule.get("why", "")), "kind": "bad"}))
    turns = [turn for turn in rule.get("conversation") or [] if isinstance(turn, dict)]
    lines = []
    for nth, turn in enumerate(turns):
        # What came instead of the last reply, if anything, is in the reason.
        instead = rule.get("why") if nth + 1 == len(turns) else ""
        lines.append(f"> {turn.get('sent', '')}\n{turn.get('got') or f'({instead or NO_REPLY})'}")
    return blocks + ([pre("\n".join(lines))] if lines else [])


def moment_blocks(rule, found):
    one = found.get(rule.get("rule"))
    if not one:
        return []
    names = f" ({one['named']} is {one['symbol']} there)"
    return [text("See the moment: ", code(moments.PAGE + one["link"]), names)]


def first_broken(rule, found):
    title = f"The first rule that is {rule.get('result')}: {rule.get('rule')}"
    return [text({"text": title, "kind": "strong"}), *quoted(rule), *moment_blocks(rule, found)]


def folded(rule, found):
    title = f"{rule.get('rule')} is {outcome(rule)}: {rule.get('why', '')}"
    return details(title[:160], *quoted(rule), *moment_blocks(rule, found))


def audit_blocks(result, weights):
    rows, blocks = [], []
    for run in result.get("runs", []):
        clients = f"{run['clients']:,}"
        if run.get("problem"):
            rows.append([clients, {"text": run["problem"], "kind": "bad"}])
            continue
        outcomes = {True: ("passed", "good"), False: ("failed", "bad")}
        passed = dict(zip(("text", "kind"), outcomes[run["passed"]], strict=True))
        lost = sum(run["errors"].values())
        share = weighing.audit_run_share(run, weights)
        rows.append(
            [clients, passed, run["orders"], run["executions"], run["answered"], run["rate"]]
            + [run["ms"].get("p99"), lost, f"{share:.0%}"]
        )
        blocks += run_details(run)
    heads = ["#clients", "audit", "#orders", "#executions", "#requests", "#requests/s"]
    heads += ["#p99, ms", "#failed requests", "#of the points"]
    return [table(heads, rows), *blocks]


def run_details(run):
    items = list(map(str, run["findings"]))
    if run.get("not_checked"):
        items.append(f"Not checked: {run['not_checked']}")
    items += [
        f"{figures.counted(count, 'request')}: {ERRORS.get(name, name)}"
        for name, count in run["errors"].items()
    ]
    if run.get("wrong"):
        items.append(f"First: {run['wrong']}")
    blocks, clients = [], figures.counted(run["clients"], "client")
    if items:
        blocks += [text({"text": f"With {clients}", "kind": "strong"}), listed(items)]
    if run.get("deviations"):
        inner = listed(map(deviation, run["deviations"]))
        blocks.append(details(f"Differs in form alone, with {clients}", inner))
    return blocks


def deviation(one):
    if isinstance(one, dict):
        return ", ".join(f"{name}: {value}" for name, value in one.items())
    return str(one)


def durability_blocks(result):
    found = result.get("acknowledged", 0)
    words = (
        f"{figures.counted(found, 'order was', 'orders were')} acknowledged,"
        f" {result.get('gone', 0):,} gone and "
    )
    words += f"{result.get('changed', 0):,} changed."
    if result.get("unknown"):
        words += f" The server did not say what became of {result['unknown']:,}."
    if not result.get("keeps_data"):
        words += (
            " The command has no {data}, and there is no restart command: unless the server keeps"
            " its orders in its own folder, a kill "
        )
        words += "loses all of them."
    rows = []
    for nth, one in enumerate(result.get("rounds", [])):
        again = one.get("seconds")
        again = {"text": "never", "kind": "bad"} if again is None else f"{again:.2f}"
        counts = [one.get(name, "–") for name in ("acknowledged", "gone", "changed", "unknown")]
        before = "yes" if one.get("ended_by_itself") else "no"
        rows.append([str(nth + 1), *counts, again, before])
    heads = ["#kill", "#acknowledged", "#gone", "#changed", "#not answered"]
    heads += ["#seconds to answer again", "ended before the kill"]
    blocks = [text(words), table(heads, rows)] if rows else [text(words)]
    if result.get("examples"):
        blocks.append(listed(result["examples"]))
    return blocks


# Throughput and response times, beside the reference.


def latency(result, kind, cores, name):
    times = [
        trial["ms"].get(name)
        for trial in (result or {}).get("trials", [])
        if (trial["kind"], trial["cores"]) == (kind, cores) and trial.get("ms")
    ]
    times = [value for value in times if isinstance(value, (int, float))]
    return statistics.median(times) if times else None


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
    heads = ["request", "#cores", "#requests/s", "#of the reference", "#share"]
    heads += ["#p50, ms", "#p99, ms", "#p99 of the reference, ms", "#of the points"]
    blocks = [table(heads, rows)] if rows else []
    items = [scaling(result, measured, kind) for kind in KINDS]
    items += [*not_measured(result.get("skipped", {})), *remarks(result)]
    if items := [item for item in items if item]:
        blocks.append(listed(items))
    return blocks + charts(result, measured)


def not_measured(skipped):
    """skipped: {cores: why}"""
    return [
        f"{figures.counted(int(cores), 'core was', 'cores were')} not measured: {why}"
        for cores, why in skipped.items()
    ]


def remarks(result):
    trials = result.get("trials", [])
    found = [
        f"{trial['kind']}, {figures.counted(trial['cores'], 'core')}: {trial['problem']}"
        for trial in trials
        if trial.get("problem")
    ]
    shared = sorted({trial["cores"] for trial in trials if trial.get("shares_cpus")})
    if shared:
        words = f"With {', '.join(map(str, shared))} cores the load generator had no CPU of its own"
        found.append(f"{words}, beside the reference too.")
    if any(trial.get("client_was_the_bottleneck") for trial in trials):
        found.append("In some runs the load generator was the bottleneck, not the server.")
    for trial in trials:
        if sum((trial.get("errors") or {}).values()) and not weighing.valid_rate(trial):
            what = f"{trial['kind']}, {figures.counted(trial['cores'], 'core')}"
            words = trial.get("wrong") or ", ".join(trial["errors"])
            found.append(f"{what}: too many requests failed, so it counts as 0. {words}")
    return list(dict.fromkeys(found))


def scaling(result, measured, kind):
    own, other = weighing.scaling_factor(result, kind), weighing.scaling_factor(measured, kind)
    if not own:
        return ""
    words = (
        f"{kind}: on {figures.counted(own[0], 'core')} {own[1]:.2f} times the throughput of one"
        " core"
    )
    return words + (f"; the reference {other[1]:.2f} times." if other else ".")


def charts(result, measured):
    made = []
    for kind in KINDS:
        rates, latencies = rate_chart(result, measured, kind), latency_chart(result, measured, kind)
        if both := [block for block in (rates, latencies) if block]:
            made.append(columns(*both))
    return made


def pair(own, other):
    """The lines of the server and of the reference, without one that has no values."""
    lines = [line("this server", own, "blue"), line("reference", other, "grey", "dashed")]
    return [one for one in lines if any(value is not None for value in one["values"])]


def rate_chart(result, measured, kind):
    own, other = weighing.rates(result), weighing.rates(measured)
    positions = sorted({cores for of, cores in {*own, *other} if of == kind})
    lines = pair(*([rates.get((kind, cores)) for cores in positions] for rates in (own, other)))
    y = {"name": "requests/s", "unit": "requests/s", "scale": "log"}
    x, title = {"name": "cores of the server"}, f"Throughput of {kind} requests"
    return positions and chart(title, x, y, positions, lines)


def latency_chart(result, measured, kind):
    cores = max((cores for of, cores in weighing.rates(result) if of == kind), default=None)
    times = [[latency(one, kind, cores, name) for name in POSITIONS] for one in (result, measured)]
    if not (lines := cores and pair(*times)):
        return None
    x = {"name": "share of the requests that were faster", "scale": "percentile"}
    y = {"name": "response time, ms", "unit": "ms", "scale": "log"}
    title = f"Response time of {kind} requests on {figures.counted(cores, 'core')}"
    return chart(title, x, y, list(POSITIONS.values()), lines)


def reference_blocks(reference):
    measured = reference.parts.get("throughput") or {}
    rows = [
        [kind, str(cores), rate] + [latency(measured, kind, cores, name) for name in ("p50", "p99")]
        for (kind, cores), rate in sorted(weighing.rates(measured).items())
    ]
    heads = ["request", "#cores", "#requests/s", "#p50, ms", "#p99, ms"]
    title = "The reference: this project's server, policy loop, SQLite on the disk"
    return [table(heads, rows, title=title)]
