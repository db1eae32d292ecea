"""What a tape holds, in whatever format: events in the order of their times.

Times are nanoseconds, since midnight or since the Unix epoch. Shares and prices are whole numbers of
1e-8, as the exchange holds them.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, cast

ONE = 10**8
SECOND = 10**9
DAY = 86_400 * SECOND
CACHED = 1 << 16  # numbers: a day has few prices and sizes


class BadTape(Exception):
    """The message names the file, and the line or the byte."""


@dataclass(slots=True)
class Event:
    time: int
    symbol: str


@dataclass(slots=True)
class Add(Event):
    order: str
    buy: bool
    shares: int
    price: int  # 0: a market order
    owner: str = "maker"
    terms: str = ""  # as attributes of the protocol
    rests: bool = True  # what is not executed at once
    trades: tuple[tuple[str, int, int], ...] = ()  # on arrival: resting order, shares, price


@dataclass(slots=True)
class Execute(Event):
    """A resting order was executed."""

    order: str
    shares: int
    price: int = 0  # 0: that of the order
    buy: bool = False  # the resting order; known where the price is


@dataclass(slots=True)
class Reduce(Event):
    order: str
    shares: int  # fewer


@dataclass(slots=True)
class Delete(Event):
    order: str


@dataclass(slots=True)
class DeleteAll(Event):
    """Of one owner; of all symbols where the symbol is empty."""

    owner: str


@dataclass(slots=True)
class Replace(Event):
    order: str
    becomes: str  # its name from now on
    shares: int  # open afterwards
    price: int
    trades: tuple[tuple[str, int, int], ...] = ()
    as_protocol: bool = False  # shares: with those executed before; it may keep its place (E29)


@dataclass(slots=True)
class Trade(Event):
    """Between orders that the tape does not show."""

    buy: bool  # the side that arrived last
    shares: int
    price: int


@dataclass(slots=True)
class Quote(Event):
    """The best prices, with their shares; 0: none."""

    bid: int
    bid_shares: int
    ask: int
    ask_shares: int


@dataclass(slots=True)
class Skipped(Event):
    """A trade that is on the tape, but not of its visible book."""

    shares: int
    why: str


@lru_cache(CACHED)
def text(units: int) -> str:
    whole, rest = divmod(units, ONE)
    return f"{whole}.{rest:08d}".rstrip("0") if rest else str(whole)


@lru_cache(CACHED)
def units(number: str) -> int:
    """Raises ValueError for what is not a positive number of at most 8 decimals."""
    try:
        scaled = Decimal(number) * ONE
        found = int(scaled)
    except (InvalidOperation, ValueError, OverflowError):
        raise ValueError(f"{number!r} is not a number") from None
    if scaled != found or found < 0:
        raise ValueError(f"{number!r} is not a number of at most 8 decimals")
    return found


def symbol_name(name: str) -> str:
    """The exchange allows letters and digits alone: BRK.A becomes BRKx2EA."""
    if name.isascii() and name.isalnum():
        return name
    return "".join(c if c.isascii() and c.isalnum() else f"x{ord(c):02X}" for c in name)


def open_tape(path: Path) -> BinaryIO:
    """The file, unpacked if its name ends in .gz or .zip."""
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path))
    if path.suffix == ".zip":
        archive = zipfile.ZipFile(path)
        return cast(BinaryIO, archive.open(archive.namelist()[0]))
    return path.open("rb")


def bad_line(path: Path, number: int, row: list[str], error: Exception) -> BadTape:
    problem = "too few columns" if isinstance(error, IndexError) else error
    return BadTape(f"{path}:{number}: {problem}: {','.join(row)[:100]!r}")


def rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV file, numbered from 1; none of the formats quotes."""
    with io.TextIOWrapper(open_tape(path), "ascii", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            yield number, line.rstrip("\r\n").split(",")
