"""What must hold of the tables for each sentence of text/NAME.md that concludes something: see studies.report.claims."""

import re

from studies.report.claims import problems

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "k": 1e3, "M": 1e6}
# What was asked and done stands in these paragraphs.
DESCRIBES = re.compile(r"^\*\*The (?:question|measurement)\.\*\*.*?(?=\n\s*\n|\Z)", re.M | re.S)


def value(cell):
    """The first number of a cell, times in seconds: 1.5e-3 of `1.50 ms (1.1-1.8)`. NaN if there is none."""
    match = re.search(r"(-?\d[\d,]*(?:\.\d+)?)(?: (ns|us|ms|s)\b)?", cell)
    return float(match[1].replace(",", "")) * UNITS.get(match[2], 1) if match else float("nan")


def ends(cell):
    """(lowest, highest) of `1.50 ms (1.1-1.8)`, in the unit of the cell."""
    match = re.search(r"\(([\d,.]+)-([\d,.]+)\)", cell)
    return tuple(float(end.replace(",", "")) for end in match.groups())


class Tables:
    """Of one experiment."""

    def __init__(self, experiment):
        self.tables = {table["key"]: table for table in experiment["tables"]}

    def rows(self, key):
        return self.tables[key]["rows"]

    def at(self, key, column):
        """The place of a column: its head, or its place already."""
        return column if isinstance(column, int) else self.tables[key]["columns"].index(column)

    def text(self, key, row, column):
        """row: the first cell, or the first two."""
        for cells in self.rows(key):
            if row in (cells[0], f"{cells[0]}, {cells[1]}"):
                return cells[self.at(key, column)]
        raise KeyError(row)

    def get(self, key, row, column):
        return value(self.text(key, row, column))

    def column(self, key, column):
        return [value(cells[self.at(key, column)]) for cells in self.rows(key)]

    def row(self, key, row, first=1):
        """All figures of a row."""
        heads = range(first, len(self.tables[key]["columns"]))
        return [self.get(key, row, nth) for nth in heads]


def within(low, high, values):
    return all(low <= one <= high for one in values)


PLAIN, ATOMIC, RELAXED = (
    "plain long (in a child process)",
    "std::atomic",
    "std::atomic, relaxed",
)
EACH = "one for each task, added up"
ATOMICITY = {
    "A plain counter loses between none and two fifths of its updates": lambda t: within(
        0, 40, t.column("overlap", 3)
    )
    and max(max(ends(row[3])) for row in t.rows("overlap")) < 41,
    "an atomic counter loses none and costs some nanoseconds per increment": lambda t: t.text(
        "counts", ATOMIC, "lost, here"
    )
    == "0 %"
    and within(1e-9, 20e-9, t.row("cost", ATOMIC)),
    "With 1,000 increments most runs lose nothing at all": lambda t: t.get("overlap", "1,000", 2)
    < t.get("overlap", "1,000", 1) / 2,
    "such a task ends in less than a microsecond": lambda t: t.get("overlap", "1,000", 4) < 1e-6,
    "Longer tasks lose more.": lambda t: t.column("overlap", 3) == sorted(t.column("overlap", 3)),
    "The relaxed atomic costs as much as the other, within the spread of the runs.": lambda t: all(
        ends(t.text("cost", ATOMIC, nth))[0] <= ends(t.text("cost", RELAXED, nth))[1]
        and ends(t.text("cost", RELAXED, nth))[0] <= ends(t.text("cost", ATOMIC, nth))[1]
        for nth in (1, 2, 3)
    ),
    "With two threads an increment of an atomic takes four times as long as with one or more": lambda t: t.get(
        "cost", ATOMIC, 2
    )
    > 4 * t.get("cost", ATOMIC, 1),
    "a counter for each thread, added up at the end, gets no dearer": lambda t: max(
        t.row("cost", EACH, 2)
    )
    <= t.get("cost", EACH, 1),
}

MUTEX, SHARED = "std::mutex", "std::shared_mutex"
HASH, UNORDERED = "tbb::concurrent_hash_map", "tbb::concurrent_unordered_map"


def firsts(t, columns):
    return [row[nth].split(",")[0] for row in t.rows("fastest") for nth in columns]


def cpus_busy(t):
    """{(mix, map): CPUs that 8 threads kept busy}"""
    heads = t.tables["mixes"]["columns"]
    return {
        (f"{row[0]} {row[1]}", heads[nth]): value(row[nth])
        * 1e6
        * t.get("cpu", f"{row[0]}, {row[1]}", nth)
        for row in t.rows("mixes")
        for nth in range(2, len(heads))
        if row[nth] != "-"
    }


