"""The exchange as threads of the simulator: clients, transport of each policy, core with group
commit, projector.

Costs are CPU times in microseconds; see calibrate.py, which measures them."""

from bisect import bisect
from collections import deque
from random import Random

from measure import QUANTILES
from simulator import WAIT, YIELD, Cpus, Simulator, Sleep

EVENTS_MAX = 128  # that a loop takes from epoll at once
CLIENT_EVENTS_MAX = 256
# a cost differs by up to this part of it from time to time; without that, few clients would run in
# lockstep
VARIES = 0.2
YIELDS = 4  # of a client's thread, before it sleeps until its commit
# The projector (core/projector.cpp, base/bursts.hpp) rests after each burst of CPU time, so
# that its work takes SPREAD_US.
PROJECTION_INTERVAL_US, SPREAD_US = 200_000, 500_000
BURST_US, REST_US_MAX = 50, 500
RESTS_END_US = 4 * SPREAD_US
BEFORE_SYNC = 0.75  # part of the CPU time of a commit before its disk wait


def sampler(quantiles, random):
    """Draws between the quantiles that were measured."""

    def draw():
        percent = 100 * random.random()
        at = min(max(bisect(QUANTILES, percent), 1), len(QUANTILES) - 1)
        part = (percent - QUANTILES[at - 1]) / (QUANTILES[at] - QUANTILES[at - 1])
        return quantiles[at - 1] * (1 - part) + quantiles[at] * part

    return draw


