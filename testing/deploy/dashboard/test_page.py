"""The page by itself, what it makes of answers that a test invents, and its pure modules, tested where they run: inside a browser."""

import json
import unittest

from support import CHARTS, TESTS, Site, browser

FAKE = (TESTS / "fake_exchange.js").read_text()


SYMBOL = """{"bid_shares": "1", "ask": null, "ask_shares": null, "last_time_us": null, "shares_total": "1", "open_orders": 1,
    "traded_shares": "5", "sequence": 0}"""
TRADE = '{"buy_order": 1, "sell_order": 2, "time_us": 1795256991123456}'


def symbol(name, last=None, trades=0):
    return {**json.loads(SYMBOL), "symbol": name, "bid": last, "last": last, "trades": trades}


def trade(number, price, shares, taker):
    return {**json.loads(TRADE), "id": number, "price": price, "shares": shares, "taker": taker}


class PageAlone(unittest.TestCase):
    def open(self, fragment="", charts=True, setup="", **more):
        site = Site(charts)
        self.addCleanup(site.close)
        page = browser().open(f"{site.address}/{fragment}", before=FAKE + setup, **more)
        self.addCleanup(page.close)
        if charts and CHARTS.is_file():
            self.addCleanup(lambda: self.assertEqual(page.failed_requests(), []))
        self.addCleanup(lambda: self.assertEqual(page.complaints(), []))
        page.wait_for("document.querySelector('#state').dataset.state !== 'connecting'")
        return page

    def with_symbols(self, *symbols, **more):
        return self.open(setup=f"exchange.symbols = {json.dumps(symbols)};", **more)

    def subscribed(self, page, name):
        page.wait_for(f"exchange.sent.at(-1)?.subscribe === {json.dumps(name)}")

    def test_the_busiest_symbol_is_shown_and_kept_in_the_address(self):
        page = self.with_symbols(symbol("SPY"), symbol("IBM", "7.5", 9), symbol("KO", "3", 2))
        self.subscribed(page, "IBM")
        self.assertEqual(page.evaluate("location.hash"), "#IBM")
        page.evaluate("document.querySelector('#symbols a[href=\"#KO\"]').click()")
        self.subscribed(page, "KO")
        self.assertEqual(page.evaluate("exchange.sent.at(-2)"), {"unsubscribe": "IBM"})
        self.assertEqual(
            page.evaluate("document.querySelector('#symbols [aria-current]').textContent"), "KO"
        )

    def test_book_and_tape_follow_the_stream_with_exact_figures(self):
        page = self.with_symbols(symbol("SPY", "145.67"), fragment="#SPY")
        self.subscribed(page, "SPY")
        page.evaluate(
            """exchange.snapshot("SPY", 3, [["145.67", "60", 1], ["144", "92233720367.00000001", 2]], [["146.5", "0.00000001", 1]])"""
        )
        page.wait_for_count(3, "#ladder .level")
        rows = [text.split() for text in page.texts("#ladder .level")]
        self.assertEqual(
            rows,
            [
                ["146.50", "0.00000001", "1", "0.00000001"],
                ["145.67", "60.00000000", "1", "60.00000000"],
                ["144.00", "92,233,720,367.00000001", "2", "92,233,720,427.00000001"],
            ],
        )
        self.assertIn("0.83", page.text("#spread"))
        page.evaluate(
            f"""exchange.update("SPY", 4, [["145.67", "0", 0]], [["146.5", "7", 3]],
                          {json.dumps([trade(1, "145.67", "40.5", "sell"), trade(2, "1000.5", "7", "buy")])})"""
        )
        page.wait_for_count(2, "#ladder .level")
        self.assertEqual(
            [text.split()[1:] for text in page.texts("#tape tbody tr")],
            [["▲", "buy", "1,000.50", "7.0"], ["▼", "sell", "145.67", "40.5"]],
        )

    def test_a_stream_that_breaks_is_opened_again(self):
        page = self.with_symbols(symbol("SPY"))
        self.subscribed(page, "SPY")
        for broken in (
            "exchange.sockets.at(-1).close()",
            "exchange.send('no JSON')",
            "exchange.send('null')",
            "exchange.snapshot('SPY', 1, [['x']], [])",
        ):
            count = page.evaluate("exchange.sockets.length")
            page.evaluate("exchange.sent.length = 0; " + broken)
            page.wait_for(f"exchange.sockets.length === {count} + 1")
            self.subscribed(page, "SPY")
        page.evaluate("""exchange.snapshot("SPY", 1, [["1", "60", 1]], [])""")
        page.wait_for_count(1, "#ladder .level")

    def test_a_symbol_that_is_not_there_yet_is_shown_once_it_is(self):
        page = self.with_symbols(symbol("SPY"), fragment="#NEW")
        self.subscribed(page, "NEW")
        page.evaluate("""exchange.send({type: "error", error: "unknown symbol 'NEW'"})""")
        page.wait_for("!document.querySelector('#book-empty').hidden")
        self.assertIn("exchange-cli create symbol NEW 1=500", page.text("#book-empty"))
        page.evaluate(
            f"exchange.sent.length = 0; exchange.symbols = {json.dumps([symbol('SPY'), symbol('NEW')])}"
        )
        self.subscribed(page, "NEW")
        page.evaluate("""exchange.snapshot("NEW", 0, [["1", "60", 1]], [])""")
        page.wait_for_count(1, "#ladder .level")

    def test_an_address_becomes_a_command_only_if_it_names_a_symbol(self):
        page = self.with_symbols(symbol("SPY"), fragment="#trade/X;curl%20evil.example%7Csh%20%23")
        page.wait_for("!document.querySelector('#book-empty').hidden")
        self.assertNotIn("exchange-cli", page.text("#book-empty"))

    def test_an_unavailable_store_is_reported(self):
        page = self.open()
        page.evaluate(
            "exchange.metrics = exchange.text({store: 0}); exchange.ready = [503, 'the store is unavailable']"
        )
        page.wait_for("!document.querySelector('#notice').hidden")
        page.evaluate("exchange.metrics = exchange.text(); exchange.ready = [200, 'ready']")
        page.wait_for("document.querySelector('#notice').hidden")

    def test_figures_that_cannot_be_read_are_called_stale_and_do_no_harm(self):
        page = self.open()
        for odd in ("", "<html>", 'exchange_requests_total NaN\nexchange_info{policy="x" 1'):
            page.evaluate(f"exchange.metrics = {json.dumps(odd)}")
            page.wait_for_state("stale")
            page.evaluate("exchange.metrics = exchange.text()")
            page.wait_for("document.querySelector('#state').dataset.state !== 'stale'")
        page.evaluate("exchange.symbols = [null, 7, {symbol: 3}, {symbol: 'ODD'}]")
        page.wait_for_count(1, "#symbols tbody tr")

    def test_hundreds_of_symbols_are_searched_with_few_rows(self):
        page = self.with_symbols(
            *(symbol(f"SYM{number}") for number in range(900)), fragment="#SYM899"
        )
        page.wait_for("document.querySelectorAll('#symbols tbody tr').length > 0")
        self.assertLessEqual(
            page.evaluate("document.querySelectorAll('#symbols tbody tr').length"), 200
        )
        self.assertEqual(
            page.evaluate("document.querySelector('#symbols [aria-current]').textContent"), "SYM899"
        )
        page.evaluate(
            "const search = document.querySelector('#search'); search.value = 'ym77'; search.dispatchEvent(new Event('input'))"
        )
        self.assertEqual(
            page.texts("#symbols tbody a"),
            ["SYM77", *(f"SYM{number}" for number in range(770, 780))],
        )
        page.evaluate("search.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
        page.wait_for("location.hash === '#SYM77'")
        self.subscribed(page, "SYM77")

    def test_a_deep_busy_book_keeps_few_rows(self):
        page = self.with_symbols(symbol("SPY"))
        self.subscribed(page, "SPY")
        page.evaluate(
            """const side = (sign) => Array.from({length: 1000}, (_, i) => [String(2000 + sign * (i + 1)), "5", 1]);
                         exchange.snapshot("SPY", 0, side(-1), side(1));
                         for (let i = 1; i <= 2000; ++i) exchange.update("SPY", i, [[String(1999 - i % 900), String(i), 1]], [],
                             [{id: i, price: "2000", shares: String(i), taker: "buy", time_us: 1}])"""
        )
        page.wait_for("document.querySelector('#tape tbody td:last-child')?.innerText === '2,000'")
        self.assertLess(page.evaluate("document.querySelectorAll('#ladder tr').length"), 70)
        self.assertLessEqual(
            page.evaluate("document.querySelectorAll('#tape tbody tr').length"), 40
        )
        self.assertEqual(page.evaluate("exchange.sent.length"), 1)

    def test_nothing_is_asked_while_the_page_is_hidden(self):
        page = self.with_symbols(symbol("SPY"))
        self.subscribed(page, "SPY")
        page.evaluate(
            """Object.defineProperty(document, "hidden", {configurable: true, get: () => true}); document.dispatchEvent(new Event("visibilitychange"))"""
        )
        page.wait_for("exchange.sockets.at(-1).readyState === 3")
        asked = page.evaluate("exchange.asked.metrics")
        page.evaluate("new Promise((done) => setTimeout(done, 1500))")
        self.assertEqual(page.evaluate("exchange.asked.metrics"), asked)
        page.evaluate(
            "delete document.hidden; exchange.sent.length = 0; document.dispatchEvent(new Event('visibilitychange'))"
        )
        self.subscribed(page, "SPY")
        page.wait_for(f"exchange.asked.metrics > {asked}")

    def test_it_works_without_the_chart_library(self):
        page = self.open(charts=False, setup=f"exchange.symbols = {json.dumps([symbol('SPY')])};")
        self.subscribed(page, "SPY")
        page.evaluate("""exchange.snapshot("SPY", 3, [["145.67", "60", 1]], [])""")
        page.wait_for_count(1, "#ladder .level")

    def test_it_loads_itself_again_where_a_part_of_it_did_not_arrive(self):
        site = Site()
        self.addCleanup(site.close)
        site.missing.add("feed.js")
        page = browser().open(site.address + "/", before=FAKE)
        self.addCleanup(page.close)
        page.wait_for("document.querySelector('#notice')?.innerText.includes('did not arrive')")
        site.missing.clear()
        page.wait_for("document.querySelector('#state')?.dataset.state === 'live'")

    def test_the_list_has_the_last_price_of_the_book(self):
        page = self.with_symbols(symbol("SPY", "5.00"), symbol("IBM", "7.5"), fragment="#SPY")
        self.subscribed(page, "SPY")
        page.evaluate(
            f"""exchange.snapshot("SPY", 3, [["5.5", "1", 1]], [["6.25", "1", 1]], [{json.dumps(trade(1, "6.00", "1", "buy"))}])"""
        )
        page.wait_for("document.querySelector('#last').innerText === '6.00'")
        for _ in range(2):  # also once the list, which is older, has come again
            rows = [text.split() for text in page.texts("#symbols tbody tr")]
            self.assertEqual([["SPY", "6.00"], ["IBM", "7.50"]], [row[:2] for row in rows])
            asked = page.evaluate("exchange.asked['api/symbols']")
            page.wait_for(f"exchange.asked['api/symbols'] > {asked} + 1")


class Modules(unittest.TestCase):
    def test_pure_modules(self):
        site = Site()
        self.addCleanup(site.close)
        page = browser().open(site.address + "/test/modules_test.js")
        self.addCleanup(page.close)
        results = page.evaluate("import('/test/modules_test.js').then((module) => module.run())")
        self.assertGreater(len(results), 20)
        for result in results:
            with self.subTest(result["name"]):
                self.assertIsNone(result["failure"], result["failure"])
        self.assertEqual(page.complaints(), [])
