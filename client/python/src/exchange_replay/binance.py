"""Public files of Binance: SYMBOL-trades-DATE, SYMBOL-aggTrades-DATE and SYMBOL-bookTicker-DATE,
.csv or .zip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .tape import (
    ONE,
    SECOND,
    BadTape,
    Event,
    Place,
    Quote,
    Trade,
    file_symbol,
    positive,
    rows,
    text,
    units,
    whole,
)

# The columns of price, shares, time and whether the buyer was resting; how many there may be.
TRADES = {"trades": ((1, 2, 4, 5), (6, 7)), "aggTrades": ((1, 2, 5, 6), (7, 8))}
QUOTE_COLUMNS = 7
QUOTE_NAMES = {
    "bestbidprice": 1,
    "bestbidqty": 2,
    "bestaskprice": 3,
    "bestaskqty": 4,
    "transactiontime": 5,
}
MICROSECONDS_FROM = 10**14  # a time of this size; spot files have them since 2025
EARLIEST, LATEST = 1_000_000_000 * SECOND, 5_000_000_000 * SECOND  # of the years 2001 to 2128


def symbol_of(path: Path) -> str:
    return file_symbol(path, path.name.partition("-")[0])


def kind_of(path: Path) -> str:
    kind = path.name.partition("-")[2].partition("-")[0]
    if kind != "bookTicker" and kind not in TRADES:
        raise BadTape(f"{path}: the name must be SYMBOL-trades-, -aggTrades- or -bookTicker-DATE")
    return kind


def read(place: Place, symbols: frozenset[str]) -> Iterator[Event]:
    kind, symbol = kind_of(place.path), symbol_of(place.path)
    if symbols and symbol not in symbols:
        return
    for row in rows(place, _names(kind)):
        try:
            whole(row[0])
            yield _quote(row, symbol) if kind == "bookTicker" else _trade(row, symbol, kind)
        except ValueError as error:
            raise place.bad(error) from None


def _names(kind: str) -> dict[str, int]:
    """The columns of a header, which files of futures have."""
    if kind == "bookTicker":
        return QUOTE_NAMES
    (price, shares, time, resting), _ = TRADES[kind]
    of_time = {"time": time, "transacttime": time, "timestamp": time}
    return of_time | {"price": price, "qty": shares, "quantity": shares, "isbuyermaker": resting}


def _trade(row: list[str], symbol: str, kind: str) -> Trade:
    columns, counts = TRADES[kind]
    if len(row) not in counts:
        raise ValueError(f"{len(row)} columns, not {' or '.join(map(str, counts))}")
    price, shares, time, resting = (row[column] for column in columns)
    if resting.lower() not in ("true", "false"):
        raise ValueError(f"{resting!r} is neither true nor false")
    taker_buys = resting.lower() == "false"
    return Trade(
        _time(time),
        symbol,
        taker_buys,
        positive(units(shares), "quantity"),
        positive(units(price), "price"),
    )


def _quote(row: list[str], symbol: str) -> Quote:
    if len(row) != QUOTE_COLUMNS:
        raise ValueError(f"{len(row)} columns, not {QUOTE_COLUMNS}")
    bid, bid_shares, ask, ask_shares = (units(number) for number in row[1:5])
    return Quote(_time(row[5]), symbol, bid, bid_shares, ask, ask_shares)


def _time(number: str) -> int:
    time = whole(number)
    time = time * 1000 if time >= MICROSECONDS_FROM else time * 1_000_000
    if not EARLIEST <= time < LATEST:
        raise ValueError(f"{number!r} is not a time in milliseconds or microseconds")
    return time


def write_trades(path: Path, trades: Iterable[Trade]) -> None:
    with path.open("w") as file:
        for number, trade in enumerate(trades, 1):
            value = text(trade.price * trade.shares // ONE)
            numbers = f"{text(trade.price)},{text(trade.shares)},{value},{trade.time // 1000}"
            file.write(f"{number},{numbers},{not trade.buy},True\n")


def write_quotes(path: Path, quotes: Iterable[Quote]) -> None:
    with path.open("w") as file:
        for number, quote in enumerate(quotes, 1):
            best = quote.bid, quote.bid_shares, quote.ask, quote.ask_shares
            time = quote.time // 1000
            file.write(f"{number},{','.join(map(text, best))},{time},{time}\n")
