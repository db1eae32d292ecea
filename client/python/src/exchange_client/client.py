"""What Exchange and AsyncExchange have in common: whose orders, at which servers, and what they
ask."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    SupportsIndex,
    TypeVar,
    overload,
)

from . import protocol
from ._described import AccountSettings, Number, Role, Rules, Terms, Trading
from .events import AccountEvent, AccountSnapshot, account_events
from .http_port import Account, Fill, HttpPort, Leaderboard, OpenOrder, Performance
from .http_port import performance as of_fills
from .market import Book
from .protocol import (
    AccountId,
    Auction,
    Execution,
    Limit,
    Operation,
    Order,
    OrderId,
    Side,
    Status,
    account_id,
    checked,
    decimal,
    integer,
)
from .servers import References, Tls, addresses, tls_context
from .web_socket import RETRY_S

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .asynchronous import AsyncExchange
    from .sync import Exchange, Pending, Pipeline

P = ParamSpec("P")
T = TypeVar("T")


class Client:
    """An exchange, as one account.

    servers: "HOST:PORT" or "unix:PATH", or several with commas, of which one is active. It connects
        at the first request.
    account, key: whose orders; key only where the server asks for one (--auth).
    operator_key: with which such a server does what is the operator's: create_account() and what
        follows it below. Without it these are sent with account and key, of an account that is an
        operator.
    tls: True, a file of certificates to trust, or an ssl.SSLContext.
    timeout: seconds for a reply or a connection.
    retry: seconds for which it connects again after a lost connection, 0 for never. By default
        `timeout` with several servers, else 0. Orders then get references, so that they can be sent
        again and are executed once.
    cancel_on_disconnect: the exchange cancels what is open of the orders once their connection is
        over: lost, or closed as by close().
    http: "HOST:PORT" of the HTTP port, for account(), open_orders(), fills(), book(),
        leaderboard(), events() and market_data(). These two connect again for `retry` seconds too,
        or for 30 without.

    Methods raise Refused, ConnectionFailed, InDoubt and BadReply; TypeError and ValueError for
    wrong arguments.
    """

    def __init__(
        self,
        servers: str,
        account: AccountId | None = None,
        *,
        key: str | None = None,
        tls: Tls = False,
        timeout: float = 30,
        retry: float | None = None,
        cancel_on_disconnect: bool = False,
        http: str | None = None,
        operator_key: str | None = None,
    ) -> None:
        self._addresses = deque(addresses(servers, may_be_local=True))
        self.account_id, self._key = account, key
        self._tls, self._timeout = tls_context(tls), _seconds(timeout, "timeout")
        if retry is None:
            retry = timeout if len(self._addresses) > 1 else 0
        self._retry = _seconds(retry, "retry", may_be_0=True)
        self._references = References()
        self._cancel_on_disconnect = checked(cancel_on_disconnect, bool, "cancel_on_disconnect")
        self._http = http
        if http is not None:
            addresses(http)
        if operator_key is not None:
            checked(operator_key, str, "operator_key")
        self._operator_key = operator_key

    def _create_root(self) -> str:
        return protocol.create_root(self._operator_key, self.account_id, self._key)

    def _change(self, message: str, /, **values: Any) -> Operation[None]:
        return protocol.change(self._create_root(), message, **values)

    def _own_id(self) -> str | None:
        return None if self.account_id is None else account_id(self.account_id)

    def _root(self) -> str:
        return protocol.transactions_root(self.account_id, self._key, self._cancel_on_disconnect)

    def _order(
        self, sign: int, symbol: str, shares: Number, limit: Limit, ref: str | None, terms: Terms
    ) -> Operation[Order]:
        amount = _amount(shares, sign)
        if ref is None and self._retry:
            ref = self._references.make()
        return protocol.order(self._root(), symbol, amount, limit, ref, **terms)

    def _http_port(self) -> HttpPort:
        return HttpPort(self._http_servers(), self._tls, self._timeout, self.account_id, self._key)

    def _new_day(self, day: str) -> str:
        if self._operator_key is None:  # no account lasts into the next day
            raise ValueError("no key of the operator: give one as Exchange(..., operator_key=)")
        return self._http_port().new_day(day, self._operator_key)

    def _http_servers(self) -> str:
        if self._http is None:
            raise ValueError(f"no HTTP port: give one as {type(self).__name__}(..., http=)")
        return self._http

    @property
    def _stream_retry(self) -> float:
        return self._retry or RETRY_S


# --- requests, each described once, and named in Requests ---


class _Method(Generic[P, T]):
    """A request as a method: Exchange sends it and waits, AsyncExchange awaits it, Pipeline
    collects it."""

    def __init__(self, request: Callable[Concatenate[Client, P], Operation[T]]) -> None:
        self._request = request
        self._methods: dict[type, Any] = {}  # by the class that has it

    @overload
    def __get__(self, caller: None, kind: type) -> Callable[..., Any]:
        ...

    @overload
    def __get__(self, caller: Exchange, kind: type) -> Callable[P, T]:
        ...

    @overload
    def __get__(self, caller: AsyncExchange, kind: type) -> Callable[P, Coroutine[Any, Any, T]]:
        ...

    @overload
    def __get__(self, caller: Pipeline, kind: type) -> Callable[P, Pending[T]]:
        ...

    def __get__(self, caller: object, kind: Any) -> Any:
        if kind not in self._methods:
            self._methods[kind] = kind._method(self._request)
        method = self._methods[kind]
        return method if caller is None else method.__get__(caller, kind)


def buy(
    client: Client,
    symbol: str,
    shares: Number,
    limit: Limit,
    ref: str | None = None,
    **terms: Unpack[Terms],
) -> Operation[Order]:
    """Opens a buy at a limit price or better; with MARKET as limit, at any. `ref`: what to call it,
    for sending it again.

    A market order cancels at once what is not executed at once; a market buy takes no more than the
    account's free cash pays for.

    terms: those of exchange_client.Terms.
    """
    return client._order(1, symbol, shares, limit, ref, terms)


def sell(
    client: Client,
    symbol: str,
    shares: Number,
    limit: Limit,
    ref: str | None = None,
    **terms: Unpack[Terms],
) -> Operation[Order]:
    """Opens a sell, as buy()."""
    return client._order(-1, symbol, shares, limit, ref, terms)


def replace(
    client: Client,
    order: OrderId | None,
    shares: Number,
    limit: Number,
    *,
    ref: str | None = None,
    side: Side | None = None,
) -> Operation[Order]:
    """Gives an open order another amount and limit, in one step. It keeps its id; returns it as it
    is now.

    order: an Order, an id, or None with `ref`. An id or a reference needs the side that the order
        has.
    shares: all of it, so that what was executed before counts. With the same limit and no larger
        amount the order keeps its place among those of its price; else it is executed as far as it
        can be, and the rest is behind all others. Refused if nothing is open, or nothing would be;
        then the order goes on as it was.
    """
    if side is None and isinstance(order, Order):
        side = "buy" if order.amount > 0 else "sell"
    if side not in ("buy", "sell"):
        raise ValueError(f"side: give that of the order, 'buy' or 'sell', not {side!r}")
    amount = _amount(shares, 1 if side == "buy" else -1)
    return protocol.replace(client._root(), order, ref, amount, limit)


def query(
    client: Client, order: OrderId | None = None, *, ref: str | None = None
) -> Operation[Status]:
    return protocol.query(client._root(), order, ref)


def cancel(
    client: Client, order: OrderId | None = None, *, ref: str | None = None
) -> Operation[Status]:
    """Ends what is open; returns the final state. Refused if nothing is."""
    return protocol.cancel(client._root(), order, ref)


def create_account(
    client: Client, account: AccountId, balance: Number, key: str | None = None
) -> Operation[None]:
    return client._change("create_account", account=account, balance=balance, key=key)


def create_symbol(
    client: Client, symbol: str, shares: Mapping[AccountId, Number] | None = None
) -> Operation[None]:
    """Creates a symbol, and gives shares of it to accounts."""
    return protocol.create_symbol(client._create_root(), symbol, shares or {})


def set_instrument(
    client: Client, symbol: str | None, **rules: Unpack[Rules]
) -> Operation[Auction | None]:
    """Sets rules for the orders of a symbol, or of all that exist (None). A rule of None stays as
    it is, 0 ends it.

    rules: those of exchange_client.Rules. trading: see halt(), auction() and resume().
    """
    return protocol.set_instrument(client._create_root(), symbol, rules)


# For one symbol, or for all that exist (None).
def _set_trading(
    client: Client, symbol: str | None, *trading: Trading
) -> Operation[Auction | None]:
    rules = (Rules(trading=word) for word in trading)
    return protocol.set_instrument(client._create_root(), symbol, *rules)


def halt(client: Client, symbol: str | None) -> Operation[Auction | None]:
    """Orders and replaces of the symbol are refused until resume(); cancels and queries work."""
    return _set_trading(client, symbol, "halted")


def auction(client: Client, symbol: str | None) -> Operation[Auction | None]:
    """Orders of the symbol are collected, until resume(), uncross() or close_symbol() executes them
    at one price."""
    return _set_trading(client, symbol, "auction")


def resume(client: Client, symbol: str | None) -> Operation[Auction | None]:
    """Ends a halt() or an auction(). Returns what the auction of one symbol executed, if it did, as
    the next two do."""
    return _set_trading(client, symbol, "open")


def uncross(client: Client, symbol: str | None) -> Operation[Auction | None]:
    """Executes an auction(), and begins the next one."""
    return _set_trading(client, symbol, "open", "auction")


def close_symbol(client: Client, symbol: str | None) -> Operation[Auction | None]:
    """Executes an auction(), and halts."""
    return _set_trading(client, symbol, "open", "halted")


def set_key(client: Client, key: str, account: AccountId | None = None) -> Operation[None]:
    """Gives an account another key, as the operator; without `account`, the own one. With a new key
    of its own this client goes on.

    The key before logs in no more, on no connection. If the outcome of a change of the own key is
    in doubt, try both.
    """
    root = client._root() if account is None else client._create_root()
    operation = protocol.change(root, "set_key", account=account, key=checked(key, str, "key"))
    if account is not None and account_id(account) != client._own_id():
        return operation

    def parse(replies: Sequence[ET.Element]) -> None:
        operation.parse(replies)
        client._key = key

    return dataclasses.replace(operation, parse=parse)


def revoke_key(client: Client, account: AccountId) -> Operation[None]:
    """No key logs in to the account, until set_key() gives it another."""
    return client._change("set_key", account=account, revoke=True)


def set_account(
    client: Client, account: AccountId, **settings: Unpack[AccountSettings]
) -> Operation[None]:
    """Sets several things at once: what set_role(), freeze(), unfreeze(), set_limits() and
    set_name() set.

    settings: those of exchange_client.AccountSettings. One of None stays as it is.
    """
    return client._change("set_account", account=account, **settings)


def set_role(client: Client, account: AccountId, role: Role) -> Operation[None]:
    """Makes an account an "operator", which may do what the operator does with its own key, or a
    "trader" again."""
    return set_account(client, account, role=checked(role, str, "role"))


def freeze(client: Client, account: AccountId, *, cancel_orders: bool = False) -> Operation[None]:
    """Orders and replaces of the account are refused until unfreeze(); cancels and queries work.
    cancel_orders: and all that are open are canceled."""
    cancel_orders = checked(cancel_orders, bool, "cancel_orders")
    return set_account(client, account, access="frozen", cancel_orders=cancel_orders)


def unfreeze(client: Client, account: AccountId) -> Operation[None]:
    return set_account(client, account, access="active")


def set_limits(
    client: Client,
    account: AccountId,
    *,
    orders_max: SupportsIndex | None = None,
    orders_per_second_max: SupportsIndex | None = None,
    position_max: Number | None = None,
) -> Operation[None]:
    """Limits of an account. A limit of None stays as it is, 0 ends it.

    orders_max: orders that are open.
    orders_per_second_max: orders and replaces.
    position_max: shares of one symbol, with what open buys may add.
    """
    return set_account(
        client,
        account,
        orders_max=orders_max,
        orders_per_second_max=orders_per_second_max,
        position_max=position_max,
    )


def set_name(client: Client, account: AccountId, name: str) -> Operation[None]:
    """What leaderboards show of an account in place of its id: at most 40 bytes of UTF-8. "" ends
    it."""
    return set_account(client, account, name=checked(name, str, "name"))


def begin_round(client: Client, name: str) -> Operation[None]:
    """Begins a round of the leaderboard. name: in the form of a reference."""
    return client._change("begin_round", name=name)


def adjust_cash(
    client: Client, account: AccountId, amount: Number, reason: str | None = None
) -> Operation[None]:
    """Gives cash to an account; an amount below 0 is taken of what is free. reason: for the
    journal, in the form of a reference."""
    return client._change("adjust_cash", account=account, cash=amount, reason=reason)


def adjust_shares(
    client: Client, account: AccountId, symbol: str, amount: Number, reason: str | None = None
) -> Operation[None]:
    """Gives shares of a symbol to an account, or takes them, as adjust_cash()."""
    return client._change(
        "adjust_shares", symbol=symbol, account=account, shares=amount, reason=reason
    )


class Requests:
    """The requests as methods of Exchange, AsyncExchange and Pipeline."""

    buy = _Method(buy)
    sell = _Method(sell)
    replace = _Method(replace)
    query = _Method(query)
    cancel = _Method(cancel)
    create_account = _Method(create_account)
    create_symbol = _Method(create_symbol)
    set_instrument = _Method(set_instrument)
    halt = _Method(halt)
    auction = _Method(auction)
    resume = _Method(resume)
    uncross = _Method(uncross)
    close_symbol = _Method(close_symbol)
    set_key = _Method(set_key)
    revoke_key = _Method(revoke_key)
    set_account = _Method(set_account)
    set_role = _Method(set_role)
    freeze = _Method(freeze)
    unfreeze = _Method(unfreeze)
    set_limits = _Method(set_limits)
    set_name = _Method(set_name)
    begin_round = _Method(begin_round)
    adjust_cash = _Method(adjust_cash)
    adjust_shares = _Method(adjust_shares)


# --- what the HTTP port shows: an account with all that was acknowledged before, and the market, as
# old as the tables


def account(client: Client) -> Account:
    """Cash and shares, free and reserved."""
    return client._http_port().account()


def open_orders(client: Client, symbol: str | None = None) -> list[OpenOrder]:
    """The open orders of the account, or those of one symbol, oldest first."""
    return client._http_port().open_orders(symbol)


@overload
def fills(client: Client, order: OrderId) -> list[Execution]:
    ...


@overload
def fills(
    client: Client, *, after: SupportsIndex | None = None, newest_first: bool = False
) -> Iterator[Fill]:
    ...


def fills(
    client: Client,
    order: OrderId | None = None,
    *,
    after: SupportsIndex | None = None,
    newest_first: bool = False,
) -> list[Execution] | Iterator[Fill]:
    """All executions of the account, oldest first: from its first trade on, or behind the execution
    with the number `after`.

    newest_first: in place of `after`, the newest first. The pages come as the loop goes on, so that
        a loop may end early. With the number of the last fill as `after`, a later call yields what
        has come since.

    With an order: the executions of that order, as a list.
    """
    if order is not None:
        if after is not None or newest_first:
            raise TypeError("give an order, or after, or newest_first")
        return client._http_port().fills(order)
    if newest_first and after is not None:
        raise TypeError("give after or newest_first, not both")
    begin = None if after is None else integer(after, "after")
    if begin is not None and begin < 0:
        raise ValueError(f"after: {begin} is below 0")
    return client._http_port().account_fills(begin, checked(newest_first, bool, "newest_first"))


def performance(client: Client, *, after: SupportsIndex | None = None) -> list[Performance]:
    """What the account earned by trading, after each of its fills, or of those behind an execution,
    as fills() has them."""
    return of_fills(fills(client, after=after))


def book(client: Client, symbol: str, levels: int = 20) -> Book:
    """The best prices of a symbol, at most 1000 on each side."""
    return client._http_port().book(symbol, levels)


def leaderboard(
    client: Client, round: int | None = None, *, limit: int | None = None, ids: bool = False
) -> Leaderboard:
    """What accounts gained by trading, in all rounds or in the one with this number.

    ids: also of accounts that have a name; the operator's, or of an account that is an operator.
    """
    return client._http_port().leaderboard(round, limit, ids, client._operator_key)


def events(
    client: Client, from_: SupportsIndex | None = None
) -> AsyncGenerator[AccountSnapshot | AccountEvent, None]:
    """What happens to the account, without end: an AccountSnapshot, then each AccountEvent after
    it; or each one from number `from_` on.

    After a lost connection it goes on with the next event.
    """
    servers, tls, retry = client._http_servers(), client._tls or False, client._stream_retry
    if client.account_id is None:
        raise ValueError("no account: give one as Exchange(..., account=)")
    return account_events(
        servers, client.account_id, from_=from_, key=client._key, tls=tls, retry=retry
    )


def _amount(shares: Number, sign: int) -> Decimal:
    number = decimal(shares, "shares")
    if number <= 0:
        raise ValueError(f"shares: {shares!r} is not above 0")
    return number if sign > 0 else number.copy_negate()  # which rounds nothing


def _seconds(value: float, what: str, may_be_0: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what}: {value!r} is a {type(value).__name__}; give seconds")
    if not (value > 0 or may_be_0 and value == 0):  # nan neither
        raise ValueError(f"{what}: {value!r} is not a time in seconds")
    return value