COLLECTIONS = {
    "While threads take turns, a plain map behind a lock is fastest.": lambda t: not any(
        name.startswith("tbb") for name in firsts(t, [2])
    ),
    "As soon as two threads access it at the same time, oneTBB's hash map leads in 34 of 36 settings.": lambda t: (
        firsts(t, range(3, 9)).count("tbb hash"),
        len(firsts(t, range(3, 9))),
    )
    == (34, 36),
    "Nothing comes near not sharing.": lambda t: all(
        value(row[-1]) > 1.8 * max(map(value, row[2:-1]))
        for row in t.rows("mixes")
        if row[1] == "disjoint"
    ),
    "77 of 100 runs died, 13 never ended, and 10 ended with lost keys.": lambda t: [
        sum(value(row[1]) for row in t.rows("unguarded") if row[0].startswith(how))
        for how in ("died", "never", "ended")
    ]
    == [77, 13, 10],
    "The concurrent maps are ahead, there as here.": lambda t: max(
        t.get("guards", HASH, "here"), t.get("guards", UNORDERED, "here")
    )
    < min(t.get("guards", name, "here") for name in (MUTEX, SHARED, "16 shards, a mutex each")),
    "Separate maps are behind them, with the final merge.": lambda t: t.get(
        "guards", "a map for each thread, merged at the end", "here"
    )
    > max(t.get("guards", HASH, "here"), t.get("guards", UNORDERED, "here")),
    "So the ranking does change, but with the number of threads rather than with the fraction of reads.": lambda t: "tbb hash"
    not in firsts(t, [2])
    and firsts(t, [3]) == ["tbb hash"] * 6,
    "With 8 threads on two CPUs the map behind one mutex does less than with 8 threads on one CPU, while oneTBB's unordered map gains.": lambda t: all(
        t.get("one-cpu", f"{mix}, 1", MUTEX) > t.get("one-cpu", f"{mix}, 2", MUTEX)
        and t.get("one-cpu", f"{mix}, 1", UNORDERED) < t.get("one-cpu", f"{mix}, 2", UNORDERED)
        for mix in ("99:1", "90:10", "50:50")
    ),
    "With 8 threads it gains 12 to 143 %, less the longer a read is; with two threads it loses by more than half with reads of 1 and 10 keys, and gains from 100 keys on.": lambda t: [
        round(100 * t.get("lengths", f"{keys}, 8", "gain") - 100)
        for keys in ("1", "10", "100", "1,000")
    ]
    == [143, 103, 32, 12]
    and max(t.get("lengths", f"{keys}, 2", "gain") for keys in ("1", "10")) < 0.5
    and min(t.get("lengths", f"{keys}, 2", "gain") for keys in ("100", "1,000")) > 1,
    "the longest wait of a writer is 3 to 60 times that of the mutex": lambda t: within(
        3, 60, [value(row[6]) / value(row[5]) for row in t.rows("lengths")]
    ),
}

ENDL = "std::ofstream, flushed after each record (std::endl)"
FILE_ACCESS = {
    "Buffering makes small writes 23 to 25 times cheaper.": lambda t: (
        t.get("ways", "stdio (fwrite)", "times faster"),
        t.get("ways", "std::ofstream", "times faster"),
    )
    == (25, 23),
    "To know that they are on the disk costs as much as 200 writes, for a commit of 1 record or 100": lambda t: within(
        180,
        260,
        [
            t.get("groups", n, 1) / (t.get("ways", "write(2), one for each record", "here") / 1e5)
            for n in ("1", "10", "100")
        ],
    ),
    "The gain is about that of the write-ups": lambda t: within(
        166 / 6, 166 / 3 + 1, [t.get("ways", "stdio (fwrite)", "times faster") + 5]
    ),
    "`std::endl` loses it again.": lambda t: t.get("ways", ENDL, "times faster") < 1.1,
    "`writev` with 1,000 records a call is as good as a buffer, with 10 it is a quarter of that.": lambda t: t.get(
        "ways", "writev, 1,000 records a call", "times faster"
    )
    > 20
    and within(5, 7, [t.get("ways", "writev, 10 records a call", "times faster")]),
    "one `fdatasync` at the end adds 3 ms at most to the buffered ways": lambda t: all(
        value(row[6]) - value(row[2]) < 3e-3 for row in t.rows("ways")[2:]
    ),
    "A commit of a thousand records costs less than twice that of a single one": lambda t: t.get(
        "groups", "1,000", 1
    )
    < 2 * t.get("groups", "1", 1),
    "records per second grow almost as the group does": lambda t: t.get("groups", "1,000", 4)
    > 700 * t.get("groups", "1", 4),
    "Overwriting existing bytes is cheaper than growing the file": lambda t: all(
        value(row[6]) < value(row[1]) for row in t.rows("groups")
    ),
    "For a single thread the way to the committer and back is a loss; with four they are about even; from sixteen on, one committer is ahead, in records per second and in waiting.": lambda t: t.get(
        "commits", "1", 4
    )
    < t.get("commits", "1", 1)
    and within(0.9, 1.1, [t.get("commits", "4", 4) / t.get("commits", "4", 1)])
    and all(
        t.get("commits", n, 4) > t.get("commits", n, 1)
        and t.get("commits", n, 5) < t.get("commits", n, 2)
        for n in ("16", "64")
    ),
}

