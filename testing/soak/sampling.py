"""What a server holds and does, sampled from outside while it runs: /proc, /metrics, and the files of its store."""

import os
import threading
import time
from pathlib import Path

from exchange_server import PATIENCE_S, read_metrics

METRICS = {  # name here -> name in /metrics
    "lag_s": "exchange_projection_lag_seconds",
    "lag_batches": "exchange_projection_lag_batches",
    "queue_depth": "exchange_queue_depth",
    "orders_in_memory": "exchange_orders_in_memory",
    "requests": "exchange_requests_total",
    "executions": "exchange_executions_total",
    "orders_read": "exchange_orders_read_total",
    "connections": "exchange_connections",
    "store_failures": "exchange_store_failures_total",
}


def resident_bytes(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def cpu_seconds(pid):
    return time.clock_gettime((~pid << 3) | 2)  # the CPU clock of that process


def metrics(http_port, timeout_s=PATIENCE_S):
    """{name: value} of samples without labels, or with any where there is one only."""
    return {
        name.partition("{")[0]: value for name, value in read_metrics(http_port, timeout_s).items()
    }


class Sampler:
    """Samples every `interval_s` on a thread of its own until stop(). `sizes` returns {what: bytes} of the store's files."""

    def __init__(self, pid, http_port, sizes, interval_s):
        self.pid, self.http_port, self.sizes, self.interval_s = pid, http_port, sizes, interval_s
        self.samples, self.problem = [], None
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.began = time.monotonic()
        self.thread.start()

    def stop(self):
        self.stopped.set()
        self.thread.join()
        if self.problem:
            raise self.problem
        return self.samples

    def _run(self):
        try:
            while True:
                self.samples.append(self._sample())
                if self.stopped.wait(self.interval_s):
                    return
        except Exception as problem:  # raised by stop(): the server may have gone
            self.problem = problem

    def _sample(self):
        counted = metrics(self.http_port)
        sample = {
            "t": round(time.monotonic() - self.began, 3),
            "rss": resident_bytes(self.pid),
            "cpu_s": cpu_seconds(self.pid),
            "fds": descriptors(self.pid),
            "threads": threads(self.pid),
        }
        sample |= {name: counted[metric] for name, metric in METRICS.items()}
        return sample | {f"{what}_bytes": size for what, size in self.sizes().items()}
