"""The cells of the study: which exist, on which CPUs their processes run, in which order they are
tried.

A cell is one setting of every factor; a trial is one run of the load generator in a cell.
"""

import re
from collections import namedtuple
from dataclasses import dataclass
from random import Random

POLICIES = ("thread", "pool-40", "pool-cpus", "loop")
POLICY_FLAGS = {
    "thread": ["--policy", "thread"],
    "pool-40": ["--policy", "pool", "--server-threads", "40"],
    "pool-cpus": ["--policy", "pool", "--server-threads", "0"],
    "loop": ["--policy", "loop"],
}
KINDS = ("create", "transactions")
STORES = ("memory", "sqlite", "postgresql")
CORES = (1, 2, 4)
# Active clients, idle connections beside them.
LOADS = ((20, 0), (150, 0), (200, 0), (800, 0), (2000, 0), (200, 10_000))


@dataclass(frozen=True)
class Cell:
    # a, b: the tables of those names, one request per client and then the end; sweep: for some
    # seconds after a warm-up
    part: str
    policy: str
    kind: str
    clients: int
    idle: int
    cores: int  # CPUs of the server; 0: pinned nowhere
    store: str

    @property
    def key(self):
        return (
            f"{self.part} policy={self.policy} kind={self.kind} clients={self.clients} "
            f"idle={self.idle} cores={self.cores} store={self.store}"
        )

    @property
    def clients_text(self):
        return f"{self.clients:,} + {self.idle:,} idle" if self.idle else f"{self.clients:,}"


Placement = namedtuple("Placement", "server client database")  # CPUs of each; none: any


@dataclass(frozen=True)
class Settings:
    seconds: float = 2.0
    warmup: float = 0.5
    trials: int = 5
    table_trials: int = 10
    seed: int = 1
    only: str = ""  # a regular expression for keys of cells


def table_cells():
    """Tables A and B, the way the originals did it."""
    cells = [
        Cell("a", policy, "transactions", clients, 0, 0, "postgresql")
        for policy in ("thread", "pool-40")
        for clients in (20, 150, 200)
    ]
    return cells + [
        Cell("b", "thread", kind, 100, 0, cores, "postgresql") for kind in KINDS for cores in CORES
    ]


def sweep_cells():
    return [
        Cell("sweep", policy, kind, clients, idle, cores, store)
        for store in STORES
        for kind in KINDS
        for cores in CORES
        for clients, idle in LOADS
        for policy in POLICIES
    ]


def choose(settings):
    return [cell for cell in table_cells() + sweep_cells() if re.search(settings.only, cell.key)]


# more, with idle connections: one thread per client first has to start ten thousand of them
IDLE_WARMUP_S = 1.5


def warmup_of(cell, settings):
    return settings.warmup + (IDLE_WARMUP_S if cell.idle else 0)


def seconds_loaded(cell, settings):
    """The length of a trial of the sweep; 0 for one of a table, which ends by itself."""
    return settings.seconds + warmup_of(cell, settings) if cell.part == "sweep" else 0


def trials_of(cell, settings):
    return settings.trials if cell.part == "sweep" else settings.table_trials


def why_not(cell, cpus):
    """The reason that this machine cannot run the cell, or None."""
    if cell.cores > len(cpus):
        return f"{cell.cores} cores wanted, {len(cpus)} there"
    return None


def place(cell, cpus):
    """The server on the first CPUs, the client on the last one, the database on those between. If
    one CPU remains beside the server, client and database share it; if none remains, all share all.
    """
    cpus = tuple(sorted(cpus))
    server, rest = cpus[: cell.cores], cpus[cell.cores :]
    if cell.cores == 0 or not rest:
        client = between = server
    else:
        client, between = rest[-1:], rest[:-1] or rest
    return Placement(server, client, between if cell.store == "postgresql" else ())


def schedule(cells, settings):
    """(trial, cell) in the order to run: trial 1 of all cells, then trial 2; each round shuffled
    with the seed, so that a slow minute of the machine does not fall on one cell."""
    most = max((trials_of(cell, settings) for cell in cells), default=0)
    for trial in range(1, most + 1):
        round_ = [cell for cell in cells if trials_of(cell, settings) >= trial]
        Random(f"{settings.seed}/{trial}").shuffle(round_)
        for cell in round_:
            yield trial, cell


def loadgen_arguments(cell, placement, trial, settings, store_url=None, database_pid=None):
    arguments = ["-c", str(cell.clients), *POLICY_FLAGS[cell.policy], "--workload", cell.kind]
    if cell.part == "sweep":
        arguments += ["-d", f"{settings.seconds:g}", "--warmup", f"{warmup_of(cell, settings):g}"]
    else:
        arguments += ["-n", str(cell.clients), "--connection", "per-request"]
    if cell.idle:
        arguments += ["--idle", str(cell.idle)]
    if cell.store == "memory":
        arguments += ["--store", "memory:"]
    elif cell.store == "postgresql":
        arguments += ["--store", store_url, "--database-pid", str(database_pid)]
    if placement.server:
        arguments += ["--server-cpus", ",".join(map(str, placement.server))]
        arguments += ["--client-cpus", ",".join(map(str, placement.client))]
    return arguments + ["--seed", str(settings.seed * 1000 + trial)]