FUTEX, EVENTFD, PIPE = "threads, futex", "threads, eventfd", "threads, pipe"
CONDITION_SWITCH = "threads, condition variable"
POLLING = ("threads, sched_yield", "threads, std::atomic wait")
SLEEPING = (FUTEX, CONDITION_SWITCH, EVENTFD, PIPE)
LOCKED = "threads, the same, notified under the lock"
CONTEXT_SWITCHES = {
    "Nanoseconds between coroutines, 80 to 300 ns between fibers, 3 to 4 us between threads that sleep on one CPU, and 12 to 17 times that to wake a thread on another CPU.": lambda t: max(
        t.get("switches", name, 2)
        for name in ("coroutines, resumed by a loop", "coroutines, one straight to the other")
    )
    < 10e-9
    and within(
        80e-9,
        305e-9,
        [t.get("switches", name, 2) for name in ("fibers, yielding", "fibers, condition variable")],
    )
    and within(2.7e-6, 4e-6, [t.get("switches", name, 2) for name in SLEEPING])
    and within(
        12, 17, [t.get("switches", name, 3) / t.get("switches", name, 2) for name in SLEEPING]
    ),
    "A fiber that yields costs less than a goroutine did": lambda t: t.get(
        "switches", "fibers, yielding", 2
    )
    < 103e-9,
    "On one CPU a thread takes somewhat longer than the quoted 1-2 us, and futex, eventfd and pipe are within a fifth of each other.": lambda t: within(
        2e-6, 4e-6, [t.get("switches", name, 2) for name in (FUTEX, EVENTFD, PIPE)]
    )
    and max(t.get("switches", name, 2) for name in (FUTEX, EVENTFD, PIPE))
    < 1.2 * min(t.get("switches", name, 2) for name in (FUTEX, EVENTFD, PIPE)),
    "Two processes that share a pipe cost about as much as two threads": lambda t: t.get(
        "switches", "processes, pipe", 2
    )
    < 1.15 * t.get("switches", PIPE, 2),
    "takes half a microsecond or less there": lambda t: max(
        t.get("switches", name, 3) for name in POLLING
    )
    <= 0.5e-6,
    "TCP on loopback takes two to three times as long as a futex on one CPU.": lambda t: within(
        2, 3, [t.get("switches", "threads, TCP on loopback", 2) / t.get("switches", FUTEX, 2)]
    ),
    "A condition variable that is notified under its lock takes two switches on one CPU": lambda t: within(
        1.9, 2.3, [t.get("cost", f"{LOCKED}, one", "kernel switches")]
    ),
}


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
LOCKS = {
    "On one CPU a mutex.": lambda t: all(
        value(cell.partition(" x ")[2]) < 1.12
        for row in t.rows("winners-1cpu")
        for cell in row[1:]
        if cell != "-"
    ),
    "On two a spinlock wins with two threads; with 16 or more a pure spinlock takes several times as long as a mutex.": lambda t: all(
        t.get("threads-2cpu", lock, "2 threads") < t.get("threads-2cpu", MUTEX, "2 threads")
        and t.get("threads-2cpu", lock, "16 threads")
        > 3 * t.get("threads-2cpu", MUTEX, "16 threads")
        for lock in SPINS
    ),
    "A spinlock that yields in time is as good as a mutex or better in nearly every setting.": lambda t: all(
        t.get(key, YIELDS, nth) <= 1.05 * t.get(key, MUTEX, nth)
        for key in ("threads-2cpu", "threads-1cpu")
        for nth in range(1, 6)
    ),
    "The long section repeats the result: the spinlock takes 2.5 times the user time of the mutex": lambda t: within(
        2.4, 2.6, [user(t, LONG, SPIN) / user(t, LONG, MUTEX)]
    ),
    "The short section does not repeat it: the spinlock takes 1.7 times as long as the mutex.": lambda t: within(
        1.65,
        1.75,
        [t.get("E-locks", f"{SHORT}, {SPIN}", 2) / t.get("E-locks", f"{SHORT}, {MUTEX}", 2)],
    ),
    "With one thread on each of two CPUs a spinlock is ahead of `std::mutex` in all sections, most of all around 10 us": lambda t: all(
        row[2].startswith("spin") for row in t.rows("winners-2cpu")
    )
    and max(t.rows("winners-2cpu"), key=lambda row: value(row[2].partition(" x ")[2]))[0]
    == "10.0 us",
    "The ticket lock falls behind first: with four threads it takes six times as long as the mutex, the other spinlocks as long as that.": lambda t: within(
        5.5,
        6.5,
        [t.get("threads-2cpu", TICKET, "4 threads") / t.get("threads-2cpu", MUTEX, "4 threads")],
    )
    and all(
        t.get("threads-2cpu", lock, "4 threads") < 1.15 * t.get("threads-2cpu", MUTEX, "4 threads")
        for lock in (SPIN, BACK_OFF)
    ),
    "The lock that tries a hundred times and then yields is the fastest if one leads with 4 to 64 threads": lambda t: [
        cell.startswith(YIELDS) for row in t.rows("winners-2cpu") for cell in row[3:] if cell != "-"
    ].count(
        True
    )
    == len([1 for row in t.rows("winners-2cpu") for cell in row[3:] if cell != "-"]),
    "On one CPU no lock beats a mutex by more than 11 %, for any section": lambda t: max(
        value(cell.partition(" x ")[2])
        for row in t.rows("winners-1cpu")
        for cell in row[1:]
        if cell != "-"
    )
    <= 1.11,
    "pure spinning costs 1.8 to 12 times as much with sections of 100 ns and more": lambda t: within(
        1.75,
        12.5,
        [
            t.get("length-1cpu", lock, nth) / t.get("length-1cpu", MUTEX, nth)
            for lock in SPINS
            for nth in range(2, 6)
        ],
    ),
    "With 64 threads a pure spinlock takes 10 to 26 times as long as a mutex, and one lucky thread gets 23 times its share or more.": lambda t: within(
        10,
        26.5,
        [
            t.get(f"threads-{cpus}", lock, "64 threads")
            / t.get(f"threads-{cpus}", MUTEX, "64 threads")
            for cpus in ("1cpu", "2cpu")
            for lock in SPINS
        ],
    )
    and min(
        t.get(f"threads-{cpus}", lock, "luckiest of 64")
        for cpus in ("1cpu", "2cpu")
        for lock in SPINS
    )
    > 22.5,
    "The adaptive mutex, which spins a little first, is faster than `std::mutex` from 2 threads on two CPUs and within 12 % of it on one.": lambda t: all(
        t.get("threads-2cpu", "adaptive mutex", nth) < t.get("threads-2cpu", MUTEX, nth)
        for nth in range(2, 6)
    )
    and all(
        t.get("threads-1cpu", "adaptive mutex", nth) < 1.12 * t.get("threads-1cpu", MUTEX, nth)
        for nth in range(1, 6)
    ),
    "The priority-inheriting one is the slowest mutex when contended": lambda t: all(
        t.get(key, INHERITS, nth) > max(t.get(key, name, nth) for name in (MUTEX, "adaptive mutex"))
        for key in ("threads-1cpu", "threads-2cpu")
        for nth in range(3, 6)
    ),
}

