"""report.html: one page that holds everything it shows."""

from html import escape

import tables as t
from cells import IDLE_WARMUP_S, POLICY_NAMES
from plots import for_page

STYLE = """
:root { color-scheme: light dark; --ink: #1b1d20; --muted: #5c6167; --grid: #e2e4e7; --paper: #ffffff; --soft: #f5f6f8; --accent: #0072b2; --warn: #b34700; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7e9ec; --muted: #9aa1a9; --grid: #32373d; --paper: #15181b; --soft: #1e2226; --accent: #56b4e9; --warn: #f0a35e; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1300px; margin: 0 auto; padding: 40px 28px 80px; }
h1 { font-size: 32px; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 22px; margin: 52px 0 10px; padding-top: 14px; border-top: 1px solid var(--grid); }
h3 { font-size: 16px; margin: 30px 0 6px; }
p, li { max-width: 78ch; }
.lead { color: var(--muted); margin: 0 0 18px; }
.note, figcaption { color: var(--muted); font-size: 13.5px; max-width: 100ch; margin: 6px 0 0; }
.head { border-left: 4px solid var(--accent); background: var(--soft); padding: 12px 18px; margin: 18px 0; }
.head.warn { border-color: var(--warn); }
.head p { margin: 4px 0; max-width: none; }
nav { columns: 2; font-size: 14.5px; margin: 18px 0; max-width: 760px; }
nav a { color: var(--accent); text-decoration: none; display: block; }
nav a:hover { text-decoration: underline; }
.scroll { overflow-x: auto; margin: 8px 0 0; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 8px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--grid); }
th { font-weight: 600; color: var(--muted); vertical-align: bottom; }
thead th { line-height: 1.3; }
th.group { border-bottom: 2px solid var(--grid); color: var(--ink); text-align: center; }
.n { text-align: right; white-space: nowrap; }
.s { white-space: nowrap; } th.n { white-space: normal; } td.w { min-width: 17em; }
td.not { color: var(--muted); font-style: italic; }
tr.sum td { font-weight: 600; background: var(--soft); }
figure { margin: 18px 0 30px; }
figure svg { width: 100%; height: auto; display: block; }
details { margin: 14px 0; }
summary { cursor: pointer; font-weight: 600; }
code { font-size: 0.92em; background: var(--soft); padding: 1px 4px; border-radius: 3px; }
dt { font-weight: 600; margin-top: 8px; } dd { margin: 0 0 0 20px; max-width: 76ch; }
@media print { main { max-width: none; padding: 0; } body { font-size: 10.5pt; } nav { display: none; } table { font-size: 7.5pt; }
  th, td { padding: 2px 4px; } figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } .scroll { overflow: visible; } .n, .s { white-space: normal; } td.w { min-width: 0; } }
"""


def section(name, title, *parts):
    return name, title, f"<h2 id='{name}'>{escape(title)}</h2>" + "".join(parts)


def figure_html(figures, svgs, prefix):
    out = []
    for name, (title, caption, _) in figures.items():
        if name == prefix or name.startswith(prefix + "-"):
            out.append(
                f"<figure><h3>{escape(title)}</h3>{for_page(name, svgs[name])}<figcaption>{escape(caption)}</figcaption></figure>"
            )
    return "".join(out)


def table_html(tables, *names):
    out = []
    for name in names:
        table = tables.get(name)
        if table is None:
            continue
        if not table.rows:
            out.append(
                f"<h3>{escape(table.title)}</h3><p>{escape(table.note or 'Nothing of it was run.')}</p>"
            )
        elif table.wide:
            out.append(
                f"<details><summary>{escape(table.title)} ({len(table.rows)} rows)</summary>{t.html(table)}</details>"
            )
        else:
            out.append(f"<h3>{escape(table.title)}</h3>{t.html(table)}")
    return "".join(out)


def method(summary):
    settings = summary["settings"]
    policies = "".join(
        f"<li><code>{name}</code>: {words}</li>" for name, words in POLICY_NAMES.items()
    )
    only = f" Only {escape(' or '.join(settings['only']))}." if settings["only"] else ""
    return f"""<p>A <em>cell</em> is one setting of every factor: thread policy, clients, kind of request, cores of the server, store. A <em>trial</em> starts
a fresh private server with an empty store (on PostgreSQL: a new database of a private cluster with its default durability), drives it with the load generator, which
checks every reply, and removes it. Trials are interleaved: trial 1 of all cells, then trial 2, each round in an order shuffled with seed {settings['seed']}, so
that a slow minute of the machine is spread over the cells.{only}</p>
<ul>{policies}</ul>
<p>The load is a closed loop: each client has one request in flight. Connections persist, except in tables A and B, where each request makes a new one as the original did.
A sustained trial measures {settings['seconds']:g} s after {settings['warmup']:g} s of warm-up ({IDLE_WARMUP_S:g} s more with idle connections). Figures are the median of the trials, with the lowest and the highest beside it.
The server is pinned to the first cores, the client away from them where there are cores enough; the placements below say where it was not so.</p>
<details><summary>How the load generator was called</summary><ul>{''.join(f'<li><code>{escape(call)}</code></li>' for call in summary['calls'])}</ul></details>"""


