"""The stores that a soak or a size run works on: where the server finds them, how large they are, what they hold."""

import contextlib
import shutil
import sqlite3
from decimal import Decimal
from pathlib import Path

from postgres import forget_pages

KINDS = ("sqlite", "postgresql", "memory")
OPEN = "SELECT count(*) FROM orders WHERE open_e8 > 0"


def orders(store):
    """All orders that the tables hold."""
    return int(store.query("SELECT orders FROM projection")[0][0])


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
        """Drops its pages from the page cache."""
        for file in self.files():
            forget_pages(file)

    def close(self):
        pass


class PostgresDatabase:
    """A database of a private cluster."""

    kind = "postgresql"

    def __init__(self, cluster, name=None):
        self.cluster = cluster
        self.name = name or cluster.create_database()[0]
        self.url = cluster.url(self.name)

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
        """Restarts the database, which empties its own memory, and drops its pages from the page cache."""
        self.cluster.restart()

    def close(self):
        pass


class Memory:
    kind = "memory"
    url = "memory:"

    def sizes(self):
        return {}

    def close(self):
        pass


def conservation(store):
    """Wrong sums of cash and shares in the tables, as sentences. The server must have stopped normally."""
    problems = []
    created = sum(int(row[0]) for row in store.query("SELECT cash_created_e16 FROM projection"))
    free = sum(int(row[0]) for row in store.query("SELECT balance_e16 FROM accounts"))
    buys = "is_buy" if store.kind == "postgresql" else "is_buy = 1"
    reserved = sum(
        int(row[0]) * int(row[1])
        for row in store.query(f"SELECT open_e8, limit_e8 FROM orders WHERE open_e8 > 0 AND {buys}")
    )
    if free + reserved != created:
        problems.append(
            f"accounts have {Decimal(free + reserved).scaleb(-16)} in cash, where {Decimal(created).scaleb(-16)} was created"
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
