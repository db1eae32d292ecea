"""What the HTTP port shows, and what an account earned: of ports that answer what a test says, and
of the real one."""

import asyncio
import os
import random
import sqlite3
import threading
import unittest
from contextlib import closing
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch

import support
from exchange_client import (
    Account,
    AsyncExchange,
    BadReply,
    ConnectionFailed,
    Exchange,
    Fill,
    InDoubt,
    Performance,
    Position,
    Refused,
    performance,
)
from support import Case, Served, needs_websockets


class WithoutServer(Case):
    ACCOUNT = (
        '{"account":"1","balance":"5","reserved":"0","positions":[],"open_orders":0,"orders":[]}'
    )

    def serve(self, status, body=None):
        """All paths are answered alike, or as status(path) says."""
        asked = []
        answer = status if callable(status) else lambda _: (status, body)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def do_GET(self):
                asked.append((self.path, self.headers["Authorization"]))
                status, body = answer(self.path)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"127.0.0.1:{server.server_port}", asked

    def exchange(self, http, account=1, **more):
        return Exchange("127.0.0.1:1", account, http=http, **more)

    def test_the_server_that_answers_is_found(self):
        down, asked = self.serve(503, '{"error":"standby","code":"standby"}')
        good, _ = self.serve(200, self.ACCOUNT)
        for http in (good, f"127.0.0.1:1,{down},{good}"):
            with patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:1"}):
                self.assertEqual(5, self.exchange(http, account="a/b", key="k").account().balance)
        self.assertEqual([("/api/accounts/a%2Fb", "Basic YS9iOms=")], asked)
        with self.assertRaisesRegex(ConnectionFailed, "standby.*; 127.0.0.1:1: .*refused"):
            self.exchange(f"{down},127.0.0.1:1").account()

    def test_lists_in_pages(self):
        position = '{"symbol":"%s","shares":"1","reserved":"0"}'
        order = (
            '{"order":%d,"symbol":"S","side":"sell","shares":"2","limit":"3","open":"1",'
            '"opened_at_us":4}'
        )
        fill = '{"shares":"%d","price":"1","time_us":1}'
        account = (
            '{"account":"1","balance":"5","reserved":"0","open_orders":3,"positions":[%s],'
            '"orders":[%s]%s}'
        )
        closed, more = [], ',"next_order":8,"next_position":"A&B"'
        pages = {
            "/api/accounts/1": account % (position % "A&B", order % 8, more),
            "/api/accounts/1?positions_after=A%26B": account % (position % "C", "", ""),
            "/api/accounts/1?orders_after=8": account % ("", order % 9, ',"next_order":9'),
            "/api/accounts/1?orders_after=9": account % ("", order % 10, ""),
            "/api/orders/7": '{"account":"1","executions":[%s],"next":1}' % (fill % 3),
            "/api/orders/7?before=1": '{"account":"1","executions":[%s]}' % (fill % 2),
            "/api/accounts/2": account % ("", "", ',"next_position":"X"'),
            "/api/accounts/2?positions_after=X": account % ("", "", ',"next_position":"X"'),
        }

        def answer(path):
            if path.endswith("=9") and not closed:
                closed.append(path)  # and open again
                return 404, '{"error":"not open","code":"unknown_order"}'
            return 200, pages[path]

        http, _ = self.serve(answer)
        exchange = self.exchange(http)
        self.assertEqual(["A&B", "C"], [one.symbol for one in exchange.account().positions])
        self.assertEqual([8, 9, 10], [one.id for one in exchange.open_orders()])
        self.assertEqual(1, len(closed))
        self.assertEqual(
            [-2, 1], [exchange.open_orders()[0].amount, exchange.open_orders()[0].open]
        )
        self.assertEqual([2, 3], [one.shares for one in exchange.fills(7)])
        with self.assertRaisesRegex(BadReply, "refers to itself"):
            self.exchange(http, account=2).account()

    def test_fills_come_page_by_page(self):
        fill = (
            '{"execution":%d,"order":3,"ref":"mine","symbol":"S","side":"sell","shares":"0.5",'
            '"price":"2","role":"maker","auction":true,"time_us":1}'
        )
        usual = (
            '{"execution":%d,"order":4,"symbol":"S","side":"buy","shares":"1","price":"2",'
            '"role":"taker","time_us":1000000}'
        )
        page = '{"account":"1","fills":[%s],"newest_execution":9%s}'
        pages = {
            "": page % (fill % 4, ',"next":4'),
            "?after=4": page % ("", ',"next":8'),  # none among so many executions of others
            "?after=8": page % (usual % 9, ""),
            "?before=newest": page % (usual % 9, ',"next":9'),
            "?before=9": page % (fill % 4, ""),
        }
        http, asked = self.serve(
            lambda path: (200, pages[path.removeprefix("/api/accounts/1/fills")])
        )
        exchange = self.exchange(http)
        fills = exchange.fills()
        self.assertEqual([], asked)  # until one is wanted
        first, half = next(fills), Decimal("0.5")
        time = datetime(1970, 1, 1, 0, 0, 0, 1, timezone.utc)
        self.assertEqual(
            Fill(4, 3, "S", "sell", half, Decimal(2), "maker", time, "mine", True), first
        )
        self.assertEqual(1, len(asked))
        time = time.replace(second=1, microsecond=0)
        last = Fill(9, 4, "S", "buy", Decimal(1), Decimal(2), "taker", time)
        self.assertEqual([last], list(fills))
        self.assertEqual([last, first], list(exchange.fills(newest_first=True)))
        self.assertEqual([last], list(exchange.fills(after=8)))

        async def run():
            async with AsyncExchange("127.0.0.1:1", 1, http=http) as other:
                return [fill async for fill in other.fills()]

        self.assertEqual([first, last], asyncio.run(run()))
        pages[""] = page % ("{}", "")
        with self.assertRaises(BadReply):
            list(exchange.fills())

    def test_a_new_day_is_asked_for_until_it_is_closed(self):
        closing = (202, '{"day":"monday","closed":false}')
        answers = [closing, (503, "starting\n"), (200, '{"closed":true,"store":"sqlite:x"}')]
        http, asked = self.serve(lambda _: answers[len(asked) - 1])
        with self.exchange(f"127.0.0.1:1,{http}", operator_key="operator-1") as exchange:
            self.assertEqual("sqlite:x", exchange.new_day("monday"))
        self.assertEqual([("/api/admin/new-day", "Bearer operator-1")] * 3, asked)
        standby, _ = self.serve(503, '{"error":"this server is not the active one"}')
        with self.assertRaisesRegex(ConnectionFailed, "not the active one"):
            self.exchange(standby, operator_key="operator-1").new_day("monday")
        refusing, _ = self.serve(403, '{"error":"no","code":"operator_key"}')
        other = self.exchange(refusing, operator_key="operator-2")
        self.assert_refused("operator_key", other.new_day, "monday")
        slow, _ = self.serve(*closing)
        with self.assertRaises(InDoubt):
            self.exchange(slow, operator_key="operator-1", timeout=0.1).new_day("monday")

    def test_what_is_no_answer(self):
        for status, body in ((200, "[]"), (200, "{"), (200, ""), (404, "<html>"), (404, "null")):
            http, _ = self.serve(status, body)
            with self.subTest(body), self.assertRaises(BadReply):
                self.exchange(http).account()

    def test_wrong_arguments(self):
        exchange = self.exchange("127.0.0.1:1")
        nobodys = self.exchange("127.0.0.1:1", account=None)
        self.assert_each_raises(
            ValueError,
            lambda: Exchange("127.0.0.1:1", 1).account(),
            lambda: self.exchange("127.0.0.1"),
            lambda: nobodys.open_orders(),
            lambda: nobodys.fills(),
            lambda: exchange.fills(after=-1),
            lambda: self.exchange("127.0.0.1:1", key="k").new_day("monday"),
        )
        self.assert_each_raises(
            TypeError,
            lambda: exchange.fills("7"),
            lambda: exchange.fills(7.5),
            lambda: exchange.fills(7, after=1),
            lambda: exchange.fills(after=1, newest_first=True),
            lambda: exchange.fills(after="1"),
            lambda: exchange.fills(newest_first=1),
            lambda: exchange.book(7),
            lambda: exchange.book("S", levels=True),
            lambda: exchange.open_orders(7),
            lambda: self.exchange("127.0.0.1:1", operator_key="k").new_day(7),
        )


