"""Prices and trades over the WebSocket of the HTTP port (docs/http-api.md of the exchange)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import BadReply, Refused
from .protocol import Auction
from .servers import PAUSE_MIN_S, Tls
from .web_socket import RETRY_S, WebSocket, follow

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
NEW_SYMBOL_S = 1.0  # until the HTTP port knows a symbol that was just created
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# By the type of a field.
_READERS: dict[str, Callable[[Any], Any]]
_READERS = {"int": int, "str": str, "bool": bool, "Decimal": Decimal}


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
    trading: str = field(default="open", kw_only=True)  # or "halted", "auction", "volatility"
    auction: Auction | None = field(
        default=None, kw_only=True
    )  # what it would execute, if it ended now

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
        """An update; the symbol to subscribe to again, after a gap; or None. Raises Refused,
        BadReply."""
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
            trades = [build(Trade, one, time=time_of(one["time_us"])) for one in event["trades"]]
            state = trading(event)
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
            **state,
        )


def trading(found: dict[str, Any]) -> dict[str, Any]:
    """The fields of a book."""
    auction = found.get("auction")
    if auction is not None and auction["price"] is None:
        auction = None
    return {
        "trading": str(found.get("trading", "open")),
        "auction": auction and Auction(Decimal(auction["price"]), Decimal(auction["volume"])),
    }


def level(found: list[Any]) -> Level:
    price, shares, orders = found
    return Level(Decimal(price), Decimal(shares), int(orders))


def build(kind: type[T], found: Mapping[str, Any], /, **own: Any) -> T:
    """A dataclass from the members of a document that are called as its fields. `own`: the fields
    that have another name or form there.

    Raises KeyError, ValueError, TypeError, ArithmeticError.
    """
    for one in fields(kind):
        if one.name in own or one.name not in found and one.default is not MISSING:
            continue
        type_, _, is_optional = str(one.type).partition(" | ")
        value = found.get(one.name) if is_optional else found[one.name]
        own[one.name] = None if is_optional and value is None else _READERS[type_](value)
    return kind(**own)


def time_of(microseconds: Any) -> datetime:
    return EPOCH + timedelta(microseconds=int(microseconds))


def market_data(
    http: str, *symbols: str, tls: Tls = False, retry: float = RETRY_S
) -> AsyncIterator[MarketUpdate]:
    """Books and trades of symbols, without end. After a lost message it subscribes again, after a
    lost connection it connects again for `retry` seconds; then a snapshot follows. Raises Refused
    for an unknown symbol, ConnectionFailed.
    """

    async def session(connection: WebSocket) -> AsyncGenerator[MarketUpdate, None]:
        books, wait_until = Books(), time.monotonic() + NEW_SYMBOL_S
        for symbol in symbols:
            await connection.send(json.dumps({"subscribe": symbol}))
        async for message in connection:
            try:
                update = books.take(message)
            except Refused:
                if time.monotonic() > wait_until:
                    raise
                await asyncio.sleep(PAUSE_MIN_S)
                for symbol in books.missing(symbols):
                    await connection.send(json.dumps({"subscribe": symbol}))
                continue
            if isinstance(update, str):
                await connection.send(json.dumps({"subscribe": update}))
            elif update is not None:
                yield update

    return follow(http, tls, retry, session)
