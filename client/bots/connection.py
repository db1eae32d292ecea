"""HTTP over one connection that stays open: what bots and the class ask of an exchange."""

from __future__ import annotations

import json
import select
import ssl
from collections import deque
from collections.abc import Iterator
from http.client import BadStatusLine, HTTPConnection, HTTPException, RemoteDisconnected
from typing import Any

from exchange_client.errors import BadReply, ConnectionFailed, InDoubt, Refused
from exchange_client.http_port import connect, pages, refusal_of, request
from exchange_client.servers import host_in_url

Servers = deque[tuple[str, int]]  # of one exchange


class Http:
    """Asks the active server of an exchange: the first that is ready. One thread at a time."""

    def __init__(
        self,
        servers: Servers,
        tls: ssl.SSLContext | None,
        timeout_s: float,
        authorization: str | None = None,
    ) -> None:
        self._servers, self._tls, self._timeout_s = servers, tls, timeout_s
        self.authorization = authorization
        self._connection: HTTPConnection | None = None
        self._peer = ""

    def ask(self, path: str, body: str | None = None) -> tuple[int, bytes]:
        """Returns the status and the body; with `body` it is a POST.

        ConnectionFailed: nothing was executed. InDoubt: no reply came. Both name the address.
        """
        status, reply = self._exchange(self._connected(), path, body)
        if status == 503 and len(self._servers) > 1:  # another may be active now
            self.close()
            status, reply = self._exchange(self._connected(), path, body)
        if status == 503:  # of a standby, a replaced server, or one without its store
            self.close()
            raise ConnectionFailed(f"{self._peer}: {_refusal(reply)}")
        return status, reply

    def _exchange(
        self, connection: HTTPConnection, path: str, body: str | None = None
    ) -> tuple[int, bytes]:
        try:
            return request(connection, path, body, self.authorization)
        except (OSError, HTTPException) as error:
            self.close()
            if isinstance(error, BadStatusLine) and not isinstance(error, RemoteDisconnected):
                hint = "--http names the HTTP port, which is not the XML port"
                raise BadReply(f"{self._peer} does not speak HTTP; {hint}") from None
            raise InDoubt(f"no reply from {self._peer}: {describe(error)}") from None
        except BaseException:
            self.close()  # a later request must not get the reply to this one
            raise

    def json(self, path: str) -> Any:
        """Returns the document of a reply with status 200. Raises Refused for another status."""
        status, reply = self.ask(path)
        if status != 200:
            raise _refusal(reply)
        try:
            return json.loads(reply)
        except ValueError:
            raise BadReply(f"{self._peer}{path} is not JSON") from None

    def pages(self, path: str, next_page: str, parameter: str) -> Iterator[Any]:
        """A document and its further pages (docs/http-api.md)."""
        return pages(self.json, path, next_page, parameter)

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _connected(self) -> HTTPConnection:
        if self._connection and self._connection.sock is None:
            self._connection = None  # the server has asked for this
        if self._connection and select.select([self._connection.sock], [], [], 0)[0]:
            self.close()  # the server has ended it
        if self._connection:
            return self._connection
        problems = []
        for host, port in self._servers:
            self._peer = f"{host_in_url(host)}:{port}"
            try:
                made = connect(host, port, self._tls, self._timeout_s)
            except OSError as error:
                problems.append(f"cannot connect to {self._peer}: {describe(error)}")
                continue
            self._connection = made
            if len(self._servers) == 1:
                return made
            try:
                status, reply = self._exchange(made, "/readyz")
            except InDoubt as error:
                problems.append(str(error))
                continue
            if status == 200:
                return made
            self.close()
            problems.append(f"{self._peer} is not active: {_refusal(reply)}")
        raise ConnectionFailed("; ".join(problems))


def describe(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _refusal(reply: bytes) -> Refused:
    """Also of a proxy: its text."""
    return refusal_of(reply) or Refused(reply.decode(errors="replace").strip() or "an empty reply")
