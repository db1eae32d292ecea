"""The operator's requests: what is sent, and what a real server does."""

import asyncio
import re
import time
import unittest
from decimal import Decimal

import support
from exchange_client import AsyncExchange, Exchange, Refused, Standing
from exchange_server import OPERATOR_KEY
from support import FakeServer, Served

CREATED = b'<results><created id="7"/></results>\n'


def _start_tag(request):
    return request[: request.index(">") + 1]


def _elements(requests):
    return [re.search(r">(.*)</", request)[1] for request in requests]


class Requests(unittest.TestCase):
    def test_texts_are_escaped_and_what_is_not_given_is_left_out(self):
        with FakeServer(lambda *_: CREATED) as server:
            with Exchange(server.address, operator_key="operator-1") as exchange:
                exchange.set_key("secret<7", 7)
                exchange.set_limits(7)
                exchange.set_limits(7, orders_per_second_max=9, position_max=Decimal("1.5"))
                exchange.set_name(7, "Zo\u00eb & <Co>")
                exchange.set_name(7, "")
                exchange.set_account(7, role="trader", cancel_orders=False, orders_max=5, name=None)
                exchange.adjust_cash(7, "-0.5", "a:fine")
                exchange.adjust_shares(7, "S", 5)
        self.assertEqual(
            [
                '<set-key id="7" key="secret&lt;7"/>',
                '<set-account id="7"/>',
                '<set-account id="7" orders-per-second-max="9" position-max="1.5"/>',
                '<set-account id="7" name="Zo\u00eb &amp; &lt;Co&gt;"/>',
                '<set-account id="7" name=""/>',
                '<set-account id="7" role="trader" orders-max="5"/>',
                '<adjust-cash id="7" amount="-0.5" reason="a:fine"/>',
                '<adjust-shares sym="S" id="7" amount="5"/>',
            ],
            _elements(server.requests),
        )

    def test_the_operators_requests_are_those_of_an_account_without_the_operators_key(self):
        for more, root in (
            ({}, "<create "),
            ({"key": "secret-of-1"}, '<create id="1" key="secret-of-1" '),
            ({"key": "secret-of-1", "operator_key": "operator-1"}, '<create key="operator-1" '),
        ):
            with self.subTest(root), FakeServer(lambda *_: CREATED) as server:
                with Exchange(server.address, 1, **more) as exchange:
                    exchange.halt("S")
                self.assertEqual(
                    [f'{root}codes="true">'], [_start_tag(one) for one in server.requests]
                )

    def test_a_client_goes_on_with_its_new_key(self):
        refused = b'<results><error code="unknown_account">unknown account</error></results>\n'
        answers = [refused, CREATED, CREATED]
        with FakeServer(lambda _, number: answers[number - 1]) as server:
            with Exchange(server.address, 1, key="secret-of-1") as exchange:
                with self.assertRaises(Refused):
                    exchange.set_key("another-of-1")
                exchange.set_key("another-of-1")
                exchange.set_key("third-of-1")
        roots = [
            f'<transactions id="1" key="{key}" codes="true">'
            for key in ("secret-of-1", "secret-of-1", "another-of-1")
        ]
        self.assertEqual(roots, [_start_tag(one) for one in server.requests])
        self.assertIn('<set-key key="third-of-1"/>', server.requests[2])


