"""What the HTTP port shows of accounts, orders and books (docs/http-api.md of the exchange), and
what an account earned by its fills."""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, localcontext
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import chain
from typing import Any
from urllib.parse import quote

from .errors import BadReply, ConnectionFailed, InDoubt, Refused
from .market import Book, build, level, time_of, trading
from .protocol import EXACT, AccountId, Execution, OrderId, account_id, checked, integer, order_id
from .servers import PAUSE_MIN_S, addresses

PAGES_LOST_MAX = 20
NEW_DAY = "/api/admin/new-day"


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
    limit: Decimal | None  # None: a market order that an auction collects
    open: Decimal  # shares, without a sign
    time: datetime
    ref: str | None = None


@dataclass(frozen=True)
class Fill:
    """What an execution was to one order of the account."""

    execution: int  # its number, which rises with time
    order: int
    symbol: str
    side: str  # "buy" or "sell"
    shares: Decimal
    price: Decimal
    role: str  # "maker": the order rested; "taker": it came last
    time: datetime
    ref: str | None = None  # of the order
    auction: bool = False  # executed by an auction, at its price


@dataclass(frozen=True)
class Performance:
    """What an account earned by trading, after a fill, with all fills before it. Cash and shares
    that it was given, or had before, do not count."""

    time: datetime
    symbol: str
    position: Decimal  # shares of the symbol that were bought, less those that were sold
    cash: Decimal  # received less paid, in all symbols
    profit: Decimal  # cash, and what was bought at the price of the newest fill of its symbol


@dataclass(frozen=True)
class Round:
    number: int
    name: str
    began: datetime


@dataclass(frozen=True)
class Standing:
    rank: int  # from 1; equal profits have the same
    account: str | None  # None: the leaderboard shows the name alone
    name: str | None
    profit: Decimal  # below 0: a loss
    volume: Decimal
    trades: int
    largest_position: Decimal


@dataclass(frozen=True)
class Leaderboard:
    """What accounts gained by trading, the highest profit first."""

    round: int | None  # None: all of them
    rounds: tuple[Round, ...]
    standings: tuple[Standing, ...]


