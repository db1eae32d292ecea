"""The client against the real server: what traders and the operator do."""

import asyncio
import subprocess
from decimal import Decimal

import support
from exchange_client import MARKET, AsyncExchange, Auction, ConnectionFailed, Exchange, InDoubt
from exchange_client import Refused, Standing
from exchange_server import OPERATOR_KEY, ExchangeServer, wait_until
from support import InFolder, Served, needs_websockets, wait_for, websockets


class Trading(Served):
    def setUp(self):
        super().setUp()
        self.fund()
        self.buyer, self.seller = self.client(1), self.client(2)

    def test_a_trade(self):
        buyer, seller = self.buyer, self.seller
        bid = buyer.buy("SPY", 100, "145.67")
        ask = seller.sell("SPY", 40, 140)
        status = buyer.query(bid)
        self.assertEqual((60, 40), (status.open, status.executed))
        self.assertEqual(Decimal("5826.80"), status.cash)
        self.assertEqual(40, seller.query(ask.id).executed)
        self.assertEqual(60, buyer.cancel(bid).canceled)
        with self.assertRaisesRegex(Refused, "insufficient shares"):
            seller.sell("SPY", 1000, 1)
        self.assert_refused("insufficient_shares", seller.sell, "SPY", 1000, 1)
        self.assert_refused("account_exists", seller.create_account, 1, 1)
        self.assert_refused("unknown_order", buyer.query, ask)

    def test_references(self):
        order = self.buyer.buy("SPY", 1, 1, ref="mine")
        self.assertEqual(order.id, self.buyer.buy("SPY", 1, 1, ref="mine").id)
        self.assertEqual(order.id, self.buyer.query(ref="mine").id)
        self.assertEqual(1, self.buyer.cancel(ref="mine").canceled)

    def test_terms_of_an_order(self):
        buyer, seller = self.buyer, self.seller
        seller.sell("SPY", 10, 100)
        status = buyer.query(buyer.buy("SPY", 15, 100, tif="ioc"))
        self.assertEqual((0, 5, 10), (status.open, status.canceled, status.executed))
        with self.assertRaisesRegex(Refused, "cannot be filled at once"):
            buyer.buy("SPY", 1, 100, tif="fok")
        seller.sell("SPY", 10, 100, post=True)
        with self.assertRaisesRegex(Refused, "would execute at once"):
            buyer.buy("SPY", 1, 100, post=True)
        own = seller.query(seller.buy("SPY", 1, 100, stp="cancel-taking"))
        self.assertEqual((0, 1), (own.executed, own.canceled))
        order = buyer.buy("SPY", 4, MARKET, ref="mine")
        self.assertIsNone(order.limit)
        self.assertEqual(order, buyer.buy("SPY", 4, limit=MARKET, ref="mine"))
        self.assertEqual(400, buyer.query(order).cash)

    def test_an_order_is_replaced(self):
        buyer, seller = self.buyer, self.seller
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
        self.assert_refused("nothing_open", buyer.replace, bid, 80, 140)
        self.assertEqual(40, seller.query(ask).open)

    def test_a_symbol_has_rules_and_is_halted(self):
        exchange = self.buyer
        exchange.set_instrument("SPY", tick="0.05", lot=10, order_max=50, price_max=99)
        for shares, limit, code in (
            (10, "1.01", "off_tick"),
            (5, 1, "off_lot"),
            (60, 1, "order_too_large"),
            (10, 100, "price_too_high"),
        ):
            self.assert_refused(code, exchange.buy, "SPY", shares, limit)
        exchange.set_instrument("SPY", lot=0)
        with exchange.pipeline() as pipeline:
            bid = pipeline.buy("SPY", 5, "1.05")
            pipeline.halt("SPY")
            halted = pipeline.buy("SPY", 5, "1.05")
            pipeline.resume("SPY")
            after = pipeline.buy("SPY", 5, "1.05")
        self.assertEqual([1, 2], [bid.result().id, after.result().id])
        self.assert_refused("trading_halted", halted.result)
        with self.assertRaisesRegex(Refused, "above the highest"):
            exchange.set_instrument("SPY", price_min=100)

    def test_an_auction_returns_its_price_and_volume(self):
        buyer, seller = self.buyer, self.seller
        self.assertIsNone(buyer.set_instrument("SPY", band=1, at_band="auction", price_max=200))
        self.assertIsNone(buyer.auction(None))
        buyer.buy("SPY", 3, 150)
        market = seller.sell("SPY", 5, MARKET)
        now = Auction(Decimal(150), Decimal(3))
        wait_for(now, lambda: self.client().book("SPY").auction)
        self.assertEqual("auction", self.client().book("SPY").trading)
        self.assertEqual(now, buyer.uncross("SPY"))
        self.assertEqual((0, 2), (seller.query(market).open, seller.query(market).canceled))
        seller.sell("SPY", 1, 149)
        with buyer.pipeline() as pipeline:
            pipeline.buy("SPY", 2, 151)
            closed = pipeline.close_symbol("SPY")
        self.assertEqual(Auction(Decimal(151), Decimal(1)), closed.result())
        self.assert_refused("trading_halted", buyer.buy, "SPY", 1, 1)
        self.assertIsNone(buyer.resume("SPY"))

    def test_all_orders_are_canceled(self):
        exchange = self.buyer
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
        self.assert_refused("unknown_account", self.client(9).cancel_all)

    def test_orders_end_with_their_connection(self):
        with self.client(1, cancel_on_disconnect=True) as exchange:
            first = exchange.buy("SPY", 1, 1)
            self.assertEqual(1, exchange.query(first).open)
            kept = self.buyer.buy("SPY", 1, 1)

        async def run():
            async with AsyncExchange(self.address, 1, cancel_on_disconnect=True) as exchange:
                order = await exchange.buy("SPY", 1, 1)
                self.assertEqual(1, (await exchange.query(order)).open)
                return order

        second = asyncio.run(run())
        for order in (first, second):
            wait_for(1, lambda order=order: self.buyer.query(order).canceled)
        self.assertEqual(1, self.buyer.query(kept).open)

    def test_a_server_that_ends(self):
        self.buyer.buy("SPY", 1, 1)
        self.server.kill()
        self.assertRaises(InDoubt, self.buyer.buy, "SPY", 1, 1)
        self.assertRaises(ConnectionFailed, self.buyer.buy, "SPY", 1, 1)

    def test_asyncio(self):
        async def run():
            async with AsyncExchange(self.address, 1) as exchange:
                orders = await asyncio.gather(*(exchange.buy("SPY", 1, 1) for _ in range(100)))
                await asyncio.gather(*(exchange.cancel(order) for order in orders[2:]))
                canceled = await exchange.cancel_all("SPY")
                self.assertEqual([one.id for one in orders[:2]], [one.id for one in canceled])
                self.assertEqual([], await exchange.cancel_all())
                return await asyncio.gather(*(exchange.query(order) for order in orders))

        self.assertEqual({1}, {status.canceled for status in asyncio.run(run())})


