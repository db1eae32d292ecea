"""The journal of an exchange with a SQLite store: FILE.journal has the commands, the tables in FILE the executions.

The forms are those of server/journal/journal_file.hpp and journal_record.hpp. Records are verified by the
CRC at their end, and the end of the journal is where the next batch does not follow.
"""

from __future__ import annotations

import sqlite3
import struct
import sys
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .tape import Add, BadTape, Delete, DeleteAll, Event, Place, Replace

HEADER_BYTES, BLOCK_HEADER_BYTES, ALIGN_BYTES = 4096, 32, 32
FRAGMENT = struct.Struct("<QIIQQ")  # checksum, payload bytes, flags, batch, epoch
FIRST, LAST, EPOCH = 1, 2, 4
BLOCK_BYTES_MAX = 1 << 30
FORMATS = range(100, 102)  # store_format of the versions whose records have this form
KEY_BYTES = 47
LIFETIMES = ("", ' tif="ioc"', ' tif="fok"')
SELF_TRADES = ("", ' stp="cancel-resting"', ' stp="cancel-taking"')

# The commands by kind, with their fields in order; ! is always written.
COMMANDS = (
    ("CreateAccount", "account! key balance"),
    ("CreateSymbol", "symbol!"),
    ("PlaceShares", "symbol! account! shares!"),
    (
        "PlaceOrder",
        "account! symbol! side lifetime post self_trade must_exist shares! limit reference",
    ),
    ("CancelOrder", "account! order reference at_disconnect"),
    ("QueryOrder", "account! order of_any reference from"),
    ("CancelAll", "account! symbol"),
    ("ReplaceOrder", "account! side order shares! limit reference"),
    ("RecordEvents", "account!"),
    ("SetInstrument", "symbol tick price_min price_max band lot order_max at_band trading"),
    ("SetKey", "account! key"),
    (
        "SetAccount",
        "account! role access cancel_orders orders_max orders_per_second_max position_max name",
    ),
    ("AdjustCash", "account! takes balance reference"),
    ("AdjustShares", "account! symbol! takes shares! reference"),
    ("BeginRound", "reference!"),
)
TEXTS = ("account", "symbol", "reference", "name")
ENUMERATORS = ("side", "lifetime", "self_trade", "at_band", "trading", "role", "access")
FLAGS = ("post", "must_exist", "at_disconnect", "of_any", "cancel_orders", "takes")


class Record(NamedTuple):
    time: int  # microseconds since the Unix epoch
    commands: list[tuple[str, dict[str, Any]]]
    orders: int  # ids given so far
    executions: int


class Execution(NamedTuple):
    id: int
    buy_order: int
    sell_order: int
    shares: int
    price: int
    time: int


