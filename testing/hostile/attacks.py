"""Hostile peers, each kind a class. As a program: one kind, in a process of its own so that its CPU
can be measured.

  attacks.py KIND PORT COUNT ADDRESSES [ORDER]

connects COUNT peers from ADDRESSES, as 2-5 for 127.0.0.2 to 127.0.0.5; prints `ready` when all have
begun, goes on until its standard input ends, then prints as JSON how they ended and what they
received."""

import collections
import json
import os
import resource
import select
import socket
import struct
import sys
import time

TCP_REPAIR = 19  # linux/tcp.h: a socket that is closed under repair sends nothing to its peer
IP_BIND_ADDRESS_NO_PORT = 24  # linux/in.h: ports are shared between addresses
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # for SO_LINGER: leaves no ports behind
ENDED = select.EPOLLHUP | select.EPOLLERR


class Peer:
    def __init__(self, attack, number):
        self.number = number
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        if attack.receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, attack.receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        self.socket.bind((attack.address(number), 0))
        self.socket.setblocking(False)
        self.received = b""
        self.open = True
        self.connecting = True
        self.unsent = attack.first_bytes(number)
        self.socket.connect_ex(("127.0.0.1", attack.port))

    def send(self, data=b""):
        """As much as the kernel accepts now; the rest stays unsent."""
        self.unsent += data
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self.open = False

    def read(self):
        try:
            while data := self.socket.recv(65536):
                self.received = (self.received + data)[:4096]
            self.open = False
        except BlockingIOError:
            pass
        except OSError:
            self.open = False


class Attack:
    """Peers that connect, send first_bytes(), read all they get, and are otherwise silent."""

    receive_buffer = 0
    reads = True
    connects_again = False  # in place of those that were ended
    burst = 200  # connecting at once
    per_second = 2_000  # beginning

    def __init__(self, port, count, addresses, order):
        self.port, self.count, self.addresses, self.order = port, count, addresses, order
        self.peers, self.connected, self.connecting = {}, 0, 0
        self.fates, self.replies = collections.Counter(), collections.Counter()
        self.reading = select.EPOLLRDHUP | (select.EPOLLIN if self.reads else 0)

    def address(self, number):
        return f"127.0.0.{self.addresses[number % len(self.addresses)]}"

    def first_bytes(self, number):
        return b""

    def turn(self):
        """Called several times a second."""

    def begin(self, epoll, number):
        peer = Peer(self, number)
        self.peers[peer.socket.fileno()] = peer
        self.connecting += 1
        epoll.register(peer.socket, select.EPOLLOUT | self.reading)

    def end(self, epoll, peer):
        self.forget(epoll, peer)
        peer.socket.close()
        self.fates["answered and closed" if peer.received else "closed"] += 1
        self.count_reply(peer)

    def forget(self, epoll, peer):
        epoll.unregister(peer.socket)
        del self.peers[peer.socket.fileno()]

    def count_reply(self, peer):
        if peer.received:
            self.replies[peer.received.decode(errors="replace")] += 1

    def handle(self, epoll, descriptor, events):
        peer = self.peers[descriptor]
        if peer.connecting:
            peer.connecting = False
            self.connecting -= 1
        if events & select.EPOLLIN and self.reads:
            peer.read()
        if events & (ENDED if self.reads else ENDED | select.EPOLLRDHUP):
            peer.open = False
        if events & select.EPOLLOUT and peer.open:
            peer.send()
            if not peer.unsent:
                epoll.modify(peer.socket, self.reading)
                self.connected += 1
                self.arrived(epoll, peer)
        if not peer.open and descriptor in self.peers:
            self.end(epoll, peer)
            return 1
        return 0

    def arrived(self, epoll, peer):
        """All its first bytes are sent, or as many as the server takes."""

    def run(self):
        epoll, begun, ready, stopping = select.epoll(), 0, False, False
        allowed, at, ever = 0.0, time.monotonic(), 0
        epoll.register(sys.stdin, select.EPOLLIN | select.EPOLLHUP)
        while not stopping:
            before, at = at, time.monotonic()
            allowed = min(allowed + (at - before) * self.per_second, self.burst)
            while begun < self.count and self.connecting < self.burst and allowed >= 1:
                self.begin(epoll, begun)
                begun += 1
                ever += 1
                allowed -= 1
            for descriptor, events in epoll.poll(0.05 if begun >= self.count else 0.01):
                if descriptor == sys.stdin.fileno():
                    stopping = True
                elif (
                    descriptor in self.peers
                    and self.handle(epoll, descriptor, events)
                    and self.connects_again
                ):
                    begun -= 1
            if not ready and ever >= self.count and (self.connects_again or self.settled()):
                ready = True
                print("ready", flush=True)
            self.turn()
        self.report()

    def settled(self):
        return all(not peer.unsent or self.is_ended_early(peer) for peer in self.peers.values())

    def is_ended_early(self, peer):
        return False

    def report(self):
        self.fates["open"] = len(self.peers)
        for peer in self.peers.values():
            self.count_reply(peer)
        report = {"fates": self.fates, "replies": self.replies, "connected": self.connected}
        print(json.dumps(report), flush=True)


