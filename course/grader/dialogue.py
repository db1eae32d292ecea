"""One request, one reply, with a server that frames them in its own way (`style` as the conformance
test found it)."""

import random
import re
import socket
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace

REPLY_BYTES_MAX = 1 << 20
REPLY_DEPTH_MAX = 100
QUOTED_BYTES_MAX = 200
FIRST_REPLY_S = 30  # a server may compile itself, or wait for its database, before its first reply
LATER_REPLY_S = 5  # of one that has had the time for its first reply
ROOT = re.compile(rb"<([A-Za-z_:][\w.:-]*)(?:\s[^<>]*?)?(/?)>")  # <results>, whatever its name is


class NoReply(Exception):
    """The connection failed or ended, or what came is not a reply. `came`: whether anything
    came."""

    def __init__(self, text, came=b""):
        super().__init__(f"{text}: {quoted(came)}" if came else text)
        self.came = bool(came)


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


def ask_for_an_account(dialogue):
    """Raises NoReply where what came is not a reply to it, such as a page of a web server."""
    reply = dialogue.ask(an_account())
    if not any(child.tag in ("created", "error") for child in reply):
        raise NoReply("no <created> in the reply", ET.tostring(reply))


def find_style(port):
    """For a server whose style the conformance test did not find. Raises NoReply if it answers in
    none; the first says why."""
    first = None
    for style in (Style(), Style(newline=True), Style(end=True)):
        with Dialogue(port, style, LATER_REPLY_S if first else FIRST_REPLY_S) as dialogue:
            try:
                ask_for_an_account(dialogue)
            except NoReply as error:
                first = first or error
                continue
            if style.end:
                return style
            for found in (style, replace(style, per_request=True)):
                try:
                    ask_for_an_account(dialogue)
                    return found
                except NoReply:  # as a rule it has closed the connection
                    dialogue.close()
            return style  # it is not this that keeps it from answering
    raise first


def quoted(data):
    """What came, for people."""
    shown = data[:QUOTED_BYTES_MAX].decode("utf-8", "backslashreplace")
    more = f" … ({len(data)} bytes)" if len(data) > QUOTED_BYTES_MAX else ""
    return repr(shown)[1:-1] + more


def reply_end(buffer):
    """Behind the root element; None while it is incomplete."""
    root = ROOT.search(buffer)
    if not root or root[2]:
        return root and root.end()
    end = re.compile(rb"</" + re.escape(root[1]) + rb"\s*>").search(buffer, root.end())
    return end and end.end()


class Dialogue:
    def __init__(self, port, style, timeout_s=FIRST_REPLY_S):
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
        """The root element of the reply: <results>, or what the server calls it."""
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
            came = self.buffer
            self.close()
            raise NoReply(str(error) or type(error).__name__, came) from None
        except NoReply:
            self.close()
            raise
        if self.style.per_request or self.style.end:
            self.close()
        return parsed(reply)

    def _receive(self):
        deadline = (
            time.monotonic() + self.timeout_s
        )  # of all of it: a server may send a byte now and then
        while not (end := reply_end(self.buffer)):
            if len(self.buffer) > REPLY_BYTES_MAX:
                raise NoReply("the reply is too long", self.buffer)
            self.socket.settimeout(max(0.001, deadline - time.monotonic()))
            data = self.socket.recv(1 << 16)
            if not data:
                raise NoReply("the connection ended before the end of the reply", self.buffer)
            self.buffer += data
        reply, self.buffer = self.buffer[:end], self.buffer[end:]
        return reply


def loopback_problem():
    """Why no server can be reached on this machine; empty if one can."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            place = listener.getsockname()
            with socket.create_connection(place, LATER_REPLY_S), listener.accept()[0]:
                return ""
    except OSError as error:
        return f"no connection over the loopback 127.0.0.1: {error.strerror or error}"


class ShallowTree(ET.TreeBuilder):
    """Builds the tree of a reply, and refuses one that is nested deeper than programs can read."""

    def __init__(self, reply):
        super().__init__()
        self.reply, self.depth = reply, 0

    def start(self, tag, attributes):
        self.depth += 1
        if self.depth > REPLY_DEPTH_MAX:
            raise NoReply("the elements of the reply are nested too deeply", self.reply)
        return super().start(tag, attributes)

    def end(self, tag):
        self.depth -= 1
        return super().end(tag)


def parsed(reply):
    # Before "<" stand blanks, NUL bytes or a length line. A document type could define entities
    # without end.
    text = reply[reply.find(b"<") :]
    if b"<!" in text:
        raise NoReply("the reply has a document type or a comment", reply)
    try:
        parser = ET.XMLParser(target=ShallowTree(reply))
        parser.feed(text)
        return parser.close()
    except (ET.ParseError, ValueError, LookupError) as error:
        raise NoReply(f"the reply is not XML ({error})", reply) from None
