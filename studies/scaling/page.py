"""report.html: the model of one page that holds everything it shows."""

from cells import IDLE_WARMUP_S, POLICY_NAMES
from figures import counted
from report import code, image, section, table, text
from tables import headline

QUESTION = (
    "How does the exchange scale with clients and with cores, under each thread policy and each store; where does the "
    "time of a request go; and what limits it? Tables A and B ask the same as the write-up that this project starts from, in its own shape."
)
READING = {
    "requests/s": "Replies per second of the measured part, each committed before it left. With the store memory nothing is durable: "
    "it shows the rest of the server alone.",
    "p50, p99": "Half, and 99 of 100, replies came within this time. In a closed loop the reply time is about clients / requests per second: "
    "more clients than the server needs to be busy only wait longer.",
    "CPU us per request": "User and system time of a process in the measured part, divided by the replies. It drifts less than throughput on "
    "a noisy machine, and does not depend on which processes share a CPU.",
    "sigma, kappa": "Of X(N) = lambda N / (1 + sigma (N − 1) + kappa N (N − 1)). Sigma is the share that is serial, kappa the cost of "
    "coherence between threads; kappa 0 is Amdahl's law.",
    "by CPU": "Cores divided by the server's CPU time per request: what those cores could carry if no thread ever waited. Where client and "
    "server share the CPUs this is the fair figure over cores.",
    "limited by": "The busiest process, relative to what it could use; if none was busy, what the replies waited for.",
    "errors": "Connections refused or reset, replies late, malformed or wrong. A star marks the figures of every cell that had any.",
}


def method(summary):
    settings = summary["settings"]
    only = f" Only {' or '.join(settings['only'])}." if settings["only"] else ""
    calls = {"type": "list", "items": [code(call) for call in summary["calls"]]}
    return [
        text(
            "A cell is one setting of every factor: thread policy, clients, kind of request, cores of the server, store. A trial starts "
            "a fresh private server with an empty store (on PostgreSQL: a new database of a private cluster with its default durability), "
            "drives it with the load generator, which checks every reply, and removes it. Trials are interleaved: trial 1 of all cells, then "
            f"trial 2, each round in an order shuffled with seed {settings['seed']}, so that a slow minute of the machine is spread over the cells.{only}"
        ),
        {"type": "list", "items": [[code(name), f": {w}"] for name, w in POLICY_NAMES.items()]},
        text(
            "The load is a closed loop: each client has one request in flight. Connections persist, except in tables A and B, where each "
            f"request makes a new one as in the original. A sustained trial measures {settings['seconds']:g} s after {settings['warmup']:g} s "
            f"of warm-up ({IDLE_WARMUP_S:g} s more with idle connections). Figures are the median of the trials, with the lowest and the highest "
            "beside it. The server is pinned to the first cores, the client to others if there are enough; the placements below say where it was not so."
        ),
        {"type": "details", "title": "How the load generator was called", "blocks": [calls]},
    ]


def model(summary, tables, charts, svgs):
    def show(*names):
        return [table(tables[name]) for name in names if name in tables]

    def plots(kind):
        return [
            image(title, caption, svgs[name])
            for name, (title, caption, _) in charts.items()
            if name.split("-")[0] == kind
        ]

    cells = show(*(name for name in tables if name.startswith("sweep-")))
    machine = summary["machine"]
    kind = "warn" if summary["errors"] or summary["settings"]["quick"] else "good"
    first, *details = headline(summary) or ["Nothing was run."]
    about = [
        f"{machine['cpu']}, {counted(len(machine['cpus']), 'CPU')}",
        f"commit {summary['commit']}",
        counted(summary["trials_finished"], "trial"),
        summary.get("started", ""),
    ]
    return {
        "title": "Scaling of the exchange",
        "about": " · ".join(about),
        "contents": True,
        "notices": [{"kind": kind, "text": first, "details": details}],
        "sections": [
            section("question", "Question", text(QUESTION)),
            section("method", "Method", *method(summary), *show("placements")),
            section("machine", "Machine, build, flags", *show("machine")),
            section(
                "table-a", "Table A: two thread policies", *show("table-a", "table-a-sustained")
            ),
            section(
                "table-b",
                "Table B: number of cores",
                *show("table-b-thread", "table-b-loop", "table-b-sustained"),
            ),
            section(
                "clients",
                "Throughput by clients",
                *plots("throughput"),
                *show("throughput", "fits-clients"),
            ),
            section("cores", "Throughput by cores", *plots("cores"), *show("fits-cores")),
            section("latency", "Reply time", *plots("p99")),
            section("cpu", "Cost of a request", *plots("cpu"), *show("cpu")),
            section(
                "stages", "Where the time of a request goes", *plots("stages"), *show("stages")
            ),
            section("limits", "What limits each cell", *show("verdicts", "limits", "waits")),
            section("errors", "Errors", *show("errors")),
            section("cells", "Every cell", *cells),
            section(
                "reading",
                "How to read the figures",
                {"type": "table", "rows": [list(item) for item in READING.items()]},
            ),
        ],
    }
