"""Public files of Binance: SYMBOL-trades-DATE, SYMBOL-aggTrades-DATE and SYMBOL-bookTicker-DATE, .csv or .zip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .tape import ONE, BadTape, Event, Quote, Trade, bad_line, rows, symbol_name, text, units

# Columns: price, shares, time, whether the buyer was resting.
TRADES = {"trades": (1, 2, 4, 5), "aggTrades": (1, 2, 5, 6)}
MICROSECONDS_FROM = 10**14  # a time of this size; spot files have them since 2025


def symbol_of(path: Path) -> str:
    return symbol_name(path.name.partition("-")[0])


def kind_of(path: Path) -> str:
    kind = path.name.partition("-")[2].partition("-")[0]
    if kind != "bookTicker" and kind not in TRADES:
        raise BadTape(f"{path}: the name must be SYMBOL-trades-, -aggTrades- or -bookTicker-DATE")
    return kind


def read(path: Path, symbols: frozenset[str]) -> Iterator[Event]:
    kind, symbol = kind_of(path), symbol_of(path)
    if symbols and symbol not in symbols:
        return
    for line, row in rows(path):
        if line == 1 and not row[0].isdigit():
            continue  # files of futures have a header
        try:
            if kind == "bookTicker":
                bid, bid_shares, ask, ask_shares = (units(number) for number in row[1:5])
                yield Quote(_time(row[5]), symbol, bid, bid_shares, ask, ask_shares)
            else:
                price, shares, time, resting = (row[column] for column in TRADES[kind])
                if resting.lower() not in ("true", "false"):
                    raise ValueError(f"{resting!r} is neither true nor false")
                taker_buys = resting.lower() == "false"
                yield Trade(_time(time), symbol, taker_buys, units(shares), units(price))
        except (ValueError, IndexError) as error:
            raise bad_line(path, line, row, error) from None


def _time(number: str) -> int:
    time = int(number)
    return time * 1000 if time >= MICROSECONDS_FROM else time * 1_000_000


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