class Decoder:
    def __init__(self, payload: bytes) -> None:
        self.payload, self.at = payload, 0

    def byte(self) -> int:
        self.at += 1
        return self.payload[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def field(self, name: str) -> Any:
        if name in TEXTS:
            size = self.byte()
            self.at += size
            return self.payload[self.at - size : self.at].decode()
        if name == "key":
            self.at += KEY_BYTES
            return None
        if name in ENUMERATORS:
            return self.byte()
        if name in FLAGS:
            return True
        if name == "balance":
            return self.varint() | self.varint() << 64
        return self.varint()

    def command(self) -> tuple[str, dict[str, Any]]:
        name, described = COMMANDS[self.byte()]
        present = self.varint()
        fields = {}
        for field in described.split():
            if field.endswith("!"):
                fields[field[:-1]] = self.field(field[:-1])
            else:
                fields[field] = self.field(field) if present & 1 else None
                present >>= 1
        return name, fields

    def record(self) -> Record:
        if self.byte() not in FORMATS:
            raise ValueError("a record of another version of the exchange")
        time = self.varint()
        commands = [self.command() for _ in range(self.varint())]
        return Record(time, commands, self.varint(), self.varint())


def records(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
        if header[:8] != b"EXCHJRN1" or len(header) < HEADER_BYTES:
            raise BadTape(f"{path}: byte 0: not a journal of a SQLite store")
        (block_bytes,) = struct.unpack_from("<Q", header, 40)
        if not BLOCK_HEADER_BYTES < block_bytes <= BLOCK_BYTES_MAX:
            raise BadTape(f"{path}: byte 40: blocks of {block_bytes} bytes")
        blocks = []
        start = HEADER_BYTES
        while len(block := file.read(BLOCK_HEADER_BYTES)) == BLOCK_HEADER_BYTES:
            if block[:8] == b"EXCHBLK1":
                blocks.append((struct.unpack_from("<Q", block, 8)[0], start))
            start += block_bytes
            file.seek(start)
        newest: int | None = None
        parts: list[bytes] = []  # of a record
        is_whole = False
        for number, (_, start) in enumerate(sorted(blocks), 1):
            file.seek(start)
            data = file.read(block_bytes)
            at = BLOCK_HEADER_BYTES
            while at + FRAGMENT.size <= len(data):
                _, size, flags, batch, _ = FRAGMENT.unpack_from(data, at)
                payload = data[at + FRAGMENT.size : at + FRAGMENT.size + size]
                if not 0 < flags < 8 or len(payload) < size:
                    break
                at += FRAGMENT.size + -(-size // ALIGN_BYTES) * ALIGN_BYTES
                if flags & EPOCH:
                    continue
                if newest is not None and batch != newest + 1:
                    break  # what the block held before
                if flags & FIRST:
                    parts.clear()
                    is_whole = True
                parts.append(payload)
                if not flags & LAST:
                    continue
                newest = batch
                if not is_whole:
                    continue  # a block before was used again
                record = b"".join(parts)
                if zlib.crc32(record[:-4]).to_bytes(4, "little") != record[-4:]:
                    if number < len(blocks):
                        raise BadTape(f"{path}: byte {start + at}: a record before it is damaged")
                    return  # cut off by a crash
                try:
                    yield Decoder(record).record()
                except (ValueError, IndexError) as error:
                    raise BadTape(f"{path}: byte {start + at}: {error}") from None


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
    """Those of the tables, each taken once, by the command that it followed from; without those of auctions."""

    def __init__(self, tables: sqlite3.Connection) -> None:
        columns = [row[1] for row in tables.execute("PRAGMA table_info(executions)")]
        where = "WHERE NOT of_auction" if "of_auction" in columns else ""
        self.rest = tables.execute(
            f"SELECT id, buy_order, sell_order, shares_e8, price_e8, time_us FROM executions {where} ORDER BY id"
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
        """Of an order that arrived as this number, up to an execution."""
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
        numbered = [name for name, _ in record.commands if name in ("PlaceOrder", "ReplaceOrder")]
        number = record.orders - len(numbered)
        if at == 0 and number:
            print(f"{journal} begins after order {number}: no --keep-journal?", file=sys.stderr)
        replaces = deque(
            at for at, name in enumerate(numbered, number + 1) if name == "ReplaceOrder"
        )
        for name, command in record.commands:
            order = command.get("order") or order_of.get(
                (command.get("account", ""), command.get("reference") or ""), 0
            )
            if name in ("PlaceOrder", "ReplaceOrder"):
                number += 1
                if name == "PlaceOrder":
                    order = number
                    symbol_of[order] = command["symbol"]
                    if command["reference"]:
                        order_of[command["account"], command["reference"]] = order
                else:
                    replaces.popleft()
                through = record.executions
                if replaces:
                    through = executions.before.get(replaces[0], through)
                trades = executions.take(order, number, through)
            symbol = command.get("symbol") or symbol_of.get(order, "")
            if name == "CancelAll":
                yield DeleteAll(time, symbol, command["account"])
            elif not symbol or symbols and symbol not in symbols:
                continue
            elif name == "PlaceOrder":
                yield _add(time, command, order, trades)
            elif name == "CancelOrder":
                yield Delete(time, symbol, str(order))
            elif name == "ReplaceOrder":
                shares, limit, ref = command["shares"], command["limit"], str(order)
                yield Replace(time, symbol, ref, ref, shares, limit, trades, as_protocol=True)


def _add(
    time: int, command: dict[str, Any], number: int, trades: tuple[tuple[str, int, int], ...]
) -> Add:
    price = command["limit"] or 0
    lifetime = command["lifetime"] or 0
    terms = LIFETIMES[lifetime] if price else ""
    terms += ' post="true"' if command["post"] else ""
    terms += SELF_TRADES[command["self_trade"] or 0]
    return Add(
        time,
        command["symbol"],
        str(number),
        not command["side"],
        command["shares"],
        price,
        command["account"],
        terms,
        lifetime == 0 and price > 0,
        trades,
    )
