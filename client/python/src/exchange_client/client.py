"""What Exchange and AsyncExchange have in common: whose orders, at which servers, and how an order is made."""

from __future__ import annotations

from collections import deque
from decimal import Decimal
from typing import TYPE_CHECKING

from . import protocol
from .http_port import HttpPort
from .protocol import (
    AccountId,
    Limit,
    Number,
    Operation,
    Order,
    OrderId,
    Side,
    Terms,
    checked,
    decimal,
)
from .servers import References, Tls, addresses, tls_context

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Client:
    """The parameters are explained at Exchange."""

    def __init__(
        self,
        servers: str,
        account: AccountId | None,
        key: str | None,
        tls: Tls,
        timeout: float,
        retry: float | None,
        cancel_on_disconnect: bool,
        http: str | None,
        operator_key: str | None,
    ) -> None:
        self._addresses = deque(addresses(servers))
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
        self._create_root = protocol.create_root(operator_key)

    def _root(self) -> str:
        return protocol.transactions_root(self.account_id, self._key, self._cancel_on_disconnect)

    def _order(
        self,
        sign: int,
        symbol: str,
        shares: Number,
        limit: Limit,
        ref: str | None,
        **terms: Unpack[Terms],
    ) -> Operation[Order]:
        amount = _amount(shares, sign)
        if ref is None and self._retry:
            ref = self._references.make()
        return protocol.order(self._root(), symbol, amount, limit, ref, **terms)

    def _replace(
        self,
        order: OrderId | None,
        shares: Number,
        limit: Number,
        ref: str | None,
        side: Side | None,
    ) -> Operation[Order]:
        if side is None and isinstance(order, Order):
            side = "buy" if order.amount > 0 else "sell"
        if side not in ("buy", "sell"):
            raise ValueError(f"side: give that of the order, 'buy' or 'sell', not {side!r}")
        amount = _amount(shares, 1 if side == "buy" else -1)
        return protocol.replace(self._root(), order, ref, amount, limit)

    def _http_port(self) -> HttpPort:
        if self._http is None:
            raise ValueError("no HTTP port: give one as Exchange(..., http=)")
        return HttpPort(self._http, self._tls, self._timeout, self.account_id, self._key)


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
