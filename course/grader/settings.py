"""How long and how often each part is run, and with what load."""

import os
from dataclasses import dataclass
from itertools import product

import figures

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


def why_not(cores, limits):
    """Why this number of cores cannot be measured; empty if it can."""
    there = len(usable_cpus())
    if cores > there:
        return f"this machine has {there} CPUs" if there > 1 else "this machine has one CPU"
    if limits.cpus and cores > limits.cpus:
        return f"--limit-cpus is {limits.cpus}"
    return ""


def cores_measured(settings, limits):
    return [cores for cores in settings.cores if not why_not(cores, limits)]


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
    return list(product(range(settings.rounds), KINDS, cores_measured(settings, limits)))


def trial_name(kind, cores, nth, settings):
    text = f"{kind}, {figures.counted(cores, 'core')}"
    return f"{text}, round {nth + 1}" if settings.rounds > 1 else text
