"""What must hold of the figures for each sentence of docs/scaling.md that concludes something: see studies.report.claims."""

import tables
from cells import KINDS, POLICIES, STORES
from fit import describes, peak
from studies.report.claims import markdown_tables, number, problems
from summary import find, has, pick

DURABLE = ("sqlite", "postgresql")
EVENTS = ("loop", "pool-cpus")


class Figures:
    """Of the page: the summary of the run, and the tables as the pages have them."""

    def __init__(self, docs, summary):
        self.summary = summary
        texts = [(docs / name).read_text() for name in tables.PAGES]
        self.tables = {}
        for text in reversed(texts):
            self.tables |= markdown_tables(text)

    def cells(self, **wanted):
        return [cell for cell in pick(self.summary, **wanted) if has(cell)]

    def sweep(self, **wanted):
        return self.cells(part="sweep", **{"idle": 0, **wanted})

    def rate(self, store, policy, clients, kind="transactions", cores=1):
        (cell,) = self.sweep(store=store, policy=policy, clients=clients, kind=kind, cores=cores)
        return cell["requests_per_s"]["median"]

    def settings(self, clients=None):
        """(cells of all policies) of each setting"""
        for store in STORES:
            for kind in KINDS:
                for cores in (1, 2):
                    for count in [clients] if clients else (20, 150, 200, 800, 2000):
                        yield self.sweep(store=store, kind=kind, cores=cores, clients=count)

    def named(self, name, **wanted):
        """The rows of a table whose cells begin with these texts."""
        heads = {key: key.replace("_", " ") for key in wanted}
        return [
            row
            for row in self.tables[name]
            if all(row[heads[key]] == value for key, value in wanted.items())
        ]

    def by_hand(self, head):
        return next(table for table in self.tables[None] if table and head in table[0])


def near(wanted, value, share=0.006):
    return abs(value - wanted) <= share * abs(wanted)


def rounds_to(wanted, value):
    """wanted: as it is written: 39_400 has three digits that count, 0.8 one decimal."""
    if isinstance(wanted, float):
        return round(value, len(str(wanted).partition(".")[2])) == wanted
    digits = max(2, len(str(wanted).rstrip("0")))
    return float(f"{value:.{digits}g}") == wanted


def between(low, high, values):
    """The least and the greatest are these, as they are rounded."""
    values = list(values)
    return rounds_to(low, min(values)) and rounds_to(high, max(values))


def fastest(cells):
    return max(cells, key=lambda cell: cell["requests_per_s"]["median"])["policy"]


def first_in(f, policies, clients=None):
    return sum(fastest(cells) in policies for cells in f.settings(clients))


def tells_apart(cells):
    """Whether the trials tell the two event policies apart."""
    a, b = (one["requests_per_s"] for one in cells if one["policy"] in EVENTS)
    return a["low"] > b["high"] or b["low"] > a["high"]


def slowest(f, clients):
    found = [
        min(cells, key=lambda cell: cell["requests_per_s"]["median"])["policy"]
        for cells in f.settings(clients)
    ]
    return max(set(found), key=found.count)


def leader(f, store, kind, cores, clients):
    return f.named("policies", store=store, kind=kind, cores=str(cores))[0][f"clients: {clients:,}"]


def average(f, table, here):
    """The averages of the originals, and ours, in the order of the columns; NaN where there is none."""
    row = f.tables[table][0]
    return [number(cell) for head, cell in row.items() if head.startswith(here)]


def thread_and_pool(f):
    ours = average(f, "table-a", "here")
    return list(zip(ours[:3], ours[3:]))


def sooner(f):
    pairs = zip(average(f, "table-a", "original"), average(f, "table-a", "here"))
    return [theirs / ours for theirs, ours in pairs if theirs == theirs]


def burst_b(f, policy):
    """create on 1 and 2 cores, transactions on 1 and 2."""
    return [value for value in average(f, f"table-b-{policy}", "here") if value == value]


def steps_b(f):
    """By how much the burst is shorter on two cores, {(policy, kind): share}"""
    found = {}
    for policy in ("thread", "loop"):
        c1, c2, t1, t2 = burst_b(f, policy)
        found[policy, "create"], found[policy, "transactions"] = c1 / c2 - 1, t1 / t2 - 1
    return found


