"""Fills an exchange with orders as fast as possible: long documents of orders, several in flight.

In each round an account sells and another buys the same shares, so that these orders close in pairs; both leave a few more that stay open.
An account trades one symbol.
"""

import threading
import time

from exchange_server import Connection

SYMBOLS, ACCOUNTS_PER_SYMBOL = 50, 20
CASH, SHARES = 10**12, 10**8
PAIRS_PER_ROUND = OPEN_PER_SIDE = 4_000


class FillError(Exception):
    pass


def account(symbol, number):
    return str(1_000_000 + symbol * ACCOUNTS_PER_SYMBOL + number)


def symbol_name(symbol):
    return f"SIZE{symbol}"


def found_market():
    """Documents that create all accounts and symbols."""
    documents = []
    for symbol in range(SYMBOLS):
        accounts = [account(symbol, number) for number in range(ACCOUNTS_PER_SYMBOL)]
        documents.append(
            (
                "<create>"
                + "".join(f'<account id="{one}" balance="{CASH}"/>' for one in accounts)
                + f'<symbol sym="{symbol_name(symbol)}">'
                + "".join(f'<account id="{one}">{SHARES}</account>' for one in accounts)
                + "</symbol></create>"
            ).encode()
        )
    return documents


def orders(symbol, side, pairs, open_orders):
    """One side of a round, as XML: `pairs` orders that match the other side's at 100, and among them `open_orders` that match none."""
    name, amount = symbol_name(symbol), "-1" if side == "sell" else "1"
    closing = f'<order sym="{name}" amount="{amount}" limit="100"/>'
    far = lambda nth: f"{200 + nth * 0.01:.2f}" if side == "sell" else f"{50 - nth * 0.01:.2f}"
    every = max(1, pairs // open_orders) if open_orders else pairs + 1
    parts, opened = [], 0
    for nth in range(pairs):
        parts.append(closing)
        if opened < open_orders and (nth + 1) % every == 0:
            parts.append(f'<order sym="{name}" amount="{amount}" limit="{far(opened)}"/>')
            opened += 1
    parts += [
        f'<order sym="{name}" amount="{amount}" limit="{far(nth)}"/>'
        for nth in range(opened, open_orders)
    ]
    return "".join(parts).encode()


def expect_all_opened(reply, count):
    if not reply:
        raise FillError("the server closed the connection")
    if reply.count(b"<opened ") != count or b"<error" in reply:
        at = reply.find(b"<error")
        raise FillError(
            f"not all orders were opened: {reply[at:at + 200] if at >= 0 else reply[:200]!r}"
        )


class Filler:
    """Adds `closed` closed and `open_orders` open orders, in rounds over all symbols. `on_progress(rounds done, rounds in all)`."""

    def __init__(self, port, connections=4):
        self.port, self.connections = port, connections

    def create(self):
        with Connection(self.port, timeout_s=600) as connection:
            for document in found_market():
                if "<error" in connection.ask(document):
                    raise FillError("the store holds another market already")

    def fill(self, closed, open_orders, on_progress=lambda done, total: None):
        pairs_left = -(-closed // 2)
        rounds = max(1, -(-pairs_left // PAIRS_PER_ROUND), -(-open_orders // (2 * OPEN_PER_SIDE)))
        pairs, opens = -(-pairs_left // rounds), -(-open_orders // (2 * rounds))
        if pairs + opens == 0:
            return
        texts = {}
        lock, failures, done = threading.Lock(), [], [0]

        def work(part):
            try:
                connection = Connection(self.port, timeout_s=600)
                for nth in range(part, rounds, self.connections):
                    if failures:
                        return
                    # Each connection has its own symbols, so that no other one trades between the two sides.
                    symbol = (part + (nth // self.connections) * self.connections) % (
                        SYMBOLS // self.connections * self.connections
                    )
                    seller, buyer = account(symbol, nth % ACCOUNTS_PER_SYMBOL), account(
                        symbol, (nth + 7) % ACCOUNTS_PER_SYMBOL
                    )
                    for side, who in (("sell", seller), ("buy", buyer)):
                        text = texts.get((symbol, side)) or texts.setdefault(
                            (symbol, side), orders(symbol, side, pairs, opens)
                        )
                        connection.send(
                            b'<transactions id="%s">%s</transactions>' % (who.encode(), text)
                        )
                    for _ in range(2):
                        expect_all_opened(connection.receive(), pairs + opens)
                    with lock:
                        done[0] += 1
                        on_progress(done[0], rounds)
                connection.close()
            except (OSError, FillError) as problem:
                failures.append(problem)

        threads = [
            threading.Thread(target=work, args=(part,))
            for part in range(min(self.connections, rounds))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise FillError(str(failures[0]))


class Pace:
    """Prints the progress and the time left every few seconds."""

    def __init__(self, say, what, every_s=10):
        self.say, self.what, self.every_s = say, what, every_s
        self.began = self.said = time.monotonic()

    def __call__(self, done, total):
        now = time.monotonic()
        if now - self.said < self.every_s:
            return
        self.said = now
        self.say(
            f"{self.what}: {100 * done / total:.0f} %, {(now - self.began) / done * (total - done):.0f} s left"
        )
