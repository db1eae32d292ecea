"""The client, its examples and its tutorial against the real server."""

import asyncio
import contextlib
import operator
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
from contextlib import ExitStack, closing
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import support
from exchange_client import (
    MARKET,
    Account,
    AsyncExchange,
    Auction,
    ConnectionFailed,
    Exchange,
    Fill,
    Position,
    Refused,
    market_data,
)
from exchange_server import BIN, OPERATOR_KEY, ExchangeServer, wait_until
from support import ROOT, Served, needs_websockets, websockets

EXAMPLES = ROOT / "client/python/examples"


def eventually(read):
    """What the HTTP port shows once it is in the tables."""
    found = []

    def is_there():
        try:
            found.append(read())
        except Refused:
            return False
        return True

    wait_until(is_there, "the HTTP port to show it")
    return found[0]


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


def eventually_equal(wanted, read):
    return lambda: wait_until(lambda: eventually(read) == wanted, f"{wanted}")


class Trading(Served):
    def test_a_trade(self):
        self.fund()
        with Exchange(self.address, 1) as buyer, Exchange(self.address, 2) as seller:
            bid = buyer.buy("SPY", 100, "145.67")
            ask = seller.sell("SPY", 40, 140)
            status = buyer.query(bid)
            self.assertEqual((60, 40), (status.open, status.executed))
            self.assertEqual(Decimal("5826.80"), status.cash)
            self.assertEqual(40, seller.query(ask.id).executed)
            self.assertEqual(60, buyer.cancel(bid).canceled)
            with self.assertRaisesRegex(Refused, "insufficient shares") as raised:
                seller.sell("SPY", 1000, 1)
            self.assertEqual("insufficient_shares", raised.exception.code)
            with self.assertRaises(Refused) as raised:
                seller.create_account(1, 1)
            self.assertEqual("account_exists", raised.exception.code)
            with self.assertRaises(Refused):
                buyer.query(ask)

    def test_references(self):
        self.fund()
        with Exchange(self.address, 1) as exchange:
            order = exchange.buy("SPY", 1, 1, ref="mine")
            self.assertEqual(order.id, exchange.buy("SPY", 1, 1, ref="mine").id)
            self.assertEqual(order.id, exchange.query(ref="mine").id)
            self.assertEqual(1, exchange.cancel(ref="mine").canceled)

    def test_terms_of_an_order(self):
        self.fund()
        with Exchange(self.address, 1) as exchange, Exchange(self.address, 2) as seller:
            seller.sell("SPY", 10, 100)
            status = exchange.query(exchange.buy("SPY", 15, 100, tif="ioc"))
            self.assertEqual((0, 5, 10), (status.open, status.canceled, status.executed))
            with self.assertRaisesRegex(Refused, "cannot be filled at once"):
                exchange.buy("SPY", 1, 100, tif="fok")
            seller.sell("SPY", 10, 100, post=True)
            with self.assertRaisesRegex(Refused, "would execute at once"):
                exchange.buy("SPY", 1, 100, post=True)
            own = seller.query(seller.buy("SPY", 1, 100, stp="cancel-taking"))
            self.assertEqual((0, 1), (own.executed, own.canceled))
            order = exchange.buy("SPY", 4, MARKET, ref="mine")
            self.assertIsNone(order.limit)
            self.assertEqual(order, exchange.buy("SPY", 4, limit=MARKET, ref="mine"))
            self.assertEqual(400, exchange.query(order).cash)

    def test_an_order_is_replaced(self):
        self.fund()
        with Exchange(self.address, 1) as buyer, Exchange(self.address, 2) as seller:
            ask = seller.sell("SPY", 100, 140, ref="mine")
            bid = buyer.buy("SPY", 40, 140)
            moved = seller.replace(ask, 90, "141.5")  # 50 of them open
            self.assertEqual((ask.id, "SPY"), (moved.id, moved.symbol))
            self.assertEqual((-90, Decimal("141.5")), (moved.amount, moved.limit))
            status = seller.query(moved)
            self.assertEqual((50, 40, 0), (status.open, status.executed, status.canceled))
            changed = seller.replace(None, 80, 142, ref="mine", side="sell")
            self.assertEqual((ask.id, "mine"), (changed.id, changed.ref))
            with self.assertRaisesRegex(Refused, "cannot change its side"):
                seller.replace(ask.id, 90, 141, side="buy")
            with self.assertRaises(Refused):
                buyer.replace(bid, 80, 140)  # nothing is open
            self.assertEqual(40, seller.query(ask).open)

    def test_a_symbol_has_rules_and_is_halted(self):
        self.fund()
        with Exchange(self.address, 1) as exchange:
            exchange.set_instrument("SPY", tick="0.05", lot=10, order_max=50, price_max=99)
            for shares, limit, code in (
                (10, "1.01", "off_tick"),
                (5, 1, "off_lot"),
                (60, 1, "order_too_large"),
                (10, 100, "price_too_high"),
            ):
                with self.subTest(code), self.assertRaises(Refused) as raised:
                    exchange.buy("SPY", shares, limit)
                self.assertEqual(code, raised.exception.code)
            exchange.set_instrument("SPY", lot=0)
            with exchange.pipeline() as pipeline:
                bid = pipeline.buy("SPY", 5, "1.05")
                pipeline.halt("SPY")
                halted = pipeline.buy("SPY", 5, "1.05")
                pipeline.resume("SPY")
                after = pipeline.buy("SPY", 5, "1.05")
            self.assertEqual([1, 2], [bid.result().id, after.result().id])
            with self.assertRaises(Refused) as raised:
                halted.result()
            self.assertEqual("trading_halted", raised.exception.code)
            with self.assertRaisesRegex(Refused, "above the highest"):
                exchange.set_instrument("SPY", price_min=100)

    def test_an_auction_returns_its_price_and_volume(self):
        self.fund()
        with Exchange(self.address, 1) as buyer, Exchange(self.address, 2) as seller:
            self.assertIsNone(buyer.set_instrument("SPY", band=1, at_band="auction", price_max=200))
            self.assertIsNone(buyer.auction(None))
            buyer.buy("SPY", 3, 150)
            market = seller.sell("SPY", 5, MARKET)
            with Exchange(self.address, http=self.http) as anyone:
                now = ("auction", Auction(Decimal(150), Decimal(3)))
                eventually_equal(
                    now, lambda: operator.attrgetter("trading", "auction")(anyone.book("SPY"))
                )()
            self.assertEqual(Auction(Decimal(150), Decimal(3)), buyer.uncross("SPY"))
            self.assertEqual((0, 2), (seller.query(market).open, seller.query(market).canceled))
            seller.sell("SPY", 1, 149)
            with buyer.pipeline() as pipeline:
                pipeline.buy("SPY", 2, 151)
                closed = pipeline.close_symbol("SPY")
            self.assertEqual(Auction(Decimal(151), Decimal(1)), closed.result())
            with self.assertRaisesRegex(Refused, "halted"):
                buyer.buy("SPY", 1, 1)
            self.assertIsNone(buyer.resume("SPY"))

    def test_all_orders_are_canceled(self):
        self.fund()
        with Exchange(self.address, 1) as exchange:
            self.assertEqual([], exchange.cancel_all())
            with exchange.pipeline() as pipeline:
                pending = [pipeline.buy("SPY", 1, "0.01") for _ in range(1_001)]
            other = exchange.buy("QQQ", 2, "0.01")
            self.assertEqual([], exchange.cancel_all("NONE"))
            self.assertEqual([other.id], [one.id for one in exchange.cancel_all("QQQ")])
            self.assertEqual(2, exchange.query(other).canceled)
            canceled = exchange.cancel_all()
            self.assertEqual([one.result().id for one in pending], [one.id for one in canceled])
            self.assertEqual({1}, {one.canceled for one in canceled})
            self.assertEqual([], exchange.cancel_all())
        with Exchange(self.address, 9) as unknown, self.assertRaises(Refused):
            unknown.cancel_all()

    def test_orders_end_with_their_connection(self):
        self.fund()
        watching = Exchange(self.address, 1)
        self.addCleanup(watching.close)
        with Exchange(self.address, 1, cancel_on_disconnect=True) as exchange:
            order = exchange.buy("SPY", 1, 1)
            self.assertEqual(1, exchange.query(order).open)
            kept = watching.buy("SPY", 1, 1)
        wait_until(lambda: watching.query(order).canceled == 1, "the order to end")

        async def run():
            async with AsyncExchange(self.address, 1, cancel_on_disconnect=True) as exchange:
                order = await exchange.buy("SPY", 1, 1)
                self.assertEqual(1, (await exchange.query(order)).open)
                return order

        order = asyncio.run(run())
        wait_until(lambda: watching.query(order).canceled == 1, "the order to end")
        self.assertEqual(1, watching.query(kept).open)

    def test_a_server_that_ends_and_comes_back(self):
        self.fund()
        with Exchange(self.address, 1) as exchange:
            exchange.buy("SPY", 1, 1)
            self.server.kill()
            with self.assertRaises(Exception) as raised:
                exchange.buy("SPY", 1, 1)
            self.assertEqual("InDoubt", type(raised.exception).__name__)
            with self.assertRaises(ConnectionFailed):
                exchange.buy("SPY", 1, 1)

    def test_what_the_http_port_shows(self):
        self.fund()
        with Exchange(self.address, 1, http=self.http) as buyer, Exchange(
            self.address, 2, http=self.http
        ) as seller:
            bid = buyer.buy("SPY", 100, "145.67")
            other = buyer.buy("QQQ", 1, "0.5", ref="mine")
            ask = seller.sell("SPY", 40, 140)
            self.assertEqual(40, seller.fills(ask)[0].shares)  # what was acknowledged is shown
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
            self.assertEqual(
                (Decimal("145.67"), 60, None), (book.bid.price, book.bid.shares, book.ask)
            )
            for act, code in (
                (lambda: buyer.fills(ask), "unknown_order"),
                (lambda: buyer.fills(99), "unknown_order"),
                (lambda: buyer.book("NONE"), "unknown_symbol"),
                (lambda: Exchange(self.address, 9, http=self.http).account(), "unknown_account"),
            ):
                with self.subTest(code), self.assertRaises(Refused) as raised:
                    act()
                self.assertEqual(code, raised.exception.code)

        async def run():
            async with AsyncExchange(self.address, 1, http=self.http) as exchange:
                asked = (exchange.account(), exchange.open_orders("SPY"), exchange.fills(bid))
                return await asyncio.gather(*asked, exchange.book("SPY"))

        account, orders, fills, book = asyncio.run(run())
        self.assertEqual((2, [bid.id]), (account.open_orders, [order.id for order in orders]))
        self.assertEqual((1, "SPY"), (len(fills), book.symbol))

    def test_lists_of_more_than_a_page(self):
        self.fund()
        with Exchange(self.address, 1, http=self.http) as buyer, Exchange(
            self.address, 2, http=self.http
        ) as seller:
            with buyer.pipeline() as pipeline:
                pending = [pipeline.buy("SPY", "0.1", 1) for _ in range(2_500)]
            ids = [bid.result().id for bid in pending]
            self.assertEqual(ids, [order.id for order in buyer.open_orders()])
            ask = seller.sell("SPY", 120, 1)
            self.assertEqual(1_200, len(seller.fills(ask)))
            fills = list(buyer.fills())
            self.assertEqual(ids[:1_200], [fill.order for fill in fills])
            self.assertEqual(fills, list(buyer.fills(newest_first=True))[::-1])
            self.assertEqual(fills[1_100:], list(buyer.fills(after=fills[1_099].execution)))

    @needs_websockets
    def test_fills_of_an_account(self):
        """Against the tables and the events, over a kill of the server."""
        self.fund()
        seed = int(os.environ.get("SEED", random.randrange(2**32)))
        rng = random.Random(seed)
        store = self.server.store.removeprefix("sqlite:")
        clients = {}
        with ExitStack() as stack:
            for account in (1, 2, 3):
                clients[account] = stack.enter_context(
                    Exchange(self.address, account, http=self.http, retry=30)
                )
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
                        self.assertEqual(fills_of_tables(store, account), fills)
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
                                [
                                    (one.shares, one.price, one.time)
                                    for one in client.fills(fill.order)
                                ],
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

    def test_asyncio(self):
        self.fund()

        async def run():
            async with AsyncExchange(self.address, 1) as exchange:
                orders = await asyncio.gather(*(exchange.buy("SPY", 1, 1) for _ in range(100)))
                await asyncio.gather(*(exchange.cancel(order) for order in orders[2:]))
                canceled = await exchange.cancel_all("SPY")
                self.assertEqual([one.id for one in orders[:2]], [one.id for one in canceled])
                self.assertEqual([], await exchange.cancel_all())
                return await asyncio.gather(*(exchange.query(order) for order in orders))

        self.assertEqual({1}, {status.canceled for status in asyncio.run(run())})

    @needs_websockets
    def test_market_data(self):
        self.fund()

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

    @needs_websockets
    def test_market_data_of_an_unknown_symbol(self):
        async def run():
            async for _ in market_data(self.http, "NONE"):
                pass

        with self.assertRaisesRegex(Refused, "unknown symbol"):
            asyncio.run(asyncio.wait_for(run(), 20))