class WithKeys(Served):
    arguments = ("--auth",)

    def setUp(self):
        super().setUp()
        self.operator = self.client(operator_key=OPERATOR_KEY)
        for account in (1, 2):
            self.operator.create_account(account, 1000, key=f"secret-of-{account}")
        self.operator.create_symbol("SPY", {2: 10})

    def trader(self, account, key=None):
        return self.client(account, key=key or f"secret-of-{account}")

    def test_only_the_key_trades_and_reads(self):
        self.assertEqual(1, self.trader(1).buy("SPY", 1, 1).id)
        self.assertEqual(999, self.trader(1).account().balance)
        for key in ("wrong-key-of-1", None):
            other = self.client(1, key=key)
            for act, *arguments in ((other.buy, "SPY", 1, 1), (other.account,)):
                with self.subTest(key), self.assertRaises(Refused):
                    act(*arguments)

    @needs_websockets
    def test_only_the_key_follows_events(self):
        self.assertEqual(1000, next(self.trader(1).events()).balance)
        for key in ("wrong-key-of-1", None):
            events = self.client(1, key=key).events()
            self.assert_refused("unknown_account", next, events)

    def test_keys_are_changed_and_revoked(self):
        alice = self.trader(1)
        self.assertEqual(1, alice.buy("SPY", 1, 1).id)
        alice.set_key("another-of-1")
        self.assertEqual(1, alice.cancel(1).canceled)
        old = self.trader(1)
        self.assert_refused("unknown_account", old.query, 1)
        self.operator.set_key("third-of-1", 1)
        self.assert_refused("unknown_account", alice.query, 1)
        self.assertEqual(1, self.trader(1, "third-of-1").query(1).canceled)
        self.operator.revoke_key(1)
        self.assert_refused("unknown_account", self.trader(1, "third-of-1").query, 1)
        self.assert_refused("unknown_account", self.operator.revoke_key, 9)

    def test_an_account_is_frozen_and_limited(self):
        alice = self.trader(1)
        bid = alice.buy("SPY", 1, 1)
        self.operator.freeze(1)
        self.assert_refused("account_frozen", alice.buy, "SPY", 1, 1)
        self.assertEqual(1, alice.query(bid).open)
        self.operator.freeze(1, cancel_orders=True)
        self.assertEqual(1, alice.query(bid).canceled)
        self.operator.unfreeze(1)
        self.operator.set_limits(1, orders_max=1, position_max="1.5")
        self.assert_refused("position_too_large", alice.buy, "SPY", 2, 1)
        alice.buy("SPY", 1, 1)
        self.assert_refused("too_many_orders_of_account", alice.buy, "SPY", "0.5", 1)
        self.operator.set_limits(1, orders_max=0)
        alice.buy("SPY", "0.5", 1)

    def test_a_leaderboard_in_rounds_shows_names(self):
        self.operator.set_name(1, "Zo\u00eb")
        self.operator.begin_round("morning")
        self.trader(2).sell("SPY", 2, 3)
        self.trader(1).buy("SPY", 2, 3)
        self.operator.begin_round("noon")
        alice = self.trader(1)

        async def board():
            async with AsyncExchange(self.address, http=self.http) as exchange:
                return await exchange.leaderboard()

        wait_for(2, lambda: len(alice.leaderboard().rounds))
        self.assertEqual(["morning", "noon"], [one.name for one in alice.leaderboard().rounds])
        self.assertIsNone(alice.leaderboard().round)
        zoe = Standing(1, None, "Zo\u00eb", Decimal(0), Decimal(2), 1, Decimal(2))
        bob = Standing(1, "2", None, Decimal(0), Decimal(2), 1, Decimal(2))
        for found in (alice.leaderboard(), asyncio.run(board()), alice.leaderboard(1)):
            self.assertEqual((zoe, bob), found.standings)
        self.assertEqual((zoe,), alice.leaderboard(1, limit=1).standings)
        self.assertEqual([0, 0], [one.trades for one in alice.leaderboard(2).standings])
        self.assertEqual("1", self.operator.leaderboard(ids=True).standings[0].account)
        self.assert_refused("operator_key", alice.leaderboard, ids=True)
        self.assert_refused("not_found", alice.leaderboard, 3)
        self.assert_refused("malformed_name", self.operator.set_name, 1, " Zo")
        self.assert_refused("malformed_reference", self.operator.begin_round, "a b")

    def test_cash_and_shares_are_given_and_taken(self):
        with self.operator.pipeline() as pipeline:
            done = [
                pipeline.adjust_cash(1, -1000, "fine"),
                pipeline.adjust_shares(1, "SPY", 5),
                pipeline.adjust_cash(1, -1),
                pipeline.adjust_shares(1, "SPY", "-5.5"),
            ]
        self.assertEqual([None, None], [one.result() for one in done[:2]])
        self.assert_refused("insufficient_funds", done[2].result)
        self.assert_refused("insufficient_shares", done[3].result)
        self.assert_refused("insufficient_funds", self.trader(1).buy, "SPY", 1, 1)
        self.assertEqual(1, self.trader(1).sell("SPY", 5, 1).id)

    def test_an_account_that_is_an_operator(self):
        bob = self.trader(2)
        self.assert_refused("operator_key", bob.freeze, 1)
        self.operator.set_role(2, "operator")
        bob.freeze(1)
        bob.create_account(3, 5, key="secret-of-3")
        self.assertEqual(1, self.trader(3).buy("SPY", 1, 1).id)
        bob.set_key("another-of-2", 2)
        bob.set_key("third-of-2")
        self.operator.set_role(2, "trader")
        self.assert_refused("operator_key", bob.unfreeze, 1)

    def test_without_the_operators_key_nothing_is_changed(self):
        for exchange in (
            self.client(),
            self.client(operator_key="operator of others"),
            self.trader(1),
        ):
            for act, *arguments in (
                (exchange.create_account, 3, 100, "secret-of-3"),
                (exchange.create_symbol, "QQQ"),
                (exchange.halt, "SPY"),
                (exchange.set_key, "another-of-1", 1),
                (exchange.revoke_key, 1),
                (exchange.set_role, 1, "operator"),
                (exchange.freeze, 1),
                (exchange.adjust_cash, 1, 5),
                (exchange.adjust_shares, 1, "SPY", 5),
            ):
                self.assert_refused("operator_key", act, *arguments)
            self.assert_refused("operator_key", exchange.set_limits, 1, orders_max=1)
        self.assertEqual(1, self.trader(1).buy("SPY", 1, 1).id)

    def test_a_new_day(self):
        self.assertIn("/exchange.db.days/monday/", self.operator.new_day("monday"))
        self.operator.create_account(1, 5, key="secret-of-1")
        self.assertEqual(1, self.trader(1).buy("SPY", 5, 1).id)
        self.assert_refused("bad_request", self.operator.new_day, "Monday")

        async def run():
            async with AsyncExchange(
                self.address, operator_key=OPERATOR_KEY, http=self.http
            ) as exchange:
                await exchange.freeze(1)
                store = await exchange.new_day("tuesday")
                await exchange.create_account(1, 5, key="secret-of-1")
                return store

        self.assertIn("/exchange.db.days/tuesday/", asyncio.run(run()))
        wrong = self.client(operator_key="operator of others")
        self.assert_refused("operator_key", wrong.new_day, "wednesday")


class WithLengths(Served):
    arguments = ("--reply-framing", "length")

    def test_length_lines(self):
        self.fund()
        exchange = self.client(1)
        self.assertEqual(1, exchange.query(exchange.buy("SPY", 1, 1)).open)


class WithTls(InFolder):
    def test_certificates_are_checked(self):
        certificate, key = f"{self.folder}/certificate.pem", f"{self.folder}/key.pem"
        subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
            + ["-keyout", key, "-out", certificate, *subject],
            check=True,
            capture_output=True,
        )
        server = ExchangeServer("--tls-cert", certificate, "--tls-key", key).start()
        self.addCleanup(server.close)
        address, http = f"127.0.0.1:{server.port}", f"127.0.0.1:{server.http_port}"
        with Exchange(address, 1, tls=certificate, http=http) as exchange:
            exchange.create_account(1, 1)
            exchange.create_symbol("SPY")
            wait_for((), lambda: exchange.book("SPY").bids)
            if websockets:
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

            def use():
                with exchange:
                    assert exchange.query(order).open == 1

            self.in_child(use)
            self.assertEqual(1, exchange.query(order).open)
