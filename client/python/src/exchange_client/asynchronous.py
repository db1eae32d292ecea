"""A client for asyncio: requests that are awaited at the same time share one connection, pipelined."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from . import protocol
from .client import Client
from .errors import BadReply, ConnectionFailed, ExchangeError
from .http_port import Account, OpenOrder
from .market import Book, MarketUpdate, market_data
from .protocol import (
    AccountId,
    Execution,
    Limit,
    Number,
    Operation,
    Order,
    OrderId,
    ReplyReader,
    Side,
    Status,
    Terms,
)
from .servers import PAUSE_MAX_S, PAUSE_MIN_S, Tls, at_fork

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
# Of processes that were forked. Kept, since asyncio reports a task that is destroyed before its end.
_of_parents: list[_Link] = []


class _Link:
    """One connection, and the replies that it owes, oldest first."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._owed: deque[asyncio.Future[bytes]] = deque()
        self.error: Exception | None = None
        self.loop = asyncio.get_running_loop()
        self._task = self.loop.create_task(self._receive())
        at_fork(self)

    def send(self, document: str) -> asyncio.Future[bytes]:
        future: asyncio.Future[bytes] = self.loop.create_future()
        try:
            self._owed.append(future)
            self._writer.write(protocol.frame(document))
        except BaseException as error:  # of a signal handler: it may have been sent or not
            self.fail(EOFError(f"interrupted by {type(error).__name__}"))
            raise
        return future

    async def drain(self) -> None:
        await self._writer.drain()

    async def _receive(self) -> None:
        replies = ReplyReader()
        try:
            while data := await self._reader.read(1 << 16):
                replies.feed(data)
                while (reply := replies.take()) is not None:
                    if not self._owed:
                        raise BadReply(f"a reply to nothing: {reply[:100]!r}")
                    future = self._owed.popleft()
                    if not future.done():  # its caller may have given up
                        future.set_result(reply)
            self.fail(EOFError("the server closed the connection"))
        except (OSError, BadReply) as error:
            self.fail(error)
        except (
            BaseException
        ) as error:  # the end of the loop, or a signal handler: a reply may be lost
            self.fail(EOFError(f"interrupted by {type(error).__name__}"))
            raise

    def fail(self, error: Exception) -> None:
        if self.error is None:
            self.error = error
        self._writer.close()
        for future in self._owed:
            if not future.done():
                future.set_exception(self.error)
        self._owed.clear()

    async def close(self) -> None:
        self.fail(EOFError("closed by this client"))
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def after_fork(self) -> None:
        """Lets go of the socket alone: the selector is the parent's too, and its entries must stay."""
        _of_parents.append(self)
        self.error = EOFError("this process was forked")
        number = self._writer.get_extra_info("socket").fileno()
        if number >= 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, number, inheritable=False)
            os.close(nothing)