class WithKeys(Served):
    arguments = ("--auth",)

    def test_only_the_operator_creates(self):
        with Exchange(self.address, operator_key="wrong key") as exchange:
            with self.assertRaisesRegex(Refused, "operator's key"):
                exchange.create_account(1, 100, key="secret-of-1")
            with self.assertRaisesRegex(Refused, "operator's key"):
                exchange.create_symbol("SPY")
            with self.assertRaisesRegex(Refused, "operator's key"):
                exchange.halt("SPY")

    def test_only_the_key_trades(self):
        with Exchange(self.address, operator_key=OPERATOR_KEY) as exchange:
            exchange.create_account(1, 100, key="secret-of-1")
        with Exchange(self.address, 1, key="secret-of-1") as exchange:
            self.assertEqual(1, exchange.buy("SPY", 1, 1).id)
        with Exchange(self.address, 1, key="wrong-key-of-1") as exchange, self.assertRaises(
            Refused
        ):
            exchange.buy("SPY", 1, 1)

    def test_only_the_key_reads(self):
        def account(key):
            return Exchange(self.address, 1, key=key, http=self.http).account()

        with Exchange(self.address, operator_key=OPERATOR_KEY) as exchange:
            exchange.create_account(1, 100, key="secret-of-1")

        self.assertEqual(100, account("secret-of-1").balance)
        for key in ("wrong-key-of-1", None):
            with self.subTest(key), self.assertRaises(Refused):
                account(key)

    @needs_websockets
    def test_only_the_key_follows_events(self):
        def first(key):
            return next(Exchange(self.address, 1, key=key, http=self.http).events())

        with Exchange(self.address, operator_key=OPERATOR_KEY) as exchange:
            exchange.create_account(1, 100, key="secret-of-1")

        self.assertEqual(100, first("secret-of-1").balance)
        for key in ("wrong-key-of-1", None):
            with self.subTest(key), self.assertRaises(Refused) as raised:
                first(key)
            self.assertEqual("unknown_account", raised.exception.code)