class Accounts(Served):
    arguments = ("--auth",)

    def setUp(self):
        super().setUp()
        self.operator = Exchange(self.address, operator_key=OPERATOR_KEY, http=self.http)
        self.addCleanup(self.operator.close)
        for account in (1, 2):
            self.operator.create_account(account, 1000, key=f"secret-of-{account}")
        self.operator.create_symbol("SPY", {2: 10})

    def trader(self, account, key=None):
        exchange = Exchange(self.address, account, key=key or f"secret-of-{account}")
        self.addCleanup(exchange.close)
        return exchange

    def assert_refused(self, code, act):
        with self.subTest(code), self.assertRaises(Refused) as raised:
            act()
        self.assertEqual(code, raised.exception.code)

    def test_keys_are_changed_and_revoked(self):
        alice = self.trader(1)
        self.assertEqual(1, alice.buy("SPY", 1, 1).id)
        alice.set_key("another-of-1")
        self.assertEqual(1, alice.cancel(1).canceled)
        old = self.trader(1)
        self.assert_refused("unknown_account", lambda: old.query(1))
        self.operator.set_key("third-of-1", 1)
        self.assert_refused("unknown_account", lambda: alice.query(1))
        self.assertEqual(1, self.trader(1, "third-of-1").query(1).canceled)
        self.operator.revoke_key(1)
        self.assert_refused("unknown_account", lambda: self.trader(1, "third-of-1").query(1))
        self.assert_refused("unknown_account", lambda: self.operator.revoke_key(9))

    def test_an_account_is_frozen_and_limited(self):
        alice = self.trader(1)
        bid = alice.buy("SPY", 1, 1)
        self.operator.freeze(1)
        self.assert_refused("account_frozen", lambda: alice.buy("SPY", 1, 1))
        self.assertEqual(1, alice.query(bid).open)
        self.operator.freeze(1, cancel_orders=True)
        self.assertEqual(1, alice.query(bid).canceled)
        self.operator.unfreeze(1)
        self.operator.set_limits(1, orders_max=1, position_max="1.5")
        self.assert_refused("position_too_large", lambda: alice.buy("SPY", 2, 1))
        alice.buy("SPY", 1, 1)
        self.assert_refused("too_many_orders_of_account", lambda: alice.buy("SPY", "0.5", 1))
        self.operator.set_limits(1, orders_max=0)
        alice.buy("SPY", "0.5", 1)

    def test_a_leaderboard_in_rounds_shows_names(self):
        self.operator.set_name(1, "Zo\u00eb")
        self.operator.begin_round("morning")
        self.trader(2).sell("SPY", 2, 3)
        self.trader(1).buy("SPY", 2, 3)
        self.operator.begin_round("noon")
        alice = Exchange(self.address, 1, key="secret-of-1", http=self.http)
        self.addCleanup(alice.close)

        async def board():
            async with AsyncExchange(self.address, http=self.http) as exchange:
                return await exchange.leaderboard()

        give_up = time.monotonic() + 30
        while len(alice.leaderboard().rounds) < 2 and time.monotonic() < give_up:
            time.sleep(0.01)
        self.assertEqual(["morning", "noon"], [one.name for one in alice.leaderboard().rounds])
        self.assertIsNone(alice.leaderboard().round)
        zoe = Standing(1, None, "Zo\u00eb", Decimal(0), Decimal(2), 1, Decimal(2))
        bob = Standing(1, "2", None, Decimal(0), Decimal(2), 1, Decimal(2))
        for found in (alice.leaderboard(), asyncio.run(board()), alice.leaderboard(1)):
            self.assertEqual((zoe, bob), found.standings)
        self.assertEqual((zoe,), alice.leaderboard(1, limit=1).standings)
        self.assertEqual([0, 0], [one.trades for one in alice.leaderboard(2).standings])
        self.assertEqual("1", self.operator.leaderboard(ids=True).standings[0].account)
        self.assert_refused("operator_key", lambda: alice.leaderboard(ids=True))
        self.assert_refused("not_found", lambda: alice.leaderboard(3))
        self.assert_refused("malformed_name", lambda: self.operator.set_name(1, " Zo"))
        self.assert_refused("malformed_reference", lambda: self.operator.begin_round("a b"))

    def test_cash_and_shares_are_given_and_taken(self):
        with self.operator.pipeline() as pipeline:
            done = [
                pipeline.adjust_cash(1, -1000, "fine"),
                pipeline.adjust_shares(1, "SPY", 5),
                pipeline.adjust_cash(1, -1),
                pipeline.adjust_shares(1, "SPY", "-5.5"),
            ]
        self.assertIsNone(done[0].result())
        self.assertIsNone(done[1].result())
        self.assert_refused("insufficient_funds", done[2].result)
        self.assert_refused("insufficient_shares", done[3].result)
        self.assert_refused("insufficient_funds", lambda: self.trader(1).buy("SPY", 1, 1))
        self.assertEqual(1, self.trader(1).sell("SPY", 5, 1).id)

    def test_an_account_that_is_an_operator(self):
        bob = self.trader(2)
        self.assert_refused("operator_key", lambda: bob.freeze(1))
        self.operator.set_role(2, "operator")
        bob.freeze(1)
        bob.create_account(3, 5, key="secret-of-3")
        self.assertEqual(1, self.trader(3).buy("SPY", 1, 1).id)
        bob.set_key("another-of-2", 2)
        bob.set_key("third-of-2")
        self.operator.set_role(2, "trader")
        self.assert_refused("operator_key", lambda: bob.unfreeze(1))

    def test_without_the_operators_key_nothing_is_changed(self):
        for exchange in (
            Exchange(self.address),
            Exchange(self.address, operator_key="operator of others"),
            Exchange(self.address, 1, key="secret-of-1"),
        ):
            with exchange:
                self.assert_changes_nothing(exchange)
        self.assertEqual(1, self.trader(1).buy("SPY", 1, 1).id)

    def assert_changes_nothing(self, exchange):
        for act in (
            lambda: exchange.set_key("another-of-1", 1),
            lambda: exchange.revoke_key(1),
            lambda: exchange.set_role(1, "operator"),
            lambda: exchange.freeze(1),
            lambda: exchange.set_limits(1, orders_max=1),
            lambda: exchange.adjust_cash(1, 5),
            lambda: exchange.adjust_shares(1, "SPY", 5),
        ):
            self.assert_refused("operator_key", act)

    def test_a_new_day(self):
        self.assertIn("/x.db.days/monday/", self.operator.new_day("monday"))
        self.operator.create_account(1, 5, key="secret-of-1")
        self.assertEqual(1, self.trader(1).buy("SPY", 5, 1).id)
        self.assert_refused("bad_request", lambda: self.operator.new_day("Monday"))

        async def run():
            async with AsyncExchange(
                self.address, operator_key=OPERATOR_KEY, http=self.http
            ) as exchange:
                await exchange.freeze(1)
                store = await exchange.new_day("tuesday")
                await exchange.create_account(1, 5, key="secret-of-1")
                return store

        self.assertIn("/x.db.days/tuesday/", asyncio.run(run()))
        wrong = Exchange(self.address, operator_key="operator of others", http=self.http)
        self.assert_refused("operator_key", lambda: wrong.new_day("wednesday"))


if __name__ == "__main__":
    unittest.main()
