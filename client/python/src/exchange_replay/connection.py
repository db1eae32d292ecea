"""A connection that waits for nothing: requests are written as far as the socket takes them,
replies handled as they come."""

from __future__ import annotations

import socket
import time
import xml.etree.ElementTree as ET
from collections import deque
from collections.abc import Callable
from typing import Protocol

from exchange_client.errors import BadReply, ConnectionFailed
from exchange_client.protocol import ReplyReader, frame
from exchange_client.servers import connect, shown

from .report import Report

Handle = Callable[[ET.Element], None]  # of one reply element


CONNECT_S = 30


class Unfinished(Protocol):
    def flush(self) -> None:
        ...


class Connection:
    def __init__(self, report: Report, address: tuple[str, int] | None = None) -> None:
        self.socket: socket.socket | None = None
        if address:
            try:
                self.socket = connect(*address, CONNECT_S)
            except (OSError, UnicodeError) as error:
                raise ConnectionFailed(f"cannot connect to {shown(*address)}: {error}") from None
            self.socket.setblocking(False)
        self.report = report
        self.unfinished: list[Unfinished] = []  # with a request that is not complete
        self.unsent = bytearray()
        self.due: list[float] = []  # of the messages that are not sent
        self.owed: deque[list[Handle]] = deque()  # of the replies
        self.in_flight = 0  # elements
        self.reader = ReplyReader()

    def add(self, document: str, handles: list[Handle]) -> None:
        self.unsent += frame(document)
        self.owed.append(handles)
        self.in_flight += len(handles)
        self.report.requests += 1
        self.report.elements += len(handles)

    def flush(self) -> None:
        for market in self.unfinished:
            market.flush()
        self.unfinished.clear()
        if self.unsent and self.socket:
            try:
                sent = self.socket.send(self.unsent)
            except BlockingIOError:
                return
            del self.unsent[:sent]
        if self.due and not self.unsent:
            now = time.monotonic()
            for due in self.due:
                self.report.late(due, now)
            self.due.clear()

    def receive(self) -> None:
        assert self.socket
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        if not data:
            raise EOFError("the server closed the connection")
        self.reader.feed(data)
        while (reply := self.reader.take()) is not None:
            try:
                elements = list(ET.fromstring(reply))
            except ET.ParseError as error:
                raise BadReply(f"not XML ({error}): {reply[:200]!r}") from None
            if not self.owed:
                raise BadReply(f"a reply that was not asked for: {reply[:200]!r}")
            handles = self.owed.popleft()
            self.in_flight -= len(handles)
            if len(elements) != len(handles):
                if len(elements) != 1 or elements[0].tag != "error":
                    raise BadReply(f"{len(elements)} of {len(handles)} replies: {reply[:200]!r}")
                elements *= len(handles)  # of the request as a whole
            for handle, element in zip(handles, elements, strict=True):
                try:
                    handle(element)
                except (KeyError, ValueError) as error:
                    raise BadReply(f"{error!r} in {ET.tostring(element)[:200]!r}") from None

    def close(self) -> None:
        if self.socket:
            self.socket.close()


class Printer(Connection):
    """Prints the requests instead of sending them."""

    def add(self, document: str, handles: list[Handle]) -> None:
        self.report.requests += 1
        self.report.elements += len(handles)
        print(document)
