"""A private PostgreSQL cluster in a temporary folder, with its default durability; removed at the end."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path


class ClusterError(Exception):
    pass


def find_binaries():
    """Debian keeps the programs of each version apart: the newest."""
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if not versions:
        raise ClusterError(
            "PostgreSQL is not installed: no initdb under /usr/lib/postgresql (Debian package postgresql)"
        )
    return max(versions, key=lambda path: float(path.parent.name))


class Cluster:
    def __init__(self):
        self.binaries = find_binaries()
        self.databases = 0
        self.owner = (
            {"user": "postgres", "group": "postgres", "extra_groups": []}
            if os.geteuid() == 0
            else {}
        )  # refuses to run as root
        self.folder = Path(tempfile.mkdtemp(prefix="exchange-scaling-pg-"))
        try:
            if self.owner:
                shutil.chown(self.folder, "postgres", "postgres")
            self._run(
                "initdb",
                "-D",
                self.folder / "data",
                "-U",
                "exchange",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-locale",
                "--no-sync",
            )
            with open(self.folder / "data/postgresql.conf", "a") as file:
                file.write(
                    f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nmax_connections = 50\nlog_min_messages = panic\n"
                )
            self._run(
                "pg_ctl",
                "-D",
                self.folder / "data",
                "-l",
                self.folder / "log",
                "-w",
                "-t",
                "300",
                "start",
            )
            self.pid = int((self.folder / "data/postmaster.pid").read_text().split()[0])
            self.version = self.query("postgres", "SHOW server_version").strip()
        except BaseException:
            self.stop()
            raise

    def _run(self, program, *arguments, check=True, text=None):
        done = subprocess.run(
            [self.binaries / program, *map(str, arguments)],
            cwd="/",
            input=text,
            capture_output=True,
            text=True,
            start_new_session=True,
            **self.owner,
        )
        if check and done.returncode != 0:
            raise ClusterError(f"{program} failed: {done.stdout}{done.stderr}".strip())
        return done.stdout

    def query(self, database, sql):
        return self._run(
            "psql",
            "-X",
            "-At",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            self.folder,
            "-U",
            "exchange",
            "-d",
            database,
            "-f",
            "-",
            text=sql,
        )

    def create_database(self):
        self.databases += 1
        name = f"exchange{self.databases}"
        self.query("postgres", f"CREATE DATABASE {name}")
        return name, f"postgresql://exchange@/{name}?host={self.folder}"

    def drop_database(self, name):
        self.query("postgres", f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def pin(self, cpus):
        """Postmaster and everything it has started; what it starts later inherits."""
        for pid in [self.pid, *children(self.pid)]:
            try:
                os.sched_setaffinity(pid, cpus)
            except ProcessLookupError:
                pass

    def sampler(self, database):
        return WaitSampler(self, database)

    def stop(self):
        if (self.folder / "data/postmaster.pid").exists():
            self._run(
                "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop", check=False
            )
        shutil.rmtree(self.folder, ignore_errors=True)


class WaitSampler:
    """What the exchange's sessions wait for, looked at ten times a second by one psql."""

    # Sessions that wait for the client are idle: the exchange has nothing for them.
    QUERY = """SELECT extract(epoch FROM clock_timestamp()),
        CASE WHEN state <> 'active' AND wait_event_type = 'Client' THEN 'idle'
             WHEN wait_event IS NULL THEN 'running' ELSE wait_event_type || ':' || wait_event END, count(*)
      FROM pg_stat_activity WHERE datname = '{database}' AND backend_type = 'client backend' GROUP BY 2 \\watch 0.1
"""

    def __init__(self, cluster, database):
        self.process = subprocess.Popen(
            [
                cluster.binaries / "psql",
                "-X",
                "-At",
                "-h",
                cluster.folder,
                "-U",
                "exchange",
                "-d",
                "postgres",
            ],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            **cluster.owner,
        )
        self.process.stdin.write(self.QUERY.format(database=database))
        self.process.stdin.flush()

    def finish(self):
        """[(time, event, sessions), ...]"""
        self.process.kill()
        output, _ = self.process.communicate()
        return parse_samples(output)


def parse_samples(output):
    samples = []
    for line in output.splitlines():
        words = line.split("|")
        if len(words) != 3:
            continue  # \watch prints the time above each round
        try:
            samples.append((float(words[0]), words[1], int(words[2])))
        except ValueError:
            continue
    return samples


def count_waits(samples, begin, end):
    """{event: sessions, summed over the samples}, and the number of samples, between two times."""
    counts, times = {}, set()
    for at, event, sessions in samples:
        if begin <= at <= end:
            counts[event] = counts.get(event, 0) + sessions
            times.add(round(at, 2))
    return {"samples": len(times), "sessions": dict(sorted(counts.items()))}


def children(pid):
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
