"""The bots of docs/write-a-bot.md beside a counterparty, on the real server. In each language they
do the same."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from exchange_server import BIN, PATIENCE_S, ROOT, ExchangeServer, ServerError, wait_until

sys.path.append(str(ROOT / "testing/deploy/dashboard"))
from support import browser

SOURCES = ROOT / "client/bots"
SET_UP = """<create>
    <account id="1" balance="100000"/><account id="2" balance="100000"/><account id="3" balance="100000"/>
    <symbol sym="SPY"><account id="1">60</account><account id="2">1000</account></symbol>
    <symbol sym="DRY"><account id="2">1000</account></symbol>
</create>"""


class Program:
    """A bot as a process."""

    def __init__(self, *command):
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdout=self.said, stderr=subprocess.STDOUT, env={**os.environ, "no_proxy": "*"}
        )

    def output(self):
        self.said.seek(0)
        return self.said.read()

    def ends(self):
        return self.process.wait(PATIENCE_S) > 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.said.close()


class Tab:
    """A bot in the console of the dashboard."""

    def __init__(self, server, symbol):
        self.page = browser().open(f"http://{server}/")
        self.page.evaluate(f"window.process = {{argv: ['', '', '1', '{symbol}']}}")
        self.page.evaluate((SOURCES / "bot.js").read_text() + "; null")

    def output(self):
        said = self.page.seen("Runtime.consoleAPICalled")
        return "\n".join([each["args"][0]["value"] for each in said] + self.page.complaints())

    def ends(self):
        wait_until(lambda: "the connection is closed" in self.output(), "the end of the bot")
        return True

    def kill(self):
        self.page.close()

    def close(self):
        pass  # the browser ends with the tests


class Trading:
    """What each bot does. start(server, symbol) is of the language."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.server = ExchangeServer(store=f"sqlite:{folder.name}/exchange.db").start()
        self.addCleanup(lambda: self.server.close())
        self.server.request(SET_UP)
        wait_until(lambda: len(self.read("symbols")["symbols"]) == 2, "the symbols")

    def run_bot(self, symbol):
        self.bot = self.start(f"127.0.0.1:{self.server.http_port}", symbol)
        self.addCleanup(self.bot.close)

    def read(self, path):
        return json.loads(self.server.http(f"/api/{path}"))

    def open_orders(self):
        return {each["order"] for each in self.read("accounts/1")["orders"]}

    def order(self, account, amount, limit):
        order = f'<order sym="SPY" amount="{amount}" limit="{limit}"/>'
        self.server.request(f'<transactions id="{account}">{order}</transactions>')

    def await_quotes(self, bid, ask):
        """The book has these orders and no others: (price, shares), or None."""
        wanted = [[[*quote, 1]] if quote else [] for quote in (bid, ask)]
        try:
            wait_until(lambda: self.book() == wanted, f"the book {wanted}")
        except ServerError as error:
            self.fail(f"{error}: {self.book()}\n{self.bot.output()}")

    def book(self):
        book = self.read("books/SPY")
        return [book["bids"], book["asks"]]

    def test_it_quotes_trades_and_leaves_nothing_behind(self):
        self.run_bot("SPY")
        self.await_quotes(("99.9", "10"), ("100.1", "10"))
        self.order(2, -10, "99.9")
        self.await_quotes(("99.8", "10"), ("100", "10"))
        self.order(2, 4, "100")
        self.await_quotes(("99.9", "10"), ("100.1", "6"))
        self.order(2, -1, "100.05")
        self.order(3, 1, "100.05")  # the market moves without the bot
        self.await_quotes(("99.95", "10"), ("100.15", "6"))
        self.order(2, -10, "99.95")
        self.await_quotes(("99.85", "10"), ("100.05", "6"))
        self.order(2, -10, "99.85")
        self.await_quotes(("99.75", "10"), ("99.95", "6"))
        self.order(2, -10, "99.75")
        self.await_quotes(("99.65", "10"), ("99.85", "6"))
        self.order(2, -10, "99.65")
        self.await_quotes(None, ("99.75", "6"))  # ten shares more would be too many
        trades = lambda: [line for line in self.bot.output().splitlines() if " position " in line]
        wait_until(lambda: len(trades()) >= 6, "what the bot prints of its trades")
        self.assertEqual(
            [
                "buy 10 at 99.9: position 10, profit 0.00",
                "sell 4 at 100: position 6, profit 1.00",
                "buy 10 at 99.95: position 16, profit 0.70",
                "buy 10 at 99.85: position 26, profit -0.90",
                "buy 10 at 99.75: position 36, profit -3.50",
                "buy 10 at 99.65: position 46, profit -7.10",
            ],
            trades(),
        )
        self.bot.kill()
        self.await_quotes(None, None)

    def test_it_ends_when_an_order_is_refused(self):
        self.run_bot("DRY")  # it has no shares to sell
        self.assertTrue(self.bot.ends())
        self.assertIn("insufficient shares", self.bot.output())
        wait_until(lambda: not self.open_orders(), "the cancel of its bid")

    def test_it_ends_with_its_server_and_its_next_run_cancels_what_a_kill_left(self):
        self.run_bot("SPY")
        self.await_quotes(("99.9", "10"), ("100.1", "10"))
        left = self.open_orders()
        self.server.kill()
        self.assertTrue(self.bot.ends())
        self.server.close()
        self.server = ExchangeServer(store=self.server.store).start()
        wait_until(lambda: self.open_orders() == left, "what the kill left")
        self.run_bot("SPY")
        wait_until(lambda: not self.open_orders() & left, "the cancel of what the kill left")
        self.await_quotes(("99.9", "10"), ("100.1", "10"))


@unittest.skipUnless(
    importlib.util.find_spec("websockets"), "no websockets here (Debian: python3-websockets)"
)
class InPython(Trading, unittest.TestCase):
    """It goes on where the others end: client/python/tests has its refusals and restarts."""

    test_it_ends_when_an_order_is_refused = None
    test_it_ends_with_its_server_and_its_next_run_cancels_what_a_kill_left = None

    def start(self, server, symbol):
        path = f"PYTHONPATH={ROOT / 'client/python/src'}"
        program = ROOT / "client/python/examples/market_maker.py"
        address = f"127.0.0.1:{self.server.port}"
        words = f"--account 1 --spread 0.00199 --price 100 --connect {address} --http {server}"
        return Program("env", path, sys.executable, program, symbol, *words.split())


class InCpp(Trading, unittest.TestCase):
    def start(self, server, symbol):
        return Program(BIN / "bot", "1", symbol, server)


class InNode(Trading, unittest.TestCase):
    def start(self, server, symbol):
        for node in (["node"], ["node", "--experimental-websocket"]):
            probe = [*node, "--eval", "WebSocket"]
            if shutil.which("node") and subprocess.run(probe, capture_output=True).returncode == 0:
                return Program(*node, SOURCES / "bot.js", "1", symbol, server)
        self.skipTest("no node with WebSocket here (22, or 20 with --experimental-websocket)")


class InBrowser(Trading, unittest.TestCase):
    def start(self, server, symbol):
        return Tab(server, symbol)
