"""The day of docs/trading-days.md on the real server: each command prints what the page shows."""

import re
import unittest
from decimal import Decimal

from exchange_server import ROOT, ExchangeServer
from support import run, steps_of, text_of

PAGE = (ROOT / "docs/trading-days.md").read_text()
DAY = steps_of("docs/trading-days.md")

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


class TradingDay(unittest.TestCase):
    maxDiff = None

    def test_each_command_prints_what_the_page_shows(self):
        self.assertGreater(len(DAY), 25)
        with ExchangeServer() as server:
            printed = text_of(run([command for command, _ in DAY], server))
        self.assertEqual(TIME.sub("TIME", text_of(DAY)), TIME.sub("TIME", printed))

    def test_the_table_of_the_opening_auction_is_that_of_its_orders(self):
        opening = [command for command, _ in DAY]
        opening = opening[: opening.index("exchange-cli resume ABC")]
        orders = [
            (side, int(shares), None if limit == "market" else Decimal(limit))
            for command in opening
            for side, shares, limit in re.findall(r"(buy|sell) ABC (\d+) (\S+)$", command)
        ]

        def interest(wanted, price):
            return sum(
                shares
                for side, shares, limit in orders
                if side == wanted
                and (limit is None or (limit >= price if side == "buy" else limit <= price))
            )

        rows = re.findall(
            (
                r"^\| \**([\d.]+)\** \| (?:.* = )?(\d+) \| (?:.* = )?(\d+) \| \**(\d+)\** \|"
                r" (-?\d+) \|$"
            ),
            PAGE,
            re.M,
        )
        self.assertEqual(
            sorted({limit for _, _, limit in orders if limit}), [Decimal(row[0]) for row in rows]
        )
        for price, *shown in rows:
            demand, supply = (interest(side, Decimal(price)) for side in ("buy", "sell"))
            self.assertEqual(
                [demand, supply, min(demand, supply), demand - supply], list(map(int, shown))
            )
