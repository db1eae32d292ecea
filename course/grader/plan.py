"""How long and how often each part is run, and with what load; and how far a grading is: one line
for each step, with the time that has passed and an estimate of what is left."""

import os
import sys
import time
from dataclasses import dataclass
from itertools import product

import figures
from plain_text import printable

PARTS = ("conformance", "audit", "durability", "throughput")
KINDS = ("create", "transactions")


@dataclass(frozen=True)
class Settings:
    seed: int = 1
    conformance_rounds: int = 3
    conformance_timeout_s: float = 2
    audit_s: float = 5
    kills: int = 5
    kill_after_s: float = 2  # about
    durability_clients: int = 8
    rounds: int = 3  # of each throughput
    throughput_s: float = 4
    warmup_s: float = 1
    throughput_clients: int = 40
    cores: tuple = (1, 2, 4)
    reply_timeout_s: float = 10
    quick: bool = False

    def of(self, part):
        """What decides the result of a part, for the key of a saved one."""
        used = {
            "conformance": "conformance_rounds conformance_timeout_s",
            "audit": "audit_s reply_timeout_s",
            "durability": "kills kill_after_s durability_clients reply_timeout_s",
            "throughput": "rounds throughput_s warmup_s throughput_clients cores reply_timeout_s",
        }[part].split()
        return {name: getattr(self, name) for name in ("seed", *used)}


def quick(seed):
    return Settings(
        seed=seed,
        conformance_rounds=1,
        conformance_timeout_s=1,
        audit_s=1,
        kills=2,
        kill_after_s=0.7,
        durability_clients=4,
        rounds=1,
        throughput_s=1,
        warmup_s=0.3,
        throughput_clients=20,
        reply_timeout_s=5,
        quick=True,
    )


def usable_cpus(limit=0):
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[:limit] if limit else cpus


def skipped(settings, limits):
    """{number of cores that cannot be measured: why}"""
    there, found = len(usable_cpus()), {}
    for cores in settings.cores:
        if cores > there:
            many = f"this machine has {there} CPUs"
            found[cores] = many if there > 1 else "this machine has one CPU"
        elif limits.cpus and cores > limits.cpus:
            found[cores] = f"--limit-cpus is {limits.cpus}"
    return found


def steps_of(part, settings, limits, clients):
    """[(what, seconds expected)] in the order in which the part runs them."""
    if part == "conformance":
        return [("rules", 4 * settings.conformance_rounds)]
    if part == "audit":
        return [(figures.counted(count, "client"), settings.audit_s + 3) for count in clients]
    if part == "durability":
        kills, seconds = settings.kills, settings.kill_after_s + 3
        return [(f"kill {nth + 1} of {kills}", seconds) for nth in range(kills)]
    seconds = settings.throughput_s + settings.warmup_s + 2
    planned = trials(settings, limits)
    return [(trial_name(kind, cores, nth, settings), seconds) for nth, kind, cores in planned]


def trials(settings, limits):
    """Throughput: (round, kind, cores); a slow minute of the machine is spread over all of them."""
    measured = [cores for cores in settings.cores if cores not in skipped(settings, limits)]
    return list(product(range(settings.rounds), KINDS, measured))


def trial_name(kind, cores, nth, settings):
    text = f"{kind}, {figures.counted(cores, 'core')}"
    return f"{text}, round {nth + 1}" if settings.rounds > 1 else text


def duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Progress:
    """steps: [(owner, what, seconds expected)]; an owner is a submission and a part."""

    def __init__(self, steps, stream=sys.stderr, clock=time.monotonic):
        self.steps, self.stream, self.clock = list(steps), stream, clock
        self.began = clock()
        self.at = 0  # steps before this one are done
        self.running = None  # (seconds expected, begin)
        self.expected = self.taken = 0.0

    @property
    def state(self):
        """What another process needs to go on with it."""
        return {
            name: value for name, value in vars(self).items() if name not in ("stream", "clock")
        }

    @state.setter
    def state(self, state):
        vars(self).update(state)

    def _finish(self):
        if self.running:
            expected, begin = self.running
            self.expected += expected
            self.taken += self.clock() - begin
            self.running = None

    def seconds_left(self):
        """As expected, scaled by what the steps before took."""
        ahead = sum(seconds for _, _, seconds in self.steps[self.at :])
        ahead += self.running[0] if self.running else 0
        return ahead * (self.taken / self.expected if self.expected else 1.0)

    def step(self, owner, what):
        self._finish()
        for nth in range(self.at, len(self.steps)):
            if self.steps[nth][:2] == (owner, what):
                self.at = nth + 1
                self.running = (self.steps[nth][2], self.clock())
                break
        self.say(f"{': '.join(owner)}, {what}", f"about {duration(self.seconds_left())} left")

    def done(self, owner):
        """All steps of this owner are over, also those that were not run."""
        self._finish()
        while self.at < len(self.steps) and self.steps[self.at][0] == owner:
            self.at += 1

    def say(self, text, more=""):
        counted = f"[{self.at}/{len(self.steps)}] " if self.steps else ""
        line = f"{counted}{duration(self.clock() - self.began)}  {text}"
        self.stream.write(printable(line + (f" ({more})" if more else "")) + "\n")
        self.stream.flush()
