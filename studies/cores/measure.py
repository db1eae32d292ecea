"""Measures a server under load without a profiler: throughput, reply times, and the CPU time of
each kind of thread."""

import os
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from statistics import median

from exchange_server import ExchangeServer, process_cpu_seconds, read_metrics
from machine import cpu_times, sync_times
from studies.profile.waits import disk_waits, read_stays
import load

SETTLE_S = 0.5  # of load, before anything is measured
# The shares of the machine's CPU time taken by the hypervisor and by other processes; trials with
# more are discarded.
STOLEN_MAX, OTHERS_MAX = 0.01, 0.1
TRANSPORT = ("loop", "pool", "client")
QUANTILES = (0, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.9)


class MeasureError(RuntimeError):
    pass


def thread_usage(pid):
    """{kind of thread: CPU seconds}, summed over its threads."""
    usage = Counter()
    for (_, name), cpu_s in load.thread_cpu(pid).items():
        kind = name if name in ("core", "projector") else "other"
        usage["transport" if name in TRANSPORT else kind] += cpu_s
    return usage


def placement(cell):
    """CPUs of the server and of the client."""
    cpus = sorted(os.sched_getaffinity(0))
    wanted = cell.cores if cell.shared else cell.cores + 1
    if len(cpus) < wanted:
        raise MeasureError(f"{cell.key} needs {wanted} CPUs, {len(cpus)} are there")
    server = cpus[: cell.cores]
    return server, server if cell.shared else cpus[cell.cores : wanted]


def under_load(cell, seconds, during):
    """The report of the load generator, and what during(server, its pid) returned, called SETTLE_S
    after its start."""
    server_cpus, client_cpus = placement(cell)
    store = "sqlite:{folder}/x.db" if cell.store == "sqlite" else "memory:"
    options = ["-c", cell.clients, "-d", f"{int((seconds + SETTLE_S) * 1000)}ms"]
    options += ["--warmup", f"{int(SETTLE_S * 1000)}ms"]
    options += ["--client-cpus", ",".join(map(str, client_cpus))]
    options += ["--rate", cell.rate, "--arrivals", "poisson"] if cell.rate else []
    with ExchangeServer("--policy", cell.policy, store=store, cpus=server_cpus) as server:
        return load.under_load(
            *(server.port, server.pid, options),
            lambda load_pid: during(server, load_pid),
            SETTLE_S + 0.15,
        )


def trial(cell, seconds=2.0):
    def watch(server, load_pid):
        readings = []
        for pause_s in (seconds - 0.4, 0):
            busy_s, _, all_s = cpu_times()
            others_s = busy_s - process_cpu_seconds(server.pid) - process_cpu_seconds(load_pid)
            usage = thread_usage(server.pid)
            readings.append((read_metrics(server.http_port), usage, others_s, all_s))
            time.sleep(pause_s)
        return readings

    report, (first, second) = under_load(cell, seconds, watch)
    (before, threads_before, *times_before), (after, threads_after, *times_after) = first, second
    others_s, all_s = (b - a for a, b in zip(times_before, times_after, strict=True))
    count = {name: after[name] - before[name] for name in after if name in before}
    requests, result = count["exchange_requests_total"], report["result"]
    used_s = {kind: now - threads_before[kind] for kind, now in threads_after.items()}
    stage = 'exchange_stage_seconds_{}{{stage="apply"}}'.format
    return {
        "requests_per_s": result["requests_per_s"],
        "p50_ms": result["response_ms"]["p50"],
        "p99_ms": result["response_ms"]["p99"],
        "stolen": result["stolen_cpu_share"] or 0,
        "others": others_s / max(all_s, 1e-9),
        "cpu_us": {kind: 1e6 * cpu_s / requests for kind, cpu_s in used_s.items()}
        | {"client": report["client"]["cpu_us_per_request"]},
        "requests_per_batch": requests / max(1, count["exchange_batches_total"]),
        "apply_us": 1e6 * count[stage("sum")] / max(1, count[stage("count")]),
        "write_p50_us": stage_median(count, "write"),
    }


def stage_median(count, stage):
    """Median of a stage in us from the buckets of its histogram, interpolated."""
    prefix = f'exchange_stage_seconds_bucket{{stage="{stage}",le="'
    buckets = sorted(
        (float(name[len(prefix) : -2]), value)
        for name, value in count.items()
        if name.startswith(prefix)
    )
    half, below, edge = buckets[-1][1] / 2, 0, 0.0
    for limit, value in buckets:
        if value >= half and value > below:
            return (edge + (limit - edge) * (half - below) / (value - below)) * 1e6
        below, edge = value, limit
    return 0.0


def quantiles(values):
    values = sorted(values) or [0.0]
    return [values[min(len(values) - 1, int(len(values) * q / 100))] for q in QUANTILES]


def hand_over_us(cpus, rounds=4000):
    """Microseconds from a write into a socket until the thread that waits for it, on another CPU of
    `cpus` if there is one, runs: half a round trip."""
    left, right = socket.socketpair()

    def echo():
        os.sched_setaffinity(0, {cpus[-1]})
        while word := right.recv(1):
            right.send(word)

    thread = threading.Thread(target=echo)
    everywhere = os.sched_getaffinity(0)
    thread.start()
    os.sched_setaffinity(0, {cpus[0]})
    try:
        times = []
        for _ in range(rounds):
            began = time.monotonic()
            left.send(b"x")
            left.recv(1)
            times.append(time.monotonic() - began)
    finally:
        os.sched_setaffinity(0, everywhere)
        left.close()
        thread.join()
        right.close()
    return median(times) / 2 * 1e6


def probes(folder):
    cpus = sorted(os.sched_getaffinity(0))
    return {
        "sync_us": [1e6 * one for one in quantiles(sync_times(folder))],
        "hand_over_us": hand_over_us(cpus[:2]),
        "hand_over_same_cpu_us": hand_over_us(cpus[:1]),
    }


def observed_disk_waits(cell, seconds=3):
    """How long core and projector wait for the disk, from scheduler events (needs perf): quantiles,
    and the time of a projection."""
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/perf.data"
        command = ["perf", "sched", "record", "-q", "-a", "-o", data, "--", "sleep", str(seconds)]

        def record(server, _):
            before = read_metrics(server.http_port)
            done = subprocess.run(command, capture_output=True, text=True)
            return done, before, read_metrics(server.http_port)

        _, (done, before, after) = under_load(cell, seconds + 0.5, record)
        if done.returncode != 0:
            raise MeasureError(f"perf: {done.stderr.strip()}")
        command = ["perf", "sched", "timehist", "--state", "-i", data]
        events = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    stays = read_stays(events)
    core, projector = (disk_waits(stays, thread) for thread in ("core", "projector"))
    alone, beside = split(core, projector)
    requests, commits = (
        after[name] - before[name]
        for name in ("exchange_requests_total", "exchange_batches_committed_total")
    )
    projecting_us = 1e6 * sum(end - begin for begin, end in projector)
    return {
        "alone_us": quantiles(alone),
        "beside_us": quantiles(beside),
        "waits_per_commit": len(core) / commits,
        "projector_us_per_request": projecting_us / requests,
    }


def split(waits, others):
    """The lengths in us of the waits that began outside of all `others`, and of those that began in
    one. Both are sorted."""
    lengths, at = ([], []), 0
    for begin, end in waits:
        while at < len(others) and others[at][1] < begin:
            at += 1
        is_beside = at < len(others) and others[at][0] <= begin
        lengths[is_beside].append((end - begin) * 1e6)
    return lengths
