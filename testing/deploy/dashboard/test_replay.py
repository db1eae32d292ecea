"""The Replay view: a closed day of the real server, at any moment, played, by links, and with an
account."""

import json
import time
import unittest
import urllib.error
import urllib.request

from exchange_server import BINARY, OPERATOR_KEY, ExchangeServer
from test_trade import open_page

CREATE = f"""<create key="{OPERATOR_KEY}"><account id="1" balance="1000" key="secret-of-1"/><account id="2" balance="0" key="secret-of-2"/>
    <symbol sym="SPY"><account id="2">500</account></symbol><symbol sym="OLD"/></create>"""
SET = f'<create key="{OPERATOR_KEY}"><instrument sym="SPY" trading="%s"/></create>'


def order(account, amount, limit):
    return (
        f'<transactions id="{account}" key="secret-of-{account}"><order sym="SPY" amount="{amount}"'
        f' limit="{limit}"/></transactions>'
    )


# Positions: 1 to 4 create; 5 a bid of 10 at 9, 6 a trade of 4, 7 a halt, 8 open again, 9 a trade of
# 6 at 9, 10 an offer.
STEPS = (
    [CREATE],
    [order(1, 10, 9), order(2, -4, 9)],
    [SET % "halted"],
    [SET % "open"],
    [order(2, -6, 9), order(2, -5, 11)],
)


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not BINARY.is_file():
            raise unittest.SkipTest(f"{BINARY} is not built")
        cls.exchange = exchange = ExchangeServer(
            "--auth", "--keep-journal", store="sqlite:{folder}/x.db"
        ).start()
        cls.addClassCleanup(exchange.close)
        for step in STEPS:
            for answer in exchange.request(*step):
                assert "<error" not in answer, answer
            time.sleep(1.1)  # so that moments of the slider differ
        request = urllib.request.Request(
            exchange.address + "/api/admin/new-day",
            b'{"day": "monday"}',
            {"Authorization": f"Bearer {OPERATOR_KEY}", "Content-Type": "application/json"},
        )
        while True:
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    if json.load(answer)["closed"]:
                        return
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    raise
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.05)

    def page(self, fragment="#replay/", **more):
        return open_page(self, self.exchange.address, fragment, **more)

    def wait_for_position(self, page, position):
        page.wait_for(
            f"document.querySelector('#moment-about').innerText.endsWith('command {position} of"
            " 10')"
        )

    def bids(self, page):
        return [row.split("\n")[:2] for row in page.texts("#ladder .bids .level")]

    def fill(self, page, account, key):
        page.evaluate(
            f"""(() => {{
              const form = document.querySelector('#then');
              form.elements.account.value = {json.dumps(account)};
              form.elements.key.value = {json.dumps(key)};
              form.requestSubmit();
            }})()"""
        )

    def test_a_link_leads_to_its_moment_and_steps_go_from_trade_to_trade(self):
        page = self.page("#replay/monday/SPY@5")
        self.wait_for_position(page, 5)
        page.wait_for_count(1, "#ladder .bids .level")
        self.assertEqual(self.bids(page), [["9", "10"]])
        self.assertEqual(page.texts("#tape tbody tr"), [])
        page.press("n")
        self.wait_for_position(page, 6)
        page.wait_for_count(1, "#tape tbody tr")
        self.assertEqual(self.bids(page), [["9", "6"]])
        page.press("n")
        self.wait_for_position(page, 9)
        page.wait_for_count(0, "#ladder .bids .level")
        self.assertEqual(page.evaluate("location.hash"), "#replay/monday/SPY@9")
        page.press("n")
        page.wait_for_text("#replay-said", "No trade follows on this day.")
        page.evaluate("location.hash = '#replay/monday/SPY@7'")
        self.wait_for_position(page, 7)
        page.wait_for_part("#spread", "halted")
        self.assertEqual(self.bids(page), [["9", "6"]])

    def test_the_day_plays_to_its_end_and_the_slider_seeks(self):
        page = self.page(dark=True)
        self.wait_for_position(page, 0)
        self.assertEqual(page.texts("#replay [name=day] option"), ["monday"])
        self.assertEqual(
            page.evaluate("document.querySelector('#replay').elements.symbol.value"), "SPY"
        )
        self.assertEqual(page.evaluate("document.querySelectorAll('#day-trades .bar').length"), 2)
        self.assertEqual(
            page.evaluate("document.querySelectorAll('#day-trades .halted').length"), 1
        )
        page.click('#replay [value="5"]')
        page.press(" ")
        self.wait_for_position(page, 10)
        page.wait_for_text("#play", "▶ Play")
        page.wait_for_count(2, "#tape tbody tr")
        page.evaluate(
            """(() => { const slider = document.querySelector('#moment');
                slider.value = Number(slider.max) * 0.4; slider.dispatchEvent(new Event('input')); })()"""
        )
        self.wait_for_position(page, 6)
        page.wait_for_count(1, "#tape tbody tr")
        page.evaluate(
            """(() => { const {mark} = document.querySelector('#replay').elements;
                mark.value = '8'; mark.dispatchEvent(new Event('change')); })()"""
        )
        self.wait_for_position(page, 8)

    def test_an_account_is_shown_at_the_moment_for_its_key_of_that_day_or_the_operators(self):
        page = self.page("#replay/monday/SPY@5", width=390, height=800)
        self.wait_for_position(page, 5)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 390)
        self.fill(page, "1", "secret-of-2")
        page.wait_for_text("#then-said", "Unknown account.")
        for key in ("secret-of-1", OPERATOR_KEY):
            page.evaluate("document.querySelector('#then-who').textContent = ''")
            self.fill(page, "1", key)
            page.wait_for_text("#then-who", "1")
            self.assertEqual(page.text("#then-cash"), "910.00")
            self.assertEqual(page.text("#then-cash-reserved"), "reserved: 90.00")
            self.assertEqual(page.texts("#then-orders tbody tr"), ["▲ buy SPY\t10\t9"])
        page.click("#next-trade")
        self.wait_for_position(page, 6)
        page.wait_for_count(1, "#then-news tbody tr")
        self.assertIn("▲ buy SPY\t4\texecuted at 9", page.text("#then-news tbody"))
        self.assertEqual(page.texts("#then-orders tbody tr"), ["▲ buy SPY\t6\t9"])
        self.assertEqual(page.text("#then-shares"), "4")

    def test_what_is_not_there_is_said_and_other_views_go_on(self):
        page = self.page("#replay/tuesday")
        page.wait_for(
            "document.querySelector('#replay-said').innerText === \"There is no closed day"
            " 'tuesday'.\""
        )
        page.evaluate("location.hash = '#replay/monday/NONE'")
        page.wait_for_part("#replay-said", "Unknown symbol")
        page.evaluate("location.hash = '#replay/monday/OLD@3'")
        self.wait_for_position(page, 3)
        page.click("#to-trade")
        page.wait_for("document.body.dataset.view === 'trade'")
        self.assertFalse(page.evaluate("location.hash.startsWith('#replay')"))
        page.click("#to-replay")
        page.wait_for("location.hash === '#replay/monday/OLD@3'")
        self.wait_for_position(page, 3)