class Idle(Attack):
    """Connect and send nothing."""


class Blanks(Attack):
    """Send white space without end, which is allowed between requests: never a request, never an
    error."""

    period_s = 0.5

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.last = time.monotonic()

    def turn(self):
        if time.monotonic() - self.last >= self.period_s:
            self.last = time.monotonic()
            for peer in self.peers.values():
                peer.send(b"\n")


class SlowSenders(Attack):
    """Send a request byte by byte, slowly."""

    period_s = 2.0

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.began, self.turns = time.monotonic(), 0

    def first_bytes(self, number):
        return b"1000\n<create>"

    def turn(self):
        """Each peer once in a period, spread over it."""
        peers = list(self.peers.values())
        due = int((time.monotonic() - self.began) / self.period_s * max(len(peers), 1))
        for i in range(self.turns, min(due, self.turns + len(peers))):
            peers[i % len(peers)].send(b" ")
        self.turns = max(due, self.turns)


class HalfOpen(Attack):
    """Disappear without closing: the server's system still takes the connection for open."""

    def first_bytes(self, number):
        return b"100\n<create>" if number % 2 else b"\n"

    def arrived(self, epoll, peer):
        self.forget(epoll, peer)
        try:
            peer.socket.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            self.fates["gone"] += 1
        except PermissionError:  # then it stays, silent
            self.kept = getattr(self, "kept", []) + [peer.socket]
            self.fates["silent"] += 1
            return
        peer.socket.close()


class NeverReading(Attack):
    """Query a long history and read nothing of it. ORDER is one that account 1 placed."""

    receive_buffer = 4096
    reads = False

    def first_bytes(self, number):
        body = f'<transactions id="1"><query id="{self.order}"/></transactions>'.encode()
        return b"%d\n%s" % (len(body), body)


class HalfFrames(Attack):
    """Send most of a request of a mebibyte, and not its end."""

    def first_bytes(self, number):
        return b"1048576\n<create>" + b" " * 1_000_000

    def is_ended_early(self, peer):
        return not peer.open


class Storm(Attack):
    """Connect again and again, more than the limit allows."""

    connects_again = True

    def first_bytes(self, number):
        return b"\n"


class Garbage(Attack):
    """Send bad framing, and go on sending."""

    connects_again = True
    per_second = 500

    def first_bytes(self, number):
        return b"garbage " * 4096


class SlowHttp(SlowSenders):
    """HTTP requests that never end (PORT is that of HTTP)."""

    def first_bytes(self, number):
        return b"GET /api/symbols HTTP/1.1\r\nHost: exchange\r\nX-Slow: "


class GreedyHttp(Attack):
    """Ask for the largest answers over HTTP, as fast as they are read (PORT is that of HTTP). ORDER
    has many executions."""

    def first_bytes(self, number):
        target = "/api/symbols" if number % 2 else f"/api/orders/{self.order}"
        return f"GET {target} HTTP/1.1\r\nHost: exchange\r\n\r\n".encode()

    def settled(self):
        return True

    def handle(self, epoll, descriptor, events):
        peer = self.peers[descriptor]
        ended = super().handle(epoll, descriptor, events)
        # A piece of an answer arrived: another request, unless the server leaves the last one in
        # its queue.
        if not ended and peer.open and not peer.unsent and events & select.EPOLLIN:
            peer.send(self.first_bytes(peer.number))
            peer.unsent = b""
        return ended


KINDS = {
    "idle": Idle,
    "blanks": Blanks,
    "slow-senders": SlowSenders,
    "half-open": HalfOpen,
    "never-reading": NeverReading,
    "half-frames": HalfFrames,
    "storm": Storm,
    "garbage": Garbage,
    "slow-http": SlowHttp,
    "greedy-http": GreedyHttp,
}


def main():
    kind, port, count, addresses, *order = sys.argv[1:]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    os.set_blocking(sys.stdin.fileno(), False)
    first, _, last = addresses.partition("-")
    KINDS[kind](
        int(port), int(count), range(int(first), int(last or first) + 1), order[0] if order else "1"
    ).run()


if __name__ == "__main__":
    main()