class WithLengths(Served):
    arguments = ("--reply-framing", "length")

    def test_length_lines(self):
        self.fund()
        with Exchange(self.address, 1) as exchange:
            self.assertEqual(1, exchange.query(exchange.buy("SPY", 1, 1)).open)


class WithTls(unittest.TestCase):
    def test_certificates_are_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = f"{folder}/certificate.pem", f"{folder}/key.pem"
            subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
                + ["-keyout", key, "-out", certificate, *subject],
                check=True,
                capture_output=True,
            )
            server = ExchangeServer("--tls-cert", certificate, "--tls-key", key).start()
            self.addCleanup(server.close)
            address = f"127.0.0.1:{server.port}"
            http = f"127.0.0.1:{server.http_port}"
            with Exchange(address, tls=certificate, http=http) as exchange:
                exchange.create_account(1, 1)
                exchange.create_symbol("SPY")
                self.assertEqual((), eventually(lambda: exchange.book("SPY")).bids)
            if websockets:
                with Exchange(address, 1, tls=certificate, http=http) as exchange:
                    self.assertEqual(1, next(exchange.events()).balance)
            with self.assertRaisesRegex(ConnectionFailed, "(?i)certificate"):
                Exchange(address, tls=True, http=http).book("SPY")
            with self.assertRaisesRegex(ConnectionFailed, "(?i)certificate"):
                Exchange(address, tls=True).create_account(2, 1)
            self.assert_undisturbed_by_a_child(address, certificate)

    def assert_undisturbed_by_a_child(self, address, certificate):
        """A child of fork() that closes its copy says no farewell of TLS: the parent's orders,
        which end with its connection, stay."""
        with Exchange(address, 1, tls=certificate, cancel_on_disconnect=True) as exchange:
            order = exchange.buy("SPY", 1, 1)
            child = os.fork()
            if not child:
                status = 1
                try:
                    with exchange:
                        status = 0 if exchange.query(order).open == 1 else 2
                finally:
                    os._exit(status)
            self.assertEqual(0, os.waitpid(child, 0)[1])
            self.assertEqual(1, exchange.query(order).open)


