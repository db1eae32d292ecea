"""The commands of pages on a real server: each prints what its page shows."""

import re
import shutil
import tempfile
import unittest
from decimal import Decimal

from exchange_server import ROOT, ExchangeServer
from support import run, steps_of, text_of

TRADING_DAYS = "docs/trading-days.md"
COURSE = "127.0.0.1 12345"
VARIES = re.compile(
    r'\b[0-9a-f]{48}\b|\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b|(?<=time=")\d+'  # keys, times
)


class Pages(unittest.TestCase):
    maxDiff = None

    def check(self, page, more_than, *options):
        steps = steps_of(page)
        self.assertGreater(len(steps), more_than)
        with ExchangeServer(*options) as server, tempfile.TemporaryDirectory() as folder:
            here = f"127.0.0.1 {server.port}"
            key_file = {"EXCHANGE_OPERATOR_KEY_FILE": getattr(server, "operator_key_file", "")}
            commands = [command.replace(COURSE, here) for command, _ in steps]
            printed = [(command, run(command, server, folder, key_file)) for command in commands]
        shown, real = text_of(steps), text_of(printed).replace(here, COURSE)
        self.assertEqual(VARIES.sub("…", shown), VARIES.sub("…", real))

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make keys with")
    def test_the_work_of_the_operator(self):
        self.check("docs/operator.md", 25, "--auth")

    def test_a_trading_day(self):
        self.check(TRADING_DAYS, 25)

    @unittest.skipUnless(shutil.which("nc"), "there is no nc")
    def test_the_first_lab_sheet(self):
        self.check("course/sheets/1-client.md", 6)

    def test_the_table_of_the_opening_auction_is_that_of_its_orders(self):
        opening = [command for command, _ in steps_of(TRADING_DAYS)]
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

        row = (
            r"^\| \**([\d.]+)\** \| (?:.* = )?(\d+) \| (?:.* = )?(\d+) \| \**(\d+)\** \|"
            r" (-?\d+) \|$"
        )
        rows = re.findall(row, (ROOT / TRADING_DAYS).read_text(), re.M)
        self.assertEqual(
            sorted({limit for _, _, limit in orders if limit}), [Decimal(row[0]) for row in rows]
        )
        for price, *shown in rows:
            demand, supply = (interest(side, Decimal(price)) for side in ("buy", "sell"))
            self.assertEqual(
                [demand, supply, min(demand, supply), demand - supply], list(map(int, shown))
            )
