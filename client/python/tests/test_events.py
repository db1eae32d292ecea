"""The events of an account: of servers that send what a test says, and of the real one."""

import asyncio
import inspect
import json
import signal
import subprocess
import sys
import unittest
from contextlib import aclosing
from datetime import datetime, timezone
from decimal import Decimal
from itertools import islice

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
)
from support import ROOT, FakeWebSocket, Served, needs_websockets

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
class WithoutServer(unittest.TestCase):
    def check(self, scripts, wanted, requests, from_=None, last=None):
        """The numbers that come, and `from` of each subscription; `last`: then this error is
        raised."""
        for kind in (Exchange, AsyncExchange):
            with self.subTest(kind.__name__), FakeWebSocket(*scripts) as server:
                exchange = kind("127.0.0.1:1", 1, http=server.address)
                found = first_items(exchange, len(wanted), from_)
                self.assertEqual(wanted, [one.number for one in found])
                self.assertEqual(requests, self.subscriptions(server))
                self.assertTrue(server.ended.wait(20), "the iterator closes its connection")

    def subscriptions(self, server):
        return [json.loads(one)["subscribe"].get("from") for one in server.requests]

    def fails(self, kind, *scripts, from_=None, count=1, **options):
        """The error in place of item `count`, and the subscriptions."""
        with FakeWebSocket(*scripts) as server:
            exchange = Exchange("127.0.0.1:1", 1, http=server.address, **options)
            with self.assertRaises(kind) as raised:
                first_items(exchange, count, from_)
            return raised.exception, self.subscriptions(server)

    def test_a_snapshot_and_the_events_after_it(self):
        self.check([[snapshot(3), events(4, 5), events(6)]], [3, 4, 5, 6], [None])
        self.check([[snapshot(0), events(1)]], [0, 1], [None])

    def test_events_from_a_number(self):
        self.check([[SUBSCRIBED, events(7), events(8, 9)]], [7, 8, 9], [7], from_=7)

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

    def test_after_a_lost_connection_it_goes_on_with_the_next_event(self):
        scripts = ([snapshot(3), events(4)], [], [SUBSCRIBED], [SUBSCRIBED, events(5, 6)])
        self.check(scripts, [3, 4, 5, 6], [None, 5, 5, 5])
        self.check(([], [snapshot(3)]), [3], [None, None])
        self.check(([], [SUBSCRIBED, events(9)]), [9], [9, 9], from_=9)

    def test_after_a_wrong_number_it_asks_again(self):
        for wrong in (
            [events(4, 6)],  # a gap
            [events(4), events(4)],  # a repetition
            [events(4), events(3)],
            [events(4), snapshot(5)],
        ):
            with self.subTest(wrong):
                scripts = ([snapshot(3), *wrong], [SUBSCRIBED, events(5)])
                self.check(scripts, [3, 4, 5], [None, 5])
        self.check(([events(4)], [snapshot(3)]), [3], [None, None])

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

    def test_a_server_that_does_not_serve_is_a_lost_connection(self):
        for code in ("service_unavailable", "key_unchecked"):
            self.check(([error(code)], [snapshot(3)]), [3], [None, None])
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
        for act, kind in (
            (lambda: exchange.events(0), ValueError),
            (lambda: exchange.events(from_=-1), ValueError),
            (lambda: exchange.events(True), TypeError),
            (lambda: exchange.events("7"), TypeError),
            (lambda: Exchange("127.0.0.1:1", 1).events(), ValueError),
            (lambda: Exchange("127.0.0.1:1", http="127.0.0.1:1").events(), ValueError),
            (lambda: Exchange("127.0.0.1:1", 1.5, http="127.0.0.1:1").events(), TypeError),
        ):
            with self.subTest(inspect.getsource(act)), self.assertRaises(kind):
                act()


@needs_websockets
class RealServer(Served):
    def setUp(self):
        super().setUp()
        self.fund()

    def trade(self, times):
        """Orders of both accounts, executed and canceled."""
        with Exchange(self.address, 1, retry=30) as buyer, Exchange(
            self.address, 2, retry=30
        ) as seller:
            for _ in range(times):
                bid = buyer.buy("SPY", 2, 10)
                seller.sell("SPY", 1, 9)
                bid = buyer.replace(bid, 3, 10)
                seller.sell("SPY", 1, 9)
                buyer.cancel(bid)

    KINDS = ["opened", "executed", "replaced", "executed", "canceled"]

    def test_two_accounts_trade(self):
        with Exchange(self.address, 1, http=self.http) as buyer, Exchange(
            self.address, 2, http=self.http
        ) as seller:
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
                + (executed.price, executed.open, executed.role, executed.balance)
                + (executed.position,),
            )
            opened, other = islice(sold, 2)
            self.assertEqual(("opened", 1, 9), (opened.kind, opened.shares, opened.limit))
            self.assertEqual(
                ("taker", executed.execution, executed.time, 10, 499),
                (other.role, other.execution, other.time, other.balance, other.position),
            )
            again = next(buyer.events())
            self.assertEqual((3, 99_970, 20), (again.number, again.balance, again.reserved))
            self.assertEqual(
                (order.id, "mine", 2),
                (again.orders[0].id, again.orders[0].ref, again.orders[0].open),
            )
            self.assertEqual([opened, other], list(islice(seller.events(from_=2), 2)))

    def test_a_killed_server(self):
        with Exchange(self.address, 1, http=self.http) as exchange:
            stream = exchange.events()
            self.assertEqual(1, next(stream).number)
            seen = []
            for _ in range(2):
                self.trade(2)
                seen += islice(stream, 5)
                self.kill_and_restart()
                seen += islice(stream, 5)
            self.assertEqual(list(range(2, 22)), [one.number for one in seen])
            self.assertEqual(self.KINDS * 4, [one.kind for one in seen])
            self.assertEqual(seen, list(islice(exchange.events(from_=2), 20)))

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
        with Exchange(self.address, 1, http=self.http) as exchange:
            self.assertEqual(seen, list(islice(exchange.events(from_=2), orders)))

    def test_ctrl_c_ends_the_blocking_iterator(self):
        program = (
            "from exchange_client import Exchange\n"
            f"for event in Exchange('{self.address}', 1, http='{self.http}').events():\n"
            "    print(event.number, flush=True)"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": str(ROOT / "client/python/src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
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


if __name__ == "__main__":
    unittest.main()