@needs_websockets
class Examples(Served):
    """Each example trades with the demo bots for a few seconds."""

    def trade(self, *words, wanted, times=3, meanwhile=lambda: None):
        """Waits until this many lines of its output are as wanted, and again once the
        server was killed; then meanwhile(), and the end by Ctrl-C."""
        bots = subprocess.Popen(
            [BIN / "demo-bots", "--http", self.http, "--rate", "400", "--symbols", "A,B"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(bots.wait)
        self.addCleanup(bots.terminate)
        with Exchange(self.address) as exchange:
            for symbol in "AB":
                exchange.create_symbol(symbol)
        example = subprocess.Popen(
            [sys.executable, EXAMPLES / words[0], *words[1:]]
            + ["--connect", self.address, "--http", self.http],
            env={"PYTHONPATH": str(ROOT / "client/python/src"), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines, killed = [], False
        too_late = threading.Timer(60, example.terminate)
        too_late.start()
        try:
            for line in example.stdout:
                lines.append(line)
                if sum(1 for one in lines if re.search(wanted, one)) == times:
                    if killed:
                        return meanwhile()
                    self.kill_and_restart()
                    lines, killed = [], True
            self.fail(f"{words[0]} ended, or was stopped after a minute: {''.join(lines)}")
        finally:
            too_late.cancel()
            example.send_signal(signal.SIGINT)
            example.stdout.close()
            self.assertIn(
                example.wait(20), (0, 1, -signal.SIGINT, -signal.SIGTERM, -signal.SIGPIPE, 120)
            )

    def test_market_maker(self):
        with Exchange(self.address, 9001, http=self.http) as account:
            quotes = eventually_equal(2, lambda: len(account.open_orders()))
            words = ("market_maker.py", "A", "--spread", "0.001")
            self.trade(*words, wanted=r"(buy|sell) [1-9]", meanwhile=quotes)
            eventually_equal(0, lambda: len(account.open_orders()))()

    def test_market_maker_without_shares(self):
        """Its sells are refused, and it goes on with one buy."""
        with Exchange(self.address, 9001, http=self.http) as account:
            account.create_account(9001, 1_000_000)
            quotes = eventually_equal(1, lambda: len(account.open_orders()))
            words = ("market_maker.py", "A", "--spread", "0.05")  # too wide to buy any
            self.trade(*words, wanted="refused: insufficient", times=9, meanwhile=quotes)
            eventually_equal(0, lambda: len(account.open_orders()))()

    def test_momentum(self):
        self.trade("momentum.py", "A", wanted=r"sold [1-9]", times=2)

    def test_arbitrage(self):
        words = ("arbitrage.py", "A", "B", "--edge", "0")
        self.trade(*words, wanted=r"(bought|sold) [1-9]", times=10)

    def test_they_are_short_and_explain_themselves(self):
        for example in set(EXAMPLES.glob("*.py")) - {EXAMPLES / "first.py"}:
            self.assertLessEqual(len(example.read_text().splitlines()), 120, example)
            done = subprocess.run(
                [sys.executable, example, "--help"],
                env={"PYTHONPATH": str(ROOT / "client/python/src")},
                capture_output=True,
                check=False,
            )
            self.assertEqual(0, done.returncode, done.stderr)


class Tutorial(Served):
    def test_its_first_program_runs_again(self):
        text = (ROOT / "docs/python.md").read_text()
        program = (EXAMPLES / "first.py").read_text()
        shown, output = re.search(
            r"```python\n(from exchange_client import Exchange, .*?)```\n.*?```text\n(.*?)```",
            text,
            re.DOTALL,
        ).groups()
        self.assertEqual(program.partition("\n\n")[2], shown)
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", program.replace("127.0.0.1:12345", self.address)],
                env={"PYTHONPATH": str(ROOT / "client/python/src")},
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(output, done.stdout)

    def test_the_programs_of_the_operator_run_in_their_order(self):
        text = (ROOT / "docs/python-operator.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertEqual(3, len(blocks))
        with ExchangeServer("--auth") as server, tempfile.TemporaryDirectory() as folder:
            Path(folder, "operator.key").write_text(OPERATOR_KEY)
            program = "\n".join([*blocks, "print(executed, operator.begin_round('morning'))"])
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    program.replace("127.0.0.1:12345", f"127.0.0.1:{server.port}"),
                ],
                env={"PYTHONPATH": str(ROOT / "client/python/src")},
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(("None None\n", ""), (done.stdout, done.stderr))

    @needs_websockets
    def test_its_program_of_events_goes_on_where_it_was(self):
        text = (ROOT / "docs/python.md").read_text()
        program = re.search(r"```python\n(from pathlib import Path\n.*?)```", text, re.DOTALL)[1]
        for address, own in (("127.0.0.1:12345", self.address), ("127.0.0.1:8080", self.http)):
            program = program.replace(address, own)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)

        def run(trade, wanted, last):
            """Until it has printed that, and written the last number; trade() follows the first
            line."""
            with subprocess.Popen(
                [sys.executable, "-c", program],
                env={"PYTHONPATH": str(ROOT / "client/python/src")},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder.name,
                text=True,
            ) as process:
                try:
                    self.assertEqual(wanted[0], process.stdout.readline())
                    trade()
                    self.assertEqual(wanted[1:], [process.stdout.readline() for _ in wanted[1:]])
                    done = Path(folder.name, "last-event")
                    wait_until(lambda: done.read_text() == last, "the last number")
                finally:
                    # One that comes in a finalizer of Python's is lost: people press Ctrl-C again.
                    while process.poll() is None:
                        process.send_signal(signal.SIGINT)
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            process.wait(timeout=2)

        with Exchange(self.address) as exchange:
            exchange.create_account(1001, 100)
            exchange.create_account(1002, 0)
            exchange.create_symbol("ABC", {1002: 9})
        with Exchange(self.address, 1001) as alice, Exchange(self.address, 1002) as bob:
            alice.buy("ABC", 9, 10)
            lines = ["has 10 and 1 open orders\n", "buy 1 ABC at 10\n"]
            run(lambda: bob.sell("ABC", 1, 9), lines, "2")
            bob.sell("ABC", 2, 9)
            lines = ["buy 2 ABC at 10\n", "buy 3 ABC at 10\n"]
            run(lambda: bob.sell("ABC", 3, 9), lines, "4")


if __name__ == "__main__":
    unittest.main()