class AsyncExchange(Client):
    """As Exchange, for asyncio. http: for market_data() too."""

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
        super().__init__(
            servers, account, key, tls, timeout, retry, cancel_on_disconnect, http, operator_key
        )
        self._link: _Link | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # that of _link and _connecting
        self._connecting = asyncio.Lock()

    async def __aenter__(self) -> AsyncExchange:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        link, self._link = self._link, None
        if link and link.loop is asyncio.get_running_loop():
            await link.close()

    async def buy(
        self,
        symbol: str,
        shares: Number,
        limit: Limit,
        ref: str | None = None,
        **terms: Unpack[Terms],
    ) -> Order:
        return await self._perform(self._order(1, symbol, shares, limit, ref, **terms))

    async def sell(
        self,
        symbol: str,
        shares: Number,
        limit: Limit,
        ref: str | None = None,
        **terms: Unpack[Terms],
    ) -> Order:
        return await self._perform(self._order(-1, symbol, shares, limit, ref, **terms))

    async def replace(
        self,
        order: OrderId | None,
        shares: Number,
        limit: Number,
        *,
        ref: str | None = None,
        side: Side | None = None,
    ) -> Order:
        return await self._perform(self._replace(order, shares, limit, ref, side))

    async def query(self, order: OrderId | None = None, *, ref: str | None = None) -> Status:
        return await self._perform(protocol.query(self._root(), order, ref))

    async def cancel(self, order: OrderId | None = None, *, ref: str | None = None) -> Status:
        return await self._perform(protocol.cancel(self._root(), order, ref))

    async def cancel_all(self, symbol: str | None = None) -> list[Status]:
        canceled: list[Status] = []
        while some := await self._perform(protocol.cancel_all(self._root(), symbol)):
            canceled += some
        return canceled

    async def create_account(
        self, account: AccountId, balance: Number, key: str | None = None
    ) -> None:
        await self._perform(protocol.create_account(self._create_root, account, balance, key))

    async def create_symbol(
        self, symbol: str, shares: Mapping[AccountId, Number] | None = None
    ) -> None:
        await self._perform(protocol.create_symbol(self._create_root, symbol, shares or {}))

    async def account(self) -> Account:
        return await asyncio.to_thread(self._http_port().account)

    async def open_orders(self, symbol: str | None = None) -> list[OpenOrder]:
        return await asyncio.to_thread(self._http_port().open_orders, symbol)

    async def fills(self, order: OrderId) -> list[Execution]:
        return await asyncio.to_thread(self._http_port().fills, order)

    async def book(self, symbol: str, levels: int = 20) -> Book:
        return await asyncio.to_thread(self._http_port().book, symbol, levels)

    def market_data(self, *symbols: str) -> AsyncIterator[MarketUpdate]:
        """Books and trades of symbols, as they change (market.py)."""
        if self._http is None:
            raise ValueError("no HTTP port: give one as AsyncExchange(..., http=)")
        return market_data(self._http, *symbols, tls=self._tls or False)

    async def _perform(self, operation: Operation[T]) -> T:
        document = protocol.document([operation])
        give_up, pause = time.monotonic() + self._retry, PAUSE_MIN_S
        while True:
            link = None
            try:
                link = await self._connected()
                future = link.send(document)
                try:
                    await link.drain()
                    reply = await asyncio.wait_for(future, self._timeout)
                finally:
                    future.cancel()  # if it is not done: its reply will be dropped
                outcome = protocol.outcomes([operation], reply)[0]
                if isinstance(outcome, ExchangeError):
                    raise outcome
                return outcome
            except BadReply as error:
                if link:
                    link.fail(error)
                raise
            except (ConnectionFailed, OSError, EOFError, asyncio.TimeoutError) as error:
                why = str(error) or f"no reply for {self._timeout:g} s"
                if link:
                    link.fail(EOFError(why))
                again = link is None or operation.repeatable
                if not again or time.monotonic() + pause > give_up:
                    if link is None:
                        raise
                    raise protocol.in_doubt(operation, why) from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, PAUSE_MAX_S)

    async def _connected(self) -> _Link:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # the one before has ended, or is that of the parent of a fork
            self._loop, self._connecting, self._link = loop, asyncio.Lock(), None
        async with self._connecting:
            if self._link and self._link.error is None:
                return self._link
            if self._link:
                self._addresses.rotate(-1)
                await self.close()
            reasons = []
            for _ in range(len(self._addresses)):
                host, port = self._addresses[0]
                try:
                    reader, writer = await asyncio.wait_for(
                        asyncio.open_connection(host, port, ssl=self._tls), self._timeout
                    )
                    self._link = _Link(reader, writer)
                    return self._link
                except (OSError, asyncio.TimeoutError) as error:
                    reasons.append(f"{host}:{port}: {error or 'no answer'}")
                    self._addresses.rotate(-1)
            raise ConnectionFailed("cannot connect to " + "; ".join(reasons))