ONE, ALL, BACK, LEAVES = (
    "signal and continue, notify_one",
    "signal and continue, notify_all",
    "hand-off, signaller comes back",
    "hand-off, signaller leaves",
)
CONDITION = {
    "Signal-and-continue with `notify_one` moves more items in every setting.": lambda t: all(
        t.get("throughput", ONE, nth)
        < min(t.get("throughput", name, nth) for name in (BACK, LEAVES))
        for nth in range(1, 7)
    ),
    "The hand-off keeps the order of waiters and needs no second check, for about twice the context switches.": lambda t: t.text(
        "fairness", BACK, "of them out of turn"
    )
    == t.text("fairness", LEAVES, "of them for nothing")
    == "0"
    and within(
        1.8,
        2.4,
        [
            t.get("fairness", name, "context switches") / t.get("fairness", ONE, "context switches")
            for name in (BACK, LEAVES)
        ],
    ),
    "Waking all threads helps in one setting of six.": lambda t: sum(
        t.get("throughput", ALL, nth) < t.get("throughput", ONE, nth) for nth in range(1, 7)
    )
    == 1,
    "The buffer of 16 places makes signal-and-continue 1.4 to 16 times as fast": lambda t: within(
        1.4,
        16.1,
        [t.get("throughput", ONE, nth) / t.get("throughput", ONE, nth + 3) for nth in (1, 2, 3)],
    ),
    "It hardly helps the monitor with 16 + 16 threads": lambda t: within(
        0.65,
        1.2,
        [t.get("throughput", name, 3) / t.get("throughput", name, 6) for name in (BACK, LEAVES)],
    ),
    "A signaller that leaves with its signal saves the switch back: an item takes a fifth fewer.": lambda t: within(
        0.75,
        0.83,
        [
            t.get("fairness", LEAVES, "context switches")
            / t.get("fairness", BACK, "context switches")
        ],
    ),
    "With `notify_one` 0.7 wake-ups of an item find that another thread has taken the place meanwhile": lambda t: t.get(
        "fairness", ONE, "of them for nothing"
    )
    == 0.7,
    "Over a run all threads still get about the same share.": lambda t: within(
        1.0, 1.15, t.column("fairness", "luckiest consumer to an equal share")
    ),
    "With `notify_all` on one condition more than half of the wake-ups are useless.": lambda t: t.get(
        "fairness", ALL, "of them for nothing"
    )
    > t.get("fairness", ALL, "woken") / 2,
    "The hand-off has no useless wake-ups.": lambda t: t.text(
        "fairness", BACK, "of them for nothing"
    )
    == t.text("fairness", LEAVES, "of them for nothing")
    == "0",
    "Its order does not make it fast: the median wait is two to three times that of `notify_one`.": lambda t: within(
        1.8, 3, [t.get("fairness", name, 7) / t.get("fairness", ONE, 7) for name in (BACK, LEAVES)]
    ),
    "It makes the waits even: the longest hundredth is 1.4 to 3 times the median, with signal-and-continue 5 to 28 times.": lambda t: within(
        1.4, 3, [t.get("fairness", name, 8) / t.get("fairness", name, 7) for name in (BACK, LEAVES)]
    )
    and within(
        4.5, 28.5, [t.get("fairness", name, 8) / t.get("fairness", name, 7) for name in (ONE, ALL)]
    ),
}

