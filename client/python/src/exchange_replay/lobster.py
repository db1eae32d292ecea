"""LOBSTER message files: SYMBOL_DATE_START_END_message_LEVELS.csv, one symbol and day each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from .tape import (
    CACHED,
    DAY,
    ONE,
    SECOND,
    Add,
    Delete,
    Event,
    Execute,
    Place,
    Reduce,
    Replace,
    Skipped,
    file_symbol,
    positive,
    rows,
    whole,
)

PRICE = ONE // 10**4
COLUMNS = 6
NAMES = {"time": 0, "type": 1, "orderid": 2, "size": 3, "price": 4, "direction": 5}
NEW, REDUCE, DELETE, EXECUTE, HIDDEN, CROSS, HALT = "1234567"


def symbol_of(path: Path) -> str:
    name = path.name.partition("_")[0]
    for packed in (".gz", ".zip", ".csv"):
        name = name.removesuffix(packed)
    return file_symbol(path, name)


def read(place: Place, symbols: frozenset[str]) -> Iterator[Event]:
    symbol = symbol_of(place.path)
    if symbols and symbol not in symbols:
        return
    for row in rows(place, NAMES):
        try:
            event = _event(row, symbol)
        except ValueError as error:
            raise place.bad(error) from None
        if event:
            yield event


def _event(row: list[str], symbol: str) -> Event | None:
    if len(row) != COLUMNS:
        raise ValueError(f"{len(row)} columns, not {COLUMNS}")
    moment, kind, order, size, number, direction = row
    seconds, _, rest = moment.partition(".")
    time = whole(seconds) * SECOND + whole(rest[:9].ljust(9, "0"))
    if time >= DAY:
        raise ValueError(f"{moment!r} is not a time of a day in seconds")
    if kind == HALT:
        return None
    shares, price = _units(size, "size", ONE), _units(number, "price", PRICE)
    if direction not in ("1", "-1"):
        raise ValueError(f"direction {direction!r} is neither 1 nor -1")
    if kind == HIDDEN:
        return Skipped(time, symbol, shares, "against a hidden order")
    if kind == CROSS:
        return Skipped(time, symbol, shares, "in an auction")
    if not whole(order):
        raise ValueError("0 is not the id of an order")
    if kind == NEW:
        return Add(time, symbol, order, direction == "1", shares, price)
    if kind == REDUCE:
        return Reduce(time, symbol, order, shares)
    if kind == DELETE:
        return Delete(time, symbol, order)
    if kind == EXECUTE:
        return Execute(time, symbol, order, shares, price, direction == "1")
    raise ValueError(f"unknown type {kind!r}")


@lru_cache(CACHED)
def _units(number: str, what: str, one: int) -> int:
    return positive(whole(number), what) * one


def write(path: Path, events: Iterable[Event]) -> None:
    """A replace is written as a deletion and a new order, as LOBSTER does."""
    orders: dict[str, tuple[bool, int, int]] = {}
    with path.open("w") as file:

        def put(event: Event, kind: str, order: str, buy: bool, shares: int, price: int) -> None:
            time = f"{event.time // SECOND}.{event.time % SECOND:09d}"
            direction = 1 if buy else -1
            file.write(f"{time},{kind},{order},{shares // ONE},{price // PRICE},{direction}\n")

        for event in events:
            if isinstance(event, Add):
                put(event, NEW, event.order, event.buy, event.shares, event.price)
                orders[event.order] = event.buy, event.shares, event.price
            elif isinstance(event, Execute | Reduce):
                buy, shares, price = orders[event.order]
                kind = EXECUTE if isinstance(event, Execute) else REDUCE
                put(event, kind, event.order, buy, event.shares, price)
                orders[event.order] = buy, shares - event.shares, price
            elif isinstance(event, Delete | Replace):
                buy, shares, price = orders.pop(event.order)
                put(event, DELETE, event.order, buy, shares, price)
                if isinstance(event, Replace):
                    put(event, NEW, event.becomes, buy, event.shares, event.price)
                    orders[event.becomes] = buy, event.shares, event.price
