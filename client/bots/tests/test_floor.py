"""Bots on the floor of an exchange that replies what a test says, and the servers that they ask."""

import base64
import errno
import json
import unittest
from collections import deque
from decimal import Decimal

from support import HttpServer, start_line_server

from bots.connection import Http
from bots.demo_bots import DemoFloor
from exchange_client.errors import BadReply, ConnectionFailed, InDoubt, Refused
from exchange_client.http_port import basic

READY, STANDBY = (200, "ready"), (503, "standby")
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


class AskedServers(unittest.TestCase):
    def http(self, *servers, authorization=None):
        addresses = deque(one if isinstance(one, tuple) else one.address for one in servers)
        http = Http(addresses, None, 5, authorization)
        self.addCleanup(http.close)
        return http

    def server(self, **pages):
        return HttpServer(self, {f"/{path}": reply for path, reply in pages.items()})

    def test_requests_have_one_connection(self):
        server = self.server(x=(200, "5"))
        http = self.http(server)
        self.assertEqual((200, b"5"), http.ask("/x", "<create/>"))
        self.assertEqual(5, http.json("/x"))
        self.assertEqual((["/x", "/x"], 1), (server.asked, server.connections))

    def test_of_several_servers_the_active_one_is_asked(self):
        standby = self.server(readyz=STANDBY, x=(200, '"old"'))
        active = self.server(readyz=READY, x=(200, '"new"'))
        http = self.http(standby, active)
        for _ in range(2):
            self.assertEqual("new", http.json("/x"))
        self.assertEqual((["/readyz"], ["/readyz", "/x", "/x"]), (standby.asked, active.asked))
        # The other one is active now.
        standby.pages |= {"/readyz": READY, "/x": (200, "1")}
        active.pages |= {"/readyz": STANDBY, "/x": (503, '{"error": "replaced"}')}
        self.assertEqual(1, http.json("/x"))

    def test_without_an_active_server_nothing_is_sent(self):
        standby = self.server(readyz=STANDBY, x=(200, "1"))
        nowhere = ("127.0.0.1", 1)
        with self.assertRaises(ConnectionFailed) as raised:
            self.http(nowhere, standby).ask("/x", "<create/>")
        peer = f"127.0.0.1:{standby.address[1]}"
        expected = "cannot connect to 127.0.0.1:1: Connection refused; "
        self.assertEqual(f"{expected}{peer} is not active: standby", str(raised.exception))

    def test_errors(self):
        server = self.server(
            x=(404, '{"error": "unknown account", "code": "unknown_account"}'),
            y=(200, "<html>"),
            z=(503, '{"error": "the store is unavailable"}'),
        )
        http = self.http(server)
        with self.assertRaises(Refused) as raised:
            http.json("/x")
        self.assertEqual("unknown_account", raised.exception.code)
        with self.assertRaisesRegex(BadReply, "/y is not JSON"):
            http.json("/y")
        with self.assertRaisesRegex(ConnectionFailed, "the store is unavailable"):
            http.ask("/z")

    def test_a_server_that_ends_leaves_in_doubt_and_another_protocol_is_recognized(self):
        with self.assertRaises(InDoubt):
            self.http(start_line_server(self, b"")).ask("/x")
        xml = start_line_server(self, b"<results><error>not XML</error></results>\n")
        hint = "does not speak HTTP; --http names the HTTP port, which is not the XML port$"
        with self.assertRaisesRegex(BadReply, hint):
            self.http(xml).ask("/x")

    def test_keys_may_have_any_letters(self):
        server = self.server(x=(200, "1"))
        self.http(server, authorization="Bearer clé-Ω").json("/x")
        self.http(server, authorization=basic("1", "Ω")).json("/x")
        bearer, login = (one.encode("latin-1").decode() for one in server.authorizations)
        self.assertEqual("Bearer clé-Ω", bearer)
        self.assertEqual("1:Ω", base64.b64decode(login.removeprefix("Basic ")).decode())

    def test_pages_follow_each_other(self):
        server = self.server(x=(200, '{"next": null, "is": 1}'))
        self.assertEqual(
            [{"next": None, "is": 1}], list(self.http(server).pages("/x", "next", "after"))
        )


if __name__ == "__main__":
    unittest.main()
