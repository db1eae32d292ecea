"""A client that waits for each reply."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from . import protocol
from .client import Client
from .errors import BadReply, ConnectionFailed, ExchangeError
from .http_port import Account, OpenOrder
from .market import Book
from .protocol import (
    AccountId,
    Execution,
    Limit,
    Number,
    Operation,
    Order,
    OrderId,
    Outcome,
    ReplyReader,
    Side,
    Status,
    Terms,
)
from .servers import PAUSE_MAX_S, PAUSE_MIN_S, Tls, at_fork, tls_context

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
IN_FLIGHT_BYTES_MAX = 65536  # so that neither side waits for the other to read


class Connection:
    """One connection to one server: documents out, replies in. Raises OSError, EOFError, BadReply.

    After an exception it may owe replies, and is of no use.
    """

    def __init__(self, host: str, port: int, timeout: float = 30, tls: Tls = False) -> None:
        self._socket = socket.create_connection((host, port), timeout)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            context = tls_context(tls)
            if context:
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
        self._socket.close()  # without the farewell of TLS, which would end it for the parent of a fork

    after_fork = close


class Exchange(Client):
    """An exchange, as one account. Use it in one thread, and as a context manager or with close().

    A child of fork() may use it too: it gets a connection of its own, and its close() leaves that of the parent alone.

    servers: "HOST:PORT", or several with commas, of which one is active. It connects at the first request.
    account, key: whose orders; key only where the server asks for one (--auth).
    operator_key: with which such a server creates accounts, symbols and shares.
    tls: True, a file of certificates to trust, or an ssl.SSLContext.
    timeout: seconds for a reply or a connection.
    retry: seconds for which it connects again after a lost connection, 0 for never. By default `timeout` with several servers, else 0. Orders
    then get references, so that they can be sent again and are executed once.
    cancel_on_disconnect: the exchange cancels what is open of the orders once their connection is over: lost, or closed as by close().
    http: "HOST:PORT" of the HTTP port, for account(), open_orders(), fills() and book().

    Methods raise Refused, ConnectionFailed, InDoubt and BadReply; TypeError and ValueError for wrong arguments.
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
        super().__init__(
            servers, account, key, tls, timeout, retry, cancel_on_disconnect, http, operator_key
        )
        self._connection: Connection | None = None

    def __enter__(self) -> Exchange:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._drop(self._connection)

    # --- requests ---

    def buy(
        self,
        symbol: str,
        shares: Number,
        limit: Limit,
        ref: str | None = None,
        **terms: Unpack[Terms],
    ) -> Order:
        """Opens a buy at a limit price or better; with MARKET as limit, at any. `ref`: what to call it, for sending it again.

        A market order cancels at once what is not executed at once; a market buy takes no more than the account's free cash pays for.

        tif: "ioc" cancels at once what is not executed at once; "fok" executes in full at once, or is refused.
        post: refused if it would execute at once.
        stp: where it meets an order of this account, "cancel-resting" cancels that one, "cancel-taking" what is open of the new one.
        """
        return self._one(self._order(1, symbol, shares, limit, ref, **terms))

    def sell(
        self,
        symbol: str,
        shares: Number,
        limit: Limit,
        ref: str | None = None,
        **terms: Unpack[Terms],
    ) -> Order:
        return self._one(self._order(-1, symbol, shares, limit, ref, **terms))

    def replace(
        self,
        order: OrderId | None,
        shares: Number,
        limit: Number,
        *,
        ref: str | None = None,
        side: Side | None = None,
    ) -> Order:
        """Gives an open order another amount and limit, in one step. It keeps its id; returns it as it is now.

        order: an Order, an id, or None with `ref`. An id or a reference needs the side that the order has.
        shares: all of it, so that what was executed before counts. With the same limit and no larger amount the order keeps its place among
        those of its price; else it is executed as far as it can be, and the rest is behind all others. Refused if nothing is open, or nothing would be;
        then the order goes on as it was.
        """
        return self._one(self._replace(order, shares, limit, ref, side))

    def query(self, order: OrderId | None = None, *, ref: str | None = None) -> Status:
        return self._one(protocol.query(self._root(), order, ref))

    def cancel(self, order: OrderId | None = None, *, ref: str | None = None) -> Status:
        """Ends what is open; returns the final state. Refused if nothing is."""
        return self._one(protocol.cancel(self._root(), order, ref))

    def cancel_all(self, symbol: str | None = None) -> list[Status]:
        """Cancels all open orders of the account, or of one symbol, and returns their final states, oldest first. Empty if none was open.

        Repeats its request until no order is open, since one request cancels 1,000 at most.
        """
        canceled: list[Status] = []
        while some := self._one(protocol.cancel_all(self._root(), symbol)):
            canceled += some
        return canceled

    def create_account(self, account: AccountId, balance: Number, key: str | None = None) -> None:
        self._one(protocol.create_account(self._create_root, account, balance, key))

    def create_symbol(self, symbol: str, shares: Mapping[AccountId, Number] | None = None) -> None:
        """Creates a symbol, and gives shares of it to accounts."""
        self._one(protocol.create_symbol(self._create_root, symbol, shares or {}))

    # --- what the HTTP port shows, as old as the tables: milliseconds after a commit, a second under full load ---

    def account(self) -> Account:
        """Cash and shares, free and reserved."""
        return self._http_port().account()

    def open_orders(self, symbol: str | None = None) -> list[OpenOrder]:
        """The open orders of the account, or those of one symbol, oldest first."""
        return self._http_port().open_orders(symbol)

    def fills(self, order: OrderId) -> list[Execution]:
        """The executions of an order of the account, oldest first, with exact times."""
        return self._http_port().fills(order)

    def book(self, symbol: str, levels: int = 20) -> Book:
        """The best prices of a symbol, at most 1000 on each side."""
        return self._http_port().book(symbol, levels)

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
        """Fills `found`, in part if anything else than its own errors is raised, such as KeyboardInterrupt."""
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
                        found[number] = ConnectionFailed(
                            f"{error}; {operation.element} was not sent"
                        )
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
                reasons.append(f"{host}:{port}: {error.strerror or error}")
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


