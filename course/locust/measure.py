"""CPU time of the server, of Locust and of the machine, sampled while a row runs; and the files
that Locust writes.

A thread of the runner samples /proc. Users mark in a file when the load is complete and when it
ends, so that start-up does not count."""

import csv
import os
import time
from collections import namedtuple
from pathlib import Path

from exchange_server import process_cpu_seconds, read_metrics
from machine import cpu_times
import load

SAMPLE_S = 0.1


def session_processes(session):
    """{pid: CPU seconds} of the processes of a session: Locust with its workers."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(name)) == session:
                found[int(name)] = process_cpu_seconds(int(name))
        except OSError:
            continue  # it has ended
    return found


class NotMeasured(Exception):
    """A row without figures; the rest of the table can go on."""


Sample = namedtuple("Sample", "at server threads locust busy everything commit_us")


class Watch(load.Watch):
    def __init__(self, server, session):
        super().__init__(SAMPLE_S)
        self.server, self.session = server, session

    def take(self):
        busy, stolen, everything = cpu_times()
        if len(self.samples) % 10 == 0:
            metrics = read_metrics(self.server.http_port)
            self.commit_us = metrics["exchange_commit_microseconds_total"]
        return Sample(
            time.monotonic(),
            self.server.cpu_seconds(),
            load.thread_cpu(self.server.pid),
            session_processes(self.session),
            busy + stolen,
            everything,
            self.commit_us,
        )

    def usage(self, began, ended):
        if self.failure:
            raise NotMeasured(f"the watch ended: {self.failure}")
        return usage_between(self.samples, began, ended)


def usage_between(samples, began, ended):
    """What was used in the steady part of a row, in CPUs (1.0: one is busy all the time)."""
    inside = [sample for sample in samples if began <= sample.at <= ended]
    if len(inside) < 2:
        at = [sample.at for sample in samples] or [0.0]
        raise NotMeasured(
            f"too short to be measured: from {began:.1f} to {ended:.1f}, {len(samples)} samples"
            f" from {at[0]:.1f} to {at[-1]:.1f}"
        )
    first, last = inside[0], inside[-1]
    seconds = last.at - first.at
    threads = {thread: cpu - first.threads.get(thread, 0) for thread, cpu in last.threads.items()}
    busiest = max(threads, key=threads.get)
    processes = [cpu - first.locust.get(pid, 0) for pid, cpu in last.locust.items()]
    server, locust, busy = last.server - first.server, sum(processes), last.busy - first.busy
    return {
        "seconds": seconds,
        "server": server / seconds,
        "server_thread": threads[busiest] / seconds,
        "server_thread_name": busiest[1],
        "locust": locust / seconds,
        "locust_process": max(processes, default=0) / seconds,  # the busiest
        "machine": busy / max(last.everything - first.everything, 1e-9),  # part of all CPUs
        "others": max(0.0, busy - server - locust) / seconds,  # the kernel and other programs
        "commits": (last.commit_us - first.commit_us) / 1e6 / seconds,  # part of the time
    }


def read_marks(path):
    """{event: time}: when all users had started, and when they were stopped after that. (A master
    also stops workers that it takes for lost.)"""
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
    "size": "Average Content Size",
    "rate": "Requests/s",
}


def read_statistics(path):
    """{request name: {figure: number, or None if there is none}} of Locust's _stats.csv; the whole
    is `Aggregated`."""
    with open(path, newline="") as file:
        return {
            row["Name"]: {
                figure: None if row[column] == "N/A" else float(row[column])
                for figure, column in NUMBERS.items()
            }
            for row in csv.DictReader(file)
        }


def read_failures(path):
    """{sentence: occurrences}."""
    with open(path, newline="") as file:
        return {
            f"{row['Name']}: {row['Error']}": int(row["Occurrences"])
            for row in csv.DictReader(file)
        }
