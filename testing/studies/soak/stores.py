"""The stores that a soak or a size run works on: where the server finds them, how large they are, what they hold."""

import contextlib
import os
import shutil
import sqlite3
import sys
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scaling"))
from cluster import Cluster  # noqa: E402

KINDS = ("sqlite", "postgresql", "memory")
OPEN = "SELECT count(*) FROM orders WHERE open_e8 > 0"


class StoreError(Exception):
    pass


class SqliteFiles:
    """`name`.db in a folder, and the files beside it."""

    kind = "sqlite"

    def __init__(self, folder, name="exchange"):
        self.folder, self.name = Path(folder), name
        self.path = self.folder / f"{name}.db"

    @property
    def url(self):
        return f"sqlite:{self.path}"

    def files(self):
        return sorted(self.folder.glob(f"{self.name}.db*"))

    def sizes(self):
        size = lambda suffix: sum(
            file.stat().st_size
            for end in ("", "-wal")
            if (file := Path(f"{self.path}{suffix}{end}")).exists()
        )
        return {"tables": size(""), "journal": size(".journal")}

    def query(self, sql):
        # Closed at once: a connection that is open loses its locks when this process reads the file for a copy.
        with contextlib.closing(
            sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=30)
        ) as database:
            return database.execute(sql).fetchall()

    def copy_to(self, folder):
        """A copy of a store that no server has open."""
        copy = SqliteFiles(folder, self.name)
        for file in self.files():
            shutil.copyfile(file, copy.folder / file.name)
        return copy

    def remove(self):
        for file in self.files():
            file.unlink()

    def forget_pages(self):
        """Drops what the page cache holds of it. True where that could be asked for."""
        for file in self.files():
            with open(file, "rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return True

    def close(self):
        pass


class PostgresDatabase:
    """A database of a private cluster."""

    kind = "postgresql"

    def __init__(self, cluster, name=None):
        self.cluster = cluster
        self.name, self.url = (
            cluster.create_database()
            if name is None
            else (name, f"postgresql://exchange@/{name}?host={cluster.folder}")
        )

    def query(self, sql):
        return [tuple(line.split("|")) for line in self.cluster.query(self.name, sql).splitlines()]

    def sizes(self):
        rows = self.query(
            "SELECT sum(pg_total_relation_size(oid)) FILTER (WHERE relname <> 'journal'), sum(pg_total_relation_size(oid)) FILTER (WHERE"
            " relname = 'journal') FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        return {"tables": int(rows[0][0] or 0), "journal": int(rows[0][1] or 0)}

    def copy_to(self, _folder):
        name = f"copy{self.cluster.databases}"
        self.cluster.databases += 1
        self.cluster.query("postgres", f"CREATE DATABASE {name} TEMPLATE {self.name}")
        return PostgresDatabase(self.cluster, name)

    def remove(self):
        self.cluster.drop_database(self.name)

    def forget_pages(self):
        """The database's own memory goes with a restart, the page cache by asking."""
        self.cluster.restart()
        return True

    def close(self):
        pass


class Memory:
    kind = "memory"
    url = "memory:"

    def sizes(self):
        return {}

    def close(self):
        pass


class KeptCluster(Cluster):
    """A cluster that can end and begin again, and whose folder may be kept for another run."""

    def __init__(self, folder=None):
        self.keep = folder is not None
        if self.keep and (Path(folder) / "data").exists():
            self._reopen(Path(folder))
            return
        super().__init__()
        if self.keep:
            self._halt()
            shutil.copytree(self.folder, folder, symlinks=True)
            self._own(folder)
            shutil.rmtree(self.folder)
            self._reopen(Path(folder))

    def _own(self, folder):
        if self.owner:
            for path in [Path(folder), *Path(folder).rglob("*")]:
                shutil.chown(path, "postgres", "postgres")

    def _reopen(self, folder):
        from cluster import find_binaries

        self.binaries, self.folder = find_binaries(), folder
        self.owner = (
            {"user": "postgres", "group": "postgres", "extra_groups": []}
            if os.geteuid() == 0
            else {}
        )
        config = folder / "data/postgresql.conf"
        lines = [
            line
            for line in config.read_text().splitlines()
            if not line.startswith("unix_socket_directories")
        ]
        config.write_text("\n".join([*lines, f"unix_socket_directories = '{folder}'"]) + "\n")
        (folder / "data/postmaster.pid").unlink(missing_ok=True)
        self._start()
        self.databases = int(self.query("postgres", "SELECT count(*) FROM pg_database")) + 1000
        self.version = self.query("postgres", "SHOW server_version").strip()

    def _start(self):
        self._run(
            "pg_ctl",
            "-D",
            self.folder / "data",
            "-l",
            self.folder / "log",
            "-w",
            "-t",
            "600",
            "start",
        )
        self.pid = int((self.folder / "data/postmaster.pid").read_text().split()[0])

    def _halt(self):
        self._run("pg_ctl", "-D", self.folder / "data", "-m", "fast", "-w", "-t", "600", "stop")

    def restart(self):
        self._halt()
        for file in (self.folder / "data").rglob("*"):
            if file.is_file():
                with open(file, "rb") as opened:
                    os.fsync(opened.fileno())
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self._start()

    def stop(self):
        if self.keep:
            self._halt()
        else:
            super().stop()


def conservation(store):
    """What is wrong with the sums of cash and shares in the tables, as sentences. The server must have ended in order."""
    problems = []
    created = sum(int(row[0]) for row in store.query("SELECT cash_created_e16 FROM projection"))
    free = sum(int(row[0]) for row in store.query("SELECT balance_e16 FROM accounts"))
    buys = "is_buy" if store.kind == "postgresql" else "is_buy = 1"
    set_aside = sum(
        int(row[0]) * int(row[1])
        for row in store.query(f"SELECT open_e8, limit_e8 FROM orders WHERE open_e8 > 0 AND {buys}")
    )
    if free + set_aside != created:
        problems.append(
            f"accounts have {Decimal(free + set_aside).scaleb(-16)} in cash, where {Decimal(created).scaleb(-16)} was created"
        )
    held = {}
    for sql in (
        "SELECT symbol, sum(shares_e8) FROM positions GROUP BY symbol",
        f"SELECT symbol, sum(open_e8) FROM orders WHERE open_e8 > 0 AND NOT ({buys}) GROUP BY symbol",
    ):
        for symbol, shares in store.query(sql):
            held[int(symbol)] = held.get(int(symbol), 0) + int(shares)
    for number, name, total in store.query("SELECT number, name, shares_total_e8 FROM symbols"):
        if held.get(int(number), 0) != int(total):
            problems.append(
                f"there are {held.get(int(number), 0)} units of {name}, where {total} were created"
            )
    return problems
