"""What `run` and `size` share: a store that outlives its server, the server, and the load
generator."""

import argparse
import contextlib
import json
import os
import sqlite3
import subprocess
import tempfile
from pathlib import Path

from exchange_server import ExchangeServer, ServerError, loadgen_command, read_metrics, wait_until
from postgres import Cluster

MIB = 1 << 20


def make_parser(description, output):
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--store", choices=("sqlite", "postgresql"), default="sqlite", help="(default: sqlite)")
    quick = "a few seconds, to see that everything works; its figures mean nothing"
    add("--quick", action="store_true", help=quick)
    folder = "for results.json (default: %(default)s)"
    add("--output", type=Path, default=Path(output), metavar="FOLDER", help=folder)
    return parser


class SqliteStore:
    def __init__(self, folder):
        self.path = Path(folder) / "exchange.db"
        self.url = f"sqlite:{self.path}"

    def query(self, sql):
        """The rows of a SELECT, while no server runs."""
        with contextlib.closing(sqlite3.connect(self.path)) as database:
            return database.execute(sql).fetchall()


class PostgresStore:
    def __init__(self, cluster):
        self.cluster = cluster
        self.name, self.url = cluster.create_database()

    def query(self, sql):
        return [line.split("|") for line in self.cluster.query(self.name, sql).splitlines()]


@contextlib.contextmanager
def new_store(kind):
    """An empty store, which is removed at the end of the block."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="exchange-soak-") as folder:
            yield SqliteStore(folder)
    else:
        cluster = Cluster()
        try:
            yield PostgresStore(cluster)
        finally:
            cluster.stop()


class Server(ExchangeServer):
    start_s, stop_s = 600, 60

    def __init__(self, store):
        super().__init__(store=store.url)

    def resident_bytes(self):
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def catch_up_and_stop(self):
        """Afterwards the tables hold everything."""
        lag = lambda: read_metrics(self.http_port)["exchange_projection_lag_batches"]
        wait_until(lambda: lag() == 0, "the tables to catch up", 600)
        self.stop()


def loadgen(target, arguments, each=lambda: None, every_s=5):
    """The report of a run on a server, or on a private one with a store as `target`. Meanwhile
    calls each() every `every_s` seconds."""
    if isinstance(target, Server):
        target = f"--connect 127.0.0.1:{target.port}"
    else:
        target = f"--store {target.url}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        command = loadgen_command(f"{target} --json {file} {arguments}")
        with subprocess.Popen(command) as process:
            try:
                while process.poll() is None:
                    each()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(every_s)
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise ServerError(f"loadgen {arguments} ended with status {process.returncode}")
        return json.loads(file.read_text())


def conclude(output, result):
    """Writes the result, prints its failures, and returns the exit status."""
    output.mkdir(parents=True, exist_ok=True)
    (output / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    for failure in result["failures"]:
        print(f"failed: {failure}")
    print("failed" if result["failures"] else "passed")
    return 1 if result["failures"] else 0