def fill(symbol, side, shares, price):
    return Fill(1, 1, symbol, side, Decimal(shares), Decimal(price), "taker", None)


class Earned(Case):
    def test_profit_is_cash_and_positions_at_the_newest_price_of_each_symbol(self):
        fills = [
            fill("A", "buy", 10, "100"),
            fill("B", "sell", 2, "50"),
            fill("A", "sell", 4, "101.5"),
            fill("A", "sell", 6, "99"),
            fill("B", "buy", 2, "40"),
        ]
        rows = [
            ("A", 10, "-1000", "0"),
            ("B", -2, "-900", "0"),
            ("A", 6, "-494", "15"),
            ("A", 0, "100", "0"),
            ("B", 0, "20", "20"),
        ]
        wanted = [
            Performance(None, symbol, Decimal(position), Decimal(cash), Decimal(profit))
            for symbol, position, cash, profit in rows
        ]
        self.assertEqual(wanted, performance(fills))
        self.assertEqual([], performance([]))

    def test_numbers_are_exact(self):
        big, small = "92233720367.12345678", "0.00000001"
        (_, last) = performance([fill("A", "buy", big, big), fill("A", "sell", small, small)])
        paid = 9223372036712345678**2
        self.assertEqual(Decimal(f"{1 - paid}e-16"), last.cash)


