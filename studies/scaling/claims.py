"""What the claims of claims.txt use, on the tables of docs/scaling.md: see studies.report.claims."""

import re
from collections import Counter
from pathlib import Path

from cells import KINDS, STORES
from studies.report.claims import markdown_tables, number, problems, read
from tables import MEDIAN_AND_RANGE, PAGES

EVENTS = ("loop", "pool-cpus")


def spread(cell):
    """median, lowest and highest of `1,234 (1,000 – 2,000)`; nothing of other texts"""
    figures = re.match(r"([\d,.]+) \(([\d,.]+) – ([\d,.]+)\)", cell)
    return figures and dict(
        zip(("median", "low", "high"), map(number, figures.groups()), strict=True)
    )


class Figures:
    """The tables of the pages."""

    def __init__(self, docs):
        self.tables = {}
        for name in reversed(PAGES):
            self.tables |= markdown_tables((docs / name).read_text())
        self.cells = [
            {
                **{name: row[name] for name in ("store", "kind")},
                "cores": number(row["cores"]),
                "clients": number(row["clients"]),
                "idle": "idle" in row["clients"],
                "policy": head.removeprefix(MEDIAN_AND_RANGE + " "),
                "requests_per_s": spread(cell),
            }
            for row in self.tables["throughput"]
            for head, cell in row.items()
            if head.startswith(MEDIAN_AND_RANGE) and spread(cell)
        ]

    def sweep(self, **wanted):
        wanted = {"idle": False, **wanted}
        return [c for c in self.cells if all(c[name] == value for name, value in wanted.items())]

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

    def column(self, table, column, **wanted):
        return [number(row[column]) for row in self.named(table, **wanted)]

    def by_hand(self, head):
        return next(table for table in self.tables[None] if table and head in table[0])


def near(wanted, value, share=0.006):
    return abs(value - wanted) <= share * abs(wanted)


def rounds_to(wanted, value):
    """wanted: as it is written: 39_400 has three digits that count, 0.8 one decimal."""
    if isinstance(wanted, float):
        return round(value, len(str(wanted).partition(".")[2])) == wanted
    digits = max(2, len(str(wanted).rstrip("0")))
    # The table rounds too: what stands there as a half may have been less or more.
    return wanted in (float(f"{value * share:.{digits}g}") for share in (0.99999, 1.00001))


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
    return list(zip(ours[:3], ours[3:], strict=True))


def sooner(f):
    pairs = zip(average(f, "table-a", "original"), average(f, "table-a", "here"), strict=True)
    return [theirs / ours for theirs, ours in pairs if theirs == theirs]


def wal_sync(row):
    words = row["share of the active time, the largest four"]
    return number(words.partition("IO:WALSync")[2])


def idle_pairs(f):
    """(all, slower, faster)"""
    slower, faster, pairs = 0, 0, f.sweep(idle=True)
    for cell in pairs:
        same = ("store", "kind", "policy", "cores", "clients")
        (other,) = f.sweep(**{name: cell[name] for name in same})
        with_, without = cell["requests_per_s"], other["requests_per_s"]
        faster += with_["low"] > without["high"]
        slower += with_["high"] < without["low"]
    return len(pairs), slower, faster


CORE_SHARE, SERVER_US = "core thread's part of the server's", "us per request server"
LOOP_SQLITE = {"store": "sqlite", "kind": "transactions", "policy": "loop"}


def parsing_is_little(f):
    return all(
        number(row["mean, us parse"]) + number(row["mean, us apply"])
        < 0.13 * number(row["reply p50, us"])
        for row in f.tables["stages"]
    )


def verdicts(f, cores, store, policies=None):
    """{what limits: cells}"""
    found = Counter()
    for row in f.named("verdicts", store=store, cores=str(cores)):
        if not policies or row["policy"] in policies:
            for name, count in re.findall(r"([^;]+?) \((\d+)\)", row["limited by (cells)"]):
                found[name.strip()] += int(count)
    return found


def table_d(f, row, column):
    return number(next(one for one in f.by_hand("set-up") if one["set-up"] == row)[column])


def described(f, policies=None):
    """The fits over clients that a law describes."""
    fits = [row for row in f.tables["fits-clients"] if row["R²"]]
    return [row for row in fits if not policies or row["policy"] in policies]


def peaks(f, policies):
    found = [number(row["peak at clients"]) for row in described(f, policies)]
    return [one for one in found if one == one]


def simulated(f, store, policy, cores, clients="200"):
    (row,) = f.named("cores/simulated", store=store, clients=clients, policy=policy)
    return number(row[f"requests/s {cores} core{'s' * (cores > 1)}"])


def limits_simulated(f, cores, **wanted):
    return [row[f"limited by, at {cores}"] for row in f.named("cores/simulated", **wanted)]


def summary(f, column):
    return f.named("cores/summary", cells="all cells")[0][column]


AT_THEIR_RATE = "here: 1 worker, at the highest rate of the originals"


def by_policy(cells):
    return {cell["policy"]: cell["requests_per_s"]["median"] for cell in cells}


CLAIMS = read(Path(__file__).with_suffix(".txt"))[None]


def problems_of(docs):
    """What is wrong with docs/scaling.md."""
    return problems((docs / PAGES[0]).read_text(), CLAIMS, globals() | {"f": Figures(docs)})
