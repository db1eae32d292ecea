"""A client for asyncio: requests that are awaited at the same time share one connection, pipelined.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from itertools import islice
from typing import Any, Concatenate, ParamSpec, SupportsIndex, TypeVar, overload

from . import client, protocol
from .client import Client, Requests
from .errors import BadReply, ConnectionFailed, ExchangeError
from .http_port import Fill
from .market import MarketUpdate, market_data
from .protocol import Execution, Operation, OrderId, ReplyReader, Status
from .servers import LOCAL, PAUSE_MAX_S, PAUSE_MIN_S, at_fork, shown

P = ParamSpec("P")
T = TypeVar("T")
FILLS_AT_ONCE = 100
# Links of processes that were forked. Kept, since asyncio reports a task that is destroyed before
# its end.
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
        """Lets go of the socket alone: the selector is the parent's too, and its entries must
        stay."""
        _of_parents.append(self)
        self.error = EOFError("this process was forked")
        number = self._writer.get_extra_info("socket").fileno()
        if number >= 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, number, inheritable=False)
            os.close(nothing)


def _awaited(
    request: Callable[Concatenate[Client, P], Operation[T]]
) -> Callable[Concatenate[AsyncExchange, P], Coroutine[Any, Any, T]]:
    @wraps(request)
    async def method(self: AsyncExchange, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._perform(request(self, *args, **kwargs))

    return method


def _in_thread(
    look: Callable[Concatenate[Client, P], T]
) -> Callable[Concatenate[AsyncExchange, P], Coroutine[Any, Any, T]]:
    @wraps(look)
    async def method(self: AsyncExchange, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(look, self, *args, **kwargs)

    return method


async def _each_in_thread(fills: Iterator[Fill]) -> AsyncIterator[Fill]:
    """Those of a page are there at once."""
    while True:
        some = await asyncio.to_thread(list, islice(fills, FILLS_AT_ONCE))
        for fill in some:
            yield fill
        if len(some) < FILLS_AT_ONCE:
            return


class AsyncExchange(Requests, Client):
    __doc__ = Client.__doc__

    _link: _Link | None = None
    _loop: asyncio.AbstractEventLoop | None = None  # that of _link and _connecting
    _connecting: asyncio.Lock

    async def __aenter__(self) -> AsyncExchange:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        link, self._link = self._link, None
        if link and link.loop is asyncio.get_running_loop():
            await link.close()

    _method = staticmethod(_awaited)
    account = _in_thread(client.account)
    open_orders = _in_thread(client.open_orders)
    performance = _in_thread(client.performance)
    book = _in_thread(client.book)
    leaderboard = _in_thread(client.leaderboard)
    events = client.events

    @overload
    def fills(self, order: OrderId) -> Coroutine[Any, Any, list[Execution]]:
        ...

    @overload
    def fills(
        self, *, after: SupportsIndex | None = None, newest_first: bool = False
    ) -> AsyncIterator[Fill]:
        ...

    def fills(
        self,
        order: OrderId | None = None,
        *,
        after: SupportsIndex | None = None,
        newest_first: bool = False,
    ) -> Coroutine[Any, Any, list[Execution]] | AsyncIterator[Fill]:
        """As Exchange.fills(): `async for` over those of the account, `await` for those of an
        order."""
        if order is None:
            return _each_in_thread(client.fills(self, after=after, newest_first=newest_first))
        if after is not None or newest_first:
            raise TypeError("give an order, or after, or newest_first")
        return asyncio.to_thread(client.fills, self, order)

    async def new_day(self, day: str) -> str:
        """As Exchange.new_day()."""
        await self.close()  # the server ends it
        return await asyncio.to_thread(self._new_day, day)

    async def cancel_all(self, symbol: str | None = None) -> list[Status]:
        """As Exchange.cancel_all()."""
        canceled: list[Status] = []
        while some := await self._perform(protocol.cancel_all(self._root(), symbol)):
            canceled += some
        return canceled

    def market_data(self, *symbols: str) -> AsyncIterator[MarketUpdate]:
        """Books and trades of symbols, as they change (market.py)."""
        servers, tls = self._http_servers(), self._tls or False
        return market_data(servers, *symbols, tls=tls, retry=self._stream_retry)

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
                    opening = (
                        asyncio.open_unix_connection(host.removeprefix(LOCAL))
                        if host.startswith(LOCAL)
                        else asyncio.open_connection(host, port, ssl=self._tls)
                    )
                    reader, writer = await asyncio.wait_for(opening, self._timeout)
                    self._link = _Link(reader, writer)
                    return self._link
                except (OSError, asyncio.TimeoutError) as error:
                    reasons.append(f"{shown(host, port)}: {error or 'no answer'}")
                    self._addresses.rotate(-1)
            raise ConnectionFailed("cannot connect to " + "; ".join(reasons))