PRIORITY = {
    "Without priority inheritance, the urgent thread waits as long as the busy one in the middle runs; with inheritance or a ceiling, as long as the section lasts.": lambda t: t.get(
        "acquire", "SCHED_FIFO, std::mutex", "median"
    )
    > 40e-3
    and max(
        t.get("acquire", f"SCHED_FIFO, {name}", "median") for name in ("inheritance", "ceiling")
    )
    < 5.5e-3,
    "A spinning real-time thread waits for ever.": lambda t: t.text(
        "acquire", "SCHED_FIFO, spinlock", "acquired"
    )
    == "0 of 30",
    "with inheritance or a ceiling the high thread has the lock before the middle one is done, in every trial": lambda t: {
        t.text("acquire", f"SCHED_FIFO, {name}", 4) for name in ("inheritance", "ceiling")
    }
    == {"30 of 30"},
    "Inheritance does nothing for them": lambda t: t.text("acquire", "nice 19, inheritance", 4)
    == "0 of 30",
    "shares the CPU equally with the middle thread and is done in twice the section": lambda t: within(
        1.7, 2.1, [t.get("acquire", "nice 19, holder boosts itself", "median") / 5e-3]
    ),
}

ONE_OS, TWO_OS = "fibers on one OS thread", "fibers on two OS threads, work sharing"
THREADS_ONE, THREADS_ALL = "std::thread, one CPU", "std::thread, all CPUs"
TASKS = (ONE_OS, TWO_OS, THREADS_ONE, THREADS_ALL)
FIBERS = {
    "A mutex is the lock for tasks that may be suspended inside.": lambda t: all(
        t.get("long", f"{tasks}, time", "mutex") < t.get("long", f"{tasks}, time", "spinlock")
        for tasks in TASKS
    ),
    "If only one task can run, no spin ever gets a lock; it only burns time.": lambda t: all(
        value(row[3]) == 0 for row in t.rows("spinning") if row[0] in (ONE_OS, THREADS_ONE)
    ),
    "With a long section a mutex costs next to nothing where only one task can run": lambda t: all(
        t.get("long", f"{tasks}, time", "mutex") < 1.1 * t.get("long", f"{tasks}, time", "no lock")
        for tasks in (ONE_OS, THREADS_ONE)
    ),
    "Sharing fibers over two OS threads brings nothing here": lambda t: t.get(
        "long", f"{TWO_OS}, time", "mutex"
    )
    > t.get("long", f"{ONE_OS}, time", "mutex"),
    "the second thread looks for work all the while: the CPU time doubles": lambda t: within(
        1.9,
        2.2,
        [
            t.get("long", f"{TWO_OS}, CPU time", "mutex")
            / t.get("long", f"{ONE_OS}, CPU time", "mutex")
        ],
    ),
    "With a short section the spinlock wins, as in the write-up": lambda t: all(
        t.get("short", f"{tasks}, time", "spinlock") < t.get("short", f"{tasks}, time", "mutex")
        for tasks in TASKS
    ),
    "Boost's fiber mutex takes three times as long as `std::mutex` on one CPU, seven times on two.": lambda t: within(
        2.9,
        3.2,
        [
            t.get("short", f"{ONE_OS}, time", "mutex")
            / t.get("short", f"{THREADS_ONE}, time", "mutex")
        ],
    )
    and within(
        6.5,
        7.4,
        [
            t.get("short", f"{TWO_OS}, time", "mutex")
            / t.get("short", f"{THREADS_ALL}, time", "mutex")
        ],
    ),
    "on one OS thread no spin ever got the lock": lambda t: all(
        value(row[3]) == 0 for row in t.rows("spinning") if row[0] == ONE_OS
    ),
    "Time grows with the limit of spins and brings nothing.": lambda t: sorted(times(t, ONE_OS))
    == times(t, ONE_OS),
    "Threads on one CPU behave the same.": lambda t: all(
        value(row[3]) == 0 for row in t.rows("spinning") if row[0] == THREADS_ONE
    ),
    "With two CPUs spins do get locks, but a long section takes as long with a limit of 10 or 100 as with a mutex, and longer with a higher one.": lambda t: all(
        within(
            0.85,
            1.15,
            [one / t.get("long", f"{tasks}, time", "mutex") for one in times(t, tasks)[:2]],
        )
        and min(times(t, tasks)[2:]) > t.get("long", f"{tasks}, time", "mutex")
        for tasks in (TWO_OS, THREADS_ALL)
    ),
    "Starting a thread costs more than a hundred times as much as starting a fiber": lambda t: t.get(
        "start", "std::thread", 1
    )
    > 100 * t.get("start", "fiber", 1),
}