def wal_sync(row):
    words = row["share of the active time, the largest four"]
    return number(words.partition("IO:WALSync")[2])


def idle_pairs(f):
    """(slower, faster, slower under thread, all)"""
    slower, faster, all_ = [], 0, 0
    for cell in f.cells(part="sweep"):
        if not cell["idle"]:
            continue
        same = ("store", "kind", "policy", "cores", "clients")
        other = find(f.summary, part="sweep", idle=0, **{name: cell[name] for name in same})
        with_, without = cell["requests_per_s"], other["requests_per_s"]
        all_ += 1
        faster += with_["low"] > without["high"]
        if with_["high"] < without["low"]:
            slower.append(cell["policy"])
    return all_, len(slower), slower.count("thread"), faster


def cpu(f, column, **wanted):
    return [number(row[column]) for row in f.named("cpu", **wanted)]


def server_us(f, **wanted):
    return cpu(f, "us per request server", **wanted)


def serial(f, **wanted):
    return cpu(f, "core thread's part of the server's", **wanted)


def stage(f, name, **wanted):
    return [number(row[name]) for row in f.named("stages", **wanted)]


LOOP_SQLITE = {"store": "sqlite", "kind": "transactions", "policy": "loop"}


def verdicts(f, cores, store, clients=None, policies=POLICIES):
    cells = [cell for cell in f.cells(part="sweep", store=store, cores=cores)]
    cells = [cell for cell in cells if clients is None or cell["clients"] == clients]
    return [cell["limit"]["verdict"] for cell in cells if cell["policy"] in policies]


def table_d(f, row, column):
    return number(next(one for one in f.by_hand("set-up") if one["set-up"] == row)[column])


def perf(f, *starts):
    listed = f.by_hand("`pool` (CPUs)")
    return sum(number(row["`loop`"]) for row in listed if row[""].startswith(starts))


def fits(f):
    return f.summary["fits_over_clients"]


def peaks(f, policies):
    found = [fit for fit in fits(f) if describes(fit) and fit["policy"] in policies]
    return len(found), [n for n in (peak(fit, fit["measured"]) for fit in found) if n]


def validation(f, column, **wanted):
    return [number(row[column]) for row in f.named("cores/validation", **wanted)]


def simulated(f, store, policy, cores, clients="200"):
    (row,) = f.named("cores/simulated", store=store, clients=clients, policy=policy)
    return number(row[f"requests/s {cores} core{'s' * (cores > 1)}"])


def simulated_are(f, policy, *wanted):
    return all(
        rounds_to(value, simulated(f, "sqlite", policy, cores))
        for value, cores in zip(wanted, (1, 4, 8, 16))
    )


def limits_simulated(f, cores, **wanted):
    return [row[f"limited by, at {cores}"] for row in f.named("cores/simulated", **wanted)]


def summary_row(f, column):
    return f.named("cores/summary", cells="all cells")[0][column]


