"""NASDAQ TotalView-ITCH 5.0: a binary file of messages, each after two bytes of length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .tape import (
    ONE,
    Add,
    BadTape,
    Delete,
    Event,
    Execute,
    Reduce,
    Replace,
    Skipped,
    open_tape,
    symbol_name,
)

PRICE = ONE // 10**4


def _library() -> Any:
    try:
        import itch.messages
        import itch.parser
    except ImportError:
        raise BadTape(
            "ITCH needs the package itchfeed: pip install 'exchange-client[replay]'"
        ) from None
    return itch


def read(path: Path, symbols: frozenset[str]) -> Iterator[Event]:
    offset, ended = 0, False
    names: dict[int, str] = {}  # by locate code; only of the symbols wanted
    with open_tape(path) as file:
        messages = _library().parser.MessageParser().parse_file(file)
        while True:
            try:
                message = next(messages, None)
            except (ValueError, OSError, EOFError) as error:
                raise BadTape(f"{path}: byte {offset}: {error}") from None
            if message is None:
                if file.tell() > offset and not ended:
                    raise BadTape(f"{path}: byte {offset}: the file ends inside a message")
                return
            offset += 2 + message.message_size
            kind, locate = message.message_type, message.stock_locate
            ended = kind == b"S" and message.event_code == b"C"
            if kind in b"RAF" and locate not in names:
                name = symbol_name(message.stock.decode("ascii", "replace").strip())
                names[locate] = name if not symbols or name in symbols else ""
            symbol = names.get(locate)
            if symbol:
                event = _event(kind, message, symbol)
                if event:
                    yield event


def _event(kind: bytes, message: Any, symbol: str) -> Event | None:
    time = message.timestamp
    if kind == b"P":
        return Skipped(time, symbol, message.shares * ONE, "against a hidden order")
    if kind == b"Q" and message.shares:
        return Skipped(time, symbol, message.shares * ONE, "in an auction")
    if kind not in b"AFDEXUC":
        return None
    order = str(message.order_reference_number)
    if kind in b"AF":
        buy = message.buy_sell_indicator == b"B"
        return Add(time, symbol, order, buy, message.shares * ONE, message.price * PRICE)
    if kind == b"D":
        return Delete(time, symbol, order)
    if kind == b"E":
        return Execute(time, symbol, order, message.executed_shares * ONE)
    if kind == b"X":
        return Reduce(time, symbol, order, message.cancelled_shares * ONE)
    if kind == b"U":
        new = str(message.new_order_reference_number)
        return Replace(time, symbol, order, new, message.shares * ONE, message.price * PRICE)
    shares, price = message.executed_shares * ONE, message.execution_price * PRICE
    return Execute(time, symbol, order, shares, price)


def write(path: Path, events: Iterable[Event]) -> None:
    create = _library().messages.create_message
    locates: dict[str, int] = {}
    with path.open("wb") as file:

        def put(
            kind: bytes, event: Add | Execute | Reduce | Delete | Replace, **fields: Any
        ) -> None:
            message = create(
                kind,
                stock_locate=locates[event.symbol],
                tracking_number=0,
                timestamp=event.time,
                order_reference_number=int(event.order),
                **fields,
            ).to_bytes()
            file.write(len(message).to_bytes(2, "big") + message)

        for event in events:
            locates.setdefault(event.symbol, len(locates) + 1)
            if isinstance(event, Add):
                side = b"B" if event.buy else b"S"
                shares, price = event.shares // ONE, event.price // PRICE
                stock = event.symbol.encode().ljust(8)
                put(b"A", event, buy_sell_indicator=side, shares=shares, stock=stock, price=price)
            elif isinstance(event, Execute):
                put(b"E", event, executed_shares=event.shares // ONE, match_number=1)
            elif isinstance(event, Reduce):
                put(b"X", event, cancelled_shares=event.shares // ONE)
            elif isinstance(event, Delete):
                put(b"D", event)
            elif isinstance(event, Replace):
                new = int(event.becomes)
                shares, price = event.shares // ONE, event.price // PRICE
                put(b"U", event, new_order_reference_number=new, shares=shares, price=price)