def times(t, tasks):
    return [value(row[5]) for row in t.rows("spinning") if row[0] == tasks]


IO_A, IO_B = "(a) long I/O: 1 reader, 1 writer, other work", "(b) short I/O: 10 bytes x 100,000"
IO_C, IO_D = "(c) 20 readers, 20 writers", "(d) as (c), with other work"
IO = {
    "Only if an operation really waits for the disk, and there are many of them or other work to do meanwhile.": lambda t: all(
        t.get("direct", suite, "io_uring") < 0.85 * t.get("direct", suite, "blocking")
        for suite in (IO_A, IO_C, IO_D)
    ),
    "Many short operations become cheap by being combined, not by being asynchronous.": lambda t: t.get(
        "cached", IO_B, "io_uring, 64 at a time"
    )
    < t.get("cached", IO_B, "io_uring") / 20,
    "POSIX aio gains nothing in (a) and loses in (c).": lambda t: t.get("cached", IO_A, "POSIX aio")
    > t.get("cached", IO_A, "blocking")
    and t.get("cached", IO_C, "POSIX aio") > t.get("cached", IO_C, "blocking"),
    "io_uring and a thread for each stream gain in (c) and (d).": lambda t: all(
        t.get("cached", suite, how) < t.get("cached", suite, "blocking")
        for suite in (IO_C, IO_D)
        for how in ("io_uring", "blocking, thread each")
    ),
    "one short operation costs POSIX aio a hundred times what a call costs": lambda t: within(
        90, 130, [t.get("cached", IO_B, "POSIX aio") / t.get("cached", IO_B, "blocking")]
    ),
    "io_uring takes 0.7 times as long as POSIX aio as long as each operation is awaited before the next": lambda t: within(
        0.65, 0.75, [t.get("cached", IO_B, "io_uring") / t.get("cached", IO_B, "POSIX aio")]
    ),
    "With 64 operations at a time most of this cost disappears, but a plain call is still the cheapest.": lambda t: t.get(
        "cached", IO_B, "blocking"
    )
    < t.get("cached", IO_B, "io_uring, 64 at a time")
    < t.get("cached", IO_B, "io_uring") / 2,
    "For 40 streams (c, d) io_uring and threads take a quarter of the time of consecutive calls or less.": lambda t: all(
        t.get("direct", suite, how) < 0.25 * t.get("direct", suite, "blocking")
        for suite in (IO_C, IO_D)
        for how in ("io_uring", "blocking, thread each")
    ),
    "With a reader and a writer alone (a) they save a fifth to a quarter of it.": lambda t: within(
        0.72,
        0.82,
        [
            t.get("direct", IO_A, how) / t.get("direct", IO_A, "blocking")
            for how in ("io_uring", "blocking, thread each")
        ],
    ),
    "Past the page cache io_uring does with one thread, and with the least CPU time, what otherwise takes 40.": lambda t: all(
        t.get("direct_costs", f"{suite}, io_uring", 2)
        <= min(value(row[2]) for row in t.rows("direct_costs") if row[0] == suite)
        for suite in ("(a)", "(c)", "(d)")
    ),
    "In (c) and (d) single operations take ten times as long as with consecutive calls or more": lambda t: all(
        t.get("direct_costs", f"{suite}, io_uring", 3)
        > 10 * t.get("direct_costs", f"{suite}, blocking", 3)
        for suite in ("(c)", "(d)")
    ),
}

