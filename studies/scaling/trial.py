"""One trial: one run of the load generator, sampled from outside; its report."""

import json
import os
import tempfile
import time
from pathlib import Path

from cells import loadgen_arguments, seconds_loaded
from machine import cpu_times
from load import Watch, run_session

GRACE_S = 150  # beyond the time wanted; then a trial counts as hung
USAGE = 2  # its exit code for what this machine does not allow, such as too few descriptors
LEFT_OUT = ("response_histogram", "service_histogram")


def run_trial(loadgen, cell, placement, trial, settings, cluster=None):
    """The record of the trial. A KeyboardInterrupt stops the load generator, and so its server,
    first."""
    record = {"cell": cell.key, "trial": trial}
    database = url = None
    busy, stolen, everything = cpu_times()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="exchange-scaling-") as folder:
        report_file = Path(folder) / "report.json"
        try:
            if cell.store == "postgresql":
                pin(cluster, placement.database or sorted(os.sched_getaffinity(0)))
                database, url = cluster.create_database()
            pid = cluster.pid if cluster else None
            arguments = loadgen_arguments(cell, placement, trial, settings, url, pid)
            record["command"] = ["loadgen", *arguments]
            limit_s, log = GRACE_S + seconds_loaded(cell, settings), Path(folder) / "log"
            command = [loadgen, *arguments, "--json", report_file]
            code, watch = run_session(command, log, limit_s, ServerWatch)
            record["exit"] = code
            record["core_thread_share"] = watch.core_share()
            record["report"] = read_report(report_file)
            if record["report"] is None:
                reason = last_line(log.read_text()) or f"the load generator ended with {code}"
                reason = f"killed after {limit_s:.0f} s without an end" if code is None else reason
                record["refused" if code == USAGE else "failed"] = reason
        finally:
            if database:
                cluster.drop_database(database)
    record["wall_s"] = round(time.monotonic() - began, 3)
    busy_after, stolen_after, everything_after = cpu_times()
    whole = max(everything_after - everything, 1e-9)
    record["machine_busy"] = round((busy_after - busy) / whole, 4)
    record["machine_stolen"] = round((stolen_after - stolen) / whole, 4)
    return record


def children(pid):
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def pin(cluster, cpus):
    """Postmaster and everything it has started; what it starts later inherits."""
    for pid in [cluster.pid, *children(cluster.pid)]:
        try:
            os.sched_setaffinity(pid, cpus)
        except ProcessLookupError:
            pass


def read_report(file):
    try:
        report = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    if report.get("format") != "exchange-loadgen/1":
        raise SystemExit(
            f"the load generator wrote format {report.get('format')!r}, not exchange-loadgen/1:"
            " build it again"
        )
    for name in LEFT_OUT:
        report["result"].pop(name, None)
    report.pop("series", None)
    return report


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:400] if lines else ""


class ServerWatch(Watch):
    """The CPU time of the private server and of its core thread, the one serial stage, 20 times a
    second."""

    def __init__(self, loadgen_pid):
        super().__init__(0.05)
        self.loadgen_pid = loadgen_pid
        self.server_pid = self.core_file = None

    def take(self):
        """CPU seconds of the server, and of its core thread."""
        try:
            if self.core_file is None and not self._find_core():
                return None
            core = int(self.core_file.read_text().split()[0]) / 1e9
            whole = time.clock_gettime((~self.server_pid << 3) | 2)  # the CPU clock of that process
            return whole, core
        except (OSError, ValueError, IndexError):
            return None  # gone, or not there yet

    def _find_core(self):
        for pid in children(self.loadgen_pid):
            for task in Path(f"/proc/{pid}/task").iterdir():
                if (task / "comm").read_text().strip() == "core":
                    self.server_pid, self.core_file = pid, task / "schedstat"
        return self.core_file is not None

    def core_share(self):
        """Core thread's part of the server's CPU time; None if the samples are too few."""
        # Start, warm-up and end are left out: those while the server used the rest of its time.
        all_of_it = self.samples[-1][0] if self.samples else 0
        inside = [one for one in self.samples if 0.2 * all_of_it <= one[0] <= 0.9 * all_of_it]
        if len(inside) < 3:
            return None
        whole, core = (last - first for first, last in zip(inside[0], inside[-1], strict=True))
        return round(core / whole, 4) if whole >= 0.05 else None