READING = """<dl>
<dt>requests/s</dt><dd>Replies, each committed before it left, in a second of the measured part. With <code>memory</code> nothing is durable: it shows the rest of the server alone.</dd>
<dt>p50, p99</dt><dd>Half, and 99 of 100, replies came within this time. In a closed loop the reply time is about clients / requests per second: more clients than
the server needs to be busy only wait longer.</dd>
<dt>CPU us per request</dt><dd>User and system time of a process in the measured part, divided by the replies. It drifts less than throughput on a noisy machine, and does not depend on who shares a CPU.</dd>
<dt>sigma, kappa</dt><dd>Of X(N) = lambda N / (1 + sigma (N − 1) + kappa N (N − 1)). Sigma is the share that is serial, kappa what it costs to agree with one another; kappa 0 is Amdahl's law.</dd>
<dt>by CPU</dt><dd>Cores divided by the server's CPU time per request: what those cores could carry if nothing ever waited. Where client and server share the CPUs this is the fair figure over cores.</dd>
<dt>limited by</dt><dd>Who was busiest, of what it could use; if nobody was busy, what the replies waited for.</dd>
<dt>errors</dt><dd>Connections refused or reset, replies late, malformed or wrong. A cell that had any is marked with a star wherever it appears.</dd>
</dl>"""


def build(summary, tables, figures, svgs):
    headline = t.headline(summary)
    warn = " warn" if summary["errors"] or summary["settings"]["quick"] else ""
    details = [name for name in tables if name.startswith("sweep-")]
    sections = [
        section(
            "question",
            "Question",
            "<p>How does the exchange scale with clients and with cores, under each thread policy and each store; where does the "
            "time of a request go; and what limits it? Tables A and B put the same questions as the write-up that this project starts from, in its own shape.</p>",
        ),
        section("method", "Method", method(summary), table_html(tables, "placements")),
        section("machine", "Machine, build, flags", table_html(tables, "machine")),
        section(
            "table-a",
            "Table A: two thread policies",
            table_html(tables, "table-a", "table-a-sustained"),
        ),
        section(
            "table-b",
            "Table B: number of cores",
            table_html(tables, "table-b-thread", "table-b-loop", "table-b-sustained"),
        ),
        section(
            "clients",
            "Throughput by clients",
            figure_html(figures, svgs, "throughput"),
            table_html(tables, "throughput", "fits-clients"),
        ),
        section(
            "cores",
            "Throughput by cores",
            figure_html(figures, svgs, "cores"),
            table_html(tables, "fits-cores"),
        ),
        section("latency", "Reply time", figure_html(figures, svgs, "p99")),
        section(
            "cpu",
            "What a request costs",
            figure_html(figures, svgs, "cpu"),
            table_html(tables, "cpu"),
        ),
        section(
            "stages",
            "Where the time of a request goes",
            figure_html(figures, svgs, "stages"),
            table_html(tables, "stages"),
        ),
        section(
            "limits", "What limits each cell", table_html(tables, "verdicts", "limits", "waits")
        ),
        section("errors", "Errors", table_html(tables, "errors")),
        section(
            "cells",
            "Every cell",
            table_html(tables, *details) or "<p>No cell of the sweep was run.</p>",
        ),
        section("reading", "How to read the figures", READING),
    ]
    links = "".join(f"<a href='#{name}'>{escape(title)}</a>" for name, title, _ in sections)
    machine = summary["machine"]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Scaling of the exchange</title><style>{STYLE}</style></head><body><main>
<h1>Scaling of the exchange</h1>
<p class="lead">{escape(machine['cpu'])}, {len(machine['cpus'])} CPUs · commit {escape(summary['commit'])} · {summary['trials_finished']} trials · {escape(summary.get('started', ''))}</p>
<div class="head{warn}">{''.join(f'<p>{escape(sentence)}</p>' for sentence in headline)}</div>
<nav>{links}</nav>
{''.join(body for _, _, body in sections)}
</main></body></html>
"""
