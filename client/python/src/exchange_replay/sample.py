"""A random market by seed: orders that rest, and are executed by price, then time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from .tape import ONE, SECOND, Add, Delete, Event, Execute, Quote, Reduce, Replace, Trade

TICK = ONE // 100
ORDERS_MAX = 200  # open ones of a symbol


@dataclass(slots=True)
class Resting:
    buy: bool
    shares: int
    price: int


class Book:
    def __init__(self, price: int) -> None:
        self.orders: dict[str, Resting] = {}  # by arrival
        self.middle = price

    def best(self, buy: bool) -> str | None:
        side = (name for name, order in self.orders.items() if order.buy == buy)
        sign = -1 if buy else 1
        return min(side, key=lambda name: sign * self.orders[name].price, default=None)

    def price(self, buy: bool) -> int:
        name = self.best(buy)
        return self.orders[name].price if name else 0

    def quote(self, time: int, symbol: str) -> Quote:
        sides = []
        for buy in (True, False):
            price = self.price(buy)
            shares = sum(
                one.shares for one in self.orders.values() if one.buy == buy and one.price == price
            )
            sides += [price, shares]
        return Quote(time, symbol, *sides)


class Market:
    def __init__(self, symbols: list[str], seed: int, start: int, per_second: float) -> None:
        self.random = random.Random(seed)
        self.books = {name: Book(self.random.randrange(5_000, 50_000) * TICK) for name in symbols}
        self.time, self.per_second, self.number = start, per_second, 0

    def events(self, count: int) -> Iterator[Event]:
        for _ in range(count):
            gap = self.random.expovariate(self.per_second)
            self.time += max(1, round(gap * 1e6)) * (SECOND // 10**6)
            symbol = self.random.choice(list(self.books))
            yield self._event(symbol, self.books[symbol])

    def _event(self, symbol: str, book: Book) -> Event:
        dice = self.random
        wanted = dice.choices(("add", "execute", "reduce", "delete", "replace"), (45, 20, 8, 20, 7))
        kind = wanted[0] if len(book.orders) > 20 else "add"
        if len(book.orders) >= ORDERS_MAX and kind == "add":
            kind = "delete"
        buy = dice.random() < 0.5
        best = book.best(buy)
        if kind == "execute" and best:
            order = book.orders[best]
            shares = min(order.shares, self._shares())
            event: Event = Execute(self.time, symbol, best, shares)
            order.shares -= shares
            if not order.shares:
                del book.orders[best]
            return event
        if kind == "add" or not book.orders:
            self.number += 1
            order = Resting(buy, self._shares(), self._price(book, buy))
            book.orders[str(self.number)] = order
            return Add(self.time, symbol, str(self.number), buy, order.shares, order.price)
        name = dice.choice(list(book.orders))
        order = book.orders[name]
        if kind == "reduce" and order.shares > ONE:
            shares = dice.randrange(1, order.shares // ONE) * ONE
            order.shares -= shares
            return Reduce(self.time, symbol, name, shares)
        del book.orders[name]
        if kind != "replace":
            return Delete(self.time, symbol, name)
        self.number += 1
        new = Resting(order.buy, self._shares(), self._price(book, order.buy))
        if dice.random() < 0.3:
            new.price = order.price  # with the place lost
        book.orders[str(self.number)] = new
        return Replace(self.time, symbol, name, str(self.number), new.shares, new.price)

    def _shares(self) -> int:
        return self.random.choice((1, 5, 10, 50, 100, 100, 100, 200, 500)) * ONE

    def _price(self, book: Book, buy: bool) -> int:
        """Near the middle, and on its side of the book."""
        bid, ask = book.price(True), book.price(False)
        if bid and ask:
            book.middle = (bid + ask) // 2 // TICK * TICK
        distance = (1 + int(self.random.expovariate(0.2))) * TICK
        price = book.middle - distance if buy else book.middle + distance
        price = max(TICK, price)
        if buy and ask:
            return min(price, ask - TICK)
        return max(price, bid + TICK) if not buy else price


def trades(market: Market, count: int) -> Iterator[Trade]:
    """Trades of a market with one symbol."""
    (book,) = market.books.values()
    orders = book.orders
    sides: dict[str, tuple[bool, int]] = {}
    for event in market.events(count):
        if isinstance(event, Add | Replace):
            name = event.order if isinstance(event, Add) else event.becomes
            sides[name] = orders[name].buy, orders[name].price
        elif isinstance(event, Execute):
            buy, price = sides[event.order]
            yield Trade(event.time, event.symbol, not buy, event.shares, price)


def quotes(market: Market, count: int) -> Iterator[Quote]:
    (book,) = market.books.values()
    last = None
    for event in market.events(count):
        quote = book.quote(event.time, event.symbol)
        best = quote.bid, quote.bid_shares, quote.ask, quote.ask_shares
        if best != last:
            yield quote
        last = best
