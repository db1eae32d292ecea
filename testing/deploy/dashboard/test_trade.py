"""The Trade view: pages that trade with each other over the real server, and what a lost
connection, a reload and a killed server leave."""

import contextlib
import json
import tempfile
import unittest

from exchange_server import BINARY, OPERATOR_KEY, ExchangeServer, free_ports
from support import CHARTS, Site, browser, layouts
from test_page import FAKE, symbol, trade

MARKET = """<create><account id="1" balance="1000"/><account id="2" balance="0"/>
    <symbol sym="SPY"><account id="2">500</account></symbol></create>"""


def order(account, amount, limit):
    return (
        f'<transactions id="{account}"><order sym="SPY" amount="{amount}"'
        f' limit="{limit}"/></transactions>'
    )


class Trader:
    """A page with an account signed in."""

    def __init__(self, page, account=None, key=""):
        self.page = page
        if account:
            self.sign_in(account, key)
            page.wait_for_text("#account-state", "live")

    def fill(self, form, **fields):
        self.page.evaluate(
            f"""(() => {{
              const form = document.querySelector('#{form}');
              for (const [name, value] of Object.entries({json.dumps(fields)})) form.elements[name].value = value;
              form.dispatchEvent(new Event("input", {{bubbles: true}}));
              form.requestSubmit();
            }})()"""
        )

    def sign_in(self, account, key=""):
        self.page.wait_for_part("#send", "Sign in")
        self.fill("sign-in", account=account, key=key)

    def send(self, side, shares, limit="", **more):
        self.page.wait_for("!document.querySelector('#send').disabled")
        self.fill(
            "ticket",
            side=side,
            shares=shares,
            limit=limit,
            **{"kind": "limit", "stp": "none"} | more,
        )

    def place(self, *fields, **more):
        self.send(*fields, **more)
        self.page.wait_for_part("#said", "is accepted.")

    def wait_for_text(self, selector, text):
        self.page.wait_for_text(selector, text)

    def errors(self):
        """The text beside each field that has an error."""
        return self.page.evaluate(
            """Object.fromEntries([...document.querySelectorAll("[aria-invalid]")].map((field) =>
                [field.name, document.getElementById(field.getAttribute("aria-describedby")).innerText]))"""
        )

    def rows(self, table):
        """The words of each row, without times and buttons."""
        rows = [text.split("\t") for text in self.page.texts(f"#{table} tbody tr")]
        return [row[1:] if table == "fills" else row[:-1] for row in rows]

    def numbers(self):
        """Those of the events shown, oldest first, and that of the newest event had. Earlier
        executions are no events."""
        rows = (
            "[...document.querySelectorAll('#fills tbody tr')].filter((row) => row.dataset.number)"
        )
        shown = f"{rows}.map((row) => Number(row.dataset.number)).reverse()"
        return self.page.evaluate(
            f"[{shown}, Number(document.querySelector('#who').dataset.number)]"
        )

    @contextlib.contextmanager
    def is_away(self):
        """The page finds no server meanwhile."""
        self.page.evaluate(
            "window.realWebSocket = WebSocket;"
            "window.WebSocket = class { constructor() { throw new Error('away'); } }"
        )
        yield
        self.page.evaluate("window.WebSocket = realWebSocket")

    def wait_for_events(self, number):
        self.page.wait_for(f"Number(document.querySelector('#who').dataset.number) >= {number}")


def open_page(test, address, fragment="#trade/SPY", complaints=(), **more):
    page = browser().open(f"{address}/{fragment}", **more)
    test.addCleanup(page.close)
    test.addCleanup(lambda: test.assertEqual(page.complaints(), list(complaints)))
    page.wait_for("document.querySelector('#state')?.dataset.state !== 'connecting'")
    return page