class Pipeline:
    """Requests that are sent together when the `with` block ends. Each method returns a Pending."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._operations: list[Operation[Any]] = []
        self._pending: list[Pending[Any]] = []

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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

    def buy(
        self,
        symbol: str,
        shares: Number,
        limit: Limit,
        ref: str | None = None,
        **terms: Unpack[Terms],
    ) -> Pending[Order]:
        return self._add(self._exchange._order(1, symbol, shares, limit, ref, **terms))

    def sell(
        self,
        symbol: str,
        shares: Number,
        limit: Limit,
        ref: str | None = None,
        **terms: Unpack[Terms],
    ) -> Pending[Order]:
        return self._add(self._exchange._order(-1, symbol, shares, limit, ref, **terms))

    def replace(
        self,
        order: OrderId | None,
        shares: Number,
        limit: Number,
        *,
        ref: str | None = None,
        side: Side | None = None,
    ) -> Pending[Order]:
        return self._add(self._exchange._replace(order, shares, limit, ref, side))

    def query(self, order: OrderId | None = None, *, ref: str | None = None) -> Pending[Status]:
        return self._add(protocol.query(self._exchange._root(), order, ref))

    def cancel(self, order: OrderId | None = None, *, ref: str | None = None) -> Pending[Status]:
        return self._add(protocol.cancel(self._exchange._root(), order, ref))

    def create_account(
        self, account: AccountId, balance: Number, key: str | None = None
    ) -> Pending[None]:
        return self._add(
            protocol.create_account(self._exchange._create_root, account, balance, key)
        )

    def create_symbol(
        self, symbol: str, shares: Mapping[AccountId, Number] | None = None
    ) -> Pending[None]:
        return self._add(protocol.create_symbol(self._exchange._create_root, symbol, shares or {}))