CLAIMS = {
    "Every figure outside of the simulation and of table D comes from one run of 1,144 interleaved trials.": lambda f: f.summary[
        "trials_finished"
    ]
    == 1144,
    # In short
    "`loop` or a pool of as many threads as CPUs is first in 59 of 60 settings of persistent connections.": lambda f: first_in(
        f, EVENTS
    )
    == 59
    and len(list(f.settings())) == 60,
    "The trials tell them apart in 9 of these.": lambda f: sum(
        tells_apart(cells) for cells in f.settings() if fastest(cells) in EVENTS
    )
    == 9,
    "`thread` is first in one setting, PostgreSQL with 20 clients, and there within the spread of all four.": lambda f: first_in(
        f, ("thread",)
    )
    == 1
    and leader(f, "postgresql", "transactions", 1, 20).count(",") == 3
    and leader(f, "postgresql", "transactions", 1, 20).startswith("thread"),
    "A pool of 40 threads is first in none.": lambda f: first_in(f, ("pool-40",)) == 0,
    "With few clients it is the slowest policy, with 2,000 `thread` is.": lambda f: (
        slowest(f, 20),
        slowest(f, 2000),
    )
    == ("pool-40", "thread"),
    "A burst of one request per client takes as long under `thread` as under the pool of 40": lambda f: all(
        near(a, b, 0.06) for a, b in thread_and_pool(f)
    ),
    "the one serial thread takes 9 to 23 %": lambda f: between(9, 23, serial(f)),
    "Nearly all of a reply's time is waiting.": lambda f: all(
        number(row["mean, us parse"]) + number(row["mean, us apply"])
        < 0.05 * number(row["reply p50, us"])
        for row in f.tables["stages"]
    ),
    "Parsing and applying are a few per cent of it.": lambda f: all(
        number(row["mean, us parse"]) + number(row["mean, us apply"])
        < 0.05 * number(row["reply p50, us"])
        for row in f.tables["stages"]
    ),
    "Two cores cannot show how throughput grows beyond them.": lambda f: all(
        "no fit" in row["fitted to the throughput measured law"] for row in f.tables["fits-cores"]
    ),
    "The simulation says that all policies gain from 4 cores, and that with SQLite and 200 clients the core thread is the limit on 16.": lambda f: all(
        number(row["requests/s 4 cores"]) > 1.5 * number(row["requests/s 1 core"])
        for row in f.tables["cores/simulated"]
    )
    and all(
        w.startswith("core thread") for w in limits_simulated(f, 16, store="sqlite", clients="200")
    ),
    # Table A
    "thread per client was ahead of the pool at every number of clients that both finished": lambda f: all(
        a < b
        for a, b in zip(
            average(f, "table-a", "original")[:2], average(f, "table-a", "original")[3:5]
        )
    ),
    "Here a burst of one request per client ends 4 to 23 times sooner, and the policies do not differ by more than 6 %.": lambda f: 4
    < min(sooner(f))
    and max(sooner(f)) < 23
    and all(near(a, b, 0.06) for a, b in thread_and_pool(f)),
    # Table B
    "A burst of 100 requests ends in 25 to 41 ms on one core and on two.": lambda f: 25
    <= min(burst_b(f, "thread") + burst_b(f, "loop"))
    and max(burst_b(f, "thread") + burst_b(f, "loop")) <= 41,
    "The second core changes that by 4 % or less, except for `transactions` under `loop`, which gain a quarter at the average.": lambda f: near(
        0.25, steps_b(f)["loop", "transactions"], 0.05
    )
    and all(
        abs(step) <= 0.045 for key, step in steps_b(f).items() if key != ("loop", "transactions")
    ),
    "In table B the database's sessions spend 45 to 73 % of their active time in `IO:WALSync`.": lambda f: between(
        45, 73, [wal_sync(row) for row in f.named("waits", part="b")]
    ),
    "with SQLite and 200 clients `create` goes from 38,700 to 48,900 requests per second, `transactions` from 39,400 to 66,800": lambda f: all(
        rounds_to(value, f.rate("sqlite", "loop", 200, kind, cores))
        for value, kind, cores in (
            (38_700, "create", 1),
            (48_900, "create", 2),
            (39_400, "transactions", 1),
            (66_800, "transactions", 2),
        )
    ),
    "Under `thread` `transactions` gain nothing there.": lambda f: f.rate(
        "sqlite", "thread", 200, cores=2
    )
    <= f.rate("sqlite", "thread", 200),
    # Table D
    "Here four workers had 16 % more at the median, within the spread of the trials, and 22 % more client CPU per request.": lambda f: near(
        1.16,
        table_d(f, "here: 4 workers", "requests/s") / table_d(f, "here: 1 worker", "requests/s"),
    )
    and near(
        1.22, table_d(f, "here: 4 workers", "client") / table_d(f, "here: 1 worker", "client")
    ),
    "At the originals' own rate the reply takes 0.8 ms, 1.9 ms at 99 %.": lambda f: rounds_to(
        0.8, table_d(f, AT_THEIR_RATE, "average (ms)")
    )
    and table_d(f, AT_THEIR_RATE, "99 % (ms)") == 1.9,
    # Policies
    "`loop` or a pool of as many threads as CPUs suits nearly always.": lambda f: first_in(
        f, EVENTS
    )
    >= 59,
    "With `transactions`, SQLite, one core and 200 clients they do 39,400 and 47,100 requests per second, `thread` 30,400, a pool of 40 22,000.": lambda f: rates_are(
        f, "sqlite", 200, loop=39_400, pool_cpus=47_100, thread=30_400, pool_40=22_000
    ),
    "In memory `loop` leads with 73,100 against 50,800, 22,600 and 27,300.": lambda f: rates_are(
        f, "memory", 200, loop=73_100, pool_cpus=50_800, thread=22_600, pool_40=27_300
    ),
    "At 20 clients, `transactions` and one core it does 20,000 with SQLite, as the pool of CPUs does, and `loop` 26,700.": lambda f: near(
        20_000, f.rate("sqlite", "thread", 20)
    )
    and near(f.rate("sqlite", "thread", 20), f.rate("sqlite", "pool-cpus", 20), 0.05)
    and rounds_to(26_700, f.rate("sqlite", "loop", 20)),
    "every reply wakes a thread (1.1 to 1.9 switches per request of 200 clients), and with 2,000 clients it does 16,400": lambda f: between(
        1.1, 1.9, cpu(f, "voluntary switches of the server per request", policy="thread")
    )
    and rounds_to(16_400, f.rate("sqlite", "thread", 2000)),
    "a request costs 2.5 to 3.1 context switches": lambda f: between(
        2.5, 3.1, cpu(f, "voluntary switches of the server per request", policy="pool-40")
    ),
    "With SQLite, `transactions` and one core a request waits 3.5 ms until the core takes it, and 3.6 ms until a thread has the reply.": lambda f: rounds_to(
        3.5, stage(f, "mean, us queue", **{**LOOP_SQLITE, "policy": "pool-40"})[0] / 1000
    )
    and rounds_to(
        3.6, stage(f, "mean, us deliver", **{**LOOP_SQLITE, "policy": "pool-40"})[0] / 1000
    ),
    "With 2,000 clients it passes `thread` in all 12 settings.": lambda f: sum(
        by_policy(cells)["pool-40"] > by_policy(cells)["thread"] for cells in f.settings(2000)
    )
    == 12,
    "of 48 pairs of cells with and without 10,000 of them, 5 are slower by more than the trials differ, three of these under `thread`, and 2 are faster": lambda f: idle_pairs(
        f
    )
    == (48, 5, 3, 2),
    # Costs
    "Under `loop` an order costs the server 14 us in memory and 24 with SQLite, the client 10 to 12 us, PostgreSQL 15 us in its own processes.": lambda f: near(
        14, server_us(f, store="memory", kind="transactions", policy="loop")[0], 0.04
    )
    and near(24, server_us(f, **LOOP_SQLITE)[0], 0.02)
    and between(
        10,
        12,
        [round(v) for v in cpu(f, "us per request client", kind="transactions", policy="loop")],
    )
    and near(
        15,
        cpu(f, "us per request database", store="postgresql", kind="transactions", policy="loop")[
            0
        ],
        0.04,
    ),
    "Under `thread` it costs the server 32 to 42 us, under the pool of 40 37 to 44.": lambda f: between(
        32, 42, [round(v) for v in server_us(f, kind="transactions", policy="thread")]
    )
    and between(37, 44, [round(v) for v in server_us(f, kind="transactions", policy="pool-40")]),
    # Stages
    "is nearly all waiting, not work": lambda f: all(
        number(row["mean, us parse"]) + number(row["mean, us apply"])
        < 0.05 * number(row["reply p50, us"])
        for row in f.tables["stages"]
    ),
    "With 200 clients, `transactions` and SQLite under `loop` on one core a reply takes 4.4 ms.": lambda f: stages_are(
        f, 4.4, "reply p50, us"
    ),
    "Parsing takes 2.4 us of that, applying the whole batch 0.1 ms, writing 10 us.": lambda f: rounds_to(
        2.4, stage(f, "mean, us parse", **LOOP_SQLITE)[0]
    )
    and stages_are(f, 0.1, "mean, us apply")
    and near(10, stage(f, "mean, us write", **LOOP_SQLITE)[0], 0.05),
    "The request waits 0.7 ms for the core and 1.2 ms for the commit.": lambda f: stages_are(
        f, 0.7, "mean, us queue"
    )
    and stages_are(f, 1.2, "mean, us commit"),
    "It waits another 1.2 ms until the loop": lambda f: stages_are(f, 1.2, "mean, us deliver"),
    "with `thread` and memory it is 7 of 7.8 ms": lambda f: rounds_to(
        7.8,
        stage(f, "reply p50, us", store="memory", kind="transactions", policy="thread")[0] / 1000,
    )
    and near(
        7000, stage(f, "mean, us deliver", store="memory", kind="transactions", policy="thread")[0]
    ),
    "Under `loop` reading and writing sockets takes 44 %, the engine 5 %.": lambda f: perf(
        f, "write: the kernel", "read: the kernel"
    )
    == 44
    and perf(f, "apply") == 5,
    # Bottlenecks
    "On one core with memory the bottleneck is the server's CPU in all cells.": lambda f: all(
        words.startswith("CPU of the server") for words in verdicts(f, 1, "memory")
    ),
    "With SQLite it is too, except that with 20 clients the commit is the limit in 6 of 8 cells": lambda f: [
        words.startswith("commit") for words in verdicts(f, 1, "sqlite", 20)
    ].count(
        True
    )
    == 6
    and len(verdicts(f, 1, "sqlite", 20)) == 8
    and sum(not w.startswith("CPU of the server") for w in verdicts(f, 1, "sqlite")) == 6,
    "With PostgreSQL and an event policy the client and the database fill the other core in 15 of 24 cells.": lambda f: (
        sum(
            w.startswith("CPUs shared by client and database")
            for w in verdicts(f, 1, "postgresql", None, EVENTS)
        ),
        len(verdicts(f, 1, "postgresql", None, EVENTS)),
    )
    == (15, 24),
    # Serial share
    "Its part of the server's CPU at 200 clients on one core is 9 % in memory and 18 % with SQLite under `loop`, 21 to 23 % under the pool of CPUs on those stores, 11 to 21 % elsewhere.": lambda f: set(
        serial(f, store="memory", policy="loop")
    )
    == {9}
    and set(serial(f, store="sqlite", policy="loop")) == {18}
    and between(
        21,
        23,
        serial(f, store="memory", policy="pool-cpus")
        + serial(f, store="sqlite", policy="pool-cpus"),
    )
    and between(11, 21, elsewhere(f)),
    "By Amdahl's law that limits the gain from more cores to 4.4 to 10.8 times one core.": lambda f: between(
        4.4, 10.8, [number(row[MOST]) for row in f.tables["fits-cores"]]
    ),
    "No law is fitted to the measured throughput: two numbers of cores cannot test one": lambda f: all(
        "no fit" in row["fitted to the throughput measured law"] for row in f.tables["fits-cores"]
    ),
    "The simulation below is the better guess.": lambda f: number(
        summary_row(f, "requests/s within 15 %")
    )
    == 29,
    # Simulation
    "**Throughput** is within 15 % in 29 of 36 cells, and within 34 % in all.": lambda f: summary_row(
        f, "requests/s within 15 %"
    ).startswith(
        "29 of 36"
    )
    and "largest 34%" in summary_row(f, "requests/s within 15 %"),
    "`thread` with 500 clients is 19 to 34 % too high: its costs come from 200 connections at most, so the columns of `thread` for 1,000 clients are likely too high.": lambda f: between(
        19, 34, validation(f, "requests/s error", policy="thread", clients="500")
    ),
    "**p50** is within 15 % in 22 of 36 cells, **p99** in 12, and mostly too low.": lambda f: summary_row(
        f, "p50 within 15 %"
    ).startswith(
        "22 of 36"
    )
    and summary_row(f, "p99 within 15 %").startswith("12 of 36")
    and sum(value < 0 for value in validation(f, "p99, ms error")) > 18,
    "**All policies profit from more cores.**": lambda f: all(
        number(row["requests/s 4 cores"])
        < number(row["requests/s 8 cores"])
        < number(row["requests/s 16 cores"])
        for row in f.tables["cores/simulated"]
    ),
    "With SQLite and 200 clients, 4, 8 and 16 cores bring `loop` from 103,000 requests/s on one core to 265,000, 390,000 and 428,000, `pool` from 97,000 to 240,000, 363,000 and 395,000, `thread` from 47,000 to 204,000, 308,000 and 428,000.": lambda f: simulated_are(
        f, "loop", 103_000, 265_000, 390_000, 428_000
    )
    and simulated_are(f, "pool", 97_000, 240_000, 363_000, 395_000)
    and simulated_are(f, "thread", 47_000, 204_000, 308_000, 428_000),
    "**With SQLite and 200 clients the one core thread is the limit on 16 cores**, for `loop` from 8 on": lambda f: all(
        w.startswith("core thread") for w in limits_simulated(f, 16, store="sqlite", clients="200")
    )
    and [w.startswith("core thread") for w in limits_simulated(f, 8, store="sqlite", clients="200")]
    == [False, False, True],
    "With 1,000 clients a commit carries more requests, and the same thread reaches 680,000 to 950,000/s.": lambda f: between(
        680_000,
        950_000,
        [simulated(f, "sqlite", p, 16, "1,000") for p in ("thread", "pool", "loop")],
    ),
    "In memory the CPUs of the server are the limit in 13 of 18 cells.": lambda f: sum(
        w.startswith("CPUs of the server")
        for cores in (4, 8, 16)
        for w in limits_simulated(f, cores, store="memory")
    )
    == 13,
    "On 16 cores the simulation passes a million requests/s there.": lambda f: max(
        simulated(f, "memory", p, 16, n)
        for p in ("thread", "pool", "loop")
        for n in ("200", "1,000")
    )
    > 1e6,
    # Clients
    "describes 29 of 48 sets of cells, 24 of the 32 with a durable store": lambda f: (
        sum(map(describes, fits(f))),
        len(fits(f)),
        sum(describes(fit) for fit in fits(f) if fit["store"] in DURABLE),
        sum(fit["store"] in DURABLE for fit in fits(f)),
    )
    == (29, 48, 24, 32),
    "Where it describes `thread` and the trials leave no doubt that there is a peak, the peak lies between 47 and 226 clients.": lambda f: between(
        47, 226, map(round, peaks(f, ("thread",))[1])
    ),
    "Of the event policies it finds a peak in 3 of 17 sets that it describes, between 321 and 397 clients.": lambda f: peaks(
        f, EVENTS
    )[
        0
    ]
    == 17
    and len(peaks(f, EVENTS)[1]) == 3
    and between(321, 397, map(round, peaks(f, EVENTS)[1])),
}

