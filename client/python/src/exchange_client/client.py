"""What Exchange and AsyncExchange have in common: whose orders, at which servers, and how an order is made."""

from __future__ import annotations

from collections import deque

from . import protocol
from .protocol import Number, Operation, Order, Tif, decimal
from .servers import References, Tls, addresses, tls_context


class Client:
    """The parameters are explained at Exchange."""

    def __init__(
        self,
        servers: str,
        account: str | int | None,
        key: str | None,
        tls: Tls,
        timeout: float,
        retry: float | None,
    ) -> None:
        self._addresses = deque(addresses(servers))
        self.account, self._key = account, key
        self._tls, self._timeout = tls_context(tls), timeout
        self._retry = retry if retry is not None else timeout if len(self._addresses) > 1 else 0
        self._references = References()

    def _root(self) -> str:
        return protocol.transactions_root(self.account, self._key)

    def _order(
        self,
        sign: int,
        symbol: str,
        shares: Number,
        limit: Number,
        ref: str | None,
        tif: Tif | None,
        post: bool,
    ) -> Operation[Order]:
        amount = decimal(shares, "shares")
        if amount <= 0:
            raise ValueError(f"shares: {shares!r} is not above 0")
        if ref is None and self._retry:
            ref = self._references.make()
        return protocol.order(self._root(), symbol, sign * amount, limit, ref, tif, post)
