"""A private PostgreSQL cluster with its default durability, reached by a socket in its folder only.
"""

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
            "PostgreSQL is not installed: no initdb under /usr/lib/postgresql (Debian package"
            " postgresql)"
        )
    return max(versions, key=lambda path: float(path.parent.name))


class Cluster:
    """Runs from its construction to stop(), in a temporary folder."""

    def __init__(self):
        self.binaries = find_binaries()
        as_root = os.geteuid() == 0  # PostgreSQL refuses to run as root
        self.owner = (
            {"user": "postgres", "group": "postgres", "extra_groups": []} if as_root else {}
        )
        self.folder = Path(tempfile.mkdtemp(prefix="exchange-pg-"))
        self.data, self.databases = self.folder / "data", 0
        try:
            self._create()
            self._control("-l", self.folder / "log", "start")
            self.pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except BaseException:
            self.stop()
            raise

    def _create(self):
        if self.owner:
            shutil.chown(self.folder, "postgres", "postgres")
        options = "-U exchange -A trust -E UTF8 --no-locale --no-sync"
        self._run("initdb", "-D", self.data, *options.split())
        with open(self.data / "postgresql.conf", "a") as file:
            file.write("listen_addresses = ''\nmax_connections = 50\nlog_min_messages = panic\n")
            file.write(f"unix_socket_directories = '{self.folder}'\n")

    def _control(self, *words, **more):
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "600", *words, **more)

    def stop(self):
        if (self.data / "postmaster.pid").exists():
            self._control("-m", "immediate", "stop", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

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

    def psql(self, database):
        """The command of a psql that reads SQL from its input."""
        return ["psql", "-X", "-At", "-h", self.folder, "-U", "exchange", "-d", database]

    def query(self, database, sql):
        return self._run(*self.psql(database), "-v", "ON_ERROR_STOP=1", "-f", "-", text=sql)

    def dump(self, database):
        """The database as SQL that query() runs, without what depends on the version of
        PostgreSQL."""
        options = "--no-owner --no-privileges -U exchange"
        sql = self._run("pg_dump", *options.split(), "-h", self.folder, "-d", database)
        return "".join(
            line
            for line in sql.splitlines(True)
            if not line.startswith(("--", "\\restrict", "\\unrestrict"))
        )

    def create_database(self):
        """Name and URL."""
        self.databases += 1
        name = f"exchange{self.databases}"
        self.query("postgres", f"CREATE DATABASE {name}")
        return name, f"postgresql://exchange@/{name}?host={self.folder}"

    def drop_database(self, name):
        self.query("postgres", f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
