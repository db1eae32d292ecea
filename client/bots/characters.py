"""Characters of bots: what each does at a turn, from the market of one symbol and its account.

They keep little state, so a bot goes on after a lost reply or a restart. The same seed and sights
give the same commands. course/docs/class.md has a table of the characters.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

UNIT = Decimal("0.00000001")  # of prices and shares


class Instrument(NamedTuple):
    symbol: str
    price: float = 100  # where the market begins
    tick: Decimal = Decimal("0.01")
    lot: Decimal = Decimal(1)
    order_max: Decimal = Decimal(10**9)


class Market(NamedTuple):
    bid: float | None
    ask: float | None
    last: float | None
    trading: str = "open"


class Own(NamedTuple):
    """An open order of the bot."""

    id: int
    side: str
    limit: Decimal


@dataclass
class Sight:
    time_s: float  # since the bots began
    value: float  # what a share is worth, for characters that know it
    market: Market
    cash: float = 0  # free
    cash_in_orders: float = 0
    shares: float = 0  # free
    shares_in_orders: float = 0
    orders: list[Own] = field(default_factory=list)


class Place(NamedTuple):
    side: str
    shares: Decimal
    limit: Decimal
    immediate: bool = False  # what is not executed at once is canceled


class Cancel(NamedTuple):
    order: int


Commands = list[Place | Cancel]


class Character:
    """shares: of an order. shares_at_start: it tries to return to this number."""

    def __init__(
        self, instrument: Instrument, shares: float = 10, shares_at_start: float = 0, seed: int = 0
    ) -> None:
        self.instrument, self.shares, self.shares_at_start = instrument, shares, shares_at_start
        self.random = random.Random(seed)

    def turn(self, sight: Sight) -> Commands:
        """Returns the commands of one request; none: nothing to do."""
        raise NotImplementedError

    def middle(self, market: Market) -> float:
        if market.bid and market.ask:
            return (market.bid + market.ask) / 2
        return market.last or market.bid or market.ask or self.instrument.price

    def price(self, price: float) -> Decimal:
        """The nearest price on a tick, above zero."""
        return max(1, round(price / float(self.instrument.tick))) * self.instrument.tick

    def lots(self, shares: float) -> Decimal:
        """Rounds down to lots, but to at least one lot."""
        lots = min(shares, float(self.instrument.order_max)) / float(self.instrument.lot)
        return max(1, math.floor(lots + 1e-9)) * self.instrument.lot

    def take(self, sight: Sight, side: str, shares: float) -> Commands:
        """Takes what the other side offers now, if the account can pay for it."""
        price = sight.market.ask if side == "buy" else sight.market.bid
        if not price or sight.market.trading != "open":
            return []
        most = sight.cash / price if side == "buy" else sight.shares
        wanted = self.lots(min(shares, most))
        if wanted > most:
            return []
        return [Place(side, wanted, self.price(price), immediate=True)]


class Maker(Character):
    """Quotes on both sides of the last price; lower, the more it has bought."""

    levels, half_spread, step = 3, 0.0005, 0.0005  # the last two as a share of the price
    size = 1.0  # of a quote, as a multiple of `shares`
    presence = 1.0  # the share of its turns at which it has quotes

    def turn(self, sight: Sight) -> Commands:
        wanted = self.quotes(sight) if self.random.random() < self.presence else []
        commands: Commands = []
        for order in sight.orders:
            # A quote near the wanted place keeps its place among the orders of its price.
            near = float(order.limit) * self.step / 2
            at = (one for one in wanted if one[0] == order.side)
            same = next((one for one in at if abs(one[1] - order.limit) <= near), None)
            if same:
                wanted.remove(same)
            else:
                commands.append(Cancel(order.id))
        shares = self.lots(self.shares * self.size)
        return commands + [Place(side, shares, limit) for side, limit in wanted]

    def quotes(self, sight: Sight) -> list[tuple[str, Decimal]]:
        # The last price comes before quotes, since some of these are its own.
        reference = sight.market.last or self.middle(sight.market)
        half = self.half_spread * reference
        held = sight.shares + sight.shares_in_orders - self.shares_at_start
        skew = max(-1.0, min(1.0, held / (self.shares * 50))) * 2 * half
        center = reference - skew + (self.random.random() - 0.5) * half
        tick = float(self.instrument.tick)
        distances = (
            max(half, tick) + level * max(self.step * reference, tick)
            for level in range(self.levels)
        )
        return [
            quote
            for distance in distances
            for quote in (
                ("buy", self.price(center - distance)),
                ("sell", self.price(center + distance)),
            )
        ]


class Thin(Maker):
    """A maker with small quotes far from the price, which come and go."""

    levels, half_spread, step, size, presence = 1, 0.01, 0.01, 0.2, 0.5


class Noise(Character):
    """Buys and sells at random."""

    def turn(self, sight: Sight) -> Commands:
        side = self.random.choice(("buy", "sell"))
        return self.take(sight, side, math.ceil(self.random.random() * self.shares))


class Momentum(Character):
    """Buys what rises, and sells what falls."""

    fast = slow = 0.0

    def turn(self, sight: Sight) -> Commands:
        now = self.middle(sight.market)
        if self.slow == 0:
            self.slow = self.fast = now
        self.fast += 0.5 * (now - self.fast)
        self.slow += 0.1 * (now - self.slow)
        held, most = sight.shares - self.shares_at_start, 20 * self.shares
        if self.fast > self.slow * 1.001 and held < most:
            return self.take(sight, "buy", self.shares)
        if self.fast < self.slow * 0.999 and held > -most:
            return self.take(sight, "sell", self.shares)
        return []


class Informed(Character):
    """Knows what a share is worth, and trades where the market is wrong."""

    edge = 0.002  # larger than the cost of a maker's spread

    def turn(self, sight: Sight) -> Commands:
        market = sight.market
        if market.ask and market.ask < sight.value * (1 - self.edge):
            return self.take(sight, "buy", self.shares)
        if market.bid and market.bid > sight.value * (1 + self.edge):
            return self.take(sight, "sell", self.shares)
        return []


class Bear(Character):
    """Sells for three minutes in any market, then buys back for two."""

    def turn(self, sight: Sight) -> Commands:
        if sight.time_s % 300 < 180:
            return self.take(sight, "sell", self.shares)
        if sight.shares >= self.shares_at_start or self.random.random() >= 0.7:
            return []
        return self.take(sight, "buy", self.shares)


class Breaker(Character):
    """Each request breaks one rule. Orders that are accepted all the same are canceled."""

    def turn(self, sight: Sight) -> Commands:
        return [Cancel(one.id) for one in sight.orders] or [self.violation(sight)]

    def violation(self, sight: Sight) -> Place | Cancel:
        price = self.middle(sight.market)
        case = self.random.randrange(5)
        if case == 0:  # more shares than it has
            shares = math.floor(sight.shares) + self.shares * 1_000
            return Place("sell", _exact(shares), self.price(price))
        if case == 1:  # more than it can pay
            shares = math.ceil(sight.cash / price) + self.shares
            return Place("buy", _exact(shares), self.price(price))
        if case == 2:  # between two ticks
            return Place("buy", self.instrument.lot, self.price(price / 2) + UNIT)
        if case == 3:  # far from the market
            return Place("buy", self.instrument.lot, self.price(price / 100))
        return Cancel(1)  # of another account


CHARACTERS: dict[str, type[Character]] = {
    "maker": Maker,
    "thin": Thin,
    "noise": Noise,
    "momentum": Momentum,
    "informed": Informed,
    "bear": Bear,
    "breaker": Breaker,
}


class FairValue:
    """The value of a share: it walks at random, and news moves it by up to 5 % every two minutes.

    In the long run it returns to where it began. It stays above zero.
    """

    def __init__(self, price: float, seed: int) -> None:
        self.begin = self.value = price
        self.random, self.time_s = random.Random(seed), 0

    def at(self, time_s: float) -> float:
        """Times must not decrease."""
        while self.time_s + 1 <= time_s:
            self.time_s += 1
            change = (self.random.random() - 0.5) * 0.001
            if self.random.random() < 1 / 120:
                change += self.random.uniform(-0.05, 0.05)
            self.value *= math.exp(change + math.log(self.begin / self.value) * 0.0005)
        return self.value


def _exact(shares: float) -> Decimal:
    return Decimal(str(shares)).quantize(UNIT)
