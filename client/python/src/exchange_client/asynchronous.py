"""A client for asyncio: requests that are awaited at the same time share one connection, pipelined."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from . import protocol
from .client import Client
from .errors import BadReply, ConnectionFailed, ExchangeError
from .market import MarketUpdate, market_data
from .protocol import Limit, Number, Operation, Order, ReplyReader, Side, Status, Terms
from .servers import PAUSE_MAX_S, PAUSE_MIN_S, Tls

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class _Link:
    """One connection, and the replies that it owes, oldest first."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._owed: deque[asyncio.Future[bytes]] = deque()
        self.error: Exception | None = None
        self._task = asyncio.create_task(self._receive())

    def send(self, document: str) -> asyncio.Future[bytes]:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._owed.append(future)
        self._writer.write(protocol.frame(document))
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


class AsyncExchange(Client):
    """As Exchange, for asyncio. http: "HOST:PORT" of the HTTP port, for market_data()."""

    def __init__(
        self,
        servers: str,
        account: str | int | None = None,
        *,
        key: str | None = None,
        tls: Tls = False,
        timeout: float = 30,
        retry: float | None = None,
        cancel_on_disconnect: bool = False,
        http: str | None = None,
    ) -> None:
        super().__init__(servers, account, key, tls, timeout, retry, cancel_on_disconnect)
        self._http = http
        self._link: _Link | None = None
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
        if self._link:
            await self._link.close()
            self._link = None

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
        order: int | Order | None,
        shares: Number,
        limit: Number,
        *,
        ref: str | None = None,
        side: Side | None = None,
    ) -> Order:
        return await self._perform(self._replace(order, shares, limit, ref, side))

    async def query(self, order: int | Order | None = None, *, ref: str | None = None) -> Status:
        return await self._perform(protocol.query(self._root(), order, ref))

    async def cancel(self, order: int | Order | None = None, *, ref: str | None = None) -> Status:
        return await self._perform(protocol.cancel(self._root(), order, ref))

    async def cancel_all(self, symbol: str | None = None) -> list[Status]:
        canceled: list[Status] = []
        while some := await self._perform(protocol.cancel_all(self._root(), symbol)):
            canceled += some
        return canceled

    async def create_account(
        self, account: str | int, balance: Number, key: str | None = None
    ) -> None:
        await self._perform(protocol.create_account(account, balance, key))

    async def create_symbol(
        self, symbol: str, shares: Mapping[str | int, Number] | None = None
    ) -> None:
        await self._perform(protocol.create_symbol(symbol, shares or {}))

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
                await link.drain()
                reply = await asyncio.wait_for(future, self._timeout)
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
        async with self._connecting:
            if self._link and self._link.error is None:
                return self._link
            if self._link:
                self._addresses.rotate(-1)
                await self._link.close()
                self._link = None
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
