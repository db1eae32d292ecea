"""What the HTTP port shows of accounts, orders and books (docs/http-api.md of the exchange)."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, TypeVar
from urllib.parse import quote

from .errors import BadReply, ConnectionFailed, Refused
from .market import EPOCH, Book, level
from .protocol import AccountId, Execution, OrderId, account_id, checked, integer, order_id
from .servers import addresses

T = TypeVar("T")


@dataclass(frozen=True)
class Position:
    symbol: str
    shares: Decimal  # free
    reserved: Decimal  # by open sells


@dataclass(frozen=True)
class Account:
    id: str
    balance: Decimal  # free
    reserved: Decimal  # by open buys
    positions: tuple[Position, ...]
    open_orders: int


@dataclass(frozen=True)
class OpenOrder:
    id: int
    symbol: str
    amount: Decimal  # above 0: a buy; below: a sell
    limit: Decimal
    open: Decimal  # shares, without a sign
    time: datetime


class HttpPort:
    """Asks the servers of one exchange over HTTP, one after another until one answers. Any thread."""

    def __init__(
        self,
        servers: str,
        tls: ssl.SSLContext | None,
        timeout: float,
        account: AccountId | None,
        key: str | None,
    ) -> None:
        self._addresses, self._tls, self._timeout = addresses(servers), tls, timeout
        self._account, self._key = account, key

    def account(self) -> Account:
        return self._read(f"/api/accounts/{quote(self._own(), safe='')}", _account)

    def open_orders(self, symbol: str | None) -> list[OpenOrder]:
        if symbol is not None:
            checked(symbol, str, "symbol")
        path = f"/api/accounts/{quote(self._own(), safe='')}"
        return self._read(path, lambda found: list(_open_orders(found, symbol)))

    def fills(self, order: OrderId) -> list[Execution]:
        account, executions = self._read(f"/api/orders/{order_id(order)}", _executions)
        if account != self._own():
            raise Refused("unknown order", "unknown_order")
        return executions

    def book(self, symbol: str, levels: int) -> Book:
        name, most = quote(checked(symbol, str, "symbol"), safe=""), integer(levels, "levels")
        return self._read(f"/api/books/{name}?levels={most}", _book)

    def _own(self) -> str:
        if self._account is None:
            raise ValueError("no account: give one as Exchange(..., account=)")
        return account_id(self._account)

    def _read(self, path: str, parse: Callable[[Any], T]) -> T:
        body = self._get(path)
        try:
            return parse(json.loads(body))
        except (ValueError, KeyError, TypeError, ArithmeticError) as error:
            raise BadReply(f"{error!r} in {body[:200]!r} of {path}") from None

    def _get(self, path: str) -> bytes:
        """The body of an answer 200. Raises Refused, ConnectionFailed, BadReply."""
        reasons = []
        for host, port in self._addresses:
            try:
                status, body = self._ask(host, port, path)
            except (OSError, HTTPException) as error:
                reasons.append(f"{host}:{port}: {error or 'no answer'}")
                continue
            if status == 200:
                return body
            try:
                problem = json.loads(body)
                sentence, code = str(problem["error"]), problem.get("code")
            except (ValueError, KeyError, TypeError, AttributeError):
                raise BadReply(f"{host}:{port}: {status} {body[:200]!r}") from None
            if status < 500:
                raise Refused(sentence, code)
            reasons.append(f"{host}:{port}: {sentence}")
        raise ConnectionFailed("no answer of " + "; ".join(reasons))

    def _ask(self, host: str, port: int, path: str) -> tuple[int, bytes]:
        if self._tls:
            connection: HTTPConnection = HTTPSConnection(
                host, port, timeout=self._timeout, context=self._tls
            )
        else:
            connection = HTTPConnection(host, port, timeout=self._timeout)
        headers = {}
        if self._key is not None and self._account is not None:
            pair = base64.b64encode(f"{self._own()}:{self._key}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def _time(microseconds: Any) -> datetime:
    return EPOCH + timedelta(microseconds=int(microseconds))


def _account(found: Any) -> Account:
    positions = (
        Position(one["symbol"], Decimal(one["shares"]), Decimal(one["reserved"]))
        for one in found["positions"]
    )
    return Account(
        found["account"],
        Decimal(found["balance"]),
        Decimal(found["reserved"]),
        tuple(positions),
        int(found["open_orders"]),
    )


def _open_orders(found: Any, symbol: str | None) -> Iterator[OpenOrder]:
    for one in found["orders"]:
        if symbol is None or one["symbol"] == symbol:
            shares = Decimal(one["shares"])
            yield OpenOrder(
                int(one["order"]),
                one["symbol"],
                shares if one["side"] == "buy" else shares.copy_negate(),
                Decimal(one["limit"]),
                Decimal(one["open"]),
                _time(one["opened_at_us"]),
            )


def _executions(found: Any) -> tuple[str, list[Execution]]:
    return found["account"], [
        Execution(Decimal(one["shares"]), Decimal(one["price"]), _time(one["time_us"]))
        for one in found["executions"]
    ]


def _book(found: Any) -> Book:
    sides = (tuple(map(level, found[side])) for side in ("bids", "asks"))
    return Book(found["symbol"], int(found["sequence"]), *sides)
