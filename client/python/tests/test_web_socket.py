"""What comes over the WebSocket, the events of an account and market data: of servers that send
what a test says, and of the real one."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import unittest
from contextlib import aclosing
from datetime import datetime, timezone
from decimal import Decimal
from itertools import islice
from unittest.mock import patch

import support
from exchange_client import (
    AccountEvent,
    AccountSnapshot,
    AsyncExchange,
    BadReply,
    ConnectionFailed,
    Exchange,
    OpenOrder,
    Position,
    Refused,
    market_data,
)
from exchange_client.market import Books
from support import PYTHON, Case, FakeWebSocket, Served, needs_websockets, websockets

TIME = datetime(1970, 1, 1, 0, 0, 4, tzinfo=timezone.utc)
SUBSCRIBED = '{"type":"subscribed","account":"1","from":1}'


def snapshot(number):
    return (
        f'{{"type":"account","number":{number},"batch":9,"account":"1","balance":"5.5",'
        '"reserved":"2","positions":[{"symbol":"S","shares":"4","reserved":"1"}],"open_orders":1,'
        '"orders":[{"order":1,"ref":"mine","symbol":"S","side":"sell","shares":"3","limit":"7",'
        '"open":"1","opened_at_us":4000000}]}'
    )


def events(*numbers):
    one = (
        '{"number":%d,"event":"executed","order":1,"ref":"mine","symbol":"S","side":"sell",'
        '"shares":"2","price":"7","open":"1","execution":3,"role":"maker","balance":"5.5",'
        '"position":"4","batch":9,"time_us":4000000}'
    )
    listed = ",".join(one % number for number in numbers)
    return f'{{"type":"events","account":"1","events":[{listed}]}}'


def error(code):
    return f'{{"type":"error","error":"what a pity","code":"{code}"}}'


def first_items(exchange, count, from_):
    """By the blocking iterator, or by that of asyncio."""
    if isinstance(exchange, Exchange):
        return list(islice(exchange.events(from_), count))

    async def run():
        async with aclosing(exchange.events(from_)) as stream:
            return [await anext(stream) for _ in range(count)]

    return asyncio.run(run())


@needs_websockets
class EventsWithoutServer(Case):
    def subscriptions(self, server):
        return [json.loads(one)["subscribe"].get("from") for one in server.requests]

    def fails(self, kind, *scripts, from_=None, count=1, **options):
        """The error in place of item `count`, and the subscriptions."""
        with FakeWebSocket(*scripts) as server:
            exchange = Exchange("127.0.0.1:1", 1, http=server.address, **options)
            with self.assertRaises(kind) as raised:
                first_items(exchange, count, from_)
            return raised.exception, self.subscriptions(server)

    def test_what_they_have(self):
        with FakeWebSocket([snapshot(3), events(4)]) as server:
            exchange = Exchange("127.0.0.1:1", "1", key="secret", http=server.address)
            found = first_items(exchange, 2, None)
        position, order = (Position("S", 4, 1), OpenOrder(1, "S", -3, 7, 1, TIME, "mine"))
        self.assertEqual(
            [
                AccountSnapshot(3, Decimal("5.5"), 2, (position,), (order,), 9),
                AccountEvent(
                    *(4, "executed", Decimal("5.5"), 9, TIME, 1, "mine", "S", "sell"),
                    *(2, None, 7, 1, 3, "maker", None, 4),
                ),
            ],
            found,
        )
        self.assertEqual(['{"subscribe": {"account": "1", "key": "secret"}}'], server.requests)

    def test_kinds_have_what_they_need(self):
        began = '{"number":1,"event":"began","balance":"5","batch":1,"time_us":4000000}'
        opened = (
            '{"number":2,"event":"opened","order":1,"symbol":"S","side":"buy","shares":"2",'
            '"limit":null,"open":"2","balance":"1","position":"0","batch":2,"time_us":4000000,'
            '"news":[]}'
        )
        message = f'{{"type":"events","account":"1","events":[{began},{opened}]}}'
        with FakeWebSocket(['{"type":"news"}', message]) as server:
            found = first_items(Exchange("127.0.0.1:1", 1, http=server.address), 2, 1)
        self.assertEqual(
            [
                AccountEvent(1, "began", Decimal(5), 1, TIME),
                AccountEvent(2, "opened", 1, 2, TIME, 1, None, "S", "buy", 2, None, None, 2),
            ],
            found,
        )

    def test_they_have_numbers_without_gaps_over_all_connections(self):
        """What connections send, the numbers that come, and from where each is asked for."""
        started = [snapshot(3), events(4)]
        for scripts, wanted, asked in (
            # a snapshot and the events after it, or events from a number on
            ([[snapshot(3), events(4, 5), events(6)]], [3, 4, 5, 6], [None]),
            ([[snapshot(0), events(1)]], [0, 1], [None]),
            ([[SUBSCRIBED, events(7), events(8, 9)]], [7, 8, 9], [7]),
            # after a lost connection the next event
            (
                [started, [], [SUBSCRIBED], [SUBSCRIBED, events(5, 6)]],
                [3, 4, 5, 6],
                [None, 5, 5, 5],
            ),
            ([[], [snapshot(3)]], [3], [None, None]),
            ([[], [SUBSCRIBED, events(9)]], [9], [9, 9]),
            # after a wrong number the one that is missing
            ([[snapshot(3), events(4, 6)], [SUBSCRIBED, events(5)]], [3, 4, 5], [None, 5]),
            ([[*started, events(4)], [SUBSCRIBED, events(5)]], [3, 4, 5], [None, 5]),
            ([[*started, events(3)], [SUBSCRIBED, events(5)]], [3, 4, 5], [None, 5]),
            ([[*started, snapshot(5)], [SUBSCRIBED, events(5)]], [3, 4, 5], [None, 5]),
            ([[events(4)], [snapshot(3)]], [3], [None, None]),
            # a server that does not serve is as a lost connection
            ([[error("service_unavailable")], [snapshot(3)]], [3], [None, None]),
            ([[error("key_unchecked")], [snapshot(3)]], [3], [None, None]),
        ):
            for kind in (Exchange, AsyncExchange):
                with self.subTest(kind.__name__, scripts=scripts):
                    with FakeWebSocket(*scripts) as server:
                        exchange = kind("127.0.0.1:1", 1, http=server.address)
                        found = first_items(exchange, len(wanted), asked[0])
                        self.assertEqual(wanted, [one.number for one in found])
                        self.assertEqual(asked, self.subscriptions(server))
                        self.assertTrue(server.ended.wait(20), "the iterator closes its connection")

    def test_a_number_that_is_wrong_again(self):
        scripts = ([events(4, 6)], [events(5, 7)], [events(7)])
        failure, asked = self.fails(BadReply, *scripts, from_=4, count=3)
        self.assertEqual(
            ("number 7 instead of 6, twice", [4, 5, 6]), (str(failure), asked), "two gaps"
        )

    def test_refusals(self):
        for code in ("unknown_account", "unknown_event", "malformed_id"):
            failure, asked = self.fails(Refused, [error(code)], from_=4)
            self.assertEqual(("what a pity", code, [4]), (str(failure), failure.code, asked))
        scripts = ([snapshot(3)], [error("unknown_event")])  # another store
        failure, asked = self.fails(Refused, *scripts, count=2)
        self.assertEqual(("unknown_event", [None, 4]), (failure.code, asked))

    def test_the_server_that_serves_is_found(self):
        with FakeWebSocket([error("service_unavailable")]) as standby:
            with FakeWebSocket([snapshot(3), events(4)]) as server:
                http = f"127.0.0.1:1,{standby.address},{server.address}"
                found = first_items(Exchange("127.0.0.1:1", 1, http=http), 2, None)
            self.assertEqual([3, 4], [one.number for one in found])

    def test_retries_end(self):
        failure, asked = self.fails(
            ConnectionFailed, *[[error("service_unavailable")]] * 9, retry=0.2
        )
        self.assertRegex(str(failure), "/ws: what a pity")
        self.assertGreater(len(asked), 1)

    def test_after_a_quiet_time_it_connects_again(self):
        """The time for it begins when the connection is lost."""
        quiet = 0.4
        scripts = ([SUBSCRIBED, quiet], [SUBSCRIBED, events(4)])
        with FakeWebSocket(*scripts) as server:
            exchange = Exchange("127.0.0.1:1", 1, http=server.address, retry=quiet / 2)
            self.assertEqual(4, first_items(exchange, 1, 4)[0].number)

    def test_what_is_no_message(self):
        for message in ("[]", "{", '{"type":"error"}', '{"type":"events","events":[{"number":1}]}'):
            with self.subTest(message):
                self.fails(BadReply, [message])

    def test_wrong_arguments(self):
        exchange = Exchange("127.0.0.1:1", 1, http="127.0.0.1:1")
        self.assert_each_raises(
            ValueError,
            lambda: exchange.events(0),
            lambda: exchange.events(from_=-1),
            lambda: Exchange("127.0.0.1:1", 1).events(),
            lambda: Exchange("127.0.0.1:1", http="127.0.0.1:1").events(),
        )
        self.assert_each_raises(
            TypeError,
            lambda: exchange.events(True),
            lambda: exchange.events("7"),
            lambda: Exchange("127.0.0.1:1", 1.5, http="127.0.0.1:1").events(),
        )


class MarketData(Case):
    SNAPSHOT = (
        '{"type":"snapshot","symbol":"S","sequence":3,"bids":[["2","5",1]],"asks":[],"trades":[]}'
    )

    def update(self, sequence, bids):
        return (
            f'{{"type":"update","symbol":"S","sequence":{sequence},"bids":{bids},'
            '"asks":[["3","1",1]],"trades":[{"id":1,"price":"2","shares":"1","taker":"sell",'
            '"buy_order":1,"sell_order":2,"time_us":5}]}'
        )

    @needs_websockets
    def test_the_way_to_the_server(self):
        """An IPv6 address has brackets in the URL, and a proxy of the environment is not used."""
        asked = []

        async def run(address):
            async for update in market_data(address, "S"):
                return update

        async def serve(socket, *_):
            asked.append(socket)
            await socket.recv()
            await socket.send(self.SNAPSHOT)

        async def both():
            for host in ("127.0.0.1", "::1"):
                async with websockets.serve(serve, host, 0) as server:
                    port = server.sockets[0].getsockname()[1]
                    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
                    self.assertEqual("S", (await run(address)).symbol)

        proxies = {name: "http://127.0.0.1:1" for name in ("http_proxy", "all_proxy", "ws_proxy")}
        with patch.dict(os.environ, proxies | {"no_proxy": ""}):
            asyncio.run(asyncio.wait_for(both(), 60))
        self.assertEqual(2, len(asked))

    def test_updates_change_the_book(self):
        books = Books()
        self.assertEqual(5, books.take(self.SNAPSHOT).bid.shares)
        update = books.take(self.update(4, '[["2","0",0],["1","9",2]]'))
        self.assertEqual((1, 9), (update.bid.price, update.bid.shares))
        self.assertEqual((3, False, 1), (update.ask.price, update.is_snapshot, len(update.trades)))

    def test_after_a_gap_it_asks_for_a_snapshot(self):
        books = Books()
        books.take(self.SNAPSHOT)
        self.assertEqual("S", books.take(self.update(5, "[]")))
        self.assertIsNone(books.take(self.update(6, "[]")))
        self.assertTrue(books.take(self.SNAPSHOT).is_snapshot)
        self.assertEqual(4, books.take(self.update(4, "[]")).sequence)

    def test_errors(self):
        with self.assertRaisesRegex(Refused, "unknown symbol"):
            Books().take('{"type":"error","error":"unknown symbol \'X\'"}')
        with self.assertRaises(BadReply):
            Books().take("[]")


@needs_websockets
class RealServer(Served):
    def setUp(self):
        super().setUp()
        self.fund()

    def test_two_accounts_trade(self):
        buyer, seller = self.client(1), self.client(2)
        bought, sold = buyer.events(), seller.events()
        account = next(bought)
        self.assertEqual((1, 100_000, ()), (account.number, account.balance, account.orders))
        self.assertEqual((Position("SPY", 500, 0),), next(sold).positions)
        order = buyer.buy("SPY", 3, 10, ref="mine")
        seller.sell("SPY", 1, 9)
        opened, executed = islice(bought, 2)
        self.assertEqual(
            (2, "opened", order.id, "mine", "SPY", "buy", 3, 10, 99_970),
            (opened.number, opened.kind, opened.order, opened.ref, opened.symbol)
            + (opened.side, opened.shares, opened.limit, opened.balance),
        )
        self.assertEqual(
            (3, "executed", order.id, 1, 10, 2, "maker", 99_970, 1),
            (executed.number, executed.kind, executed.order, executed.shares)
            + (executed.price, executed.open, executed.role, executed.balance, executed.position),
        )
        opened, other = islice(sold, 2)
        self.assertEqual(("opened", 1, 9), (opened.kind, opened.shares, opened.limit))
        self.assertEqual(
            ("taker", executed.execution, executed.time, 10, 499),
            (other.role, other.execution, other.time, other.balance, other.position),
        )
        again = next(buyer.events())
        self.assertEqual((3, 99_970, 20), (again.number, again.balance, again.reserved))
        (mine,) = again.orders
        self.assertEqual((order.id, "mine", 2), (mine.id, mine.ref, mine.open))
        self.assertEqual([opened, other], list(islice(seller.events(from_=2), 2)))
        buyer.cancel(buyer.replace(order, 5, 10))
        self.assertEqual(["replaced", "canceled"], [one.kind for one in islice(bought, 2)])
        self.kill_and_restart()
        self.client(1).buy("SPY", 1, 1)
        after = next(bought)
        self.assertEqual((6, "opened"), (after.number, after.kind))

    def test_a_server_that_is_killed_while_orders_come(self):
        orders = 300

        async def run():
            async with AsyncExchange(self.address, 1, http=self.http, retry=30) as exchange:

                async def place():
                    for _ in range(orders):
                        await exchange.buy("SPY", 1, "0.01")

                seen, tasks = [], []
                async with aclosing(exchange.events()) as stream:
                    self.assertEqual(1, (await anext(stream)).number)
                    tasks.append(asyncio.create_task(place()))
                    async for event in stream:
                        seen.append(event)
                        if len(seen) == 100:
                            restart = asyncio.to_thread(self.kill_and_restart)
                            tasks.append(asyncio.create_task(restart))
                        if len(seen) == orders:
                            break
                await asyncio.gather(*tasks)
                return seen

        seen = asyncio.run(asyncio.wait_for(run(), 60))
        self.assertEqual(list(range(2, orders + 2)), [one.number for one in seen])
        self.assertEqual({"opened"}, {one.kind for one in seen})
        self.assertEqual(orders, len({one.ref for one in seen}), "each order once")
        self.assertEqual(seen, list(islice(self.client(1).events(from_=2), orders)))

    def test_ctrl_c_ends_the_blocking_iterator(self):
        program = (
            "from exchange_client import Exchange\n"
            f"for event in Exchange('{self.address}', 1, http='{self.http}').events():\n"
            "    print(event.number, flush=True)"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **PYTHON,
        )
        try:
            self.assertEqual("1\n", process.stdout.readline())
            process.send_signal(signal.SIGINT)
            messages = process.communicate(timeout=20)[1]
        finally:
            process.kill()
            process.wait()
        self.assertEqual(-signal.SIGINT, process.returncode)
        self.assertRegex(messages, "^Traceback(?s:.)*\nKeyboardInterrupt\n$")
        self.assertNotIn("never retrieved", messages)

    def test_market_data(self):
        async def run():
            async with AsyncExchange(self.address, 1, http=self.http) as buyer:
                seen = []
                await buyer.buy("SPY", 1, 10)
                async for update in buyer.market_data("SPY"):
                    seen.append(update)
                    if update.bid and update.bid.price == 11:
                        return seen
                    if update.bid and update.bid.price == 10:
                        await buyer.buy("SPY", 2, 11)

        seen = asyncio.run(asyncio.wait_for(run(), 20))
        self.assertTrue(seen[0].is_snapshot)
        self.assertEqual((11, 2, 1), tuple(vars(seen[-1].bid).values()))

    def test_market_data_of_an_unknown_symbol(self):
        async def run():
            async for _ in market_data(self.http, "NONE"):
                pass

        with self.assertRaisesRegex(Refused, "unknown symbol"):
            asyncio.run(asyncio.wait_for(run(), 20))
