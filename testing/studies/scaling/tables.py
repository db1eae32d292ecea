"""The tables, built once and written as Markdown and as HTML."""

from dataclasses import dataclass, field
from html import escape

from cells import CORES, KINDS, LOADS, POLICIES, POLICY_NAMES, STORES
from progress import duration
from summary import wait_shares

NONE = "–"

# What the original write-up measured, on another machine: for context, never a mark to pass.
THEIRS_A = {
    ("thread", 20): [70, 98, 102, 99, 96, 81, 88, 101, 98, 74],
    ("thread", 150): [438, 415, 715, 610, 895, 572, 428, 476, 614, 625],
    ("thread", 200): [622, 849, 786, 990, 651, 570, 323, 991, 1401, 789],
    ("pool-40", 20): [122, 99, 110, 96, 116, 90, 133, 55, 101, 174],
    ("pool-40", 150): [942, 1006, 956, 1220, 899, 927, 1008, 867, 929, 1054],
    ("pool-40", 200): [1010],
}
THEIRS_A_AVERAGES = {  # as printed there
    ("thread", 20): ("90.7", "4.5", "221"),
    ("thread", 150): ("578.8", "3.9", "259"),
    ("thread", 200): ("797.2", "3.9", "251"),
    ("pool-40", 20): ("109.6", "5.5", "182"),
    ("pool-40", 150): ("980.8", "6.5", "153"),
    ("pool-40", 200): (NONE, NONE, NONE),
}
THEIRS_B = {
    ("create", 1): ("434.9", "4.3", "229"),
    ("create", 2): ("358.8", "3.6", "278"),
    ("create", 4): ("376.6", "3.7", "265"),
    ("transactions", 1): ("4251.5", "42.5", "23.5"),
    ("transactions", 2): ("2836.3", "28.4", "35.2"),
    ("transactions", 4): ("2539.9", "25.4", "39.3"),
}


@dataclass
class Table:
    name: str
    title: str
    columns: list  # (group, text); the group spans columns side by side
    rows: list  # of lists of text; a row shorter than the columns: its last cell spans the rest
    note: str = ""
    text_columns: tuple = (0,)  # aligned left
    wide: bool = field(default=False)  # folded away on the page: for who looks something up


def markdown(table):
    heads = [" ".join(filter(None, column)) for column in table.columns]
    lines = [
        "| " + " | ".join(heads) + " |",
        "|"
        + "|".join("---" if i in table.text_columns else "---:" for i in range(len(heads)))
        + "|",
    ]
    for row in table.rows:
        cells = [cell.replace("|", "\\|") for cell in row]
        lines.append("| " + " | ".join(cells + [""] * (len(heads) - len(cells))) + " |")
    return "\n".join(lines) + (f"\n\n{table.note}" if table.note else "") + "\n"


def html(table):
    longest = [
        max(
            [len(row[i]) for row in table.rows if i < len(row) - (len(row) < len(table.columns))],
            default=0,
        )
        for i in range(len(table.columns))
    ]

    def align(i):
        return (
            ' class="n"'
            if i not in table.text_columns
            else ' class="s"'
            if longest[i] < 34
            else ' class="w"'
        )

    groups = any(group for group, _ in table.columns)
    out = ["<div class='scroll'><table>", "<thead>"]
    if groups:
        out.append("<tr>")
        i = 0
        while i < len(table.columns):
            span = 1
            while (
                i + span < len(table.columns) and table.columns[i + span][0] == table.columns[i][0]
            ):
                span += 1
            name = table.columns[i][0]
            out.append(f"<th colspan='{span}'{' class=group' if name else ''}>{escape(name)}</th>")
            i += span
        out.append("</tr>")
    out.append(
        "<tr>"
        + "".join(f"<th{align(i)}>{escape(text)}</th>" for i, (_, text) in enumerate(table.columns))
        + "</tr></thead><tbody>"
    )
    for row in table.rows:
        short = len(row) < len(table.columns)
        cells = "".join(
            f"<td{align(i)}>{escape(text)}</td>"
            for i, text in enumerate(row[:-1] if short else row)
        )
        if short:
            cells += f"<td class='not' colspan='{len(table.columns) - len(row) + 1}'>{escape(row[-1])}</td>"
        average = row[0].startswith(("average", "requests per"))
        out.append(f"<tr{' class=sum' if average else ''}>{cells}</tr>")
    out.append("</tbody></table></div>")
    if table.note:
        out.append(f"<p class='note'>{escape(table.note)}</p>")
    return "".join(out)


