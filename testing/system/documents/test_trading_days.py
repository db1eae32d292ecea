"""The day of docs/trading-days.md on the real server: each command prints what the page shows."""

import os
import re
import subprocess
import unittest
from decimal import Decimal

from exchange_server import BIN, PATIENCE_S, ROOT, ExchangeServer

PAGE = (ROOT / "docs/trading-days.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```", PAGE, re.M | re.S)
# Commands with what they print.
DAY = [
    step.partition("\n") for block in BLOCKS for step in re.split(r"^\$ ", block, flags=re.M)[1:]
]

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


class TradingDay(unittest.TestCase):
    maxDiff = None

    def test_each_command_prints_what_the_page_shows(self):
        self.assertGreater(len(DAY), 25)
        with ExchangeServer() as server:
            environment = os.environ | {
                "PATH": f"{BIN}:{os.environ['PATH']}",
                "EXCHANGE_CONNECT": f"127.0.0.1:{server.port}",
                "EXCHANGE_HTTP": f"127.0.0.1:{server.http_port}",
            }
            printed = ""
            for command, _, _ in DAY:
                done = subprocess.run(
                    ["sh", "-c", command],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    text=True,
                    timeout=PATIENCE_S,
                )
                printed += f"$ {command}\n{done.stdout}"
        shown = "".join(f"$ {command}\n{text}" for command, _, text in DAY)
        self.assertEqual(TIME.sub("TIME", shown), TIME.sub("TIME", printed))

    def test_the_table_of_the_opening_auction_is_that_of_its_orders(self):
        opening = [command for command, _, _ in DAY]
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
            r"^\| \**([\d.]+)\** \| (?:.* = )?(\d+) \| (?:.* = )?(\d+) \| \**(\d+)\** \| (-?\d+) \|$",
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
