"""The journal of an exchange with a SQLite store: FILE.journal has the commands, the tables in FILE
the executions.

The program exchange-audit reads the commands: docs/audit.md of the exchange has the form of its
lines.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from exchange_client._described import Terms
from exchange_client.protocol import attribute

from .tape import Add, BadTape, Delete, DeleteAll, Event, Place, Replace, units

READER = "exchange-audit"
LIFETIMES = {"immediate_or_cancel": ' tif="ioc"', "fill_or_kill": ' tif="fok"'}
SELF_TRADES = {"cancel_resting": ' stp="cancel-resting"', "cancel_taking": ' stp="cancel-taking"'}


class Record(NamedTuple):
    time: int  # microseconds since the Unix epoch
    commands: list[tuple[str, dict[str, Any]]]  # name, and the members that are not as usual
    orders: int  # ids given so far
    executions: int


class Execution(NamedTuple):
    id: int
    buy_order: int
    sell_order: int
    shares: int
    price: int
    time: int


def _reader() -> str | None:
    """In the folder EXCHANGE_BIN, in that of a build of the checkout that this file is in, or on
    the PATH."""
    chosen = os.environ.get("EXCHANGE_BIN")
    folders = [chosen] if chosen else [str(one / "build/bin") for one in Path(__file__).parents]
    return shutil.which(
        READER, path=os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])
    )


def records(journal: Path) -> Iterator[Record]:
    """The journal FILE.journal, beside FILE. Raises BadTape, also after the records before what is
    damaged."""
    store = str(journal).removesuffix(".journal")
    program = _reader()
    if program is None:
        raise BadTape(
            f"{store}: the program {READER} of the exchange reads the journal of a store, but it is"
            " not on the PATH; EXCHANGE_BIN may name its folder"
        )
    with subprocess.Popen(
        [program, "--commands", f"sqlite:{store}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is not for it
    ) as process:
        assert process.stdout and process.stderr
        try:
            for line in process.stdout:
                row = json.loads(line)
                commands = [pair for one in row["commands"] for pair in one.items()]
                yield Record(row["time_us"], commands, row["orders"], row["executions"])
            problem = process.stderr.read().decode(errors="replace").removeprefix(f"{READER}: ")
            if process.wait() != 0:
                raise BadTape(problem if problem.startswith(store) else f"{store}: {problem}")
        finally:
            process.kill()


def read(place: Place, symbols: frozenset[str]) -> Iterator[Event]:
    """Events of accounts as owners, with the ids of the orders. The file has the tables."""
    path = place.path
    journal = Path(f"{path}.journal")
    if not path.exists() or not journal.exists():
        raise BadTape(f"{path}: a SQLite store is this file with its tables, and {journal.name}")
    try:
        tables = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            yield from _events(journal, tables, symbols)
        finally:
            tables.close()
    except (sqlite3.Error, TypeError, ValueError, KeyError) as error:  # tables of other types
        raise BadTape(f"{path}: {error}") from None


class Executions:
    """Those of the tables, each taken once, by the command that it followed from; without those of
    auctions."""

    def __init__(self, tables: sqlite3.Connection) -> None:
        columns = [row[1] for row in tables.execute("PRAGMA table_info(executions)")]
        where = "WHERE NOT of_auction" if "of_auction" in columns else ""
        self.rest = tables.execute(
            "SELECT id, buy_order, sell_order, shares_e8, price_e8, time_us FROM executions"
            f" {where} ORDER BY id"
        )
        self.before = dict(  # replaces, by their numbers
            tables.execute("SELECT number, executions_before FROM order_replacements")
        )
        self.advance()

    def advance(self) -> None:
        row = self.rest.fetchone()
        self.next = Execution._make(row) if row else None

    def skip_before(self, time: int) -> None:
        """Those of a journal's beginning that was pruned."""
        while self.next and self.next.time < time:
            self.advance()

    def take(self, order: int, number: int, through: int) -> tuple[tuple[str, int, int], ...]:
        """Returns the executions of an order that arrived as this number, up to that execution."""
        found = []
        while (one := self.next) and one.id <= through and order in (one.buy_order, one.sell_order):
            other = one.buy_order + one.sell_order - order
            if other > number:
                break  # that one arrived later
            found.append((str(other), one.shares, one.price))
            self.advance()
        return tuple(found)


def _events(journal: Path, tables: sqlite3.Connection, symbols: frozenset[str]) -> Iterator[Event]:
    executions = Executions(tables)
    symbol_of: dict[int, str] = {}
    order_of: dict[tuple[str, str], int] = {}  # by account and reference
    for at, record in enumerate(records(journal)):
        executions.skip_before(record.time)
        time = record.time * 1000
        numbered = [name for name, _ in record.commands if name in ("order", "replace")]
        number = record.orders - len(numbered)
        if at == 0 and number:
            print(f"{journal} begins after order {number}: no --keep-journal?", file=sys.stderr)
        replaces = deque(at for at, name in enumerate(numbered, number + 1) if name == "replace")
        for name, command in record.commands:
            named = command.get("account", ""), command.get("reference", "")
            order = command.get("order") or order_of.get(named, 0)
            if name in ("order", "replace"):
                number += 1
                if name == "order":
                    order = number
                    symbol_of[order] = command["symbol"]
                    if "reference" in command:
                        order_of[named] = order
                else:
                    replaces.popleft()
                through = record.executions
                if replaces:
                    through = executions.before.get(replaces[0], through)
                trades = executions.take(order, number, through)
            symbol = command.get("symbol") or symbol_of.get(order, "")
            if name == "cancel_all":
                yield DeleteAll(time, symbol, command["account"])
            elif not symbol or symbols and symbol not in symbols:
                continue
            elif name == "order":
                yield _add(time, command, order, trades)
            elif name == "cancel":
                yield Delete(time, symbol, str(order))
            elif name == "replace":
                shares, limit, ref = units(command["shares"]), units(command["limit"]), str(order)
                yield Replace(time, symbol, ref, ref, shares, limit, trades, as_protocol=True)


def _add(
    time: int, command: dict[str, Any], number: int, trades: tuple[tuple[str, int, int], ...]
) -> Add:
    price = units(command.get("limit", "0"))
    lifetime = LIFETIMES.get(command.get("lifetime", ""), "")
    terms = lifetime if price else ""
    terms += ' post="true"' if command.get("post_only") else ""
    terms += SELF_TRADES.get(command.get("self_trade", ""), "")
    for name in Terms.__annotations__.keys() & command.keys():  # as others are called in a journal
        terms += attribute(name, command[name])
    return Add(
        time,
        command["symbol"],
        str(number),
        command["side"] == "buy",
        units(command["shares"]),
        price,
        command["account"],
        terms,
        not lifetime and price > 0,
        trades,
    )
