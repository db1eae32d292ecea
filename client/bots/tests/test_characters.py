"""What bots of each character do at a turn."""

import unittest
from decimal import Decimal

import support  # noqa: F401

from bots.characters import CHARACTERS, Cancel, FairValue, Instrument, Market, Own, Place, Sight

INSTRUMENT = Instrument("ABC", tick=Decimal("0.05"))


def character(name, seed=1, instrument=INSTRUMENT, shares=10):
    return CHARACTERS[name](instrument, shares, shares_at_start=1_000, seed=seed)


def sight(bid=99.0, ask=101.0, last=100.0, **more):
    market = Market(bid, ask, last, more.pop("trading", "open"))
    return Sight(
        **{"time_s": 0, "value": last, "market": market, "cash": 1e6, "shares": 1_000} | more
    )


def prices(commands, side):
    return [float(one.limit) for one in commands if one.side == side]


class Characters(unittest.TestCase):
    def taken(self, bot, seen):
        """The one order with which it takes the other side; None if it does not act."""
        commands = bot.turn(seen)
        self.assertLessEqual(len(commands), 1)
        self.assertTrue(all(one.immediate for one in commands))
        return commands[0] if commands else None

    def test_a_maker_quotes_both_sides_of_the_last_price_on_ticks(self):
        for seed in range(100):
            quotes = character("maker", seed).turn(sight())
            self.assertEqual(6, len(quotes))
            self.assertTrue(all(one.limit % INSTRUMENT.tick == 0 for one in quotes))
            self.assertFalse(any(one.immediate for one in quotes))
            best_bid, best_ask = max(prices(quotes, "buy")), min(prices(quotes, "sell"))
            self.assertTrue(99 < best_bid < best_ask < 101, quotes)

    def test_a_maker_begins_at_the_price_of_the_scenario_and_cancels_what_it_does_not_want(self):
        seen = Sight(0, 100, Market(None, None, None), cash=1e6, shares=1_000)
        quotes = character("maker").turn(seen)
        self.assertAlmostEqual(100, float(quotes[0].limit), delta=1)
        seen.orders = [Own(5, "buy", Decimal(50))]
        self.assertEqual(Cancel(5), character("maker").turn(seen)[0])

    def test_a_maker_that_stands_where_it_wants_to_stand_sends_nothing(self):
        quotes = character("maker").turn(sight())
        orders = [Own(nth, one.side, one.limit) for nth, one in enumerate(quotes)]
        self.assertEqual([], character("maker").turn(sight(orders=orders)))

    def test_a_maker_with_many_shares_quotes_lower(self):
        many = prices(character("maker").turn(sight(shares=2_000)), "buy")
        self.assertLess(many[0], prices(character("maker").turn(sight()), "buy")[0])

    def test_a_thin_market_has_few_and_distant_quotes_and_at_times_none(self):
        thin = character("thin")
        turns = [thin.turn(sight()) for _ in range(100)]
        self.assertTrue(20 < turns.count([]) < 80)
        for buy, sell in filter(None, turns):
            self.assertGreater(sell.limit - buy.limit, 1.5)

    def test_momentum_buys_what_rises_and_sells_what_falls(self):
        for side, step in (("buy", 0.5), ("sell", -0.5)):
            momentum = character("momentum")
            path = [100 + nth * step for nth in range(19)]
            last = [self.taken(momentum, sight(at - 0.05, at + 0.05, at)) for at in path][-1]
            self.assertEqual(side, last.side)
        calm = character("momentum")
        for _ in range(20):
            self.assertIsNone(self.taken(calm, sight(99.95, 100.05)))

    def test_the_informed_trade_where_the_market_is_wrong(self):
        for value, trading, side in (
            (100, "open", None),
            (101, "open", "buy"),
            (99, "open", "sell"),
            (99, "auction", None),
        ):
            seen = sight(99.95, 100.05, value=value, trading=trading)
            order = self.taken(character("informed"), seen)
            self.assertEqual(side, order and order.side)

    def test_a_bear_sells_for_minutes_then_buys_back_what_it_sold(self):
        bear = character("bear")
        self.assertEqual("sell", self.taken(bear, sight()).side)
        self.assertEqual(3, self.taken(bear, sight(shares=3)).shares)
        self.assertIsNone(self.taken(bear, sight(shares=0)))
        turns = [self.taken(bear, sight(shares=0, time_s=200)) for _ in range(20)]
        self.assertGreater(sum(one is not None and one.side == "buy" for one in turns), 5)
        self.assertIsNone(self.taken(bear, sight(time_s=200)))

    def test_no_bot_takes_what_it_cannot_pay_for(self):
        noise = character("noise")
        for _ in range(200):
            if order := self.taken(noise, sight(cash=250, shares=1)):
                self.assertLessEqual(order.shares, 2 if order.side == "buy" else 1)

    def test_bots_keep_the_lot_and_the_largest_order_of_a_symbol(self):
        in_lots = INSTRUMENT._replace(lot=Decimal(25), order_max=Decimal(60))
        for name in ("maker", "thin", "noise", "bear"):
            bot = character(name, instrument=in_lots, shares=100)
            for _ in range(50):
                for order in bot.turn(sight(cash=3_000)):
                    self.assertIn(order.shares, (25, 50), name)
            if name == "noise":
                self.assertIsNone(self.taken(bot, sight(cash=20, shares=20)))  # less than a lot

    def test_a_breaker_of_rules_cancels_what_was_accepted(self):
        breaker = character("breaker")
        sent = [breaker.turn(sight()) for _ in range(50)]
        self.assertEqual({1}, set(map(len, sent)))
        off_tick = [
            one for (one,) in sent if isinstance(one, Place) and one.limit % INSTRUMENT.tick
        ]
        self.assertTrue(off_tick)
        orders = [Own(9, "buy", Decimal(1))]
        self.assertEqual([Cancel(9)], breaker.turn(sight(orders=orders)))

    def test_the_value_of_a_share_moves_and_comes_back(self):
        value, same = FairValue(100, 7), FairValue(100, 7)
        path = [value.at(second) for second in range(3_600)]
        self.assertTrue(50 < min(path) < max(path) < 200)
        self.assertGreater(max(path) / min(path), 1.02)
        self.assertEqual(path[-1], same.at(3_599))


if __name__ == "__main__":
    unittest.main()
