"""A server among hostile peers: starts attacks, drives good clients through loadgen, reads the
state of the server.

Used by tests/ (short), by run (full), and by testing/judges/run."""

import contextlib
import http.client
import json
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from exchange_server import Connection, process_cpu_seconds, read_metrics, run_loadgen

ATTACKS = Path(__file__).with_name("attacks.py")
PATIENCE_S = 60


def raise_descriptor_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def memory_mib(pid, field="VmRSS"):
    """VmRSS now; VmHWM the most there ever was."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1024


def connections(server):
    """How many are open on the XML port."""
    gauges = read_metrics(server.http_port).items()
    return int(sum(value for name, value in gauges if name.startswith("exchange_connections{")))


def ended(server):
    """{reason: connections} that the server ended or refused."""
    labels = {"refused": 0}
    for name, value in read_metrics(server.http_port).items():
        if name.startswith("exchange_connections_ended_total"):
            labels[re.search(r'"(\w+)"', name)[1]] = int(value)
        elif name.startswith("exchange_connections_refused_total"):
            labels["refused"] += int(value)
    return labels


def seconds_until_answered(port):
    """From now until a new client gets its reply; it connects again if it is refused."""
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE_S:
        with contextlib.suppress(OSError):
            with Connection(port, timeout_s=5) as newcomer:
                reply = newcomer.ask('<transactions id="0"><query id="1"/></transactions>')
                if "unknown account" in reply:
                    return time.monotonic() - began
    raise RuntimeError(f"no newcomer was answered in {PATIENCE_S} s")


def make_long_order(server, executions):
    """The id of an open order of account 1 with this number of executions; while it
    is open, the server answers from memory."""
    accounts = '<account id="1" balance="100000000"/><account id="2" balance="0"/>'
    shares = f'<symbol sym="HOSTILE"><account id="2">{executions}</account></symbol>'
    order = f'<order sym="HOSTILE" amount="{executions + 1}" limit="1"/>'
    _, opened = server.request(
        f"<create>{accounts}{shares}</create>", f'<transactions id="1">{order}</transactions>'
    )
    for first in range(0, executions, 10_000):
        orders = '<order sym="HOSTILE" amount="-1" limit="1"/>' * min(10_000, executions - first)
        server.request(f'<transactions id="2">{orders}</transactions>')
    return re.search(r' id="(\d+)"', opened)[1]


def make_symbols(server, count):
    at_once = 16_000
    for first in range(0, count, at_once):
        names = range(first, min(first + at_once, count))
        symbols = "".join(f'<symbol sym="H{number}"/>' for number in names)
        server.request(f"<create>{symbols}</create>")


class HealthChecks:
    """Reads the paths, each on a connection of its own, again and again inside the block; then
    worst_s has the longest time that one took, and failures how many were not 200."""

    def __init__(self, port, pause_s=0.02, source="127.0.0.1", paths=("/healthz", "/readyz")):
        self.port, self.pause_s, self.source, self.paths = port, pause_s, source, paths
        self.worst_s, self.checks, self.failures = 0.0, 0, 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stopping.wait(self.pause_s):
            for path in self.paths:
                began = time.monotonic()
                try:
                    client = http.client.HTTPConnection(
                        "127.0.0.1", self.port, 10, (self.source, 0)
                    )
                    client.request("GET", path)
                    failed = client.getresponse().status != 200
                    client.close()
                except OSError:
                    failed = True
                self.checks += 1
                self.failures += failed
                self.worst_s = max(self.worst_s, time.monotonic() - began)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()


class Attack:
    """One of attacks.py, running inside the block; after it `result` has the fates of its peers."""

    def __init__(self, kind, port, count, addresses="2", order="1", cpu=None):
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        words = (sys.executable, ATTACKS, kind, port, count, addresses, order)
        self.command = [*pin, *map(str, words)]
        self.result = None

    def __enter__(self):
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self.process.stdout.readline() != "ready\n":
            self.__exit__()
            raise RuntimeError("the attack did not begin")
        self.began_in_s = time.monotonic() - self.began
        return self

    def cpu_seconds(self):
        return process_cpu_seconds(self.process.pid)

    def __exit__(self, *_):
        self.process.stdin.close()
        lines = self.process.stdout.read().splitlines()
        self.process.stdout.close()
        self.process.wait(PATIENCE_S)
        self.result = json.loads(lines[-1]) if lines else None


def run_good_clients(server, options, clients=50, cpu=None):
    """loadgen against a running server, every reply checked: (whether all was well, its figures,
    its output)."""
    pin = f"--client-cpus {cpu}" if cpu is not None else ""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        code, said = run_loadgen(
            f"--connect 127.0.0.1:{server.port} -c {clients} --json {file.name} {pin} {options}"
        )
        text = file.read()
    return code == 0, json.loads(text) if text else None, said