class HttpPort:
    """Asks the servers of one exchange over HTTP, one after another until one answers. Any
    thread."""

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
        path = f"/api/accounts/{quote(self._own(), safe='')}"
        with _reading(path):
            pages = list(self._pages(path, "next_position", "positions_after"))
            positions = (one for page in pages for one in page["positions"])
            return build(
                Account,
                pages[0],
                id=str(pages[0]["account"]),
                positions=tuple(build(Position, one) for one in positions),
            )

    def open_orders(self, symbol: str | None) -> list[OpenOrder]:
        if symbol is not None:
            checked(symbol, str, "symbol")
        path = f"/api/accounts/{quote(self._own(), safe='')}"
        with _reading(path):
            found = [open_order(one) for one in self._open_orders(path)]
        return [one for one in found if symbol in (None, one.symbol)]

    def fills(self, order: OrderId) -> list[Execution]:
        path, own = f"/api/orders/{order_id(order)}", self._own()
        with _reading(path):
            pages = list(self._pages(path, "next", "before"))  # the newest first
            if pages[0]["account"] != own:
                raise Refused("unknown order", "unknown_order")
            executions = (one for page in reversed(pages) for one in page["executions"])
            return list(map(_execution, executions))

    def account_fills(self, after: int | None, newest_first: bool) -> Iterator[Fill]:
        """Asks for each page once its first fill is wanted."""
        path = f"/api/accounts/{quote(self._own(), safe='')}/fills"
        begin = ("before", "newest") if newest_first else ("after", after)
        return chain.from_iterable(self._fill_pages(path, *begin))

    def _fill_pages(self, path: str, parameter: str, begin: Any) -> Iterator[list[Fill]]:
        pages = self._pages(path, "next", parameter, begin)
        while True:
            with _reading(path):  # what the caller raises between two pages is its own
                if (page := next(pages, None)) is None:
                    return
                found = list(map(_fill, page["fills"]))
            yield found

    def book(self, symbol: str, levels: int) -> Book:
        name, most = quote(checked(symbol, str, "symbol"), safe=""), integer(levels, "levels")
        path = f"/api/books/{name}?levels={most}"
        with _reading(path):
            found = json.loads(self._get(path))
            sides = (tuple(map(level, found[side])) for side in ("bids", "asks"))
            return Book(found["symbol"], int(found["sequence"]), *sides, **trading(found))

    def leaderboard(
        self, round: int | None, limit: int | None, ids: bool, operator_key: str | None
    ) -> Leaderboard:
        wanted = [] if round is None else [f"round={integer(round, 'round')}"]
        wanted += [] if limit is None else [f"limit={integer(limit, 'limit')}"]
        wanted += ["ids=true"] if checked(ids, bool, "ids") else []
        path = "/api/leaderboard" + ("?" if wanted else "") + "&".join(wanted)
        bearer = f"Bearer {operator_key}" if ids and operator_key is not None else None
        with _reading(path):
            found = json.loads(self._get(path, bearer))
            return Leaderboard(
                found["round"],
                tuple(map(_round, found["rounds"])),
                tuple(build(Standing, one) for one in found["standings"]),
            )

    def new_day(self, day: str, operator_key: str) -> str:
        """Asks until the day is closed; returns the URL of its store.

        The server ends and begins in between, so only the first request must reach it.
        """
        body, bearer = json.dumps({"day": checked(day, str, "day")}), f"Bearer {operator_key}"
        give_up, is_closing = time.monotonic() + self._timeout, False
        while True:
            reasons: list[str] = []
            for host, port in self._addresses:
                try:
                    connection = connect(host, port, self._tls, self._timeout)
                except OSError as error:
                    reasons.append(f"{host}:{port}: {error}")
                    continue
                try:
                    with closing(connection):
                        status, answer = request(connection, NEW_DAY, body, bearer)
                except (OSError, HTTPException) as error:
                    is_closing = True  # perhaps
                    reasons.append(f"{host}:{port}: {error or 'no answer'}")
                    continue
                if status == 202:
                    is_closing = True
                elif status < 500:
                    return _closed_store(status, answer)
                else:
                    reasons.append(f"{host}:{port}: {answer.decode(errors='replace')}")
            if not is_closing:
                raise ConnectionFailed("no answer of " + "; ".join(reasons))
            if time.monotonic() > give_up:
                raise InDoubt(f"the day is not closed yet; {'; '.join(reasons)}")
            time.sleep(PAUSE_MIN_S)

    def _own(self) -> str:
        if self._account is None:
            raise ValueError("no account: give one as Exchange(..., account=)")
        return account_id(self._account)

    def _open_orders(self, path: str) -> list[Any]:
        """Begins again if the order at the end of a page was closed before the next page was asked
        for."""
        for _ in range(PAGES_LOST_MAX):
            orders: list[Any] = []
            try:
                for page in self._pages(path, "next_order", "orders_after"):
                    orders += page["orders"]
                return orders
            except Refused:
                if not orders:
                    raise
        raise ConnectionFailed(f"no whole answer to {path} in {PAGES_LOST_MAX} attempts")

    def _pages(self, path: str, name: str, parameter: str, after: Any = None) -> Iterator[Any]:
        return pages(lambda page: json.loads(self._get(page)), path, name, parameter, after)

    def _get(self, path: str, authorization: str | None = None) -> bytes:
        """The body of an answer 200. Raises Refused, ConnectionFailed, BadReply."""
        if authorization is None and self._key is not None and self._account is not None:
            authorization = basic(self._own(), self._key)
        reasons = []
        for host, port in self._addresses:
            try:
                with closing(connect(host, port, self._tls, self._timeout)) as connection:
                    status, body = request(connection, path, None, authorization)
            except (OSError, HTTPException) as error:
                reasons.append(f"{host}:{port}: {error or 'no answer'}")
                continue
            if status == 200:
                return body
            refusal = refusal_of(body)
            if refusal is None:
                raise BadReply(f"{host}:{port}: {status} {body[:200]!r}")
            if status < 500:
                raise refusal
            reasons.append(f"{host}:{port}: {refusal}")
        raise ConnectionFailed("no answer of " + "; ".join(reasons))


