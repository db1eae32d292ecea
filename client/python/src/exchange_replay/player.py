"""Sends the messages of a tape at their times, whatever the server does, on one thread."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Iterable

from .connection import Connection
from .mapping import Market, Settings
from .report import clock
from .tape import SECOND, Contradiction, DeleteAll, Event, Note, Place, Skipped, Unusable

BURST = 64  # messages between two looks at the sockets
NAP_MAX_S = 0.001  # in which replies can wait: each look at the sockets costs as much as a message
SLEEP_MAX_S = 0.2  # so that a signal ends it soon
# Where no times limit what is sent: elements of a connection, since the exchange knows the newest
# 1,024 references of an account alone.
IN_FLIGHT_MAX = 900
REPLIES_WAIT_S = 30


class Player:
    def __init__(
        self, connections: list[Connection], settings: Settings, speed: float, progress_s: float
    ) -> None:
        self.connections, self.settings, self.speed = connections, settings, speed
        self.report = settings.report
        self.by_socket = {one.socket: one for one in connections if one.socket}
        self.markets: dict[str, Market] = {}
        self.progress_s = progress_s
        self.stopping = False  # set by a signal
        self.start = self.shown = 0.0
        self.seconds = 0.0  # that the messages took

    def play(
        self, events: Iterable[tuple[Event, Place]], begin: int | None, end: int | None, limit: int
    ) -> None:
        """Messages from `begin` on, before `end`, `limit` at most. Those before build the books."""
        self.settings.silent = begin is not None
        first: int | None = None
        played = 0
        now = due = 0.0
        for event, place in events:
            if self.stopping or (end is not None and event.time >= end) or played == limit:
                break
            if begin is not None and event.time < begin:
                self.handle(event, place)
                continue
            if first is None:
                first = event.time
                self.place_open_orders()
                self.start = self.shown = now = due = time.monotonic()
            if self.speed:
                due = self.start + (event.time - first) / SECOND / self.speed
                now = self.wait_until(due, now, event)
                if self.stopping:
                    break
            self.handle(event, place, due)
            played += 1
            if played % BURST == 0:
                self.look(is_bounded=not self.speed)
                now = time.monotonic()
                self.seconds = now - self.start
                self.show(event, now)
        self.drain()
        if first is None and not self.stopping:
            raise Unusable("nothing to play from --from on, before --until")
        if first is not None:
            self.seconds = time.monotonic() - self.start

    def finish(self) -> None:
        """Ends what the tape left open."""
        if self.settings.silent:
            return
        for market in self.markets.values():
            for number, name in enumerate(list(market.orders), 1):
                market.end(name)
                if number % BURST == 0:
                    self.look(is_bounded=True)
        self.drain()

    def handle(self, event: Event, place: Place, due: float = 0) -> None:
        if isinstance(event, Note):
            self.report.notes[event.what] += 1
            return
        is_sent = not self.settings.silent and not isinstance(event, Skipped)
        if is_sent:
            self.report.messages[type(event).__name__] += 1
        if isinstance(event, DeleteAll):
            for market in self.markets.values():
                if event.symbol in ("", market.symbol):
                    market.delete_all(event.owner)
            return
        if event.symbol not in self.markets:
            connection = self.connections[len(self.markets) % len(self.connections)]
            self.markets[event.symbol] = Market(event.symbol, connection, self.settings)
        market = self.markets[event.symbol]
        if is_sent:
            market.connection.due.append(due)
        try:
            market.handlers[type(event)](event)
        except Contradiction as error:
            raise place.bad(error) from None

    def place_open_orders(self) -> None:
        self.settings.silent = False
        self.report.skipped.clear()
        self.report.notes.clear()
        self.report.unknown.clear()
        for market in self.markets.values():
            for number, order in enumerate(market.orders.values(), 1):
                order.amount, order.executed = order.open, 0
                market.open(order)
                if number % BURST == 0:
                    self.look(is_bounded=True)
        self.drain()

    def flush(self) -> None:
        for connection in self.connections:
            connection.flush()

    def look(self, is_bounded: bool) -> None:
        """Sends, and takes the replies that are there; if bounded, until few are owed."""
        self.flush()
        self.wait(0)
        while is_bounded and any(one.in_flight > IN_FLIGHT_MAX for one in self.connections):
            self.wait(REPLIES_WAIT_S, is_needed=True)

    def wait(self, seconds: float, is_needed: bool = False) -> None:
        """Until something comes, or can be sent that could not before."""
        blocked = [socket for socket, one in self.by_socket.items() if one.unsent]
        readable, writable, _ = select.select(list(self.by_socket), blocked, [], seconds)
        for socket in readable:
            self.by_socket[socket].receive()
        for socket in writable:
            self.by_socket[socket].flush()
        if is_needed and not readable and not writable:
            raise Unusable(f"no reply for {seconds:g} s")

    def wait_until(self, due: float, now: float, event: Event) -> float:
        """The time then."""
        while due > now and not self.stopping:
            self.flush()
            if due - now < NAP_MAX_S:
                time.sleep(due - now)
            else:
                self.wait(min(due - now, SLEEP_MAX_S))
            now = time.monotonic()
            self.show(event, now)
        return now

    def drain(self) -> None:
        self.flush()
        while any(connection.owed for connection in self.connections):
            self.wait(REPLIES_WAIT_S, is_needed=True)
            self.flush()  # a reply may lead to a query

    def show(self, event: Event, now: float) -> None:
        if now - self.shown < self.progress_s:
            return
        self.shown = now
        messages = self.report.messages.total()
        in_flight = sum(one.in_flight for one in self.connections)
        print(
            f"{clock(event.time)} on the tape: {messages:,} messages in {now - self.start:.0f} s, "
            f"{in_flight:,} elements in flight, {self.report.trades:,} trades, "
            f"{self.report.refused.total():,} refused",
            file=sys.stderr,
        )
