"""The WebSocket of the HTTP port: what a connection yields, and the ones after it. Needs the
package websockets."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator
from contextlib import aclosing
from typing import Any, Protocol, TypeVar

from .errors import ConnectionFailed
from .servers import PAUSE_MAX_S, PAUSE_MIN_S, Tls, addresses, host_in_url, tls_context

T = TypeVar("T")
RETRY_S = 30.0
CLOSE_S = 1.0  # for the farewell: nothing that comes then is used


class WebSocket(Protocol):
    async def send(self, message: str) -> None:
        ...

    def __aiter__(self) -> AsyncIterator[str | bytes]:
        ...


async def follow(
    http: str,
    tls: Tls,
    retry: float,
    session: Callable[[WebSocket], AsyncGenerator[T | None, None]],
) -> AsyncGenerator[T, None]:
    """Yields what `session` yields of a connection, except None, which says that the connection
    serves.

    After a lost connection, which may also be an EOFError of the session, it begins a session at
    the next server. Raises ConnectionFailed if none serves for `retry` seconds.
    """
    import websockets

    places, context = deque(addresses(http)), tls_context(tls)
    # As the XML port is reached; from version 15 on it would follow http_proxy.
    parameters = inspect.signature(websockets.connect).parameters
    options: dict[str, Any] = {"proxy": None} if "proxy" in parameters else {}
    options |= {"ssl": context, "max_size": None, "close_timeout": CLOSE_S}
    loop = asyncio.get_running_loop()
    give_up, pause = loop.time() + retry, PAUSE_MIN_S
    while True:
        host, port = places[0]
        url = f"{'wss' if context else 'ws'}://{host_in_url(host)}:{port}/ws"
        serves = False
        try:
            async with websockets.connect(url, **options) as connection:
                async with aclosing(session(connection)) as items:
                    async for item in items:
                        serves = True
                        if item is not None:
                            yield item
            why = "the server closed the connection"
        except (OSError, EOFError, asyncio.TimeoutError, websockets.WebSocketException) as problem:
            why = str(problem) or type(problem).__name__
        if serves:
            give_up, pause = loop.time() + retry, PAUSE_MIN_S
        if loop.time() + pause > give_up:
            raise ConnectionFailed(f"{url}: {why}")
        places.rotate(-1)
        await asyncio.sleep(pause)
        pause = min(2 * pause, PAUSE_MAX_S)


def blocking(stream: AsyncGenerator[T, None]) -> Iterator[T]:
    """The same, for a program without an event loop: that of the stream runs while the program
    waits."""
    loop = asyncio.new_event_loop()

    async def next_item() -> T:
        return await anext(stream)

    async def cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def end(task: asyncio.Task[T]) -> None:
        await cancel([task])
        await stream.aclose()
        await loop.shutdown_asyncgens()  # these, and the tasks, are of websockets
        await cancel(asyncio.all_tasks() - {asyncio.current_task()})

    try:
        while True:
            task = loop.create_task(next_item())
            yield loop.run_until_complete(task)
    finally:
        loop.run_until_complete(end(task))
        loop.close()
