"""The events of an account, over the WebSocket of the HTTP port (docs/account-stream.md of the
exchange)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, SupportsIndex, TypeAlias

from .errors import BadReply, Refused
from .http_port import OpenOrder, Position, open_order
from .market import build, time_of
from .protocol import AccountId, account_id, integer
from .servers import Tls
from .web_socket import RETRY_S, WebSocket, follow

TRY_ANOTHER_SERVER = ("service_unavailable", "key_unchecked")  # or the same one later


@dataclass(frozen=True)
class AccountSnapshot:
    """What an account has after the event of this number."""

    number: int
    balance: Decimal  # free
    reserved: Decimal  # by open buys
    positions: tuple[Position, ...]
    orders: tuple[OpenOrder, ...]  # that are open, oldest first
    batch: int
    newest_execution: int = 0  # of the exchange: fills() has those up to it, later ones are events


@dataclass(frozen=True)
class AccountEvent:
    """A change of an account, and what the account has after it."""

    number: int  # one higher than that of the event before
    # "opened", "executed", "canceled", "replaced", "shares_received" or "shares_taken",
    # "cash_received" or "cash_taken" by the operator, or "began"
    kind: str
    balance: Decimal  # free
    batch: int
    time: datetime
    # None, or 0 shares, where the kind has no such thing:
    order: int | None = None
    ref: str | None = None
    symbol: str | None = None
    side: str | None = None  # "buy" or "sell"
    shares: Decimal = Decimal(0)  # executed, canceled or received; else those of the whole order
    limit: Decimal | None = None  # None for a market order too
    price: Decimal | None = None  # of an execution
    open: Decimal = Decimal(0)  # what is left of the order
    execution: int | None = None  # its number
    role: str | None = None  # of an execution: "maker" or "taker"
    # of "canceled": "client", "disconnect", "immediate", "stp" or "operator"
    reason: str | None = None
    position: Decimal = Decimal(0)  # free, in the symbol


Item: TypeAlias = AccountSnapshot | AccountEvent


class Events:
    """Follows the messages of all connections. Without I/O."""

    def __init__(self, account: str, key: str | None, first: int | None) -> None:
        self._account, self._key = account, key
        self._next = first  # None: a snapshot
        self._asked_again: int | None = 0  # the same, after a wrong number

    def request(self) -> str:
        of = {"account": self._account, "key": self._key, "from": self._next}
        return json.dumps({"subscribe": {k: v for k, v in of.items() if v is not None}})

    def take(self, message: str | bytes) -> Iterator[Item]:
        """Raises Refused and BadReply; EOFError if another connection is needed."""
        for item in _read(message):
            wanted = AccountSnapshot if self._next is None else AccountEvent
            if not isinstance(item, wanted) or self._next not in (None, item.number):
                what = f"number {item.number} instead of {self._next or 'a snapshot'}"
                if self._asked_again == self._next:
                    raise BadReply(f"{what}, twice")
                self._asked_again = self._next
                raise EOFError(what)
            self._next = item.number + 1
            yield item


def _read(message: str | bytes) -> list[Item]:
    try:
        found = json.loads(message)
        kind = found["type"]
        if kind == "error":
            sentence, code = str(found["error"]), found.get("code")
            raise EOFError(sentence) if code in TRY_ANOTHER_SERVER else Refused(sentence, code)
        if kind == "account":
            return [_snapshot(found)]
        return [_event(one) for one in found["events"]] if kind == "events" else []
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise BadReply(f"{error!r} in {message[:200]!r}") from None


def _snapshot(found: dict[str, Any]) -> AccountSnapshot:
    positions = tuple(build(Position, one) for one in found["positions"])
    orders = tuple(map(open_order, found["orders"]))
    return build(AccountSnapshot, found, positions=positions, orders=orders)


def _event(found: dict[str, Any]) -> AccountEvent:
    return build(AccountEvent, found, kind=str(found["event"]), time=time_of(found["time_us"]))


def account_events(
    http: str,
    account: AccountId,
    *,
    from_: SupportsIndex | None = None,
    key: str | None = None,
    tls: Tls = False,
    retry: float = RETRY_S,
) -> AsyncGenerator[Item, None]:
    """What happens to an account, without end: a snapshot, then each event after it; or each event
    from number `from_` on.

    After a lost connection it connects again for `retry` seconds, and goes on with the next event.
    Raises Refused, ConnectionFailed, BadReply.
    """
    first = None if from_ is None else integer(from_, "from_")
    if first is not None and first < 1:
        raise ValueError(f"from_: {first} is not above 0")
    events = Events(account_id(account), key, first)

    async def session(connection: WebSocket) -> AsyncGenerator[Item | None, None]:
        await connection.send(events.request())
        async for message in connection:
            for item in events.take(message):
                yield item
            yield None

    return follow(http, tls, retry, session)
