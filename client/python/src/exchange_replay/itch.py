"""NASDAQ TotalView-ITCH 5.0: a binary file of messages, each after two bytes of length."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from .tape import (
    DAY,
    ONE,
    Add,
    BadTape,
    Delete,
    Event,
    Execute,
    Note,
    Place,
    Reduce,
    Replace,
    Skipped,
    blocks,
    positive,
    symbol_name,
)

PRICE = ONE // 10**4
READ_BYTES = 1 << 18
UNKNOWN_BYTES_MAX = 100  # of a type that ITCH 5.0 does not have: a longer message is damage
STOCK_BYTES = 8
HEADER = struct.Struct(">cHHHI")  # type, stock locate, tracking number, 48 bits of nanoseconds

# What follows the header in the messages that are read.
SYSTEM = struct.Struct(">c")  # event
ADD = struct.Struct(">QcI8sI")  # order, side, shares, stock, price
EXECUTE = struct.Struct(">QIQ")  # order, shares, match
EXECUTE_WITH_PRICE = struct.Struct(">QIQcI")  # order, shares, match, printable, price
REDUCE = struct.Struct(">QI")  # order, shares
DELETE = struct.Struct(">Q")  # order
REPLACE = struct.Struct(">QQII")  # order, new order, shares, price
CROSS = struct.Struct(">Q")  # shares

# The bytes of each type of message.
TYPES = (
    "S12 R39 H25 Y20 L26 V35 W12 K28 J35 h21 A36 F40 E31 C36 X23 D19 U35 P44 Q40 B19 I50 N20 O48"
).split()
SIZES = {word[:1].encode(): int(word[1:]) for word in TYPES}
END_OF_MESSAGES = b"C"


def read(place: Place, symbols: frozenset[str]) -> Iterator[Event]:
    stocks: dict[int, bytes] = {}  # by locate code
    names: dict[int, str] = {}  # likewise; "" of the symbols that are not wanted
    time, is_over = 0, False
    for message in _messages(place):
        try:
            if is_over:
                raise ValueError("a message after the one that ends the day")
            kind = message[:1]
            size = SIZES.get(kind)
            if size is None:
                if len(message) > UNKNOWN_BYTES_MAX:
                    raise ValueError(f"an unknown message of {len(message)} bytes")
                yield Note(time, "", "messages of unknown types, not played")
                continue
            if len(message) != size:
                raise ValueError(f"a message {kind.decode()} of {len(message)} bytes, not {size}")
            _, locate, _, high, low = HEADER.unpack_from(message)
            time = high << 32 | low
            if time >= DAY:
                raise ValueError("a time after midnight")
            if kind == b"S":
                is_over = SYSTEM.unpack_from(message, HEADER.size)[0] == END_OF_MESSAGES
                continue
            if kind in b"RAF":
                at = HEADER.size if kind == b"R" else HEADER.size + 13
                stock = message[at : at + STOCK_BYTES]
                if stocks.setdefault(locate, stock) != stock:
                    before = stocks[locate].strip()
                    raise ValueError(f"{stock.strip()!r} has the locate code of {before!r}")
                if locate not in names:
                    if not stock.isascii():
                        raise ValueError(f"{stock!r} is not a stock")
                    name = symbol_name(stock.decode().strip())
                    names[locate] = name if not symbols or name in symbols else ""
            symbol = names.get(locate)
            event = _event(kind, message, time, symbol) if symbol else None
        except ValueError as error:
            raise place.bad(error) from None
        if event:
            yield event


def _messages(place: Place) -> Iterator[bytes]:
    """Each without its length, while the place is that of its length. Empty ones are left out."""
    rest, start = b"", 0  # of the file
    for data in blocks(place, READ_BYTES):
        data = rest + data
        at = 0
        while at + 2 <= len(data):
            size = data[at] << 8 | data[at + 1]
            if at + 2 + size > len(data):
                break
            place.number = start + at
            if size:
                yield data[at + 2 : at + 2 + size]
            at += 2 + size
        rest = data[at:]
        start += at
        place.number = start
    if rest:
        raise place.bad("the file ends inside a message")


def _event(kind: bytes, message: bytes, time: int, symbol: str) -> Event | None:
    after = HEADER.size
    if kind == b"E":
        order, shares, _ = EXECUTE.unpack_from(message, after)
        return Execute(time, symbol, _order(order), _shares(shares))
    if kind == b"D":
        (order,) = DELETE.unpack_from(message, after)
        return Delete(time, symbol, _order(order))
    if kind == b"X":
        order, shares = REDUCE.unpack_from(message, after)
        return Reduce(time, symbol, _order(order), _shares(shares))
    if kind == b"U":
        order, new, shares, price = REPLACE.unpack_from(message, after)
        return Replace(time, symbol, _order(order), _order(new), _shares(shares), _price(price))
    if kind in b"AFP":
        order, side, shares, _, price = ADD.unpack_from(message, after)
        if side not in (b"B", b"S"):
            raise ValueError(f"side {side!r} is neither B nor S")
        if kind == b"P":
            return Skipped(time, symbol, _shares(shares), "against a hidden order")
        return Add(time, symbol, _order(order), side == b"B", _shares(shares), _price(price))
    if kind == b"C":
        order, shares, _, _, price = EXECUTE_WITH_PRICE.unpack_from(message, after)
        return Execute(time, symbol, _order(order), _shares(shares), _price(price))
    if kind == b"Q":
        (shares,) = CROSS.unpack_from(message, after)
        return Skipped(time, symbol, shares * ONE, "in an auction") if shares else None
    if kind == b"B":
        return Note(time, symbol, "trades that were broken later, not undone")
    return None


def _order(number: int) -> str:
    if not number:
        raise ValueError("0 is not the id of an order")
    return str(number)


def _shares(number: int) -> int:
    return positive(number, "size") * ONE


def _price(number: int) -> int:
    return positive(number, "price") * PRICE


def write(path: Path, events: Iterable[Event]) -> None:
    locates: dict[str, int] = {}
    with path.open("wb") as file:
        for event in events:
            if len(event.symbol) > STOCK_BYTES:
                raise BadTape(f"{path}: ITCH has symbols of at most {STOCK_BYTES} characters")
            locate = locates.setdefault(event.symbol, len(locates) + 1)
            if isinstance(event, Add):
                side = b"B" if event.buy else b"S"
                stock = event.symbol.encode().ljust(STOCK_BYTES)
                numbers = event.shares // ONE, stock, event.price // PRICE
                kind, body = b"A", ADD.pack(int(event.order), side, *numbers)
            elif isinstance(event, Execute):
                kind, body = b"E", EXECUTE.pack(int(event.order), event.shares // ONE, 1)
            elif isinstance(event, Reduce):
                kind, body = b"X", REDUCE.pack(int(event.order), event.shares // ONE)
            elif isinstance(event, Delete):
                kind, body = b"D", DELETE.pack(int(event.order))
            elif isinstance(event, Replace):
                shares, price = event.shares // ONE, event.price // PRICE
                body = REPLACE.pack(int(event.order), int(event.becomes), shares, price)
                kind = b"U"
            else:
                continue
            header = HEADER.pack(kind, locate, 0, event.time >> 32, event.time & 0xFFFFFFFF)
            message = header + body
            file.write(len(message).to_bytes(2, "big") + message)
