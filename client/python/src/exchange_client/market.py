"""Prices and trades over the WebSocket of the HTTP port (docs/http-api.md of the exchange). Needs the package websockets."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from .errors import BadReply, ConnectionFailed, Refused
from .servers import PAUSE_MAX_S, PAUSE_MIN_S, Tls, addresses, host_in_url, tls_context

NEW_SYMBOL_S = 1.0  # until the HTTP port knows a symbol that was just created
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Level:
    price: Decimal
    shares: Decimal
    orders: int


@dataclass(frozen=True)
class Trade:
    id: int
    price: Decimal
    shares: Decimal
    taker: str  # "buy" or "sell": the side of the order that came last
    buy_order: int
    sell_order: int
    time: datetime


@dataclass(frozen=True)
class Book:
    """Both sides of a symbol."""

    symbol: str
    sequence: int  # of its changes
    bids: tuple[Level, ...]  # best first
    asks: tuple[Level, ...]  # best first

    @property
    def bid(self) -> Level | None:
        return self.bids[0] if self.bids else None

    @property
    def ask(self) -> Level | None:
        return self.asks[0] if self.asks else None


@dataclass(frozen=True)
class MarketUpdate(Book):
    """The book of a symbol after a change, and the trades of this change, oldest first."""

    trades: tuple[Trade, ...]
    is_snapshot: bool  # the first of a symbol, and one after a lost connection or message


class Books:
    """Follows the messages of one connection. Without I/O."""

    def __init__(self) -> None:
        self._bids: dict[str, dict[Decimal, Level]] = {}
        self._asks: dict[str, dict[Decimal, Level]] = {}
        self._sequence: dict[str, int] = {}

    def missing(self, symbols: Iterable[str]) -> list[str]:
        """Those without a snapshot yet."""
        return [symbol for symbol in symbols if symbol not in self._sequence]

    def take(self, message: str | bytes) -> MarketUpdate | str | None:
        """An update; the symbol to subscribe to again, after a gap; or None. Raises Refused, BadReply."""
        try:
            event = json.loads(message)
            kind = event["type"]
            if kind == "error":
                raise Refused(event["error"], event.get("code"))
            if kind not in ("snapshot", "update"):
                return None
            symbol, sequence = event["symbol"], int(event["sequence"])
            if kind == "snapshot":
                self._bids[symbol], self._asks[symbol] = {}, {}
            elif symbol not in self._sequence:
                return None  # until the snapshot that was asked for comes
            elif sequence != self._sequence[symbol] + 1:
                del self._sequence[symbol]
                return symbol if isinstance(symbol, str) else None
            self._sequence[symbol] = sequence
            for side, levels in ((self._bids, "bids"), (self._asks, "asks")):
                for one in map(level, event[levels]):
                    if one.orders:
                        side[symbol][one.price] = one
                    else:
                        side[symbol].pop(one.price, None)
            trades = [_trade(trade) for trade in event["trades"]]
        except (ValueError, KeyError, TypeError, ArithmeticError) as error:
            raise BadReply(f"{error!r} in {message[:200]!r}") from None
        if kind == "snapshot":
            trades.reverse()
        return MarketUpdate(
            symbol,
            sequence,
            tuple(sorted(self._bids[symbol].values(), key=lambda one: one.price, reverse=True)),
            tuple(sorted(self._asks[symbol].values(), key=lambda one: one.price)),
            tuple(trades),
            kind == "snapshot",
        )


def level(found: list[Any]) -> Level:
    price, shares, orders = found
    return Level(Decimal(price), Decimal(shares), int(orders))


def _trade(trade: dict[str, Any]) -> Trade:
    return Trade(
        int(trade["id"]),
        Decimal(trade["price"]),
        Decimal(trade["shares"]),
        str(trade["taker"]),
        int(trade["buy_order"]),
        int(trade["sell_order"]),
        EPOCH + timedelta(microseconds=int(trade["time_us"])),
    )


async def market_data(
    http: str, *symbols: str, tls: Tls = False, retry: float = 30
) -> AsyncIterator[MarketUpdate]:
    """Books and trades of symbols, without end. After a lost message it subscribes again, after a lost connection it connects again for
    `retry` seconds; then a snapshot follows. Raises Refused for an unknown symbol, ConnectionFailed.
    """
    import websockets

    places, context = deque(addresses(http)), tls_context(tls)
    # As the XML port is reached; from version 15 on it would follow http_proxy.
    parameters = inspect.signature(websockets.connect).parameters
    direct: dict[str, Any] = {"proxy": None} if "proxy" in parameters else {}
    loop = asyncio.get_running_loop()
    give_up, pause = loop.time() + retry, PAUSE_MIN_S
    while True:
        host, port = places[0]
        url = f"{'wss' if context else 'ws'}://{host_in_url(host)}:{port}/ws"
        try:
            async with websockets.connect(url, ssl=context, max_size=None, **direct) as connection:
                books, wait_until = Books(), loop.time() + NEW_SYMBOL_S
                for symbol in symbols:
                    await connection.send(json.dumps({"subscribe": symbol}))
                async for message in connection:
                    try:
                        update = books.take(message)
                    except Refused:
                        if loop.time() > wait_until:
                            raise
                        await asyncio.sleep(PAUSE_MIN_S)
                        for symbol in books.missing(symbols):
                            await connection.send(json.dumps({"subscribe": symbol}))
                        continue
                    if isinstance(update, str):
                        await connection.send(json.dumps({"subscribe": update}))
                    elif update is not None:
                        give_up, pause = loop.time() + retry, PAUSE_MIN_S
                        yield update
            error: Exception = EOFError("the server closed the connection")
        except (OSError, EOFError, asyncio.TimeoutError, websockets.WebSocketException) as problem:
            error = problem
        if loop.time() + pause > give_up:
            raise ConnectionFailed(f"{url}: {error}")
        places.rotate(-1)
        await asyncio.sleep(pause)
        pause = min(2 * pause, PAUSE_MAX_S)
