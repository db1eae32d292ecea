"""A discrete-event simulator of threads on CPUs. Time is in microseconds.

A thread is a generator. It yields what it does next: a number, to use that much CPU time; WAIT, to
sleep until wake(); YIELD, to let others run; Sleep(us), to be off the CPU for that long, as in a
system call that waits for the disk.

The scheduler is a simple model of Linux's EEVDF. Each CPU has a queue. A thread's virtual time is
the CPU time that it has used. Its lag is by how much it is behind the mean of the ready and running
threads of its CPU; it keeps its lag while it sleeps. Of the threads that are not ahead of the mean,
the one with the earliest deadline runs next: a slice after the virtual time at which it was woken.
A woken thread returns to its CPU, unless that is busy and another one idle. There it preempts a
thread that is ahead of the mean or past its deadline, so mostly unless it ran itself just before.
At a tick, a thread past its deadline leaves too. A CPU without work takes a thread of another queue
if its cache is cold: if it has not run for a while; at a tick, any."""

from heapq import heappop, heappush
from itertools import count
from math import log2

TICK_US = 4000  # CONFIG_HZ=250
BASE_SLICE_US = 700  # of the kernel, on one CPU
COLD_US = 500  # sched_migration_cost
CHUNK_US = 25  # the longest that a thread runs between two looks at the queue
WAIT, YIELD = "wait", "yield"


class Sleep:
    __slots__ = ("us",)

    def __init__(self, us):
        self.us = us


class Thread:
    def __init__(self, body, group, cold_us):
        self.body, self.group = body, group
        self.cold_us = cold_us  # CPU time that it costs to be woken on an idle CPU
        self.cpu = None  # where it runs or ran last
        self.virtual = self.deadline = self.lag = 0.0
        self.left = 0.0  # CPU time of the present step
        self.used_us, self.cold_wakes, self.ran_at = 0.0, 0, 0.0
        self.is_blocked, self.is_woken = True, False


class Cpu:
    def __init__(self):
        self.thread = None
        self.is_idle, self.must_switch = True, False
        self.ready, self.runnable, self.virtual_sum = [], 0, 0.0  # runnable: ready or running
        self.next_tick = self.chunk = 0.0

    @property
    def mean(self):
        return self.virtual_sum / self.runnable if self.runnable else 0.0

    def enter(self, thread, lag):
        thread.cpu = self
        thread.virtual = self.mean - lag * (self.runnable + 1) / max(1, self.runnable)
        self.runnable += 1
        self.virtual_sum += thread.virtual

    def leave(self, thread):
        lag = self.mean - thread.virtual
        self.runnable -= 1
        self.virtual_sum -= thread.virtual
        return lag


class Simulator:
    def __init__(self):
        self.now, self.events, self.numbers = 0.0, [], count()

    def at(self, time, function, *arguments):
        heappush(self.events, (time, next(self.numbers), function, arguments))

    def run(self, until):
        events = self.events
        while events and events[0][0] <= until:
            self.now, _, function, arguments = heappop(events)
            function(*arguments)
        self.now = until


