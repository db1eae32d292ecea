"""What a tape holds, in whatever format: events in the order of their times.

Times are nanoseconds, since midnight or since the Unix epoch. Shares and prices are whole numbers
of 1e-8, as the exchange holds them.
"""

from __future__ import annotations

import gzip
import io
import itertools
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

ONE = 10**8
SECOND = 10**9
DAY = 86_400 * SECOND
CACHED = 1 << 16  # numbers: a day has few prices and sizes
LINE_BYTES_MAX = 1000  # a file without line ends is not read into memory as a whole
SHOWN_MAX = 100  # characters of a bad line
SYMBOL_MAX = 32  # characters (C7)
MAKER, TAKER = "maker", "taker"  # owners of orders that are not of a journal
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NUMBER = re.compile(r"(?=\.?[0-9])[0-9]{0,20}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,2})?")
_HEADER_CELL = re.compile("[A-Za-z][A-Za-z _-]*")
NO_HEADER_CELLS = ("true", "false")
_EXACT = Context(prec=200)


class BadTape(Exception):
    """One sentence, which names the file, and the line or the byte."""


class Unusable(Exception):
    """What was chosen cannot be played on this server."""


class Contradiction(Exception):
    """A message contradicts those before it. The sentence lacks the place, which the reader
    knows."""


class Place:
    """Where the reader of a file is: at a line, or, where `line` is None, at a byte.

    A reader that has yielded an event stays at the place of the event until it is asked for the
    next one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self.line: str | None = None

    def bad(self, problem: object) -> BadTape:
        if self.line is None:
            return BadTape(f"{self.path}: byte {self.number}: {problem}")
        return BadTape(f"{self.path}:{self.number}: {problem}: {self.line[:SHOWN_MAX]!a}")


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
    owner: str = MAKER
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
    """Deletes all orders of one owner, in all symbols if the symbol is empty."""

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


@dataclass(slots=True)
class Note(Event):
    """A message that changes nothing here; the report counts it. The symbol may be empty."""

    what: str


@lru_cache(CACHED)
def text(units: int) -> str:
    whole, rest = divmod(units, ONE)
    return f"{whole}.{rest:08d}".rstrip("0") if rest else str(whole)


@lru_cache(CACHED)
def units(number: str) -> int:
    """Raises ValueError if it is not a number from 0 on with at most 8 decimals."""
    if not _NUMBER.fullmatch(number):
        raise ValueError(f"{number!r} is not a number")
    scaled = _EXACT.multiply(Decimal(number), Decimal(ONE))
    found = int(scaled)
    if scaled != found:
        raise ValueError(f"{number!r} is not a number of at most 8 decimals")
    return found


def positive(units: int, what: str) -> int:
    if units <= 0:
        raise ValueError(f"a {what} that is not above 0")
    return units


def whole(number: str) -> int:
    """Raises ValueError if it is not digits alone."""
    if not (number.isascii() and number.isdigit()):
        raise ValueError(f"{number!r} is not a whole number")
    return int(number)


def symbol_name(name: str) -> str:
    """The exchange allows letters and digits alone: BRK.A becomes BRKx2EA. Raises ValueError."""
    if not (name.isascii() and name.isalnum()):
        name = "".join(c if c.isascii() and c.isalnum() else f"x{ord(c):02X}" for c in name)
    if not 0 < len(name) <= SYMBOL_MAX:
        raise ValueError(f"{name!r} is not a symbol of 1 to {SYMBOL_MAX} characters")
    return name


def file_symbol(path: Path, name: str) -> str:
    """The symbol that the name of a file begins with. Raises BadTape."""
    try:
        return symbol_name(name)
    except ValueError as error:
        raise BadTape(f"{path}: the name must begin with the symbol: {error}") from None


@contextmanager
def open_tape(path: Path) -> Iterator[BinaryIO]:
    """The file, unpacked if its name ends in .gz or .zip. Raises BadTape if it cannot be opened."""
    with ExitStack() as stack:
        try:
            file: BinaryIO = stack.enter_context(path.open("rb"))
            suffix = path.suffix.lower()
            if suffix == ".gz":
                unpacked: Any = stack.enter_context(gzip.GzipFile(fileobj=file))
                file = io.BufferedReader(unpacked)
            elif suffix == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(file))
                unpacked = stack.enter_context(archive.open(_only_file(path, archive)))
                file = io.BufferedReader(unpacked)
        except BadTape:
            raise
        except Exception as error:  # the libraries raise ten kinds of them for damaged archives
            raise BadTape(f"{path}: cannot be read: {_reason(error)}") from None
        yield file


def _only_file(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Without folders, check sums and what macOS adds."""
    found = [
        one
        for one in archive.infolist()
        if not one.filename.endswith(("/", ".CHECKSUM"))
        and not one.filename.startswith("__MACOSX/")
    ]
    if len(found) != 1:
        raise BadTape(f"{path}: the archive must hold one file, not {len(found)}")
    return found[0]


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def blocks(place: Place, size: int) -> Iterator[bytes]:
    """The bytes of a file, in parts. Raises BadTape, which names the place that the caller has
    set."""
    with open_tape(place.path) as file:
        while True:
            try:
                data = file.read(size)
            except Exception as error:  # as in open_tape
                raise place.bad(f"cannot be read from here on: {_reason(error)}") from None
            if not data:
                return
            yield data


def rows(place: Place, columns: Mapping[str, int]) -> Iterator[list[str]]:
    """The cells of each line of a CSV file, without blank lines and a header; none of the formats
    quotes.

    columns: the columns of known names in a header, by name, in small letters without spaces.
    Raises BadTape for what cannot be read or is not ASCII, and for a header of other columns.
    """
    with open_tape(place.path) as file:
        for number in itertools.count(1):
            place.number, place.line = number, ""
            try:
                line = file.readline(LINE_BYTES_MAX + 1)
            except Exception as error:  # as in open_tape
                raise BadTape(
                    f"{place.path}:{number}: cannot be read from here on: {_reason(error)}"
                ) from None
            if not line:
                return
            if number == 1:
                line = line.removeprefix(BYTE_ORDER_MARK)
            place.line = text_line = line.decode("latin-1").rstrip("\r\n")
            if not line.isascii():
                raise place.bad("not plain text")
            if len(line) > LINE_BYTES_MAX:
                raise place.bad(f"a line of more than {LINE_BYTES_MAX} bytes")
            cells = text_line.split(",")
            if number == 1 and _is_header(cells):
                for at, cell in enumerate(cells):
                    name = re.sub("[ _-]", "", cell.lower())
                    if columns.get(name, at) != at:
                        raise place.bad(f"{cell} is column {at + 1}, not {columns[name] + 1}")
            elif text_line.strip():
                yield cells


def _is_header(cells: list[str]) -> bool:
    """Names alone: a damaged line of data still has a number somewhere."""
    return all(
        _HEADER_CELL.fullmatch(cell) and cell.lower() not in NO_HEADER_CELLS for cell in cells
    )
