"""The exchange's XML port for Locust: one connection kept open, every request reported to Locust's statistics.

Imports nothing of Locust: a user passes the function that reports (`environment.events.request.fire`).
One client belongs to one user and runs in its greenlet."""

import re
import socket
import time

END = b"</results>\n"
LENGTH_LINE_MAX = 20
READ_BYTES = 65536


class BadReply(Exception):
    """Not a reply of this protocol, or none at all: the connection cannot be used any more."""


class Refused(Exception):
    """A valid reply that contains an <error>."""


def frame(document):
    """A request as docs/protocol.md, F1 has it: the length in bytes, a newline, the XML."""
    body = document.encode()
    return b"%d\n%s" % (len(body), body)


class Connection:
    def __init__(self, host, port, timeout=30, connect=socket.create_connection):
        self.socket = connect((host, port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()

    def request(self, document):
        """Sends one request; its reply, whole, without a length line. Raises OSError or BadReply."""
        self.socket.sendall(frame(document))
        reply = self._reply()
        if self.received:
            raise BadReply(f"{len(self.received)} unexpected bytes after the reply")
        return reply

    def close(self):
        self.socket.close()

    def _reply(self):
        self._receive_until(lambda: self.received)
        if self.received[:1].isdigit():  # --reply-framing length
            self._receive_until(
                lambda: b"\n" in self.received or len(self.received) > LENGTH_LINE_MAX
            )
            line, newline, _ = bytes(self.received).partition(b"\n")
            if not newline or not line.strip().isdigit():
                raise BadReply(f"no length line: {line[:40]!r}")
            begin, end = len(line) + 1, len(line) + 1 + int(line)
            self._receive_until(lambda: len(self.received) >= end)
        else:
            begin, end = 0, self._end_of_document()
        reply = bytes(self.received[begin:end])
        del self.received[:end]
        return reply

    def _end_of_document(self):
        searched = 0
        while (at := self.received.find(END, searched)) < 0:
            if not b"<results".startswith(self.received[:8]):
                raise BadReply(f"no <results>: {bytes(self.received[:40])!r}")
            searched = max(0, len(self.received) - len(END) + 1)
            self._receive()
        return at + len(END)

    def _receive_until(self, enough):
        while not enough():
            self._receive()

    def _receive(self):
        data = self.socket.recv(READ_BYTES)
        if not data:
            raise BadReply(
                "the connection was closed "
                + ("inside a reply" if self.received else "without a reply")
            )
        self.received += data


def judge(reply, expected):
    """Raises Refused if an <error> is in the reply, BadReply if its first element is not `expected`."""
    error = re.search(rb"<error[^>]*>([^<]*)<", reply)
    if error:
        raise Refused(error[1].decode(errors="replace"))
    if not reply.startswith(b"<results><%s" % expected.encode()):
        raise BadReply(f"not <{expected}>: {reply[:60]!r}")


class ExchangeClient:
    def __init__(self, host, port, fire, connection=Connection):
        self.host, self.port, self.fire = host, port, fire
        self.make_connection, self.connection = connection, None

    def ask(self, name, document, expected):
        """One request under `name` in the statistics; the reply, or None if it failed. Connects if necessary; that time counts."""
        reply, failure = b"", None
        began = time.perf_counter()
        try:
            if self.connection is None:
                self.connection = self.make_connection(self.host, self.port)
            reply = self.connection.request(document)
        except (OSError, BadReply) as error:
            failure = error
        took_ms = (time.perf_counter() - began) * 1000
        if failure is None:
            try:
                judge(reply, expected)
            except (Refused, BadReply) as error:
                failure = error
        if failure is not None and not isinstance(failure, Refused):
            self.close()
        self.fire(
            request_type="XML",
            name=name,
            response_time=took_ms,
            response_length=len(reply),
            exception=failure,
            context={},
        )
        return reply if failure is None else None

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None
