"""One trial of a row: a server of its own, the load, and what both sides used. Meanwhile a thread
samples /proc: CPU time of the server, of Locust and of the machine. Users mark in a file when the
load is complete and when it ends, so that start-up does not count."""

import csv
import json
import os
import re
import tempfile
import time
import urllib.error
from collections import namedtuple
from pathlib import Path

from exchange_server import ExchangeServer, free_ports, loadgen_command, process_cpu_seconds
from exchange_server import read_metrics, wait_until
from machine import cpu_times
from rows import SPAWN_RATE, USERS
import load

HERE = Path(__file__).resolve().parent
RAMP_S = USERS / SPAWN_RATE
GRACE_S = 60  # beyond the time wanted; then a trial counts as hung
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


def prepare(server):
    """Accounts with cash and shares, an order of each, and the order that grows; what users need to
    know of them."""
    accounts = [str(number) for number in range(1, 201)]
    shares = "".join(f'<account id="{account}">1000000</account>' for account in accounts)
    server.request(
        "<create>"
        + "".join(f'<account id="{account}" balance="1000000000"/>' for account in accounts)
        + f'<symbol sym="LOAD">{shares}</symbol><symbol sym="GROW">{shares}</symbol></create>'
    )

    def order(account, text):
        (reply,) = server.request(f'<transactions id="{account}"><order {text}/></transactions>')
        return int(re.search(r'<opened .* id="(\d+)"/>', reply)[1])

    prepared = {account: order(account, 'sym="LOAD" amount="1" limit="1"') for account in accounts}
    quiet = order("1", 'sym="GROW" amount="2" limit="2"')
    order("2", 'sym="GROW" amount="-1" limit="2"')
    # The quiet order keeps one share open below everything that trades from now on: its reply stays
    # as it is.
    growing = order("1", 'sym="GROW" amount="100000000" limit="3"')
    last = growing

    def readable():
        try:
            return server.http(f"/api/orders/{last}")
        except urllib.error.HTTPError:
            return None

    wait_until(readable, "the prepared orders to be in the tables")
    return {
        "accounts": prepared,
        "growing": {"buyer": "1", "order": growing, "quiet_order": quiet, "sellers": accounts[1:]},
    }


def run_watched(command, server, folder, seconds, environment=None):
    """Runs the command; returns the watch, and what it wrote."""
    limit_s = RAMP_S + seconds + GRACE_S
    log, watch_of = folder / "log", lambda pid: Watch(server, pid)
    code, watch = load.run_session(command, log, limit_s, watch_of, environment)
    text = log.read_text()[-1000:]
    if code != 0:
        ended = f"no end after {limit_s:.0f} s" if code is None else f"it ended with {code}"
        raise NotMeasured(f"{ended}: {text}")
    return watch, text


def run_locust(row, seconds, python, server, folder):
    (folder / "state.json").write_text(json.dumps(prepare(server)))
    host = f"http://127.0.0.1:{server.http_port}" if row.over_http else f"127.0.0.1:{server.port}"
    limit_s = round(RAMP_S + seconds + GRACE_S / 2)
    command = [str(python), *("-m", "locust", "-f"), str(HERE / "locustfile.py"), row.user]
    command += f"--host {host} --headless -u {USERS} -r {SPAWN_RATE} -t {limit_s}s".split()
    command += "--reset-stats --only-summary --exit-code-on-error 0 --csv".split()
    command.append(str(folder / "csv"))
    if row.workers > 1:
        port = free_ports(1)[0]
        command += f"--processes {row.workers} --master-bind-host 127.0.0.1".split()
        command += f"--master-bind-port {port} --master-port {port}".split()
    environment = {
        **os.environ,
        "EXCHANGE_LOCUST_STATE": str(folder / "state.json"),
        "EXCHANGE_LOCUST_MARKS": str(folder / "marks"),
        "EXCHANGE_LOCUST_WAIT": ",".join(map(str, row.wait)),
        "EXCHANGE_LOCUST_SECONDS": str(seconds),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    watch, log = run_watched(command, server, folder, seconds, environment)
    marks = read_marks(folder / "marks") if (folder / "marks").exists() else {}
    if not (folder / "csv_stats.csv").exists() or set(marks) != {"spawned", "stopping"}:
        raise NotMeasured(f"Locust {' and '.join(marks) or 'never loaded'}: {log}")
    statistics = read_statistics(folder / "csv_stats.csv")
    if not statistics.get("Aggregated", {}).get("requests"):
        raise NotMeasured(f"no request was made: {(folder / 'csv_exceptions.csv').read_text()}")
    return {
        "statistics": statistics,
        "failures": read_failures(folder / "csv_failures.csv"),
        "usage": watch.usage(marks["spawned"], marks["stopping"]),
    }


def run_loadgen(row, seconds, server, folder):
    command = loadgen_command(
        f"-c {USERS} --ramp-up {SPAWN_RATE} --warmup {RAMP_S:g}s -d {seconds:g}s --workload reads"
        f" --workers {row.workers} --connect 127.0.0.1:{server.port} --server-pid"
        f" {server.pid} --json {folder / 'report.json'}"
    )
    watch, _ = run_watched(command, server, folder, seconds)
    report = json.loads((folder / "report.json").read_text())["result"]
    times, errors = report["response_ms"], sum(report["errors"].values())
    ended = watch.samples[-1].at
    whole = {
        "requests": report["answered"] + errors,
        "failures": errors,
        "median": times["p50"],
        "p95": times["p95"],
        "p99": times["p99"],
        "average": times["mean"],
        "size": None,
        "rate": report["requests_per_s"],
    }
    return {
        "statistics": {"Aggregated": whole},
        "failures": {},
        "usage": watch.usage(ended - report["seconds"], ended),
    }


def run_trial(row, seconds, python):
    """The record of a trial. Raises NotMeasured."""
    with tempfile.TemporaryDirectory(prefix="exchange-locust-") as name, ExchangeServer(
        store="sqlite:{folder}/exchange.db"
    ) as server:
        folder = Path(name)
        if row.user:
            record = run_locust(row, seconds, python, server, folder)
        else:
            record = run_loadgen(row, seconds, server, folder)
        settings = server.ready_line.split("policy=")[1].split(" http-port")[0]
        settings = settings.replace(server.folder.name + "/", "")
        return {"row": row.key, "seconds": seconds, "server": settings, **record}