EACH_30, EACH_90, EACH_300 = (f"a thread each, {count} callers" for count in (30, 90, 300))
POOLS_30 = [f"pool of {count}, buffer 10, 30 callers" for count in (2, 3, 4, 8)]
BCRYPT = {
    "A thread for each request wastes no CPU time.": lambda t: max(
        t.get("F", one, 6) for one in (EACH_30, EACH_90, EACH_300)
    )
    < 1.03 * t.get("F", POOLS_30[0], 6),
    "It misses the deadline: every request is begun, few are finished.": lambda t: t.get(
        "F", EACH_300, 2
    )
    == 0
    and t.get("F", EACH_300, 3) == 300,
    "A pool of two threads or more finishes 159 to 166 hashes for any number of callers.": lambda t: {
        159,
        166,
    }
    == {min(pools(t)), max(pools(t))},
    "With a thread for each request the count at 5 s falls with the number of callers, as in the write-ups.": lambda t: [
        t.get("F", one, 2) for one in (EACH_30, EACH_90, EACH_300)
    ]
    == [150, 90, 0],
    "But the rate to the last hash is about the same everywhere (except for a pool of one, which uses one CPU), and so is the CPU time of a hash.": lambda t: within(
        32.4, 33.3, [value(row[5]) for row in t.rows("F") if not row[0].startswith("pool of 1,")]
    )
    and within(59e-3, 61e-3, t.column("F", 6)),
    "They were not slower, they were not finished.": lambda t: within(
        0.97,
        1.03,
        [t.get("F", one, 5) / t.get("F", POOLS_30[0], 5) for one in (EACH_30, EACH_90, EACH_300)],
    ),
    "30, 90 or 300 hashes share two CPUs, so all of them progress and few finish; of 300, none does.": lambda t: t.get(
        "F", EACH_300, 2
    )
    == 0,
    "With 30 callers the median wait is about the same in both set-ups, 0.9 s.": lambda t: within(
        0.88, 0.94, [t.get("waits", one, 1) for one in (EACH_30, *POOLS_30)]
    ),
    "With a thread for each, the longest wait is at most 1.14 times the median: the first wait nearly as long as the last.": lambda t: max(
        t.get("waits", one, 3) / t.get("waits", one, 1) for one in (EACH_30, EACH_90, EACH_300)
    )
    < 1.145,
    "288 of 300 callers are turned away or wait outside at the end": lambda t: t.get(
        "F", "pool of 2, buffer 10, 300 callers", 4
    )
    == 288,
}


def pools(t):
    return [value(row[2]) for row in t.rows("F") if re.match(r"pool of [2-9]", row[0])]