# What was done, what a figure means, and what the sources do; no conclusion from the figures.
NOT_CONCLUSIONS = (
    "The burst is connecting, waking a server that has just started and waiting for the first few commits",
    "The same, sustained:",
    "the client and the database use the same two",
    "In the original, transactions matched orders in SQL",
    "Here create and transactions are the same kind of work",
    "The originals loaded a small REST service with Locust",
    "Here 50 clients send three queries for each order",
    "The originals concluded that more load workers do not raise throughput",
    "CPU time, by perf on the server under load",
    "measures what each part of a request costs on one and two cores",
    "Columns for 4, 8 and 16 cores are simulated, not measured.",
    # the model
    "Costs: CPU time of transport, core, projector, replica and client per request",
    "Only CPU times are fitted",
    "Each 200 ms the projector begins to write",
    "Scheduler: a queue for each CPU",
    "Time: each cell is simulated for as long as it was measured",
    "Not modelled: that requests cost more",
    "No cost was fitted to these cells",
    "The costs were fitted by an earlier version of the simulation",
    "Use the simulated p99 to compare policies, not as a promise.",
    "The simulation does not know what locks and caches that 16 threads share cost",
)

AT_THEIR_RATE = "here: 1 worker, at the highest rate of the originals"
MOST = "by CPU, if the server had the cores to itself most speed-up"


def by_policy(cells):
    return {cell["policy"]: cell["requests_per_s"]["median"] for cell in cells}


def rates_are(f, store, clients, **wanted):
    return all(
        rounds_to(value, f.rate(store, policy.replace("_", "-"), clients))
        for policy, value in wanted.items()
    )


def stages_are(f, wanted_ms, column):
    return rounds_to(wanted_ms, stage(f, column, **LOOP_SQLITE)[0] / 1000)


def elsewhere(f):
    return [
        number(row["core thread's part of the server's"])
        for row in f.tables["cpu"]
        if row["store"] == "postgresql" or row["policy"] not in EVENTS
    ]


def problems_of(docs, summary):
    """What is wrong with docs/scaling.md."""
    page = (docs / tables.PAGES[0]).read_text()
    return problems(page, CLAIMS, Figures(docs, summary), NOT_CONCLUSIONS)