def performance(fills: Iterable[Fill]) -> list[Performance]:
    """One for each fill. fills: oldest first."""
    found = []
    positions: dict[str, Decimal] = {}
    values: dict[str, Decimal] = {}  # of the positions
    cash = Decimal(0)
    with localcontext(EXACT):
        for fill in fills:
            shares = fill.shares if fill.side == "buy" else -fill.shares
            cash -= shares * fill.price
            position = positions[fill.symbol] = positions.get(fill.symbol, Decimal(0)) + shares
            values[fill.symbol] = position * fill.price
            profit = cash + sum(values.values())
            found.append(Performance(fill.time, fill.symbol, position, cash, profit))
    return found


def connect(host: str, port: int, tls: ssl.SSLContext | None, timeout_s: float) -> HTTPConnection:
    connection = HTTPConnection(host, port, timeout=timeout_s)
    if tls:
        connection = HTTPSConnection(host, port, timeout=timeout_s, context=tls)
    try:
        connection.connect()
    except BaseException:
        connection.close()
        raise
    return connection


def request(
    connection: HTTPConnection, path: str, body: str | None, authorization: str | None
) -> tuple[int, bytes]:
    """Status and body; a POST if there is a body to send."""
    # As bytes: http.client takes a text for Latin-1.
    headers = {} if authorization is None else {"Authorization": authorization.encode()}
    connection.request("GET" if body is None else "POST", path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def pages(
    read: Callable[[str], Any], path: str, name: str, parameter: str, after: Any = None
) -> Iterator[Any]:
    """The answer, and those to which each refers by a value of that name, which is passed on in the
    parameter; the first is that of `after`. read: of a path, the document."""
    while True:
        query = "" if after is None else f"?{parameter}={quote(str(after), safe='')}"
        page = read(path + query)
        yield page
        before, after = after, page.get(name)
        if after is None:
            return
        if after == before:
            raise BadReply(f"{path}: the page after {after!r} refers to itself")


def refusal_of(body: bytes) -> Refused | None:
    """The error in an answer of the exchange; None if the answer has another form."""
    try:
        problem = json.loads(body)
        return Refused(str(problem["error"]), problem.get("code"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def basic(account: str, key: str) -> str:
    """The credentials of an account."""
    return "Basic " + base64.b64encode(f"{account}:{key}".encode()).decode()


def _closed_store(status: int, answer: bytes) -> str:
    if status == 200:
        with _reading(NEW_DAY):
            return str(json.loads(answer)["store"])
    raise refusal_of(answer) or BadReply(f"{status} {answer[:200]!r} in the answer to {NEW_DAY}")


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise BadReply(f"{error!r} in the answer to {path}") from None


def open_order(one: Any) -> OpenOrder:
    shares = Decimal(one["shares"])
    amount = shares if one["side"] == "buy" else shares.copy_negate()
    time = time_of(one["opened_at_us"])
    return build(OpenOrder, one, id=int(one["order"]), amount=amount, time=time)


def _execution(one: Any) -> Execution:
    return build(Execution, one, time=time_of(one["time_us"]))


def _fill(one: Any) -> Fill:
    return build(Fill, one, time=time_of(one["time_us"]))


def _round(one: Any) -> Round:
    return build(Round, one, number=int(one["round"]), began=time_of(one["began_at_us"]))