class Trading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not BINARY.is_file():
            raise unittest.SkipTest(f"{BINARY} is not built")

    def start(self, *arguments, market=MARKET, **more):
        exchange = ExchangeServer(*arguments, **more).start()
        self.addCleanup(exchange.close)
        if market:
            self.assertNotIn("<error", exchange.request(market)[0])
        return exchange

    def trader(self, exchange, account=None, key="", **more):
        return Trader(open_page(self, exchange.address, **more), account, key)

    def test_two_pages_trade_with_each_other_and_both_see_it(self):
        exchange = self.start()
        buyer, seller = self.trader(exchange, "1"), self.trader(exchange, "2", dark=True)
        buyer.place("buy", "10", "9.5")
        buyer.page.wait_for_count(1, "#own tbody")
        self.assertEqual(buyer.rows("own"), [["▲ buy SPY", "10", "9.5"]])
        buyer.wait_for_text("#free-cash", "905.00")
        self.assertEqual(buyer.page.text("#reserved-cash"), "reserved: 95.00")

        seller.page.wait_for_count(1, "#ladder .level")
        seller.page.click("#ladder .level td")
        limit = "document.querySelector('#ticket').elements.limit.value"
        self.assertEqual(seller.page.evaluate(limit), "9.5")
        seller.place("sell", "4", "9.5")
        for one, side, role in ((buyer, "▲ buy", "maker"), (seller, "▼ sell", "taker")):
            one.page.wait_for_count(1, "#fills tbody tr")
            self.assertEqual(one.rows("fills"), [[f"{side} SPY", "4", "9.5", role]])
            one.page.wait_for("document.querySelector('#fills-said').innerText !== ''")
        self.assertEqual(buyer.page.text("#fills-said"), "New: bought 4 SPY at 9.5.")
        self.assertEqual(buyer.rows("own"), [["▲ buy SPY", "6 of 10", "9.5"]])
        buyer.wait_for_text("#free-shares", "4")
        seller.wait_for_text("#free-shares", "496")
        seller.wait_for_text("#free-cash", "38.00")

        seller.send("sell", "7", kind="market")
        seller.page.wait_for_count(3, "#fills tbody tr")  # the last share finds no buyer
        self.assertEqual(
            seller.rows("fills")[:2],
            [
                ["▼ sell SPY", "1", "canceled", "not filled at once"],
                ["▼ sell SPY", "6", "9.5", "taker"],
            ],
        )
        buyer.page.wait_for_count(0, "#own tbody")
        buyer.wait_for_text("#profit", "0.00")
        buyer.place("buy", "1", "10")
        seller.place("sell", "1", "10")
        buyer.wait_for_text("#profit", "+5.00")  # the 10 shares for 9.5 are worth 10 now
        seller.wait_for_text(
            "#profit", "−5.00"
        )  # which it sold for 9.5; those that it has gain nothing
        self.assertEqual(buyer.page.text("#profit-range"), "low 0.00, high 5.00")
        line = "document.querySelector('#profit-curve .line').getAttribute('d').split('L').length"
        self.assertGreaterEqual(buyer.page.evaluate(line), 3)
        for one in (buyer, seller):
            if CHARTS.is_file():
                data = "Chart.getChart('candles').data.datasets.map(({data}) => data)"
                one.page.wait_for(f"{data}[0].length === 3")
                shares = f"{data}[3].reduce((sum, {{shares}}) => sum + shares, 0)"
                one.page.wait_for(f"{shares} === 11")

    def test_a_profit_is_that_of_all_trades_without_what_was_given(self):
        exchange = self.start("--auth", market=None)
        create = f'<create key="{OPERATOR_KEY}">'
        accounts = "".join(
            f'<account id="{account}" balance="1000" key="käse of {account}"/>' for account in "12"
        )
        exchange.request(
            f'{create}{accounts}<symbol sym="SPY"><account id="2">500</account></symbol></create>'
        )

        def trade(shares, limit):
            for account, sign in (("2", "-"), ("1", "")):
                exchange.request(
                    f'<transactions id="{account}" key="käse of {account}"><order sym="SPY" '
                    f'amount="{sign}{shares}" limit="{limit}"/></transactions>'
                )

        trade(10, 20)
        trade(5, 24)
        trader = self.trader(exchange, "1", "käse of 1")
        trader.wait_for_text("#profit", "+40.00")  # 10 for 20 are worth 24 each
        trader.page.wait_for_part("#profit-since", "since")
        exchange.request(
            f'{create}<symbol sym="SPY"><account id="1">100</account></symbol></create>'
        )
        trader.wait_for_text("#free-shares", "115")
        trade(1, 25)
        trader.wait_for_text("#profit", "+55.00")
        trader.page.reload()
        trader.wait_for_text("#free-shares", "116")
        trader.wait_for_text("#profit", "+55.00")
        self.assertEqual(trader.page.text("#profit-range"), "low 0.00, high 55.00")
        self.assertEqual([row[1] for row in trader.rows("fills")], ["1", "5", "10"])

    def test_a_market_order_that_an_auction_collects_can_be_given_a_limit(self):
        exchange = self.start()
        exchange.request(
            '<create><instrument sym="SPY" trading="auction" price-max="20"/></create>'
        )
        trader = self.trader(exchange, "1")
        trader.send("buy", "3", kind="market")
        page = trader.page
        page.wait_for_count(1, "#own tbody")
        self.assertEqual(trader.rows("own"), [["▲ buy SPY", "3", "market"]])
        page.click("#own button")
        change = page.evaluate("document.querySelector('#own form').id")
        trader.fill(change, shares="2")
        page.wait_for("document.querySelector('#own [aria-invalid]')")
        self.assertEqual(trader.errors(), {"limit": "Limit is empty."})
        trader.fill(change, limit="5")
        page.wait_for_count(0, "#own form")
        page.wait_for_part("#own", "\t5")
        self.assertEqual(trader.rows("own"), [["▲ buy SPY", "2", "5"]])
        trader.wait_for_text("#reserved-cash", "reserved: 10.00")

    def test_the_view_opens_at_its_top_and_a_choice_scrolls_the_list_alone(self):
        exchange = self.start()
        symbols = "".join(f'<symbol sym="A{number}"/>' for number in range(60))
        exchange.request(f"<create>{symbols}</create>")
        for width, height in ((1280, 800), (390, 844)):
            with self.subTest(width=width):
                page = open_page(self, exchange.address, "#A59", width=width, height=height)
                page.wait_for_count(61, "#symbols tbody tr")
                page.click("#to-trade")
                page.wait_for("document.body.dataset.view === 'trade'")
                page.evaluate(
                    "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
                )
                self.assertEqual(page.evaluate("scrollY"), 0)
                page.evaluate("location.hash = '#trade/A40'")
                page.wait_for_text("#symbols .chosen a", "A40")
                self.assertEqual(page.evaluate("scrollY"), 0)
                self.assertTrue(
                    page.evaluate(
                        """(() => {
                          const box = (element) => element.getBoundingClientRect();
                          const row = document.querySelector("#symbols .chosen"), list = row.closest(".scroll");
                          return box(row).top >= box(list).top && box(row).bottom <= box(list).bottom + 1;
                        })()"""
                    )
                )

    def test_orders_are_changed_and_canceled(self):
        exchange = self.start()
        trader = self.trader(exchange, "1")
        for limit in ("5", "6", "7"):
            trader.place("buy", "10", limit)
        page = trader.page
        page.wait_for_count(3, "#own tbody")
        page.click("#own tbody:last-of-type button")
        change = "change-" + page.evaluate("document.querySelector('#own form').id.slice(7)")
        trader.fill(change, limit="600")
        page.wait_for("document.querySelector('[aria-invalid]')")
        self.assertEqual(trader.errors(), {"shares": "Not enough free cash."})
        trader.fill(change, shares="8", limit="5.5")
        trader.wait_for_text("#own-said", "Order 1 is changed.")
        page.wait_for_count(0, "#own form")
        rows = [["▲ buy SPY", "10", "7.0"], ["▲ buy SPY", "10", "6.0"], ["▲ buy SPY", "8", "5.5"]]
        page.wait_for_part("#own", "5.5")
        self.assertEqual(trader.rows("own"), rows)
        cancel = "document.querySelector('#own tbody button:last-of-type')"
        page.evaluate(f"{cancel}.click()")
        page.wait_for_count(2, "#own tbody")
        self.assertEqual(trader.rows("own"), rows[1:])
        page.click("#cancel-all")
        trader.wait_for_text("#own-said", "2 orders are canceled.")
        page.wait_for_count(0, "#own tbody")
        trader.wait_for_text("#free-cash", "1,000.00")
        self.assertEqual(trader.rows("fills"), [])  # what was asked for is no news

    def test_a_page_that_was_away_has_each_event_once(self):
        exchange = self.start()
        trader = self.trader(exchange, "1")
        page = trader.page
        trader.place("buy", "10", "9.5")
        exchange.request(order(2, -1, 9))
        page.wait_for_count(1, "#fills tbody tr")
        page.call("Page.navigate", {"url": "about:blank"})
        exchange.request(order(2, -2, 9))
        page.go(exchange.address + "/#trade/SPY")
        page.wait_for_count(2, "#fills tbody tr")
        page.reload()
        exchange.request(order(2, -3, 9))
        page.wait_for_count(3, "#fills tbody tr")
        self.assertEqual(trader.numbers(), [[3, 4, 5], 5])
        self.assertEqual([row[1] for row in trader.rows("fills")], ["3", "2", "1"])
        self.assertEqual(trader.rows("own"), [["▲ buy SPY", "4 of 10", "9.5"]])
        trader.wait_for_text("#profit", "0.00")

        page.close()
        again = self.trader(exchange, "1")  # another tab knows nothing of the first
        self.assertEqual(again.rows("own"), [["▲ buy SPY", "4 of 10", "9.5"]])
        again.page.wait_for_count(3, "#fills tbody tr")  # the server knows
        self.assertEqual(again.numbers(), [[], 5])
        exchange.request(order(2, -4, 9))
        again.page.wait_for_count(4, "#fills tbody tr")
        self.assertEqual(again.numbers(), [[6], 6])
        self.assertEqual([row[1] for row in again.rows("fills")], ["4", "3", "2", "1"])
        again.page.wait_for_count(0, "#own tbody")

    def test_a_killed_server_comes_back_and_each_order_and_execution_counts_once(self):
        folder = tempfile.TemporaryDirectory(prefix="exchange-trade-")
        self.addCleanup(folder.cleanup)
        port, http_port = free_ports(2)
        at = {"store": f"sqlite:{folder.name}/exchange.db", "port": port, "http_port": http_port}
        exchange = self.start(**at)
        exchange.request(order(2, -500, 2))
        trader = self.trader(exchange, "1")
        page, wanted = trader.page, 60
        # One order after the other, each as soon as the ticket takes it, while the server is
        # killed.
        page.evaluate(
            f"""window.sent = 0;
            window.going = setInterval(() => {{
              const form = document.querySelector("#ticket");
              if (document.querySelector("#send").disabled || form.elements.shares.value) return;
              if (window.sent === {wanted}) return clearInterval(window.going);
              ++window.sent;
              Object.assign(form.elements.shares, {{value: "1"}});
              Object.assign(form.elements.limit, {{value: "2"}});
              form.requestSubmit();
            }}, 1)"""
        )
        for part in (1, 2):
            page.wait_for(f"window.sent > {wanted // 3 * part}")
            exchange.kill()
            page.wait_for("document.querySelector('#send').disabled")
            exchange = self.start(market=None, **at)
        page.wait_for(
            f"window.sent === {wanted} && !document.querySelector('#ticket').elements.shares.value"
        )
        trader.wait_for_events(1 + 2 * wanted)
        page.wait_for_count(wanted, "#fills tbody tr")
        shown, newest = trader.numbers()
        self.assertEqual((shown, newest), (list(range(3, 3 + 2 * wanted, 2)), 1 + 2 * wanted))
        trader.wait_for_text("#free-shares", str(wanted))
        trader.wait_for_text("#free-cash", "880.00")
        self.assertEqual(trader.errors(), {})

    def test_a_store_in_the_place_of_another_with_as_many_events_and_trades_is_noticed(self):
        ports = dict(zip(("port", "http_port"), free_ports(2), strict=True))
        exchange = self.start(**ports)
        trader = self.trader(exchange, "1")
        trader.place("buy", "10", "9.5")
        exchange.request(order(2, -1, 9), order(2, -1, 9))
        trader.page.wait_for_count(2, "#fills tbody tr")
        trader.page.wait_for_part("#own", "8 of 10")
        exchange.kill()
        with trader.is_away():  # until account 1 has as many events, and more trades
            exchange = self.start(**ports)
            follower = self.trader(exchange, "1")
            for shares in (1, 2, 3):
                exchange.request(order(2, -shares, 5), order(1, shares, 5))
            follower.page.wait_for_count(3, "#fills tbody tr")
            follower.page.close()
        trader.wait_for_text("#free-cash", "970.00")
        trader.page.wait_for_count(3, "#fills tbody tr")
        self.assertEqual(trader.rows("own"), [])
        self.assertEqual(
            [row[1:3] for row in trader.rows("fills")], [["3", "5"], ["2", "5"], ["1", "5"]]
        )
        trader.wait_for_text("#profit", "0.00")
        if CHARTS.is_file():
            data = "Chart.getChart('candles').data.datasets.map(({data}) => data)"
            shares = f"{data}[3].reduce((sum, {{shares}}) => sum + shares, 0)"
            trader.page.wait_for(f"{shares} === 6")

    def test_errors_stand_beside_their_fields(self):
        exchange = self.start()
        exchange.request(order(2, -5, 12))
        trader = self.trader(exchange, "1")
        none = "Shares is empty."
        for fields, more, errors in (
            (("buy", "1000", "9.5"), {}, {"shares": "Not enough free cash."}),
            (("sell", "1", "9.5"), {}, {"shares": "Not enough free shares."}),
            (("buy", "", "9.5"), {}, {"shares": none}),
            (
                ("buy", "1e3", "9.5"),
                {},
                {"shares": "Shares is not a plain decimal number, such as 1234.5."},
            ),
            (("buy", "1", ""), {}, {"limit": "Limit is empty."}),
            (("buy", "1", "0"), {}, {"limit": "Limit must be above zero."}),
            (("buy", "6", "12"), {"kind": "fok"}, {"shares": "It cannot be executed in full now."}),
            (
                ("buy", "1", "12"),
                {"kind": "post"},
                {"limit": "It would be executed at once, so it was not posted."},
            ),
        ):
            with self.subTest(errors=errors):
                trader.send(*fields, **more)
                trader.page.wait_for(
                    f"document.querySelector('#ticket [name={next(iter(errors))}][aria-invalid]')"
                )
                self.assertEqual(trader.errors(), errors)
                focus = trader.page.evaluate("document.activeElement.name")
                self.assertEqual(focus, next(iter(errors)))
        trader.place("buy", "1", "5")
        self.assertEqual(trader.errors(), {})

    def test_accounts_with_keys_need_them(self):
        exchange = self.start("--auth", market=None)
        operator = (
            f'<create key="{OPERATOR_KEY}"><account id="1" balance="9" key="secret of 1"/></create>'
        )
        exchange.request(operator)
        unknown = {"account": "There is no such account, or the key is not its key."}
        trader = self.trader(exchange, fragment="#trade/")
        for account, key in (("1", ""), ("1", "not its key"), ("7", "secret of 1")):
            trader.sign_in(account, key)
            trader.page.wait_for("document.querySelector('#sign-in [aria-invalid]')")
            self.assertEqual(trader.errors(), unknown)
        trader.sign_in("1", "secret of 1")
        trader.wait_for_text("#free-cash", "9.00")
        trader.page.reload()
        trader.wait_for_text("#free-cash", "9.00")
        trader.page.click("#sign-out")
        trader.page.wait_for("!document.querySelector('#sign-in').hidden")
        trader.page.reload()
        trader.page.wait_for("document.querySelector('#state')?.dataset.state === 'live'")
        self.assertFalse(trader.page.evaluate("document.querySelector('#sign-in').hidden"))

    def test_a_link_signs_in_and_leaves_no_key_in_the_address(self):
        exchange = self.start("--auth", market=None)
        for account in "12":
            exchange.request(
                f'<create key="{OPERATOR_KEY}"><account id="{account}" balance="{account}0" '
                f'key="secret-of-{account}"/></create>'
            )
        trader = self.trader(exchange, fragment="#sign-in=1:secret-of-1")
        trader.wait_for_text("#free-cash", "10.00")
        trader.page.wait_for("location.hash === '#trade/'")
        trader.page.wait_for_part("#by-link", "history now has the link")
        trader.page.evaluate("location.hash = '#sign-in=2:secret%2Dof%2D2'")
        trader.wait_for_text("#free-cash", "20.00")
        trader.page.evaluate("location.hash = '#sign-in=1'")  # not the account from before it
        trader.page.wait_for_part("#signed-said", "damaged")
        trader.page.wait_for("document.querySelector('#holdings').hidden")
        self.assertTrue(trader.page.evaluate("document.querySelector('#by-link').hidden"))

    def test_a_link_without_a_key_signs_in_where_there_are_no_keys(self):
        exchange = self.start()
        trader = self.trader(exchange, fragment="#sign-in=1:")
        trader.wait_for_text("#free-cash", "1,000.00")
        self.assertTrue(trader.page.evaluate("document.querySelector('#by-link').hidden"))

    def test_the_rules_of_an_account_are_shown_as_the_operator_changes_them(self):
        exchange = self.start()
        exchange.request(order(1, 10, 9.5))
        trader = self.trader(exchange, "1", width=360, height=740)

        def set_account(attributes):
            exchange.request(f'<create><set-account id="1" {attributes}/></create>')

        self.assertEqual([trader.page.text("#frozen"), trader.page.text("#limits")], ["", ""])
        frozen = (
            "The operator has frozen this account: orders and changes are refused, cancels work."
        )
        limits = "At most 7 open orders, 1 order a second, 1,000.5 shares of a symbol."
        set_account('orders-max="7" orders-per-second-max="1" position-max="1000.5"')
        trader.wait_for_text("#limits", limits)
        set_account('access="frozen"')
        trader.wait_for_text("#frozen", frozen)
        trader.wait_for_text("#send", "Account is frozen")
        self.assertTrue(trader.page.evaluate("document.querySelector('#send').disabled"))
        self.assertEqual(trader.page.evaluate("document.documentElement.scrollWidth"), 360)
        trader.page.click("#own tbody button")
        trader.page.evaluate("document.querySelector('#own .change form').requestSubmit()")
        trader.wait_for_text("#own-said", "The operator has frozen this account.")
        trader.page.reload()  # the events alone do not say it
        trader.wait_for_text("#frozen", frozen)
        trader.page.click("#cancel-all")
        trader.page.wait_for_count(0, "#own tbody")
        set_account('access="active" role="operator" orders-max="0" orders-per-second-max="0"')
        trader.wait_for_text("#frozen", "")
        trader.wait_for_text(
            "#limits",
            "At most 1,000.5 shares of a symbol. It may do what the operator does.",
        )
        trader.place("buy", "1", "9")

    def test_an_account_whose_key_is_changed_is_signed_out(self):
        exchange = self.start("--auth", market=None)
        create = f'<create key="{OPERATOR_KEY}">'
        exchange.request(f'{create}<account id="1" balance="9" key="secret of 1"/></create>')
        trader = self.trader(exchange, "1", "secret of 1", fragment="#trade/")
        exchange.request(f'{create}<set-key id="1" key="another of 1"/></create>')
        trader.page.wait_for("document.querySelector('#sign-in [aria-invalid]')")
        self.assertEqual(
            trader.errors(),
            {"account": "The key of this account was changed or revoked: sign in with its key."},
        )
        trader.sign_in("1", "another of 1")
        trader.wait_for_text("#free-cash", "9.00")

    def test_the_keyboard_is_enough(self):
        exchange = self.start()
        exchange.request(order(2, -5, 12), order(2, -5, 13))
        page = open_page(self, exchange.address)
        page.call("Emulation.setFocusEmulationEnabled", {"enabled": True})
        focus = "document.activeElement.name ?? document.activeElement.id"
        while page.evaluate(focus) != "account":
            page.press("Tab")
        page.press("1", "Enter")
        page.wait_for_text("#account-state", "live")
        page.wait_for_count(2, "#ladder .level")
        page.press("s", "7", "b")  # the second letter is typed into the field
        self.assertEqual(
            page.evaluate("document.querySelector('#ticket').elements.shares.value"), "7b"
        )
        page.press("Escape")
        page.evaluate("document.activeElement.blur()")
        page.press("b", "3", "Tab")
        self.assertEqual(page.evaluate(focus), "limit")
        page.press("ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown")
        page.press("Enter")
        page.wait_for_count(1, "#fills tbody tr")
        self.assertEqual(Trader(page).rows("fills"), [["▲ buy SPY", "3", "12", "taker"]])
        page.evaluate("document.activeElement.blur()")
        page.press("b", "Tab", "ArrowUp")
        self.assertEqual(page.evaluate(focus), "limit")
        page.evaluate("document.activeElement.blur()")
        page.press("b", "2", "Tab", "11", "Enter")
        page.wait_for_count(1, "#own tbody")
        while (
            page.evaluate("document.activeElement.getAttribute('aria-label')") != "Cancel order 4"
        ):
            page.press("Tab")
        page.press("Enter")
        page.wait_for_count(0, "#own tbody")


