"""The page as the real server serves it: a trade on the XML port is seen, a server that stops and
starts again too."""

import unittest
from urllib.request import urlopen

from exchange_server import BINARY, ExchangeServer
from support import POLICY, browser

MARKET = (
    '<create><account id="1" balance="100000"/><account id="2" balance="0"/><symbol'
    ' sym="SPY"><account id="2">500</account></symbol></create>'
)
BID = '<transactions id="1"><order sym="SPY" amount="100" limit="145.67"/></transactions>'
HIT = '<transactions id="2"><order sym="SPY" amount="-40.5" limit="140"/></transactions>'


def setUpModule():
    if not BINARY.is_file():
        raise unittest.SkipTest(f"{BINARY} is not built")


class PageOfTheServer(unittest.TestCase):
    def start(self, **ports):
        exchange = ExchangeServer(**ports).start()
        self.addCleanup(exchange.close)
        return exchange

    def open(self, exchange, **more):
        page = browser().open(exchange.address + "/", **more)
        self.addCleanup(page.close)
        page.wait_for_state("live")
        return page

    def assert_clean(self, page, exchange):
        self.assertEqual(page.complaints(), [])
        own = (exchange.address + "/", f"ws://127.0.0.1:{exchange.http_port}/")
        self.assertEqual(
            [address for address in page.asked() if not address.startswith((*own, "data:"))], []
        )

    def test_a_trade_appears_on_the_page(self):
        exchange = self.start()
        page = self.open(exchange, dark=True)
        page.wait_for("!document.querySelector('#no-symbols').hidden")

        self.assertIn('created sym="SPY"', exchange.request(MARKET)[0])
        page.wait_for("location.hash === '#SPY'")
        page.wait_for_part("#book-empty", "There are no bids or offers for SPY")

        exchange.request(BID)
        page.wait_for_count(1, "#ladder .level")
        self.assertEqual(page.text("#ladder .bids .level").split(), ["145.67", "100", "1", "100"])

        self.assertIn("opened", exchange.request(HIT)[0])
        page.wait_for_count(1, "#tape tbody tr")
        self.assertEqual(page.text("#tape tbody tr").split()[1:], ["▼", "sell", "145.67", "40.5"])
        page.wait_for_part("#ladder .bids .level", "59.5")
        self.assertEqual(page.evaluate("document.title"), "SPY 145.67 – Exchange")

        page.wait_for_text("[data-key=trades] .note", "1 in all")
        page.wait_for_text("[data-key=requests] .note", "3 in all")
        commands = [text.split() for text in page.texts("#commands tbody tr")]
        self.assertEqual(
            [(*row[:-4], row[-4], row[-1]) for row in commands if row[0] == "order"],
            [("order", "✓", "2")],
        )
        orders = [text.split() for text in page.texts("#orders tbody tr")]
        self.assertEqual([(row[0], row[1], row[-1]) for row in orders], [("opened", "limit", "2")])
        self.assertEqual(page.text("#policy"), "loop")

        exchange.request(
            '<transactions id="2"><order sym="SPY" amount="-1000" limit="1"/></transactions>'
        )
        page.wait_for_part("#commands", "✕ insufficient shares")
        self.assert_clean(page, exchange)
        self.assertEqual(page.failed_requests(), [])

    def test_an_auction_is_shown_with_what_it_would_execute(self):
        exchange = self.start()

        def trade(state):
            exchange.request(f'<create><instrument sym="SPY" trading="{state}"/></create>')

        exchange.request(MARKET)
        page = self.open(exchange, width=360, height=740)
        symbol = "#symbols a[data-trading={}]"
        page.wait_for_count(1, symbol.format("open"))
        trade("auction")
        page.wait_for_text("#spread", "auction nothing yet")
        page.wait_for_count(1, symbol.format("auction"))
        exchange.request(BID)
        exchange.request(HIT.replace('limit="140"', 'type="market"'))
        page.wait_for_text("#spread", "auction 40.5 @ 145.67")
        self.assertEqual(page.texts("#ladder .asks .level"), [])
        self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), 360)
        trade("halted")
        page.wait_for_text("#spread", "halted")
        trade("open")
        page.wait_for_text("#spread", "spread one-sided")
        self.assert_clean(page, exchange)

    def test_what_was_there_before_the_page_is_shown_and_fits_a_phone(self):
        exchange = self.start()
        for request in (MARKET, BID, HIT):
            exchange.request(request)
        page = self.open(exchange, width=360, height=740)
        page.wait_for_count(1, "#tape tbody tr")
        self.assertEqual(page.text("#ladder .bids .level").split(), ["145.67", "59.5", "1", "59.5"])
        self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), 360)
        self.assert_clean(page, exchange)

    def test_a_server_that_dies_is_reported_and_its_successor_found(self):
        first = self.start()
        for request in (MARKET, BID):
            first.request(request)
        page = self.open(first)
        page.wait_for_count(1, "#ladder .level")
        first.kill()
        page.wait_for_state("away")
        self.assertIn("The server does not answer.", page.text("#notice"))
        self.assertEqual(page.text("#state").strip(), "Disconnected")

        second = self.start(port=first.port, http_port=first.http_port)
        page.wait_for("document.querySelector('#state').dataset.state !== 'away'")
        for request in (MARKET, BID.replace("145.67", "9.25"), HIT.replace("140", "9")):
            second.request(request)
        page.wait_for_part("#ladder .bids .level", "9.25")
        page.wait_for_part("#tape tbody tr", "9.25")
        page.wait_for_text("[data-key=requests] .note", "3 in all")
        page.wait_for_state("live")
        self.assertTrue(page.evaluate("document.querySelector('#notice').hidden"))
        self.assert_clean(page, second)

    def test_the_server_forbids_scripts_of_others(self):
        exchange = self.start()
        with urlopen(exchange.address + "/", timeout=60) as answer:
            self.assertIn(POLICY, answer.headers["Content-Security-Policy"])
