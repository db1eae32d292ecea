"""What users ask, and what they remember."""

import unittest
from unittest import mock

import trader
from trader import Growing, Trader

STATE = {
    "accounts": {"7": 100},
    "growing": {"buyer": "1", "order": 5, "quiet_order": 4, "sellers": ["2"]},
}


def opened(order):
    return b'<results><opened sym="LOAD" amount="1" limit="100" id="%d"/></results>\n' % order


def query(account, order):
    return f'<transactions id="{account}"><query id="{order}"/></transactions>'


class Remembered(unittest.TestCase):
    def setUp(self):
        self.trader = Trader(STATE)
        clock = mock.patch.object(trader.time, "monotonic", lambda: self.now)
        clock.start()
        self.addCleanup(clock.stop)
        self.now = 1000.0

    def test_the_newest_order_is_queried_and_before_that_a_prepared_one(self):
        self.assertEqual(self.trader.query_document(), query(7, 100))
        self.trader.placed(opened(101))
        self.trader.placed(opened(102))
        self.assertEqual(self.trader.query_document(), query(7, 102))

    def test_over_http_an_order_is_read_once_it_has_had_time_to_get_there(self):
        self.trader.placed(opened(101))
        self.assertEqual(self.trader.readable_order(), 100)
        self.now += trader.READABLE_AFTER_S - 0.5
        self.trader.placed(opened(102))
        self.now += 0.5
        self.assertEqual(self.trader.readable_order(), 101)
        self.now += trader.READABLE_AFTER_S
        self.assertEqual(self.trader.readable_order(), 102)

    def test_orders_are_of_one_share_near_100(self):
        wanted = r'<order sym="LOAD" amount="-?1" limit="(9[5-9]|10[0-5])"/>'
        for _ in range(100):
            self.assertRegex(self.trader.order_document(), wanted)

    def test_all_users_read_the_order_that_every_write_trades_with_and_the_control_another(self):
        growing, control = Growing(STATE), Growing(STATE, control=True)
        self.assertEqual(growing.query_document(), query(1, 5))
        self.assertEqual(control.query_document(), query(1, 4))
        self.assertIn('<order sym="GROW" amount="-1" limit="1"/>', growing.order_document())
        self.assertEqual(control.order_document(), growing.order_document())
