"""LOBSTER message files: SYMBOL_DATE_START_END_message_LEVELS.csv, one symbol and day each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .tape import (
    ONE,
    SECOND,
    Add,
    Delete,
    Event,
    Execute,
    Reduce,
    Replace,
    Skipped,
    bad_line,
    rows,
    symbol_name,
)

PRICE = ONE // 10**4
NEW, REDUCE, DELETE, EXECUTE, HIDDEN, CROSS, HALT = "1234567"


def symbol_of(path: Path) -> str:
    return symbol_name(path.name.partition("_")[0].removesuffix(".csv"))


def read(path: Path, symbols: frozenset[str]) -> Iterator[Event]:
    symbol = symbol_of(path)
    if symbols and symbol not in symbols:
        return
    for line, row in rows(path):
        try:
            event = _event(row, symbol)
        except (ValueError, IndexError) as error:
            raise bad_line(path, line, row, error) from None
        if event:
            yield event


def _event(row: list[str], symbol: str) -> Event | None:
    kind, order, direction = row[1], row[2], row[5]
    if kind == HALT:
        return None
    seconds, _, rest = row[0].partition(".")
    time = int(seconds) * SECOND + int(rest[:9].ljust(9, "0"))
    shares, price = int(row[3]) * ONE, int(row[4]) * PRICE
    if shares <= 0 or price <= 0:
        raise ValueError("a size or price that is not above 0")
    if direction not in ("1", "-1"):
        raise ValueError(f"direction {direction!r} is neither 1 nor -1")
    if kind == NEW:
        return Add(time, symbol, order, direction == "1", shares, price)
    if kind == REDUCE:
        return Reduce(time, symbol, order, shares)
    if kind == DELETE:
        return Delete(time, symbol, order)
    if kind == EXECUTE:
        return Execute(time, symbol, order, shares, price, direction == "1")
    if kind == HIDDEN:
        return Skipped(time, symbol, shares, "against a hidden order")
    if kind == CROSS:
        return Skipped(time, symbol, shares, "in an auction")
    raise ValueError(f"unknown type {kind!r}")


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