class Cpus:
    """A group of CPUs. `machine_cpus`: on which the kernel's time slice depends; `wake_us`: until a
    thread runs on an idle CPU; `vary`: draws the factor that multiplies the CPU time of a step."""

    def __init__(self, simulator, number, machine_cpus=1, wake_us=0.0, vary=lambda: 1.0):
        self.simulator, self.wake_us, self.vary = simulator, wake_us, vary
        self.slice_us = BASE_SLICE_US * (1 + int(log2(min(machine_cpus, 8))))
        self.lag_max_us = max(2 * self.slice_us, TICK_US)
        self.cpus = [Cpu() for _ in range(number)]
        self.numbers, self.started = count(), 0

    def start(self, body, cold_us=0.0):
        thread = Thread(body, self, cold_us)
        thread.cpu = self.cpus[self.started % len(self.cpus)]
        self.started += 1
        self.wake(thread)
        return thread

    def wake(self, thread):
        if thread.is_blocked:
            thread.is_blocked = False
            self._ready(thread)
        else:
            thread.is_woken = True  # the next WAIT returns at once

    def _ready(self, thread):
        now, cpu, lag = self.simulator.now, thread.cpu, thread.lag
        if lag < 0:  # it is forgotten while others run
            lag = min(0.0, lag + now - thread.ran_at)
        if not cpu.is_idle:
            cpu = next((one for one in self.cpus if one.is_idle), cpu)
        cpu.enter(thread, lag)
        thread.deadline = thread.virtual + self.slice_us
        if cpu.is_idle:
            cpu.is_idle = False
            thread.left += thread.cold_us
            thread.cold_wakes += 1
            self.simulator.at(now + self.wake_us, self._begin, cpu, thread)
            return
        self._push(cpu, thread)
        running = cpu.thread
        # The running thread goes on while the kernel looks, so an equal is ahead.
        if running and (running.virtual >= cpu.mean - 1e-6 or running.virtual >= running.deadline):
            cpu.must_switch = True

    def _push(self, cpu, thread):
        heappush(cpu.ready, (thread.deadline, next(self.numbers), thread))

    def _pick(self, cpu):
        """The ready thread with the earliest deadline of those that are not ahead of the mean; None
        if none is ready."""
        ready = cpu.ready
        if not ready:
            return self._take_from_others(cpu, COLD_US)
        limit, ahead = cpu.mean + 1e-6, []
        while ready and ready[0][2].virtual > limit:
            ahead.append(heappop(ready))
        picked = heappop(ready) if ready else ahead.pop(0)
        for entry in ahead:
            heappush(ready, entry)
        return picked[2]

    def _take_from_others(self, cpu, cold_us):
        longest = max(self.cpus, key=lambda one: len(one.ready))
        for entry in sorted(longest.ready):
            thread = entry[2]
            if self.simulator.now - thread.ran_at >= cold_us:
                longest.ready.remove(entry)
                longest.ready.sort()  # a sorted list is a heap
                cpu.enter(thread, longest.leave(thread))
                thread.deadline = thread.virtual + self.slice_us
                return thread
        return None

    def _begin(self, cpu, thread):
        """The CPU runs this thread, and others after it, up to a step that takes time."""
        cpu.must_switch = False
        cpu.next_tick = (self.simulator.now // TICK_US + 1) * TICK_US
        while thread:
            cpu.thread = thread
            if not self._leaves(cpu, thread):
                return self._run(cpu, thread)
            thread = self._pick(cpu)
        cpu.thread, cpu.is_idle = None, True

    def _run(self, cpu, thread):
        cpu.chunk, simulator = min(thread.left, CHUNK_US), self.simulator
        end = simulator.now + cpu.chunk
        heappush(simulator.events, (end, next(simulator.numbers), self._ran, (cpu,)))

    def _leaves(self, cpu, thread):
        """Takes the thread's next steps that need no time. Does it leave the CPU?"""
        while thread.left <= 0:
            step = next(thread.body)
            if step is WAIT:
                if not thread.is_woken:
                    thread.is_blocked = True
                    self._sleeps(cpu, thread)
                    return True
                thread.is_woken = False
            elif step is YIELD:
                if cpu.ready:
                    if thread.virtual <= cpu.mean:
                        cpu.virtual_sum += thread.deadline - thread.virtual
                        thread.virtual = thread.deadline
                        thread.deadline += self.slice_us
                    self._push(cpu, thread)
                    return True
            elif step.__class__ is Sleep:
                self._sleeps(cpu, thread)
                self.simulator.at(self.simulator.now + step.us, self._ready, thread)
                return True
            else:
                thread.left += step * self.vary()
        return False

    def _sleeps(self, cpu, thread):
        thread.lag = min(max(cpu.leave(thread), -self.lag_max_us), self.lag_max_us)
        thread.ran_at = self.simulator.now

    def _ran(self, cpu):
        thread, chunk, now = cpu.thread, cpu.chunk, self.simulator.now
        thread.virtual += chunk
        cpu.virtual_sum += chunk
        thread.used_us += chunk
        thread.left -= chunk
        if thread.left < 1e-9:
            thread.left = 0.0
        if now >= cpu.next_tick:
            self._tick(cpu, thread)
        if self._leaves(cpu, thread):
            return self._begin(cpu, self._pick(cpu))
        if cpu.must_switch and cpu.ready:
            if thread.virtual >= thread.deadline:
                thread.deadline = thread.virtual + self.slice_us
            thread.ran_at = now
            self._push(cpu, thread)
            return self._begin(cpu, self._pick(cpu))
        self._run(cpu, thread)

    def _tick(self, cpu, thread):
        cpu.next_tick += TICK_US
        cpu.must_switch |= thread.virtual >= thread.deadline
        if cpu.ready and (idle := next((one for one in self.cpus if one.is_idle), None)):
            if taken := self._take_from_others(idle, 0):
                idle.is_idle = False
                self._begin(idle, taken)