# Numbers as text.


def number(value, digits=3):
    """Three significant digits, thousands parted."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    decimals = max(0, digits - 1 - (0 if size < 1 else len(str(int(size))) - 1))
    return f"{value:.{decimals}f}"


def between(figures):
    """median (lowest – highest)"""
    if not figures:
        return NONE
    if figures["trials"] < 2:
        return number(figures["median"])
    return f"{number(figures['median'])} ({number(figures['low'])} – {number(figures['high'])})"


def medians(figures):
    return number(figures["median"]) if figures else NONE


def percent(value):
    return NONE if value is None else f"{value:.0%}"


def interval_text(interval, form=number):
    return f" [{form(interval[0])} – {form(interval[1])}]" if interval else ""


def errors_text(cell):
    if not cell["errors"]:
        return "none"
    classes = ", ".join(f"{name} {count:,}" for name, count in cell["errors"].items())
    return f"{classes} (in {cell['trials_with_errors']} of {cell['trials']} trials)"


def find(summary, **wanted):
    for cell in summary["cells"]:
        if all(cell[name] == value for name, value in wanted.items()):
            return cell
    return None


def has(cell):
    return cell is not None and bool(cell.get("requests_per_s"))


# The tables.


def average(values):
    return sum(values) / len(values) if values else None


def of_trials(cell):
    """The columns of one burst cell: trials, average total, average delay per request, requests per second."""
    if not has(cell):
        return None
    total = average(cell["totals_ms"])
    return cell["totals_ms"], total, total / cell["clients"], cell["clients"] / total * 1000


def marked(text, cell):
    return text + " *" if cell and cell["errors"] else text


def burst_rows(columns, theirs_trials):
    """columns: [('theirs', key) or ('ours', cell)]"""
    ours = [of_trials(cell) for source, cell in columns if source == "ours"]
    count = max([10] + [len(one[0]) for one in ours if one])
    rows = []
    for trial in range(count):
        row = [f"trial {trial + 1}"]
        for source, what in columns:
            if source == "theirs":
                kept = theirs_trials.get(what, [])
                row.append(str(kept[trial]) if trial < len(kept) else "N/A" if kept else NONE)
            else:
                figures = of_trials(what)
                row.append(
                    number(figures[0][trial]) if figures and trial < len(figures[0]) else NONE
                )
        rows.append(row)
    return rows


def closing_rows(columns, theirs):
    names = ("average", "average delay per request (ms)", "requests per second")
    rows = []
    for i, name in enumerate(names):
        row = [name]
        for source, what in columns:
            if source == "theirs":
                row.append(theirs[what][i])
            else:
                figures = of_trials(what)
                row.append(marked(number(figures[i + 1]), what) if figures else "not run")
        rows.append(row)
    return rows


def marks_note(cells):
    erring = [cell for cell in cells if cell and cell["errors"]]
    return (
        " * clients saw errors: "
        + "; ".join(f"{short_name(c)}: {errors_text(c)}" for c in erring)
        + "."
        if erring
        else ""
    )


def not_run_note(cells):
    reasons = sorted(
        {cell["reason"] for cell in cells if cell and cell["status"] == "not run"}
        | ({"not part of this run"} if any(cell is None for cell in cells) else set())
    )
    return f" Not run: {'; '.join(reasons)}." if reasons else ""


def short_name(cell):
    return f"{cell['policy']}, {cell['kind']}, {cell['clients_text']} clients, {cores_text(cell['cores'])}, {cell['store']}"


def cores_text(cores):
    return "not pinned" if cores == 0 else f"{cores} core{'s' if cores > 1 else ''}"


def table_a(summary):
    keys = [(policy, clients) for policy in ("thread", "pool-40") for clients in (20, 150, 200)]
    cells = {
        key: find(summary, part="a", load="burst", policy=key[0], clients=key[1]) for key in keys
    }
    columns = [("theirs", key) for key in keys] + [("ours", cells[key]) for key in keys]
    heads = [("", "concurrent clients")] + [
        (f"{source}: {name}", str(clients))
        for source in ("original", "here")
        for policy, name in (("thread", "one thread per client"), ("pool-40", "40-thread pool"))
        for clients in (20, 150, 200)
    ]
    return Table(
        "table-a",
        "Table A: time to finish all client tasks (ms), PostgreSQL",
        heads,
        burst_rows(columns, THEIRS_A) + closing_rows(columns, THEIRS_A_AVERAGES),
        "Each client connects, sends one request and gets its reply; nothing is pinned. The originals come from another machine. "
        "Average delay per request: average total time / clients."
        + marks_note(cells.values())
        + not_run_note(cells.values()),
    )


def table_b(summary, policy):
    keys = [(kind, cores) for kind in KINDS for cores in CORES]
    ours = {
        key: find(summary, part="b", load="burst", policy=policy, kind=key[0], cores=key[1])
        for key in keys
    }
    columns = [("theirs", key) for key in keys] + [("ours", ours[key]) for key in keys]
    heads = [("", "trial")] + [
        (f"{source}: {kind}", cores_text(cores))
        for source in ("original", "here")
        for kind in KINDS
        for cores in CORES
    ]
    closing = closing_rows(columns, THEIRS_B)
    closing[0][0] = "average total time (ms)"
    return Table(
        f"table-b-{policy}",
        f"Table B, {POLICY_NAMES[policy]}: total time (ms) of 100 requests (100 clients, one each), PostgreSQL",
        heads,
        burst_rows(columns, {}) + closing,
        "Single trials of the original are not known. The original pinned with taskset; so does --server-cpus."
        + placement_note(ours.values())
        + marks_note(ours.values())
        + not_run_note(ours.values()),
    )


def placement_note(cells):
    words = sorted(
        {
            f"{cores_text(cell['cores'])}: {cell['placement']}"
            for cell in cells
            if cell and cell["placement"]
        }
    )
    return " " + "; ".join(words) + "." if words else ""


DETAILS = [
    ("", "requests/s: median (lowest – highest)"),
    ("reply, ms", "p50"),
    ("reply, ms", "p99"),
    ("CPU us per request", "server"),
    ("CPU us per request", "client"),
    ("CPU us per request", "database"),
    ("", "errors"),
    ("", "limited by"),
]


def details(cell):
    if not has(cell):
        return [
            f"{cell['status']}: {cell['reason']}"
            + (f"; errors: {errors_text(cell)}" if cell["errors"] else "")
            if cell
            else "not part of this run"
        ]
    cpu = cell["cpu_us"]
    return [
        marked(between(cell["requests_per_s"]), cell),
        between(cell["p50_ms"]),
        between(cell["p99_ms"]),
        medians(cpu["server"]),
        medians(cpu["client"]),
        medians(cpu["database"]),
        errors_text(cell),
        cell["limit"]["verdict"] if cell.get("limit") else NONE,
    ]


def table_a_sustained(summary):
    rows = []
    for policy in ("thread", "pool-40"):
        for clients in (20, 150, 200):
            rows.append(
                [policy, f"{clients}"]
                + details(find(summary, part="a", load="sustained", policy=policy, clients=clients))
            )
    return Table(
        "table-a-sustained",
        "Table A, sustained: the same clients for some seconds, a new connection for each request",
        [("", "policy"), ("", "clients")] + DETAILS,
        rows,
        sustained_note(summary),
        (0, 8, 9),
    )


def table_b_sustained(summary):
    rows = []
    for policy in ("thread", "loop"):
        for kind in KINDS:
            for cores in CORES:
                cell = find(
                    summary, part="b", load="sustained", policy=policy, kind=kind, cores=cores
                )
                rows.append([policy, kind, str(cores)] + details(cell))
    return Table(
        "table-b-sustained",
        "Table B, sustained: 100 clients for some seconds, a new connection for each request",
        [("", "policy"), ("", "kind"), ("", "cores")] + DETAILS,
        rows,
        sustained_note(summary),
        (0, 1, 9, 10),
    )


def sustained_note(summary):
    settings = summary["settings"]
    return (
        f"{settings['seconds']:g} s a trial after {settings['warmup']:g} s of warm-up, {settings['table_trials']} interleaved trials. "
        "Requests per second, percentiles: median over the trials (lowest – highest)."
    )


def throughput(summary):
    """Requests per second, all policies side by side: the overview."""
    rows = []
    for store in STORES:
        for kind in KINDS:
            for cores in CORES:
                for clients, idle in LOADS:
                    cells = [
                        find(
                            summary,
                            part="sweep",
                            store=store,
                            kind=kind,
                            cores=cores,
                            clients=clients,
                            idle=idle,
                            policy=policy,
                        )
                        for policy in POLICIES
                    ]
                    if not any(cells):
                        continue
                    lead = [
                        store,
                        kind,
                        str(cores),
                        f"{clients:,}" + (f" + {idle:,} idle" if idle else ""),
                    ]
                    if not any(has(cell) for cell in cells):
                        reasons = sorted({f"{c['status']}: {c['reason']}" for c in cells if c})
                        rows.append(lead + ["; ".join(reasons)])
                    else:
                        rows.append(
                            lead
                            + [
                                marked(between(cell["requests_per_s"]), cell)
                                if has(cell)
                                else NONE
                                if cell is None
                                else f"{cell['status']}: {cell['reason']}"
                                for cell in cells
                            ]
                        )
    cells = [c for c in summary["cells"] if c["part"] == "sweep"]
    return Table(
        "throughput",
        "Requests per second of every cell",
        [("", "store"), ("", "kind"), ("", "cores"), ("", "clients")]
        + [("requests/s: median (lowest – highest)", policy) for policy in POLICIES],
        rows,
        f"Persistent connections, one request in flight each, {summary['settings']['trials']} interleaved trials of "
        f"{summary['settings']['seconds']:g} s."
        + (" * clients saw errors, listed below." if any(c["errors"] for c in cells) else ""),
        (0, 1),
        wide=True,
    )


def sweep_details(summary):
    """One table for each store and kind, with everything."""
    tables = []
    for store in STORES:
        for kind in KINDS:
            rows = []
            for cores in CORES:
                group = [
                    c
                    for c in summary["cells"]
                    if c["part"] == "sweep"
                    and c["store"] == store
                    and c["kind"] == kind
                    and c["cores"] == cores
                ]
                if group and not any(has(cell) or cell["errors"] for cell in group):
                    reasons = "; ".join(sorted({cell["reason"] for cell in group}))
                    rows.append([str(cores), "all policies", "all", f"not run: {reasons}"])
                    continue
                for cell in group:
                    rows.append([str(cores), cell["policy"], cell["clients_text"]] + details(cell))
            if rows:
                tables.append(
                    Table(
                        f"sweep-{store}-{kind}",
                        f"{store}, {kind}",
                        [("", "cores"), ("", "policy"), ("", "clients")] + DETAILS,
                        rows,
                        "Where server, client and database share CPUs is in the table of placements.",
                        (1, 9, 10),
                        wide=True,
                    )
                )
    return tables


def cpu_table(summary, cores=1):
    rows = []
    for store in STORES:
        for kind in KINDS:
            for policy in POLICIES:
                cell = find(
                    summary,
                    part="sweep",
                    store=store,
                    kind=kind,
                    policy=policy,
                    clients=200,
                    idle=0,
                    cores=cores,
                )
                if has(cell):
                    cpu = cell["cpu_us"]
                    shares = [figures["median"] if figures else 0 for figures in cpu.values()]
                    rows.append(
                        [
                            store,
                            kind,
                            policy,
                            *(between(cpu[who]) for who in ("server", "client", "database")),
                            number(sum(shares)),
                            percent(cell["core_thread_share"]),
                            number(cell["switches_per_request"], 2),
                        ]
                    )
    return Table(
        "cpu",
        f"CPU time of one request, 200 clients, server on {cores_text(cores)}",
        [
            ("", "store"),
            ("", "kind"),
            ("", "policy"),
            ("us per request", "server"),
            ("us per request", "client"),
            ("us per request", "database"),
            ("us per request", "in all"),
            ("", "core thread's part of the server's"),
            ("", "voluntary switches of the server per request"),
        ],
        rows,
        "The core thread applies and commits; it is the one serial stage.",
        (0, 1, 2),
    )


def stages_table(summary, cores=1):
    names = [
        name
        for name in ("read", "parse", "queue", "apply", "commit", "deliver", "write")
        if any(name in (c.get("stages_us") or {}) for c in summary["cells"])
    ]
    rows = []
    for store in STORES:
        for kind in KINDS:
            for policy in POLICIES:
                cell = find(
                    summary,
                    part="sweep",
                    store=store,
                    kind=kind,
                    policy=policy,
                    clients=200,
                    idle=0,
                    cores=cores,
                )
                if has(cell) and cell["stages_us"]:
                    rows.append(
                        [
                            store,
                            kind,
                            policy,
                            *(
                                number(cell["stages_us"][n]["mean"])
                                if n in cell["stages_us"]
                                else NONE
                                for n in names
                            ),
                            number(cell["p50_ms"]["median"] * 1000),
                        ]
                    )
    return Table(
        "stages",
        f"Stages of a request: mean time in each (us), 200 clients, server on {cores_text(cores)}",
        [("", "store"), ("", "kind"), ("", "policy")]
        + [("mean, us", name) for name in names]
        + [("", "reply p50, us")],
        rows,
        "Apply and commit are of a whole batch, which every request in it waits for.",
        (0, 1, 2),
    )


def limits_table(summary):
    rows = []
    for cell in summary["cells"]:
        if not cell.get("limit") or cell["part"] != "sweep":
            continue
        n = cell["limit"]["numbers"]
        rows.append(
            [
                cell["store"],
                cell["kind"],
                str(cell["cores"]),
                cell["policy"],
                cell["clients_text"],
                percent(n.get("server_share")),
                percent(n.get("core_thread")),
                percent(n.get("database_share")),
                percent(n.get("client_share")),
                number(n.get("commit_p50_ms")),
                percent(n.get("commit_part")),
                percent(n.get("lock_waits")),
                number(n.get("switches_per_request"), 2),
                cell["limit"]["verdict"],
            ]
        )
    return Table(
        "limits",
        "What limits each cell",
        [
            ("", "store"),
            ("", "kind"),
            ("", "cores"),
            ("", "policy"),
            ("", "clients"),
            ("busy, of what it could use", "server"),
            ("busy, of what it could use", "core thread"),
            ("busy, of what it could use", "database"),
            ("busy, of what it could use", "client"),
            ("commit p50", "ms"),
            ("commit p50", "of a median reply"),
            ("", "lock waits in the database"),
            ("", "switches per request"),
            ("", "verdict"),
        ],
        rows,
        "Verdict: the busiest CPU user from 85 % on (of its own CPUs, then of CPUs that several share); else other work "
        "that took 30 % of the machine or more; else the commit, if it is 30 % of a "
        "median reply or more; else lock waits from 30 % of the database's active time on; else waiting.",
        (0, 1, 3, 13),
        wide=True,
    )


def verdicts_table(summary):
    """How often each limit was met: the short form of the table above."""
    rows = []
    for store in STORES:
        for cores in CORES:
            for policy in POLICIES:
                cells = [
                    c
                    for c in summary["cells"]
                    if c["part"] == "sweep"
                    and c["store"] == store
                    and c["cores"] == cores
                    and c["policy"] == policy
                ]
                counted = {}
                for cell in cells:
                    if cell.get("limit"):
                        name = cell["limit"]["verdict"].split(" (")[0].split(":")[0]
                        counted[name] = counted.get(name, 0) + 1
                if counted:
                    rows.append(
                        [
                            store,
                            str(cores),
                            policy,
                            "; ".join(
                                f"{name} ({count})"
                                for name, count in sorted(counted.items(), key=lambda i: -i[1])
                            ),
                        ]
                    )
    return Table(
        "verdicts",
        "What limits, in how many cells",
        [("", "store"), ("", "cores"), ("", "policy"), ("", "limited by (cells)")],
        rows,
        "",
        (0, 2, 3),
    )


def waits_table(summary):
    rows = []
    for cell in summary["cells"]:
        waits = cell.get("waits")
        if not waits or (cell["part"] == "sweep" and (cell["clients"], cell["idle"]) != (200, 0)):
            continue
        shares = (
            ", ".join(
                f"{event} {share:.0%}" for event, share in list(wait_shares(waits).items())[:4]
            )
            or "never active when looked at"
        )
        active = sum(value for event, value in waits["sessions"].items() if event != "idle")
        rows.append(
            [
                cell["part"],
                cell["kind"],
                cores_text(cell["cores"]),
                cell["policy"],
                f"{cell['clients']}",
                str(waits["samples"]),
                number(active, 2),
                shares,
            ]
        )
    return Table(
        "waits",
        "What the database's sessions wait for",
        [
            ("", "part"),
            ("", "kind"),
            ("", "server on"),
            ("", "policy"),
            ("", "clients"),
            ("", "samples"),
            ("", "active sessions, on average"),
            ("", "share of the active time, the largest four"),
        ],
        rows,
        "pg_stat_activity about ten times a second while the load lasted; sessions idle for want of work are left out. "
        "The exchange commits with one session and projects with another.",
        (0, 1, 2, 3, 7),
        wide=True,
    )


def fits_cores_table(summary, clients=200):
    rows = []
    for fit in summary["fits_over_cores"]:
        if (fit["clients"], fit["idle"]) != (clients, 0):
            continue
        lead = [fit["store"], fit["kind"], fit["policy"]]
        shared = (
            "yes, at " + ", ".join(cores_text(c) for c in fit["shared_at"])
            if fit["shared_at"]
            else "no"
        )
        capacity = fit["by_cpu"]["capacity"] if fit["by_cpu"] else {}
        serial = fit["by_cpu"]["serial_share"] if fit["by_cpu"] else None
        by_cpu = [
            ", ".join(f"{cores_text(int(c))}: {number(value)}" for c, value in capacity.items())
            or NONE,
            percent(serial),
            f"{fit['by_cpu']['most_speedup']:.1f}x" if serial else NONE,
        ]
        for one in fit["fits"] or [None]:
            law = (
                [NONE] * 5
                if one is None
                else [
                    one["law"],
                    number(one["lambda"]) + interval_text(one["lambda_interval"]),
                    f"{one['sigma']:.3f}" + interval_text(one["sigma_interval"], "{:.3f}".format),
                    NONE
                    if one["kappa"] is None
                    else f"{one['kappa']:.4f}"
                    + interval_text(one["kappa_interval"], "{:.4f}".format),
                    "; ".join(f"{n}: {number(value[0])}" for n, value in one["projection"].items())
                    or NONE,
                ]
            )
            rows.append(lead + law + [shared] + by_cpu)
    return Table(
        "fits-cores",
        f"Scaling over cores, {clients} clients",
        [
            ("", "store"),
            ("", "kind"),
            ("", "policy"),
            ("fitted to the throughput measured", "law"),
            ("fitted to the throughput measured", "lambda"),
            ("fitted to the throughput measured", "sigma (serial)"),
            ("fitted to the throughput measured", "kappa (coherence)"),
            ("fitted to the throughput measured", "projection: cores: requests/s"),
            ("", "CPUs shared with the client"),
            ("by CPU, if the server had the cores to itself", "capacity, requests/s"),
            ("by CPU, if the server had the cores to itself", "serial share: the core thread's"),
            ("by CPU, if the server had the cores to itself", "most speed-up"),
        ],
        rows,
        "Brackets: 95 % of the fits to trials drawn again. Two numbers of cores cannot tell kappa, so with two only Amdahl's law is fitted. "
        "Where the client took CPU time of the server, sigma holds that too: read the columns by CPU, which are an upper bound (nobody waits, "
        "nothing but the core thread is serial).",
        (0, 1, 2, 3, 7, 8, 9),
        wide=True,
    )


def fits_clients_table(summary):
    rows = []
    for fit in summary["fits_over_clients"]:
        rows.append(
            [
                fit["store"],
                fit["kind"],
                str(fit["cores"]),
                fit["policy"],
                number(fit["lambda"]) + interval_text(fit["lambda_interval"]),
                f"{fit['sigma']:.4f}" + interval_text(fit["sigma_interval"], "{:.4f}".format),
                f"{fit['kappa']:.2e}" + interval_text(fit["kappa_interval"], "{:.1e}".format),
                number(fit["peak_n"]) if fit["peak_n"] else "none",
                NONE if fit["r_squared"] is None else f"{fit['r_squared']:.2f}",
            ]
        )
    return Table(
        "fits-clients",
        "Scaling over clients: the universal scalability law",
        [
            ("", "store"),
            ("", "kind"),
            ("", "cores"),
            ("", "policy"),
            ("", "lambda, requests/s"),
            ("", "sigma"),
            ("", "kappa"),
            ("", "peak at clients"),
            ("", "R²"),
        ],
        rows,
        "Fitted to 20 clients and more; lambda, the rate of one client alone, is an extrapolation. A large sigma here means saturation: more "
        "clients than the server needs to be busy.",
        (0, 1, 3),
        wide=True,
    )


def placements_table(summary):
    seen = {}
    for cell in summary["cells"]:
        name = (
            cores_text(cell["cores"]),
            "with a database" if cell["store"] == "postgresql" else "without",
        )
        seen.setdefault(name, cell["placement"] or f"not run: {cell['reason']}")
    return Table(
        "placements",
        "Who runs where",
        [("", "server on"), ("", "database process"), ("", "placement")],
        [[*name, words] for name, words in seen.items()],
        "",
        (0, 1, 2),
    )


def errors_table(summary):
    rows = [
        [
            one["cell"],
            ", ".join(f"{name} {count:,}" for name, count in one["errors"].items()),
            f"{one['trials_with_errors']} of {one['trials']}",
            one["reason"],
        ]
        for one in summary["errors"]
    ]
    return Table(
        "errors",
        "Errors that clients saw",
        [("", "cell"), ("", "errors by class"), ("", "trials with errors"), ("", "first words")],
        rows,
        "" if rows else "No client saw an error.",
        (0, 1, 3),
    )


def machine_table(summary):
    machine, settings = summary["machine"], summary["settings"]
    stolen = summary["stolen"]
    rows = [
        ["processor", f"{machine['cpu']}, CPUs usable: {len(machine['cpus'])}"],
        ["memory", f"{machine['memory_bytes'] / 2**30:.1f} GiB"],
        ["kernel", machine["kernel"]],
        ["stores on", f"{machine['scratch']['filesystem']} ({machine['scratch']['folder']})"],
        ["PostgreSQL", summary.get("postgresql") or "not used"],
        ["commit", f"{summary['commit']} (programs {summary['binaries']})"],
        ["started", summary.get("started", NONE)],
        [
            "trials",
            f"{summary['trials_finished']} of {summary['trials_wanted']}; order shuffled with seed {settings['seed']}",
        ],
        [
            "a trial",
            f"{settings['seconds']:g} s after {settings['warmup']:g} s of warm-up; {settings['trials']} trials a cell, "
            f"{settings['table_trials']} in tables A and B"
            + (f"; only {' or '.join(settings['only'])}" if settings["only"] else ""),
        ],
        [
            "CPU time stolen from this machine",
            f"median {stolen['median']:.1%} of a trial, most {stolen['high']:.1%}"
            if stolen
            else NONE,
        ],
        [
            "measuring took",
            duration(summary["measuring_s"]) if summary.get("measuring_s") else NONE,
        ],
    ]
    return Table("machine", "Machine and build", [("", "what"), ("", "here")], rows, "", (0, 1))


def headline(summary):
    """Sentences that stand before everything else."""
    sentences = []
    if summary["settings"]["quick"]:
        sentences.append(
            "This is a quick look: few cells, one or two short trials each. It shows that everything works, not how fast it is."
        )
    missing = summary["trials_wanted"] - summary["trials_finished"]
    if missing > 0:
        sentences.append(f"Unfinished: {missing} of {summary['trials_wanted']} trials are missing.")
    if summary["errors"]:
        sentences.append(
            f"Clients saw errors in {len(summary['errors'])} cells: "
            + "; ".join(
                f"{one['cell']}: "
                + ", ".join(f"{name} {count:,}" for name, count in one["errors"].items())
                for one in summary["errors"][:8]
            )
            + (f"; {len(summary['errors']) - 8} more below." if len(summary["errors"]) > 8 else ".")
        )
    elif summary["trials_finished"]:
        sentences.append("No client saw an error.")
    disturbed = sum(
        1
        for c in summary["cells"]
        if c.get("limit") and c["limit"]["verdict"].startswith("other work")
    )
    if disturbed:
        sentences.append(
            f"In {disturbed} cells other work took much of the machine's CPU time: measure those again when it is quiet."
        )
    unrun = [one for one in summary["not_run"]]
    if unrun:
        reasons = {}
        for one in unrun:
            reasons[one["reason"]] = reasons.get(one["reason"], 0) + 1
        sentences.append(
            "Not run: "
            + "; ".join(f"{count} cells ({reason})" for reason, count in reasons.items())
            + "."
        )
    return sentences


def all_tables(summary):
    tables = [
        machine_table(summary),
        placements_table(summary),
        errors_table(summary),
        table_a(summary),
        table_a_sustained(summary),
        table_b(summary, "thread"),
        table_b(summary, "loop"),
        table_b_sustained(summary),
        throughput(summary),
        verdicts_table(summary),
        cpu_table(summary),
        stages_table(summary),
        fits_cores_table(summary),
        fits_clients_table(summary),
        limits_table(summary),
        waits_table(summary),
        *sweep_details(summary),
    ]
    return {table.name: table for table in tables}


def markdown_page(summary, tables):
    parts = ["# Scaling\n", " ".join(headline(summary)) + "\n"]
    for table in tables.values():
        parts.append(
            f"## {table.title}\n\n{markdown(table) if table.rows else (table.note or 'Nothing of it was run.')}\n"
        )
    return "\n".join(parts)
