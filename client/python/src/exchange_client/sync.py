"""A client that waits for each reply."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, SupportsIndex, TypeVar, cast

from . import client, protocol
from .client import Client, Requests
from .errors import BadReply, ConnectionFailed, ExchangeError
from .events import AccountEvent, AccountSnapshot
from .protocol import Operation, Outcome, ReplyReader, Status
from .servers import (
    LOCAL,
    PAUSE_MAX_S,
    PAUSE_MIN_S,
    Tls,
    at_fork,
    connect,
    shown,
    tls_context,
)
from .web_socket import blocking

P = ParamSpec("P")
T = TypeVar("T")
IN_FLIGHT_BYTES_MAX = 65536  # so that neither side waits for the other to read


class Connection:
    """One connection to one server: documents out, replies in. Raises OSError, EOFError, BadReply.

    After an exception it may owe replies, and is of no use.
    """

    def __init__(self, host: str, port: int, timeout: float = 30, tls: Tls = False) -> None:
        self._socket = connect(host, port, timeout)
        try:
            context = tls_context(tls)
            if context and not host.startswith(LOCAL):
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except BaseException:
            self._socket.close()
            raise
        self._reader = ReplyReader()
        self._owed = 0
        at_fork(self)

    @property
    def idle(self) -> bool:
        """Open, and no reply is owed: the next one belongs to the next request."""
        return self._owed == 0 and self._socket.fileno() >= 0

    def send(self, document: str) -> None:
        self._owed += 1  # first, since a part may leave
        self._socket.sendall(protocol.frame(document))

    def receive(self) -> bytes:
        while (reply := self._reader.take()) is None:
            data = self._socket.recv(1 << 16)
            if not data:
                raise EOFError("the server closed the connection")
            self._reader.feed(data)
        self._owed -= 1
        return reply

    def request(self, document: str) -> bytes:
        self.send(document)
        return self.receive()

    def close(self) -> None:
        # without the farewell of TLS, which would end it for the parent of a fork
        self._socket.close()

    after_fork = close


def _waiting(
    request: Callable[Concatenate[Client, P], Operation[T]]
) -> Callable[Concatenate[Exchange, P], T]:
    @wraps(request)
    def method(self: Exchange, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._one(request(self, *args, **kwargs))

    return method


class Exchange(Requests, Client):
    __doc__ = f"""{Client.__doc__}
    Use it in one thread, and as a context manager or with close(). A child of fork() may use it too: it gets a connection of its own, and its
    close() leaves that of the parent alone.
    """

    _connection: Connection | None = None

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._drop(self._connection)

    _method = staticmethod(_waiting)
    account = client.account
    open_orders = client.open_orders
    fills = client.fills
    performance = client.performance
    book = client.book
    leaderboard = client.leaderboard

    def new_day(self, day: str) -> str:
        """Closes the store as a day, and begins the next one, as the operator. Returns the URL of
        the closed store, once it is closed.

        It needs http=. If it ends with InDoubt, call it again: a day that is closed stays closed.
        """
        self.close()  # the server ends it
        return self._new_day(day)

    def cancel_all(self, symbol: str | None = None) -> list[Status]:
        """Cancels all open orders of the account, or of one symbol, and returns their final states,
        oldest first. Empty if none was open.

        Repeats its request until no order is open, since one request cancels 1,000 at most.
        """
        canceled: list[Status] = []
        while some := self._one(protocol.cancel_all(self._root(), symbol)):
            canceled += some
        return canceled

    def events(
        self, from_: SupportsIndex | None = None
    ) -> Iterator[AccountSnapshot | AccountEvent]:
        """As AsyncExchange.events(). In a thread with an event loop, as that of a notebook, use
        that one."""
        return blocking(client.events(self, from_))

    def pipeline(self) -> Pipeline:
        """Collects requests in a `with` block and sends them together at its end."""
        return Pipeline(self)

    # --- how they are carried out ---

    def _one(self, operation: Operation[T]) -> T:
        outcome = self.perform([operation])[0]
        if isinstance(outcome, ExchangeError):
            raise outcome
        return outcome

    def perform(self, operations: Sequence[Operation[T]]) -> list[Outcome[T]]:
        """Carries out operations in order, pipelined. A value or an error for each."""
        found: dict[int, Outcome[T]] = {}
        self._perform(operations, found)
        return [found[number] for number in range(len(operations))]

    def _perform(self, operations: Sequence[Operation[T]], found: dict[int, Outcome[T]]) -> None:
        """Fills `found`, in part if anything else than its own errors is raised, such as
        KeyboardInterrupt."""
        waiting, begin = deque[tuple[int, list[Operation[T]]]](), 0
        for group in protocol.groups(operations):
            waiting.append((begin, group))
            begin += len(group)
        give_up, pause = time.monotonic() + self._retry, PAUSE_MIN_S
        while waiting:
            flying = deque[tuple[int, list[Operation[T]]]]()  # sent, without a reply
            connection: Connection | None = None
            try:
                connection, in_flight = self._connected(), deque[int]()
                while waiting or flying:
                    while waiting:
                        document = protocol.document(waiting[0][1])
                        if flying and sum(in_flight) + len(document) > IN_FLIGHT_BYTES_MAX:
                            break
                        flying.append(waiting.popleft())
                        in_flight.append(len(document))
                        connection.send(document)
                    at, group = flying[0]
                    values = protocol.outcomes(group, connection.receive())
                    for number, value in enumerate(values, at):
                        found[number] = value
                    flying.popleft()
                    in_flight.popleft()
            except (ConnectionFailed, BadReply, OSError, EOFError) as error:
                self._drop(connection)
                if not isinstance(error, ConnectionFailed):
                    self._addresses.rotate(-1)
                again = not isinstance(error, BadReply) and time.monotonic() + pause < give_up
                for at, group in reversed(flying):
                    if again and all(operation.repeatable for operation in group):
                        waiting.appendleft((at, group))
                    else:
                        for number, operation in enumerate(group, at):
                            if isinstance(error, BadReply) and at == flying[0][0]:
                                found[number] = error
                            else:
                                found[number] = protocol.in_doubt(operation, str(error))
                if again:
                    time.sleep(pause)
                    pause = min(2 * pause, PAUSE_MAX_S)
                    continue
                for at, group in waiting:
                    for number, operation in enumerate(group, at):
                        found[number] = protocol.not_sent(operation, str(error))
                break
            except BaseException:
                self._drop(connection)  # no later request may take the replies that it still owes
                raise

    def _drop(self, connection: Connection | None) -> None:
        if connection:
            connection.close()
        if self._connection is connection:  # not that of a signal handler, which came between
            self._connection = None

    def _connected(self) -> Connection:
        if self._connection and self._connection.idle:
            return self._connection
        self._drop(self._connection)
        reasons = []
        for _ in range(len(self._addresses)):
            host, port = self._addresses[0]
            try:
                self._connection = Connection(host, port, self._timeout, self._tls or False)
                return self._connection
            except OSError as error:
                reasons.append(f"{shown(host, port)}: {error.strerror or error}")
                self._addresses.rotate(-1)
        raise ConnectionFailed("cannot connect to " + "; ".join(reasons))


class Pending(Generic[T]):
    """The result of one request of a pipeline, once its block has ended."""

    def __init__(self) -> None:
        self._outcome: Outcome[T] | None = None
        self._done = False

    def result(self) -> T:
        """Raises what the request raised."""
        if not self._done:
            raise RuntimeError("the pipeline has not been sent yet")
        if isinstance(self._outcome, ExchangeError):
            raise self._outcome
        return cast(T, self._outcome)


def _collected(
    request: Callable[Concatenate[Client, P], Operation[T]]
) -> Callable[Concatenate[Pipeline, P], Pending[T]]:
    @wraps(request)
    def method(self: Pipeline, /, *args: P.args, **kwargs: P.kwargs) -> Pending[T]:
        return self._add(request(self._exchange, *args, **kwargs))

    return method


class Pipeline(Requests):
    """Requests that are sent together when the `with` block ends. Each method returns a Pending."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._operations: list[Operation[Any]] = []
        self._pending: list[Pending[Any]] = []

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            return
        found: dict[int, Outcome[Any]] = {}
        try:
            self._exchange._perform(self._operations, found)
        finally:
            for number, pending in enumerate(self._pending):
                if number not in found:
                    found[number] = protocol.in_doubt(self._operations[number], "interrupted")
                pending._outcome, pending._done = found[number], True

    def _add(self, operation: Operation[T]) -> Pending[T]:
        pending = Pending[T]()
        self._operations.append(operation)
        self._pending.append(pending)
        return pending

    _method = staticmethod(_collected)
