"""The settings that are measured and simulated, and which of them the costs are fitted to."""

from dataclasses import dataclass

POLICIES = ("thread", "pool", "loop")
STORES = ("memory", "sqlite")
CORES_SIMULATED, CLIENTS_SIMULATED = (1, 2, 4, 8, 16), (200, 1000)


@dataclass(frozen=True)
class Cell:
    policy: str
    store: str
    clients: int
    cores: int  # CPUs of the server, which has as many loops or pool threads
    rate: int = 0  # planned requests per second of an open loop; 0: closed loop
    shared: bool = False  # does the client use the same CPUs? Otherwise it has CPUs of its own
    workers: int = 1  # threads that play the clients, with a CPU each unless shared

    @property
    def key(self):
        load = f"rate={self.rate}" if self.rate else "closed"
        apart = (
            f" client={self.workers}"
            if self.workers > 1 or self.cores > 1 and not self.shared
            else ""
        )
        return f"{self.policy} {self.store} cores={self.cores} clients={self.clients} {load}{apart}"


def on(cores, **settings):
    return Cell(cores=cores, shared=cores == 2, **settings)


def fit_cells():
    """Costs come from these alone: full load, a light one and small batches on one core; full load
    on two."""
    cells = []
    for policy in POLICIES:
        for store in STORES:
            cells.append(on(1, policy=policy, store=store, clients=200))
            cells.append(on(1, policy=policy, store=store, clients=200, rate=2000))
            cells.append(on(1, policy=policy, store=store, clients=8))
            cells.append(on(2, policy=policy, store=store, clients=200))
    return cells


def held_out_cells():
    """The validation: other numbers of clients and other rates."""
    cells = []
    for policy in POLICIES:
        for clients in (20, 50, 100, 500):
            cells.append(on(1, policy=policy, store="sqlite", clients=clients))
        for clients in (20, 500):
            cells.append(on(1, policy=policy, store="memory", clients=clients))
        for rate in (10_000, 20_000):
            cells.append(on(1, policy=policy, store="memory", clients=200, rate=rate))
        cells.append(on(1, policy=policy, store="sqlite", clients=200, rate=20_000))
        for clients in (50, 500):
            cells.append(on(2, policy=policy, store="sqlite", clients=clients))
        cells.append(on(2, policy=policy, store="memory", clients=50))
    return cells


def simulated_cells():
    """The client has as many CPUs of its own as the server."""
    return [
        Cell(policy, store, clients, cores, workers=cores)
        for store in STORES
        for clients in CLIENTS_SIMULATED
        for policy in POLICIES
        for cores in CORES_SIMULATED
    ]
