"""One request, one reply, with a server that frames them in its own way (`style` as the conformance test found it)."""

import random
import re
import socket
import xml.etree.ElementTree as ET
from dataclasses import dataclass

REPLY_BYTES_MAX = 1 << 20
END = re.compile(rb"</results\s*>|<results\s*/>")


class NoReply(Exception):
    """The connection failed or ended, or what came is no reply."""


@dataclass(frozen=True)
class Style:
    per_request: bool = False  # the server closes after each reply
    newline: bool = False  # it waits for one at the end of each request
    end: bool = False  # it reads a request to the end of the stream

    @staticmethod
    def of(conformance):
        """From the JSON of the conformance test, or None."""
        style = (conformance or {}).get("style") or {}
        return Style(
            style.get("connection") == "per-request",
            bool(style.get("trailing_newline")),
            bool(style.get("end_of_stream")),
        )

    @property
    def fits_loadgen(self):
        return not self.end


def an_account():
    """A request that any server should answer."""
    return f'<create><account id="{random.randrange(10**8, 10**9)}" balance="1"/></create>'


def find_style(port, timeout_s):
    """For a server whose style the conformance test did not find: whether it answers a second request on a connection."""
    with Dialogue(port, Style(), timeout_s) as dialogue:
        try:
            dialogue.ask(an_account())
            dialogue.ask(an_account())
            return Style()
        except NoReply:
            pass
        try:
            dialogue.ask(an_account())
            return Style(per_request=True)
        except NoReply:
            return Style()  # it is not this that keeps it from answering


class Dialogue:
    def __init__(self, port, style, timeout_s=10):
        self.port, self.style, self.timeout_s = port, style, timeout_s
        self.socket, self.buffer = None, b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket, self.buffer = None, b""

    def ask(self, document):
        """The <results> element of the reply."""
        try:
            if self.socket is None:
                self.socket = socket.create_connection(("127.0.0.1", self.port), self.timeout_s)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            body = document.encode() + (b"\n" if self.style.newline else b"")
            self.socket.sendall(b"%d\n%s" % (len(body), body))
            if self.style.end:
                self.socket.shutdown(socket.SHUT_WR)
            reply = self._receive()
        except OSError as error:
            self.close()
            raise NoReply(str(error) or type(error).__name__) from None
        except NoReply:
            self.close()
            raise
        if self.style.per_request or self.style.end:
            self.close()
        return parsed(reply)

    def _receive(self):
        while not (end := END.search(self.buffer)):
            if len(self.buffer) > REPLY_BYTES_MAX:
                raise NoReply("the reply is too long")
            data = self.socket.recv(1 << 16)
            if not data:
                raise NoReply("the connection ended before the reply")
            self.buffer += data
        reply, self.buffer = self.buffer[: end.end()], self.buffer[end.end() :]
        return reply


def parsed(reply):
    # Before "<" stand blanks, NUL bytes or a length line. A document type could define entities without end.
    text = reply[reply.find(b"<") :]
    if b"<!" in text:
        raise NoReply("the reply has a document type or a comment")
    try:
        return ET.fromstring(text)
    except (ET.ParseError, ValueError, LookupError) as error:
        raise NoReply(f"the reply is no XML: {error}") from None
