"""Bots on the floor of an exchange that replies what a test says."""

import errno
import json
import unittest
from decimal import Decimal

from support import HttpServer

from bots.demo_bots import DemoFloor

SYMBOL = {"symbol": "SPY", "bid": None, "ask": None, "last": "100", "trading": "open"}


class Turns(unittest.TestCase):
    def setUp(self):
        self.account = {
            "balance": "1000000",
            "reserved": "0",
            "orders": [],
            "positions": [{"symbol": "SPY", "shares": "10000", "reserved": "0"}],
        }
        self.server = HttpServer(self, {})
        self.server.pages["/api/symbols"] = (200, json.dumps({"symbols": [SYMBOL]}))
        self.server.pages["/api/xml"] = (200, '<results><error code="no_open_orders"/></results>')
        self.lines = []
        self.floor = self.demo_floor(self.lines.append)
        self.maker = self.floor.seats[0]

    def demo_floor(self, log):
        symbols = {"SPY": Decimal(100)}
        address = f"127.0.0.1:{self.server.address[1]}"
        floor = DemoFloor(symbols, "9", 1000, address, None, seed=1, log=log)
        for seat in floor.seats:
            self.addCleanup(seat.http.close)
        self.addCleanup(floor._connection.close)
        return floor

    def turn(self):
        path = f"/api/accounts/{self.maker.bot.account}"
        self.server.pages[path] = (200, json.dumps(self.account))
        self.floor._read_market()
        return self.floor._serve_one(self.maker)

    def test_one_that_has_lost_half_of_what_it_had_goes_on_as_a_new_account(self):
        self.account["positions"][0]["shares"] = "1"
        self.assertIsNone(self.turn())
        self.assertEqual("9000000", self.maker.bot.account)
        self.account["balance"] = "999000"
        self.maker.traded = 5.0
        self.assertIsNone(self.turn())
        self.assertEqual([], self.lines)
        self.assertEqual("9000004", self.maker.bot.account)
        self.assertIn("/api/xml", self.server.asked)  # its orders are canceled
        self.account["positions"][0]["shares"] = "20000"
        self.turn()
        self.assertEqual(5.0, self.maker.traded)  # shares of the other account do not count

    def test_bots_go_on_if_the_log_cannot_be_written(self):
        def log(line):
            self.lines.append(line)
            raise OSError(errno.ENOSPC, "No space left on device")

        self.server.pages["/api/symbols"] = (500, "broken")
        turns = iter(range(4))
        floor = self.demo_floor(log)
        floor.run(lambda: next(turns, None) is None)
        self.assertRegex(self.lines[0], "^broken; trying again$")
        self.assertEqual(len(floor.seats), sum(" sent, " in line for line in self.lines))


if __name__ == "__main__":
    unittest.main()
