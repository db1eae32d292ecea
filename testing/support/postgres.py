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
    """Runs from its construction to stop(). Without `folder` in a temporary one that stop()
    removes; a `folder` is kept, and found again."""

    def __init__(self, folder=None):
        self.binaries = find_binaries()
        as_root = os.geteuid() == 0  # PostgreSQL refuses to run as root
        self.owner = (
            {"user": "postgres", "group": "postgres", "extra_groups": []} if as_root else {}
        )
        self.keep = folder is not None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="exchange-pg-"))
        self.data, self.databases = self.folder / "data", 0
        try:
            if self.data.exists():
                (self.data / "postmaster.pid").unlink(missing_ok=True)
                self.databases = 1000  # beyond the names of earlier runs
            else:
                self._create()
            # The last setting counts: a kept folder may have moved.
            with open(self.data / "postgresql.conf", "a") as file:
                file.write(f"unix_socket_directories = '{self.folder}'\n")
            self._start()
            self.version = self.query("postgres", "SHOW server_version").strip()
            if self.databases:
                self.databases += int(self.query("postgres", "SELECT count(*) FROM pg_database"))
        except BaseException:
            self.stop()
            raise

    def _create(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.owner:
            shutil.chown(self.folder, "postgres", "postgres")
        options = "-U exchange -A trust -E UTF8 --no-locale --no-sync"
        self._run("initdb", "-D", self.data, *options.split())
        with open(self.data / "postgresql.conf", "a") as file:
            file.write("listen_addresses = ''\nmax_connections = 50\nlog_min_messages = panic\n")

    def _control(self, *words, **more):
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "600", *words, **more)

    def _start(self):
        self._control("-l", self.folder / "log", "start")
        self.pid = int((self.data / "postmaster.pid").read_text().split()[0])

    def restart(self):
        """With nothing in its own memory, and as little as possible in the page cache."""
        self._control("-m", "fast", "stop")
        for file in self.data.rglob("*"):
            if file.is_file():
                forget_pages(file)
        self._start()

    def stop(self):
        if (self.data / "postmaster.pid").exists():
            self._control("-m", "fast" if self.keep else "immediate", "stop", check=self.keep)
        if not self.keep:
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
        return name, self.url(name)

    def url(self, database):
        return f"postgresql://exchange@/{database}?host={self.folder}"

    def drop_database(self, name):
        self.query("postgres", f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def forget_pages(file):
    """Writes a file back and drops what the page cache has of it."""
    with open(file, "rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
