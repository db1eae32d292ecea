"""What PromQL expressions ask for, and what a /metrics page offers."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
DASHBOARD = ROOT / "ops/grafana/exchange-dashboard.json"
ALERTS = ROOT / "ops/alerts.yml"
OF_PROMETHEUS = {
    "up",
    "job",
    "instance",
    "le",
}  # what Prometheus adds by itself, and bounds of buckets
IDENTIFIER = r"[a-zA-Z_][a-zA-Z0-9_]*"


def dashboard_expressions(dashboard):
    """(panel title, expression) of each target."""
    return [
        (panel["title"], target["expr"])
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    ]


def filled_in(expression):
    """As Grafana sends it, for all servers."""
    return expression.replace("$__rate_interval", "30s").replace("$instance", ".*")


def alert_expressions(text):
    """(alert, expression) of each rule; of one line each, so that no YAML library is needed."""
    found = re.findall(r"- alert: (\S+)\n\s+expr: (.+)", text)
    assert len(found) == text.count(
        "alert:"
    ), "an alert whose expression is not on the line after its name"
    return found


def asked(expression):
    """({metric: labels asked of it}) of an expression. Labels in `by (...)` are asked of each metric of the expression."""
    labels = set()
    for group in re.findall(r"\b(?:by|without|on|ignoring) \(([^)]*)\)", expression):
        labels |= set(re.findall(IDENTIFIER, group))
    bare = re.sub(r"\b(?:by|without|on|ignoring) \([^)]*\)", "", expression)
    metrics = {}
    for name, selector in re.findall(
        rf"\b({IDENTIFIER})\b(?!\s*\()(?:\{{([^}}]*)\}})?",
        re.sub(r"\[[^]]*\]", "", quoted_away(bare)),
    ):
        if name in ("or", "and", "unless"):
            continue
        own = set(re.findall(rf"({IDENTIFIER})\s*(?:=~|!~|!=|=)", selector))
        metrics.setdefault(name, set()).update(own | labels)
    return metrics


def quoted_away(expression):
    return re.sub(r'"[^"]*"', '""', expression)


def offered(page):
    """{metric: its labels} of a page in Prometheus' text format."""
    metrics = {}
    for line in page.splitlines():
        match = re.match(rf"({IDENTIFIER})(?:\{{(.*)\}})? \S+$", line)
        if match and not line.startswith("#"):
            metrics.setdefault(match[1], set()).update(
                re.findall(rf'({IDENTIFIER})="', match[2] or "")
            )
    return metrics


def lacking(expressions, page):
    """What expressions ask for and the page has not, in words."""
    there = offered(page)
    problems = []
    for where, expression in expressions:
        for metric, labels in asked(expression).items():
            if metric in OF_PROMETHEUS:
                continue
            if metric not in there:
                problems.append(f"{where}: no metric {metric}")
            elif labels - there[metric] - OF_PROMETHEUS:
                problems.append(
                    f"{where}: {metric} has no label {', '.join(sorted(labels - there[metric] - OF_PROMETHEUS))}"
                )
    return problems


def load_dashboard():
    return json.loads(DASHBOARD.read_text())
