"""What the claims of claims.txt use, on the tables of docs/experiments.md: see studies.report.claims."""

import re
from pathlib import Path

from studies.report.claims import number, problems, read, table_lines

# What was asked and done stands in these paragraphs.
DESCRIBES = re.compile(r"^\*\*The (?:question|measurement)\.\*\*.*?(?=\n\s*\n|\Z)", re.M | re.S)


def ends(cell):
    """(lowest, highest) of `1.50 ms (1.1-1.8)`, in the unit of the cell."""
    match = re.search(r"\(([\d,.]+)-([\d,.]+)\)", cell)
    return tuple(float(end.replace(",", "")) for end in match.groups())


class Tables:
    """Of one experiment: {key: lines of cells, the heads first}."""

    def __init__(self, tables):
        self.tables = tables

    @classmethod
    def of(cls, experiment):
        """From a run."""
        return cls({one["key"]: [one["columns"], *one["rows"]] for one in experiment["tables"]})

    @classmethod
    def on(cls, text, name):
        """From pages."""
        blocks = re.findall(rf"<!-- begin {name}/(\S+) -->\n(.*?)<!-- end", text, re.S)
        return cls({key: table_lines(body) for key, body in blocks})

    def rows(self, key):
        return self.tables[key][1:]

    def at(self, key, column):
        """The place of a column: its head, or its place already."""
        return column if isinstance(column, int) else self.tables[key][0].index(column)

    def text(self, key, row, column):
        """row: the first cell, or the first two."""
        for cells in self.rows(key):
            if row in (cells[0], f"{cells[0]}, {cells[1]}"):
                return cells[self.at(key, column)]
        raise KeyError(row)

    def get(self, key, row, column):
        return number(self.text(key, row, column))

    def column(self, key, column):
        return [number(cells[self.at(key, column)]) for cells in self.rows(key)]

    def row(self, key, row, first=1):
        """All figures of a row."""
        heads = range(first, len(self.tables[key][0]))
        return [self.get(key, row, nth) for nth in heads]


def within(low, high, values):
    return all(low <= one <= high for one in values)


ATOMIC, RELAXED = "std::atomic", "std::atomic, relaxed"
EACH = "one for each task, added up"

MUTEX, SHARED = "std::mutex", "std::shared_mutex"
HASH, UNORDERED = "tbb::concurrent_hash_map", "tbb::concurrent_unordered_map"


def firsts(t, columns):
    return [row[nth].split(",")[0] for row in t.rows("fastest") for nth in columns]


def cpus_busy(t):
    """{(mix, map): CPUs that 8 threads kept busy}"""
    heads = t.tables["mixes"][0]
    return {
        (f"{row[0]} {row[1]}", heads[nth]): number(row[nth])
        * 1e6
        * t.get("cpu", f"{row[0]}, {row[1]}", nth)
        for row in t.rows("mixes")
        for nth in range(2, len(heads))
        if row[nth] != "-"
    }


ENDL = "std::ofstream, flushed after each record (std::endl)"

FUTEX, EVENTFD, PIPE = "threads, futex", "threads, eventfd", "threads, pipe"
CONDITION_SWITCH = "threads, condition variable"
POLLING = ("threads, sched_yield", "threads, std::atomic wait")
SLEEPING = (FUTEX, CONDITION_SWITCH, EVENTFD, PIPE)
LOCKED = "threads, the same, notified under the lock"


def user(t, section, lock, cpus="two CPUs"):
    return t.get("E-locks", f"{section}, {lock}", f"here, {cpus}: user")


LONG, SHORT = "long section (100 us)", "short section (100 ns)"
SPIN, TICKET, BACK_OFF, YIELDS = (
    "spin: test-and-set",
    "spin: ticket",
    "spin: look first, back off",
    "spin, then yield",
)
SPINS = (SPIN, TICKET, BACK_OFF)
INHERITS = "priority-inheriting mutex"

ONE, ALL, BACK, LEAVES = (
    "signal and continue, notify_one",
    "signal and continue, notify_all",
    "hand-off, signaller comes back",
    "hand-off, signaller leaves",
)


ONE_OS, TWO_OS = "fibers on one OS thread", "fibers on two OS threads, work sharing"
THREADS_ONE, THREADS_ALL = "std::thread, one CPU", "std::thread, all CPUs"
TASKS = (ONE_OS, TWO_OS, THREADS_ONE, THREADS_ALL)


def times(t, tasks):
    return [number(row[5]) for row in t.rows("spinning") if row[0] == tasks]


IO_A, IO_B = "(a) long I/O: 1 reader, 1 writer, other work", "(b) short I/O: 10 bytes x 100,000"
IO_C, IO_D = "(c) 20 readers, 20 writers", "(d) as (c), with other work"

EACH_30, EACH_90, EACH_300 = (f"a thread each, {count} callers" for count in (30, 90, 300))
POOLS_30 = [f"pool of {count}, buffer 10, 30 callers" for count in (2, 3, 4, 8)]


def pools(t):
    return [number(row[2]) for row in t.rows("F") if re.match(r"pool of [2-9]", row[0])]


CORE, GROUP, SYMBOLS = "core thread, batches", "mutex, group commit", "mutex for each of 16 symbols"
MUTEX_NAME = "mutex"

BUSY_CPUS = 1.5  # of two


def hardly_overlapped(t):
    """A sentence for the page: where the figures of `collections` are not what they look like."""
    slow = {key: cpus for key, cpus in cpus_busy(t).items() if cpus < BUSY_CPUS}
    listed = "; ".join(f"{mix}, {name}: {cpus:.1f}" for (mix, name), cpus in slow.items())
    if not slow:
        return ""
    return f"**Threads hardly overlapped** in these cells (CPUs that 8 threads kept busy): {listed}. There the figures are those of threads that take turns."


CLAIMS = read(Path(__file__).with_suffix(".txt"))


def names():
    return [name for name in CLAIMS if name and name != "no conclusions"]


def sections(docs):
    """{experiment: its answer and prose}, without what was asked and done"""
    text = (docs / "experiments.md").read_text()
    answers = dict(re.findall(r"^- \[.*\]\(#(\w+)\)<br>\n  (.*)$", text, re.M))
    parts = re.split(r'^<a id="(\w+)"></a>$', text, flags=re.M)[1:]
    prose = zip(parts[::2], parts[1::2], strict=False)
    return {name: f"{answers[name]}\n\n{DESCRIBES.sub('', part)}" for name, part in prose}


def problems_of(docs):
    """What is wrong with the prose of the page."""
    text = (docs / "experiments.md").read_text() + (docs / "experiments/tables.md").read_text()
    return [
        f"{name}: {problem}"
        for name, part in sections(docs).items()
        for problem in problems(
            part,
            CLAIMS[name] | CLAIMS["no conclusions"],
            globals() | {"t": Tables.on(text, name)},
        )
    ]