class TradeAlone(unittest.TestCase):
    """The page with a server that a test invents."""

    SNAPSHOT = {
        "type": "account",
        "number": 8,
        "account": "1",
        "balance": "1000",
        "reserved": "19",
        "positions": [{"symbol": "SPY", "shares": "5", "reserved": "0"}],
        "open_orders": 1,
        "orders": [
            {"order": 3, "symbol": "SPY", "side": "buy", "shares": "2", "limit": "9.5", "open": "2"}
        ],
    }

    def open(self, fragment="#trade/SPY", **more):
        site = Site()
        self.addCleanup(site.close)
        setup = f"exchange.symbols = {json.dumps([symbol('SPY', '9.5')])};"
        return open_page(self, site.address, fragment, before=FAKE + setup, **more)

    def sign_in(self, page, snapshot=SNAPSHOT):
        trader = Trader(page)
        trader.sign_in("1")
        self.wait_for_sent(page, {"account": "1"})
        page.evaluate(f"exchange.send({json.dumps(snapshot)})")
        page.wait_for_text("#account-state", "live")
        return trader

    def wait_for_sent(self, page, subscription):
        page.wait_for(
            "exchange.sent.some(({subscribe}) => JSON.stringify(subscribe) === "
            f"JSON.stringify({json.dumps(subscription)}))"
        )

    def sent(self, page, verb):
        return page.evaluate(f"exchange.sent.filter((message) => message.{verb})")

    def break_connection(self, page):
        page.evaluate("exchange.sent.length = 0; exchange.sockets.at(-1).close()")
        self.wait_for_sent(page, {"account": "1", "from": 9})
        page.evaluate("exchange.send({type: 'subscribed', account: '1', from: 9, newest: 8})")

    def test_an_order_without_an_answer_is_sent_again_under_its_reference(self):
        page = self.open()
        trader = self.sign_in(page)
        trader.send("buy", "10", "9.5")
        page.wait_for("exchange.sent.at(-1).place")
        (first,) = self.sent(page, "place")
        self.break_connection(page)
        self.assertEqual(self.sent(page, "place"), [first])
        self.assertEqual(self.sent(page, "login")[0]["login"], {"account": "1"})
        busy = {"type": "response", "id": first["id"], "status": 503, "error": "busy"}
        page.evaluate(f"exchange.sent.length = 0; exchange.send({json.dumps(busy)})")
        page.wait_for("exchange.sent.some(({place}) => place)")
        page.reload()
        self.wait_for_sent(page, {"account": "1", "from": 9})
        (again,) = self.sent(page, "place")
        self.assertEqual(again["place"], first["place"])
        answer = {
            "type": "response",
            "id": again["id"],
            "status": 200,
            "order": 5,
            "repeated": True,
        }
        page.evaluate(f"exchange.send({json.dumps(answer)})")
        trader.wait_for_text("#said", "Order 5 had arrived before the connection broke.")
        page.reload()
        self.wait_for_sent(page, {"account": "1", "from": 9})
        self.assertEqual(self.sent(page, "place"), [])

    def test_an_order_that_has_not_arrived_may_still_arrive(self):
        page = self.open()
        trader = self.sign_in(page)
        trader.send("buy", "10", "9.5")
        page.wait_for("exchange.sent.at(-1).place")
        (first,) = self.sent(page, "place")
        page.evaluate("const now = Date.now; Date.now = () => now() - 3_600_000")  # set back
        self.break_connection(page)
        self.assertEqual(self.sent(page, "place"), [])
        (query,) = self.sent(page, "query")
        self.assertEqual(query["query"], {"order": "ref:" + first["place"]["ref"]})
        answer = {"type": "response", "id": query["id"], "status": 404, "code": "unknown_order"}
        page.evaluate(f"exchange.send({json.dumps(answer)})")
        page.wait_for_part("#said", "may still arrive")
        event = {"number": 9, "event": "opened", "order": 5, "ref": first["place"]["ref"]}
        event |= {"symbol": "SPY", "side": "buy", "shares": "10", "limit": "9.5", "open": "10"}
        event |= {"balance": "905", "position": "5", "time_us": 1}
        page.evaluate(
            f"exchange.send({json.dumps({'type': 'events', 'account': '1', 'events': [event]})})"
        )
        trader.wait_for_text("#said", "Order 5 has arrived after all.")

    def test_what_is_not_known_is_not_called_empty(self):
        page = self.open()
        page.wait_for_part("#send", "Sign in")
        for table in ("own", "fills", "positions"):
            self.assertEqual(page.text(f"#no-{table}"), "Shown after the sign-in.")
        self.assertEqual(page.text("#spread"), "–")
        if CHARTS.is_file():
            self.assertEqual(page.text("#candles-empty"), "Waiting for the trades …")
        self.sign_in(page, {**self.SNAPSHOT, "positions": [], "orders": []})
        page.evaluate("exchange.snapshot('SPY', 1, [], [])")
        page.wait_for_text("#spread", "empty")
        self.assertEqual(page.text("#no-own"), "No open orders.")
        self.assertEqual(page.text("#no-positions"), "No shares.")
        if CHARTS.is_file():
            page.wait_for_text("#candles-empty", "No trade yet.")
        page.evaluate("exchange.down = true; exchange.sockets.at(-1).close()")
        page.wait_for_text("#spread", "–")

    def test_another_request_without_an_answer_is_said_to_be_unknown(self):
        page = self.open()
        trader = self.sign_in(page)
        page.click("#own tbody button:last-of-type")
        page.wait_for("exchange.sent.at(-1).cancel")
        self.break_connection(page)
        page.wait_for_part("#own-said", "broke before the answer")
        self.assertEqual(self.sent(page, "cancel"), [])
        self.assertEqual(trader.rows("own"), [["▲ buy SPY", "2", "9.5"]])

    def test_events_go_on_arriving_while_the_page_is_hidden(self):
        page = self.open()
        self.sign_in(page)
        page.evaluate(
            """Object.defineProperty(document, "hidden", {configurable: true, get: () => true});
            document.dispatchEvent(new Event("visibilitychange"))"""
        )
        event = {"number": 9, "event": "executed", "order": 3, "symbol": "SPY", "side": "buy"}
        event |= {"shares": "2", "price": "9.5", "open": "0", "role": "maker"}
        event |= {"balance": "1000", "position": "7", "time_us": 1}
        events = {"type": "events", "account": "1", "events": [event]}
        page.evaluate(f"exchange.send({json.dumps(events)}); delete document.hidden")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.wait_for_count(1, "#fills tbody tr")
        self.assertEqual(page.evaluate("exchange.sockets.length"), 1)

    def test_no_layout_overflows(self):
        long, largest = "X" * 32, "92233720367.99999999"
        last = trade(1, largest, largest, "sell")
        own = {
            "symbol": long,
            "side": "buy",
            "shares": largest,
            "limit": largest,
            "open": "1.00000001",
        }
        snapshot = {
            **self.SNAPSHOT,
            "balance": "1000000000000000000000.9999999999999999",
            "positions": [{"symbol": long, "shares": largest, "reserved": largest}],
            "orders": [{"order": 10**12, **own}, {"order": 2, **own, "side": "sell"}],
            "role": "operator",
            "access": "frozen",
            "orders_max": 2**63 - 1,
            "orders_per_second_max": 2**63 - 1,
            "position_max": largest,
        }
        fill = {**own, "event": "executed", "price": largest, "role": "maker", "time_us": 1}
        fill |= {"number": 9, "order": 2, "balance": snapshot["balance"], "position": largest}
        for screen, sizes in layouts():
            page = self.open("#trade/" + long, **screen)
            self.sign_in(page, snapshot)
            page.evaluate(
                f"""exchange.snapshot("{long}", 1, [["{largest}", "{largest}", 1]], [], [{json.dumps(last)}]);
                    exchange.send({{type: "events", account: "1", events: [{json.dumps(fill)}]}})"""
            )
            page.wait_for_count(1, "#fills tbody tr")
            page.click("#own tbody button")
            for width, height in sizes:
                with self.subTest(width=width, dark=screen["dark"]):
                    page.wait_for_no_overflow(width, height)

    def test_it_works_without_the_chart_library(self):
        site = Site(charts=False)
        self.addCleanup(site.close)
        page = open_page(self, site.address, "#trade/SPY", before=FAKE)
        self.sign_in(page)
        page.evaluate("exchange.snapshot('SPY', 1, [], [])")
        page.wait_for_part("#candles-empty", "Chart.js")
