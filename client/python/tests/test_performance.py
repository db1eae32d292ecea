"""What an account earned by trading, worked out by hand and against its cash and shares."""

import random
import unittest
from decimal import Decimal

from exchange_server import ExchangeServer
from support import Served  # noqa: F401, the package without installing it
from exchange_client import Exchange, Fill, Performance, performance


def fill(symbol, side, shares, price):
    return Fill(1, 1, symbol, side, Decimal(shares), Decimal(price), "taker", None)


class OfFills(unittest.TestCase):
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


class OfAnAccount(unittest.TestCase):
    def test_it_agrees_with_cash_and_shares_without_what_was_given(self):
        seed = 7
        print(f"seed {seed}")
        dice = random.Random(seed)
        with ExchangeServer() as server:
            address, http = f"127.0.0.1:{server.port}", f"127.0.0.1:{server.http_port}"
            clients = [Exchange(address, account, http=http) for account in (1, 2)]
            for client in clients:
                client.create_account(client.account_id, 1_000_000)
                for symbol in "AB":
                    client.create_symbol(symbol, {client.account_id: 1_000})
            for _ in range(200):
                trade = dice.choice([dice.choice(clients).buy, dice.choice(clients).sell])
                trade(dice.choice("AB"), dice.randint(1, 9), dice.randint(90, 110))
            clients[0].adjust_cash(1, 500)
            clients[0].cancel_all()
            points, account = clients[0].performance(), clients[0].account()
            self.assertGreater(len(points), 50)
            self.assertEqual(account.balance - 1_000_500, points[-1].cash)
            held = {one.symbol: one.shares - 1_000 for one in account.positions}
            newest = {one.symbol: one.position for one in points}
            self.assertEqual(held, newest)
            half = list(clients[0].fills())[len(points) // 2].execution
            later = clients[0].performance(after=half)
            self.assertEqual(points[-1].cash - later[-1].cash, points[-len(later) - 1].cash)
            for client in clients:
                client.close()


if __name__ == "__main__":
    unittest.main()