class Exchange:
    """`costs`: of the policy and the store; `disk`: waits of commits and projections; `wake_us`:
    until a thread runs on an idle CPU."""

    def __init__(self, cell, costs, disk, wake_us, seed=1):
        self.cell, self.costs, self.random = cell, costs, Random(seed)
        self.simulator = simulator = Simulator()
        machine = cell.cores if cell.shared else cell.cores + cell.workers
        vary = lambda: self.random.uniform(1 - VARIES, 1 + VARIES)
        self.cpus = Cpus(simulator, cell.cores, machine, wake_us, vary)
        self.client_cpus = (
            self.cpus if cell.shared else Cpus(simulator, cell.workers, machine, wake_us, vary)
        )
        self.disk = disk if cell.store != "memory" else None
        self.draw = {name: sampler(disk[name], self.random) for name in ("alone", "beside")}
        self.measuring, self.times = False, []
        self.batches, self.requests, self.commit_us = 0, 0, 0.0
        self._start_core()
        getattr(self, f"_start_{cell.policy}")()  # the transport
        self._start_clients()

    # Clients

    def _start_clients(self):
        cell = self.cell
        self.workers, self.replies, self.due = [], [], []
        self.planned = [deque() for _ in range(cell.clients)]  # times of the open loop
        self.is_busy = [False] * cell.clients
        for number in range(cell.workers):
            own = range(number, cell.clients, cell.workers)
            self.replies.append(deque())
            self.due.append(deque() if cell.rate else deque(own))
            body = self._worker(number)
            self.workers.append(self.client_cpus.start(body, self.costs["client_cold"]))
        if cell.rate:
            self._plan(0)

    def _plan(self, nth):
        """Poisson arrivals, dealt out to the connections in turn."""
        connection = nth % self.cell.clients
        self.planned[connection].append(self.simulator.now)
        if not self.is_busy[connection]:
            self.is_busy[connection] = True
            worker = connection % self.cell.workers
            self.due[worker].append(connection)
            self._wake(self.workers[worker])
        gap = self.random.expovariate(self.cell.rate / 1e6)
        self.simulator.at(self.simulator.now + gap, self._plan, nth + 1)

    def _worker(self, number):
        due, replies, half = self.due[number], self.replies[number], self.costs["client"] / 2
        while True:
            while not due and not replies:
                yield WAIT
            while due:
                yield half
                self._send(due.popleft())
            for _ in range(min(len(replies), CLIENT_EVENTS_MAX)):
                connection = replies.popleft()
                yield half
                self._received(connection)
                if self.is_busy[connection]:
                    yield half
                    self._send(connection)

    def _send(self, connection):
        if not self.cell.rate:
            self.is_busy[connection] = True
            self.planned[connection].append(self.simulator.now)
        self.arrived(connection)

    def _received(self, connection):
        took_us = self.simulator.now - self.planned[connection].popleft()
        if self.measuring:
            self.times.append(took_us)
        self.is_busy[connection] = not self.cell.rate or bool(self.planned[connection])

    def _reply(self, connection):
        worker = connection % self.cell.workers
        self.replies[worker].append(connection)
        self._wake(self.workers[worker])

    @staticmethod
    def _wake(thread):
        thread.group.wake(thread)

    # Transport: arrived(connection) is called when a request is in the socket, completed(batch)
    # when its commit is done.

    def _start_loop(self):
        cell = self.cell
        arrived = [deque() for _ in range(cell.cores)]
        self.finished = [[] for _ in range(cell.cores)]
        loops = [self._server_thread(self._loop(n, arrived[n])) for n in range(cell.cores)]
        # SO_REUSEPORT: the kernel chooses the loop by a hash.
        self.home = [self.random.randrange(cell.cores) for _ in range(cell.clients)]

        def arrive(connection):
            loop = self.home[connection]
            arrived[loop].append(connection)
            self._wake(loops[loop])

        def complete(batch):
            yield self.costs["complete"] * len(batch)
            touched = set()
            for connection in batch:
                loop = self.home[connection]
                self.finished[loop].append(connection)
                touched.add(loop)
            for loop in sorted(touched):
                self._wake(loops[loop])

        self.arrived, self.completed, self.transport = arrive, complete, loops

    def _loop(self, number, arrived):
        while True:
            while not arrived and not self.finished[number]:
                yield WAIT
            if taken := [arrived.popleft() for _ in range(min(len(arrived), EVENTS_MAX))]:
                yield self.costs["read"] * len(taken)
                self._submit(taken)
            finished, self.finished[number] = self.finished[number], []
            for connection in finished:
                yield self.costs["write"]
                self._reply(connection)

    def _start_pool(self):
        work, idle = deque(), []

        def body(number):
            while True:
                while not work:
                    idle.append(number)
                    yield WAIT
                is_read, connection = work.popleft()
                if is_read:
                    yield self.costs["read"]
                    self._submit([connection])
                else:
                    yield self.costs["write"]
                    self._reply(connection)

        def add(is_read, connections):
            work.extend((is_read, connection) for connection in connections)
            for _ in range(min(len(connections), len(idle))):
                self._wake(threads[idle.pop()])

        def complete(batch):
            yield self.costs["complete"] * len(batch)
            add(False, batch)

        threads = [self._server_thread(body(number)) for number in range(self.cell.cores)]
        self.arrived, self.completed = (lambda connection: add(True, [connection])), complete
        self.transport = threads

    def _start_thread(self):
        has_request = [False] * self.cell.clients
        is_done = [False] * self.cell.clients

        def body(connection):
            while True:
                while not has_request[connection]:
                    yield WAIT
                has_request[connection] = False
                yield self.costs["read"]
                self._submit([connection])
                for _ in range(YIELDS):
                    if is_done[connection]:
                        break
                    yield YIELD
                while not is_done[connection]:
                    yield WAIT
                is_done[connection] = False
                yield self.costs["write"]
                self._reply(connection)

        def set_and_wake(flags, connection):
            flags[connection] = True
            self._wake(threads[connection])

        def complete(batch):
            for connection in batch:
                yield self.costs["complete"]
                set_and_wake(is_done, connection)

        threads = [self._server_thread(body(number)) for number in range(self.cell.clients)]
        self.arrived, self.completed = (lambda one: set_and_wake(has_request, one)), complete
        self.transport = threads

    def _server_thread(self, body):
        return self.cpus.start(body, self.costs["transport_cold"])

    # Core and projector

    def _start_core(self):
        self.inbox, self.changed, self.offered, self.replicated = [], 0, 0, 0
        self.projector_is_idle, self.projector_syncs = True, False
        self.done = {"projection": 0.0, "project": 0.0}  # as costs; parts count
        self.core = self.cpus.start(self._core())
        self.projector = self.cpus.start(self._projector())
        self.replica = self.cpus.start(self._replica())

    def _submit(self, connections):
        was_empty = not self.inbox
        self.inbox += connections
        if was_empty:
            self._wake(self.core)

    def _core(self):
        costs = self.costs
        while True:
            while not self.inbox:
                yield WAIT
                self._offer()
            batch, self.inbox = self.inbox, []
            yield costs["apply"] * len(batch) + costs["batch"] * BEFORE_SYNC
            applied_at = self.simulator.now
            for _ in range(self._disk_waits()):
                yield Sleep(self.draw["beside" if self.projector_syncs else "alone"]())
            if self.measuring:
                self.commit_us += self.simulator.now - max(applied_at, self.measured_from)
            yield costs["batch"] * (1 - BEFORE_SYNC)
            yield from self.completed(batch)
            yield YIELD
            self.changed += len(batch)
            if self.measuring:
                self.batches += 1
                self.requests += len(batch)
            self._offer()

    def _disk_waits(self):
        if not self.disk:
            return 0
        waits = self.disk["waits_per_commit"]
        return int(waits) + (self.random.random() < waits % 1)

    def _offer(self):
        if self.changed and self.projector_is_idle:
            self.projector_is_idle = False
            self.offered, self.changed = self.changed, 0
            self._wake(self.projector)

    def _projector(self):
        costs, simulator, last_work_us = self.costs, self.simulator, 0.0
        while True:
            while not self.offered:
                yield WAIT
            requests, self.offered = self.offered, 0
            began, work_us = simulator.now, costs["project"] * requests + costs["projection"]
            sync_us = self.disk["projection"] + self.disk["project"] * requests if self.disk else 0
            # The memory store has a lock while it writes, and takes no rests.
            bursts = max(1, round(work_us / BURST_US)) if self.disk else 1
            rest_us = (SPREAD_US // max(last_work_us, BURST_US) - 1) * BURST_US
            rest_us = min(max(rest_us, 0), REST_US_MAX) if self.disk else 0
            for _ in range(bursts):
                yield work_us / bursts
                self.done["projection"] += 1 / bursts
                self.done["project"] += requests / bursts
                if sync_us:
                    self.projector_syncs = True
                    yield Sleep(sync_us / bursts)
                    self.projector_syncs = False
                if rest_us and simulator.now < began + RESTS_END_US:
                    yield Sleep(rest_us)
            last_work_us = work_us
            self.replicated += requests
            self._wake(self.replica)
            idle_at = max(simulator.now, began + PROJECTION_INTERVAL_US)
            simulator.at(idle_at, self._projector_idle)

    def _replica(self):
        """The HTTP thread, which keeps the rows that the dashboard shows."""
        while True:
            while not self.replicated:
                yield WAIT
            requests, self.replicated = self.replicated, 0
            yield self.costs["replica"] * requests

    def _projector_idle(self):
        self.projector_is_idle = True
        self._wake(self.core)

    # Measuring

    def _totals(self):
        groups = {"transport": self.transport, "core": [self.core], "projector": [self.projector]}
        groups |= {"other": [self.replica], "client": self.workers}
        used, cold = (
            {name: sum(getattr(one, what) for one in threads) for name, threads in groups.items()}
            for what in ("used_us", "cold_wakes")
        )
        return used, cold, dict(self.done)

    def run(self, seconds, warmup_s):
        self.simulator.run(warmup_s * 1e6)
        before = self._totals()
        self.measuring, self.measured_from = True, self.simulator.now
        self.simulator.run((warmup_s + seconds) * 1e6)
        used, cold, done = (
            {name: end[name] - begin[name] for name in end}
            for begin, end in zip(before, self._totals(), strict=True)
        )
        times, answered = sorted(self.times), max(1, len(self.times))
        of_server = sum(us for name, us in used.items() if name != "client")
        return {
            "requests_per_s": len(times) / seconds,
            "p50_ms": percentile(times, 50) / 1e3,
            "p99_ms": percentile(times, 99) / 1e3,
            "requests_per_batch": self.requests / max(1, self.batches),
            "cpu_us": {name: us / answered for name, us in used.items()},
            "cold_wakes": {name: wakes / answered for name, wakes in cold.items()},
            "done": {name: times / answered for name, times in done.items()},
            "cpus_busy": {
                "server": of_server / seconds / 1e6,
                "core": used["core"] / seconds / 1e6,
                # the core waits for the store, with CPU or without
                "commit": self.commit_us / seconds / 1e6,
                "client": used["client"] / seconds / 1e6,
            },
        }


def percentile(ordered, percent):
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0
