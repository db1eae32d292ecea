"""The cells of the study: which exist, on which CPUs their processes run, in which order they are
tried.

A cell is one setting of every factor; a trial is one run of the load generator in a cell.
"""

from dataclasses import asdict, dataclass
from random import Random

POLICIES = ("thread", "pool-40", "pool-cpus", "loop")
POLICY_FLAGS = {
    "thread": ["--policy", "thread"],
    "pool-40": ["--policy", "pool", "--server-threads", "40"],
    "pool-cpus": ["--policy", "pool", "--server-threads", "0"],
    "loop": ["--policy", "loop"],
}
POLICY_NAMES = {
    "thread": "one thread per client",
    "pool-40": "pool of 40 threads",
    "pool-cpus": "pool of as many threads as CPUs",
    "loop": "event loop per CPU",
}
KINDS = ("create", "transactions")
STORES = ("memory", "sqlite", "postgresql")
CORES = (1, 2, 4)
# Active clients, idle connections beside them.
LOADS = ((20, 0), (150, 0), (200, 0), (800, 0), (2000, 0), (200, 10_000))


@dataclass(frozen=True)
class Cell:
    part: str  # a, b: the tables of those names; sweep
    # burst: one request per client, then the end; sustained: for some seconds after a warm-up
    load: str
    policy: str
    kind: str
    clients: int
    idle: int
    cores: int  # CPUs of the server; 0: pinned nowhere
    store: str

    @property
    def key(self):
        return (
            f"{self.part}/{self.load} policy={self.policy} kind={self.kind} clients={self.clients} "
            f"idle={self.idle} cores={self.cores} store={self.store}"
        )

    @property
    def clients_text(self):
        return f"{self.clients:,} + {self.idle:,} idle" if self.idle else f"{self.clients:,}"


@dataclass(frozen=True)
class Placement:
    """CPUs of each process; an empty tuple: any."""

    server: tuple
    client: tuple
    database: tuple
    words: str

    @property
    def shared(self):  # does the client take CPU time from the server?
        return self.client == self.server


@dataclass(frozen=True)
class Settings:
    seconds: float = 2.0
    warmup: float = 0.5
    trials: int = 5
    table_trials: int = 10
    seed: int = 1
    quick: bool = False
    only: tuple = ()

    def as_json(self):
        return {**asdict(self), "only": list(self.only)}


def quick_settings(only=(), seed=1):
    return Settings(0.4, 0.1, trials=1, table_trials=2, seed=seed, quick=True, only=tuple(only))


def parse_filter(text):
    """'policy=loop|thread,store=sqlite' -> {'policy': {'loop', 'thread'}, 'store': {'sqlite'}}"""
    wanted = {}
    for word in text.split(","):
        name, _, values = word.partition("=")
        wanted[name] = {*values.split("|")}
        known = {str(getattr(cell, name, "")) for cell in table_cells() + sweep_cells()}
        if not wanted[name] <= known or known == {""}:
            raise ValueError(
                f"--only: no cells have '{word}'; wanted is NAME=VALUE or NAME=VALUE|VALUE"
            )
    return wanted


def matches(cell, filters):
    """Every condition of at least one filter holds; no filter: all cells."""
    if not filters:
        return True
    return any(
        all(str(getattr(cell, name)) in values for name, values in one.items()) for one in filters
    )


def table_cells():
    """Tables A and B: as burst, the way the original did it, and sustained."""
    cells = []
    for load in ("burst", "sustained"):
        for policy in ("thread", "pool-40"):
            for clients in (20, 150, 200):
                cells.append(Cell("a", load, policy, "transactions", clients, 0, 0, "postgresql"))
        for policy in ("thread", "loop"):
            for kind in KINDS:
                for cores in CORES:
                    cells.append(Cell("b", load, policy, kind, 100, 0, cores, "postgresql"))
    return cells


def sweep_cells():
    return [
        Cell("sweep", "sustained", policy, kind, clients, idle, cores, store)
        for store in STORES
        for kind in KINDS
        for cores in CORES
        for clients, idle in LOADS
        for policy in POLICIES
    ]


def in_quick_look(cell):
    """200 clients on every store and number of cores; 20 clients and `create` on one core only."""
    if cell.part != "sweep":
        return cell.load == "burst" or (cell.clients in (100, 200) and cell.policy != "loop")
    if (cell.clients, cell.idle) == (200, 0):
        return cell.kind == "transactions" or cell.cores == 1
    return (cell.clients, cell.idle) == (20, 0) and cell.kind == "transactions" and cell.cores == 1


def choose(settings):
    filters = [parse_filter(text) for text in settings.only]
    cells = [cell for cell in table_cells() + sweep_cells() if matches(cell, filters)]
    return [cell for cell in cells if in_quick_look(cell)] if settings.quick else cells


# more, with idle connections: one thread per client first has to start ten thousand of them
IDLE_WARMUP_S = 1.5


def warmup_of(cell, settings):
    return settings.warmup + (IDLE_WARMUP_S if cell.idle else 0)


def seconds_loaded(cell, settings):
    """The length of a sustained trial; 0 for a burst, which ends by itself."""
    return 0 if cell.load == "burst" else settings.seconds + warmup_of(cell, settings)


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
    database = cell.store == "postgresql"
    both = "client and database" if database else "client"
    share = "share" if database else "shares"
    if cell.cores == 0:
        words = f"nothing pinned: server, {both} share {count_cpus(len(cpus))}"
        return Placement((), (), (), words)
    server, rest = cpus[: cell.cores], cpus[cell.cores :]
    on = f"server on {cpu_list(server)}"
    if not rest:
        words = f"{both} {share} the CPUs of the server ({cpu_list(server)})"
        return Placement(server, server, server if database else (), words)
    client = rest[-1:]
    if not database:
        return Placement(server, client, (), f"{on}, client on {cpu_list(client)}")
    if len(rest) == 1:
        return Placement(server, rest, rest, f"{on}, client and database share {cpu_list(rest)}")
    words = f"{on}, database on {cpu_list(rest[:-1])}, client on {cpu_list(client)}"
    return Placement(server, client, rest[:-1], words)


def count_cpus(count):
    return "the only CPU" if count == 1 else f"all {count} CPUs"


def cpu_list(cpus):
    return ("CPU " if len(cpus) == 1 else "CPUs ") + ",".join(map(str, cpus))


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
    if cell.load == "burst":
        arguments += ["-n", str(cell.clients)]
    else:
        arguments += ["-d", f"{settings.seconds:g}", "--warmup", f"{warmup_of(cell, settings):g}"]
    arguments += ["--connection", "persistent" if cell.part == "sweep" else "per-request"]
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


def seconds_expected(cell, settings):
    """A first guess of how long a trial takes, until trials have been measured."""
    start = {"memory": 0.2, "sqlite": 0.3, "postgresql": 0.6}[cell.store]
    return start + (1.5 if cell.idle else 0) + max(0.1, seconds_loaded(cell, settings))