def fills_of_tables(store, account):
    """What SQL has of them, of one account, the maker's first."""
    query = """SELECT e.id, o.id, symbols.name, o.is_buy, e.shares_e8, e.price_e8, e.time_us, ref, of_auction,
      CASE WHEN taker = iif(o.is_buy, 'buy', 'sell') THEN 'taker' ELSE 'maker' END AS role
      FROM executions e JOIN tape ON tape.id = e.id JOIN orders o ON o.id IN (e.buy_order, e.sell_order)
      JOIN accounts ON accounts.number = o.account JOIN symbols ON symbols.number = e.symbol
      LEFT JOIN order_references r ON r.account = o.account AND r.order_id = o.id
      WHERE accounts.id = ? ORDER BY e.id, role"""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as tables:
        rows = tables.execute(query, (str(account),))
        return [
            Fill(
                id,
                order,
                symbol,
                "buy" if is_buy else "sell",
                Decimal(shares) / 10**8,
                Decimal(price) / 10**8,
                role,
                datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=time),
                ref,
                bool(auction),
            )
            for id, order, symbol, is_buy, shares, price, time, ref, auction, role in rows
        ]


class RealServer(Served):
    def setUp(self):
        super().setUp()
        self.fund()
        self.buyer, self.seller = self.client(1), self.client(2)

    def test_what_was_acknowledged_is_shown(self):
        buyer, seller = self.buyer, self.seller
        bid = buyer.buy("SPY", 100, "145.67")
        other = buyer.buy("QQQ", 1, "0.5", ref="mine")
        ask = seller.sell("SPY", 40, 140)
        self.assertEqual(40, seller.fills(ask)[0].shares)
        self.assertEqual(
            Account("1", Decimal("85432.5"), Decimal("8740.7"), (Position("SPY", 40, 0),), 2),
            buyer.account(),
        )
        self.assertEqual(Decimal(460), seller.account().positions[0].shares)
        found = buyer.open_orders()
        self.assertEqual([bid.id, other.id], [order.id for order in found])
        self.assertEqual([None, "mine"], [order.ref for order in found])
        self.assertEqual(
            ("SPY", 100, Decimal("145.67"), 60),
            (found[0].symbol, found[0].amount, found[0].limit, found[0].open),
        )
        self.assertEqual([other.id], [one.id for one in buyer.open_orders("QQQ")])
        fill = buyer.fills(bid)[0]
        self.assertEqual((40, Decimal("145.67")), (fill.shares, fill.price))
        self.assertEqual(fill.time.replace(microsecond=0), buyer.query(bid).executions[0].time)
        book = buyer.book("SPY", levels=1)
        self.assertEqual((Decimal("145.67"), 60, None), (book.bid.price, book.bid.shares, book.ask))
        self.assert_refused("unknown_order", buyer.fills, ask)
        self.assert_refused("unknown_order", buyer.fills, 99)
        self.assert_refused("unknown_symbol", buyer.book, "NONE")
        self.assert_refused("unknown_account", self.client(9).account)

        async def run():
            async with AsyncExchange(self.address, 1, http=self.http) as exchange:
                asked = (exchange.account(), exchange.open_orders("SPY"), exchange.fills(bid))
                return await asyncio.gather(*asked, exchange.book("SPY"))

        account, orders, fills, book = asyncio.run(run())
        self.assertEqual((2, [bid.id]), (account.open_orders, [order.id for order in orders]))
        self.assertEqual((1, "SPY"), (len(fills), book.symbol))

    def test_lists_of_more_than_a_page(self):
        with self.buyer.pipeline() as pipeline:
            pending = [pipeline.buy("SPY", "0.1", 1) for _ in range(2_500)]
        ids = [bid.result().id for bid in pending]
        self.assertEqual(ids, [order.id for order in self.buyer.open_orders()])
        ask = self.seller.sell("SPY", 120, 1)
        self.assertEqual(1_200, len(self.seller.fills(ask)))
        fills = list(self.buyer.fills())
        self.assertEqual(ids[:1_200], [fill.order for fill in fills])
        self.assertEqual(fills, list(self.buyer.fills(newest_first=True))[::-1])
        self.assertEqual(fills[1_100:], list(self.buyer.fills(after=fills[1_099].execution)))

    @needs_websockets
    def test_fills_of_an_account(self):
        """Against the tables and the events, over a kill of the server."""
        seed = int(os.environ.get("SEED", random.randrange(2**32)))
        rng = random.Random(seed)
        clients = {account: self.client(account, retry=30) for account in (1, 2, 3)}
        clients[1].create_account(3, 100_000)
        with clients[2].pipeline() as pipeline:
            pipeline.sell("SPY", 200, 100)
        next(clients[3].events())  # is followed from here on; the others never are
        for turn in range(3):
            for _ in range(40):
                client = clients[rng.choice([1, 1, 2, 3, 3])]
                act = rng.choice([client.buy, client.buy, client.sell])
                ref = f"r{turn}-{rng.random()}" if rng.random() < 0.5 else None
                try:
                    act("SPY", rng.randint(1, 9), rng.randint(98, 102), ref=ref)
                except Refused:
                    pass
            if turn == 1:
                self.kill_and_restart()
            for account, client in clients.items():
                fills = list(client.fills())
                with self.subTest(turn=turn, account=account, SEED=seed):
                    self.assertEqual(fills_of_tables(self.store, account), fills)
                    self.assertEqual(
                        sorted(fills, key=lambda fill: -fill.execution),
                        list(client.fills(newest_first=True)),
                    )
                    for fill in rng.sample(fills, min(3, len(fills))):
                        self.assertEqual(
                            [one for one in fills if one.execution > fill.execution],
                            list(client.fills(after=fill.execution)),
                        )
                        order = [one for one in fills if one.order == fill.order]
                        self.assertEqual(
                            [(one.shares, one.price, one.time) for one in order],
                            [(one.shares, one.price, one.time) for one in client.fills(fill.order)],
                        )
        fills = list(clients[3].fills())
        self.assertEqual({"buy", "sell"}, {fill.side for fill in fills})
        of_events = []
        for event in clients[3].events(1):
            if event.kind == "executed":
                of_events.append(event)
            if len(of_events) == len(fills):
                break
        names = "execution order symbol side shares price role time ref".split()
        self.assertEqual(
            *(
                [[getattr(one, name) for name in names] for one in some]
                for some in (of_events, fills)
            )
        )

        async def read():
            async with AsyncExchange(self.address, 3, http=self.http) as exchange:
                self.assertEqual(1, len((await exchange.fills(fills[0].order))[:1]))
                return [fill async for fill in exchange.fills()]

        self.assertEqual(fills, asyncio.run(read()))
        self.assertEqual([], list(clients[3].fills(after=fills[-1].execution)))

    def test_performance_agrees_with_cash_and_shares_without_what_was_given(self):
        seed = 7
        print(f"seed {seed}")
        dice, clients = random.Random(seed), (self.buyer, self.seller)
        for client in clients:
            for symbol in "AB":
                client.create_symbol(symbol, {client.account_id: 1_000})
        clients[1].adjust_cash(2, 100_000)
        for _ in range(200):
            trade = dice.choice([dice.choice(clients).buy, dice.choice(clients).sell])
            trade(dice.choice("AB"), dice.randint(1, 9), dice.randint(90, 110))
        clients[0].adjust_cash(1, 500)
        clients[0].cancel_all()
        points, account = clients[0].performance(), clients[0].account()
        self.assertGreater(len(points), 50)
        self.assertEqual(account.balance - 100_500, points[-1].cash)
        held = {one.symbol: one.shares - 1_000 for one in account.positions}
        newest = {one.symbol: one.position for one in points}
        self.assertEqual(held, newest)
        half = list(clients[0].fills())[len(points) // 2].execution
        later = clients[0].performance(after=half)
        self.assertEqual(points[-1].cash - later[-1].cash, points[-len(later) - 1].cash)