CORE, GROUP, SYMBOLS = "core thread, batches", "mutex, group commit", "mutex for each of 16 symbols"
MUTEX_NAME = "mutex"
EXCHANGE = {
    "Without a commit a mutex is far faster than the core thread.": lambda t: all(
        t.get("rate-none", MUTEX_NAME, nth) > 3.5 * t.get("rate-none", CORE, nth)
        for nth in range(1, 8)
    ),
    "With one, sharing the commit is what matters: with 64 threads the core thread and the mutex with group commit do 14 to 27 times the rate of a plain mutex.": lambda t: within(
        14,
        27.5,
        [
            t.get(key, name, 7) / t.get(key, MUTEX_NAME, 7)
            for key in ("rate-sleep", "rate-fdatasync")
            for name in (CORE, GROUP)
        ],
    ),
    "Every commit ruins the spinlock.": lambda t: all(
        t.get(key, "spinlock", 7) < t.get(key, MUTEX_NAME, 7) / 50
        for key in ("rate-sleep", "rate-fdatasync")
    ),
    "Without a commit the engine needs well under a microsecond for a command": lambda t: t.get(
        "rate-none", MUTEX_NAME, 1
    )
    > 1.4e6,
    "So the lock wins: by a factor of more than a hundred with one thread and still by four with 64, though it loses half of its own rate on the way.": lambda t: t.get(
        "rate-none", MUTEX_NAME, 1
    )
    > 100 * t.get("rate-none", CORE, 1)
    and within(3.5, 4.5, [t.get("rate-none", MUTEX_NAME, 7) / t.get("rate-none", CORE, 7)])
    and within(0.4, 0.55, [t.get("rate-none", MUTEX_NAME, 7) / t.get("rate-none", MUTEX_NAME, 1)]),
    "The spinlock gets slower with additional threads, to a tenth of its rate or less with 32.": lambda t: t.get(
        "rate-none", "spinlock", 6
    )
    < 0.1 * t.get("rate-none", "spinlock", 1),
    "A mutex for each symbol keeps its rate": lambda t: min(t.row("rate-none", SYMBOLS))
    > 0.9 * t.get("rate-none", SYMBOLS, 1),
    "With a commit inside the lock the rate of the mutex stays that of one thread, for any number of threads.": lambda t: all(
        within(0.75, 1.06, [rate / t.get(key, MUTEX_NAME, 1) for rate in t.row(key, MUTEX_NAME)])
        for key in ("rate-sleep", "rate-fdatasync")
    ),
    "16 locks gain until 16 threads, and little after that.": lambda t: all(
        t.get(key, SYMBOLS, 7) < 1.05 * t.get(key, SYMBOLS, 5)
        for key in ("rate-sleep", "rate-fdatasync")
    ),
    "If a commit is shared, throughput grows with the callers.": lambda t: all(
        t.row(key, name) == sorted(t.row(key, name))
        for key in ("rate-sleep", "rate-fdatasync")
        for name in (GROUP, CORE)
    ),
    "At 64 threads the core thread is ahead of the mutex with group commit": lambda t: all(
        t.get(key, CORE, 7) > t.get(key, GROUP, 7) for key in ("rate-sleep", "rate-fdatasync")
    ),
    "without a commit the core thread has a third of the rate of a plain mutex": lambda t: within(
        0.32, 0.36, [t.get("loops", CORE, 1) / t.get("loops", MUTEX_NAME, 1)]
    ),
    "With one, the mutex with group commit is first, 1.5 to 1.7 times as fast as the core thread and the plain mutex, which shares commits too here, since each thread brings 32 commands to one commit.": lambda t: within(
        1.45,
        1.7,
        [
            t.get("loops", GROUP, nth) / t.get("loops", name, nth)
            for nth in (3, 5)
            for name in (CORE, MUTEX_NAME)
        ],
    ),
    "A separate thread that applies them is not the fastest choice in every column": lambda t: t.get(
        "loops", CORE, 5
    )
    < t.get("loops", GROUP, 5),
}

CLAIMS = {
    "atomicity": ATOMICITY,
    "collections": COLLECTIONS,
    "file_access": FILE_ACCESS,
    "context_switches": CONTEXT_SWITCHES,
    "locks": LOCKS,
    "condition": CONDITION,
    "priority": PRIORITY,
    "fibers": FIBERS,
    "io": IO,
    "bcrypt": BCRYPT,
    "exchange": EXCHANGE,
}

# What the sources and the systems do, and how a figure is to be read; no conclusion from the tables.
NOT_CONCLUSIONS = (
    "What does correctness cost?",
    "std::atomic and its relaxed form are the same locked instruction",
    "The whole work is waking 50 threads and allocating 50,000 nodes too.",
    "Each thread draws operations over 8,192 keys for a fixed time.",
    "Threads on one CPU never access the map at the same time:",
    "A server does not have 1,000 records at hand",
    "The quoted 500 us are the network's",
    "Means and longest times include the effect of other programs on this machine.",
    "under load the queue is never empty",
    "With five threads on two CPUs a holder sometimes loses its CPU",
    "The spinlock wastes only the waiter's own CPU",
    "If there are more threads than CPUs, a CPU has other work.",
    "Under thread it has far more threads than CPUs",
    "A yielding lock would suit threads that do nothing but contend",
    "Sections are short: Core::submit",
    "The spinlock never ends: the high thread spins on the very CPU",
    "None of its locks is held for long or during a blocking call",
    "Giving the core thread a real-time priority by hand",
    "It has no spinlock; shared data is behind Guarded",
    "In the page cache there is nothing to wait for",
    "An asynchronous journal would let the core apply the next batch during a commit",
    "Two threads that carry 32 clients each, as event loops do",
    "An event loop never waits in a commit while its other clients wait",
)


def warnings(experiment):
    """Sentences for the page: where the figures are not what they look like."""
    if experiment["name"] != "collections":
        return []
    slow = {key: cpus for key, cpus in cpus_busy(Tables(experiment)).items() if cpus < BUSY_CPUS}
    if not slow:
        return []
    listed = "; ".join(f"{mix}, {name}: {cpus:.1f}" for (mix, name), cpus in slow.items())
    return [
        f"**Threads hardly overlapped** in these cells (CPUs that 8 threads kept busy): {listed}. There the figures are those of threads that take turns."
    ]


BUSY_CPUS = 1.5  # of two


def problems_of(experiment, text):
    """What is wrong with the prose of one experiment."""
    prose = DESCRIBES.sub("", "\n".join([text.answer, "", *text.lines]))
    claims = CLAIMS.get(experiment["name"], {})
    return problems(prose, claims, Tables(experiment), NOT_CONCLUSIONS)
