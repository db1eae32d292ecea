"""CPU time of the server, of Locust and of the machine, sampled while a row runs; and the files that Locust writes.

A thread of the runner samples /proc. Users mark in a file when the load is complete and when it ends, so that start-up does not count."""

import csv
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from exchange_server import read_metrics
from machine import cpu_times

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_S = 0.1


def stat_fields(path):
    """(name, fields after it) of a /proc stat file, or None if the process has ended."""
    try:
        head, _, rest = Path(path).read_text().rpartition(")")
    except OSError:
        return None
    return head.partition("(")[2], rest.split()


def cpu_of(fields):
    return (int(fields[11]) + int(fields[12])) / TICKS


def session_processes(session):
    """{pid: CPU seconds} of the processes of a session: Locust with its workers."""
    found = {}
    for entry in os.scandir("/proc"):
        if (
            entry.name.isdigit()
            and (stat := stat_fields(f"/proc/{entry.name}/stat"))
            and int(stat[1][3]) == session
        ):
            found[int(entry.name)] = cpu_of(stat[1])
    return found


def threads_of(pid):
    """{(thread id, name): CPU seconds}."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        if stat := stat_fields(f"/proc/{pid}/task/{task}/stat"):
            found[int(task), stat[0]] = cpu_of(stat[1])
    return found


class NotMeasured(Exception):
    """A row without figures; the rest of the table can go on."""


@dataclass
class Sample:
    at: float
    server: float
    threads: dict
    locust: dict
    busy: float
    everything: float
    commit_us: int


@dataclass
class Usage:
    """Over the steady part of a row; CPU in CPUs (1.0: one is busy all the time)."""

    seconds: float
    server: float
    server_thread: float
    server_thread_name: str
    locust: float
    locust_process: float  # the busiest
    machine: float  # busy part of all CPUs
    others: float  # neither server nor load: the kernel and other programs
    commits: float  # part of the time that the server spent in commits
    load_average: float = field(default_factory=lambda: os.getloadavg()[0])


class Watch(threading.Thread):
    def __init__(self, server, session):
        super().__init__(daemon=True)
        self.server, self.session = server, session
        self.samples, self.ended, self.failure = [], threading.Event(), None

    def run(self):
        try:
            while not self.ended.wait(SAMPLE_S):
                self.samples.append(self.take())
        except Exception as error:  # raised by usage()
            self.failure = error

    def take(self):
        busy, stolen, everything = cpu_times()
        if len(self.samples) % 10 == 0:
            metrics = read_metrics(self.server.http_port)
            self.commit_us = metrics["exchange_commit_microseconds_total"]
        return Sample(
            time.monotonic(),
            self.server.cpu_seconds(),
            threads_of(self.server.pid),
            session_processes(self.session),
            busy + stolen,
            everything,
            self.commit_us,
        )

    def finish(self):
        self.ended.set()
        self.join()

    def usage(self, began, ended):
        if self.failure:
            raise NotMeasured(f"the watch ended: {self.failure}")
        return usage_between(self.samples, began, ended)


def usage_between(samples, began, ended):
    inside = [sample for sample in samples if began <= sample.at <= ended]
    if len(inside) < 2:
        at = [sample.at for sample in samples] or [0.0]
        raise NotMeasured(
            f"too short to be measured: from {began:.1f} to {ended:.1f}, {len(samples)} samples from {at[0]:.1f} to {at[-1]:.1f}"
        )
    first, last = inside[0], inside[-1]
    seconds = last.at - first.at
    threads = {thread: cpu - first.threads.get(thread, 0) for thread, cpu in last.threads.items()}
    busiest = max(threads, key=threads.get)
    processes = [cpu - first.locust.get(pid, 0) for pid, cpu in last.locust.items()]
    server, locust = last.server - first.server, sum(processes)
    others = max(0.0, last.busy - first.busy - server - locust)
    return Usage(
        seconds,
        server / seconds,
        threads[busiest] / seconds,
        busiest[1],
        locust / seconds,
        max(processes, default=0) / seconds,
        (last.busy - first.busy) / max(last.everything - first.everything, 1e-9),
        others / seconds,
        (last.commit_us - first.commit_us) / 1e6 / seconds,
    )


def read_marks(path):
    """{event: time}: when all users had started, and when they were stopped after that. (A master also stops workers that it takes for lost.)"""
    marks = {}
    for line in Path(path).read_text().splitlines():
        event, at = line.split()
        if event == "spawned" or "spawned" in marks:
            marks.setdefault(event, float(at))
    return marks


NUMBERS = {
    "requests": "Request Count",
    "failures": "Failure Count",
    "median": "Median Response Time",
    "p95": "95%",
    "p99": "99%",
    "average": "Average Response Time",
    "minimum": "Min Response Time",
    "maximum": "Max Response Time",
    "size": "Average Content Size",
    "rate": "Requests/s",
    "failure_rate": "Failures/s",
}


def read_statistics(path):
    """{request name: {figure: number, or None if there is none}} of Locust's _stats.csv; the whole is `Aggregated`."""
    with open(path, newline="") as file:
        return {
            row["Name"]: {
                figure: None if row[column] == "N/A" else float(row[column])
                for figure, column in NUMBERS.items()
            }
            for row in csv.DictReader(file)
        }


def read_history(path):
    """[{second, rate, average, size}]: the differences of the totals that Locust writes each second, since their last reset."""
    points, before = [], None
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["Name"] != "Aggregated":
                continue
            now = tuple(
                float(row[column] if row[column] != "N/A" else 0)
                for column in (
                    "Timestamp",
                    "Total Request Count",
                    "Total Average Response Time",
                    "Total Average Content Size",
                )
            )
            if before is not None and now[1] < before[1]:
                points, before = [], None  # statistics were reset: all users are there
            elif before is not None and now[0] > before[0] and now[1] > before[1]:
                requests, seconds = now[1] - before[1], now[0] - before[0]
                average, size = (
                    (now[of] * now[1] - before[of] * before[1]) / requests for of in (2, 3)
                )
                points.append(
                    {"second": now[0], "rate": requests / seconds, "average": average, "size": size}
                )
            elif before is not None:
                continue
            before = now
    return [{**point, "second": point["second"] - points[0]["second"] + 1} for point in points]


def read_failures(path):
    """{sentence: occurrences}."""
    with open(path, newline="") as file:
        return {
            f"{row['Name']}: {row['Error']}": int(row["Occurrences"])
            for row in csv.DictReader(file)
        }
