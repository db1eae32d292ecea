"""The Trade view: pages that trade with each other over the real server, and what a lost connection, a reload and a killed server leave."""

import contextlib
import json
import tempfile
import unittest

from exchange_server import BINARY, OPERATOR_KEY, ExchangeServer, free_ports
from support import CHARTS, Site, browser
from test_page import FAKE, symbol

MARKET = """<create><account id="1" balance="1000"/><account id="2" balance="0"/>
    <symbol sym="SPY"><account id="2">500</account></symbol></create>"""


def order(account, amount, limit):
    return f'<transactions id="{account}"><order sym="SPY" amount="{amount}" limit="{limit}"/></transactions>'


class Trader:
    """A page with an account signed in."""

    def __init__(self, page, account=None, key=""):
        self.page = page
        if account:
            self.sign_in(account, key)
            page.wait_for("document.querySelector('#account-state').innerText === 'live'")

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
        self.page.wait_for("document.querySelector('#send').innerText.startsWith('Sign in')")
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
        self.page.wait_for("document.querySelector('#said').innerText.endsWith('is accepted.')")

    def wait_for_text(self, selector, text):
        self.page.wait_for(
            f"document.querySelector({json.dumps(selector)})?.innerText.trim() === {json.dumps(text)}"
        )

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
        """Those of the events shown, oldest first, and that of the newest event had. Earlier executions are no events."""
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


def open_page(test, address, fragment="#trade/SPY", **more):
    page = browser().open(f"{address}/{fragment}", **more)
    test.addCleanup(page.close)
    test.addCleanup(lambda: test.assertEqual(page.complaints(), []))
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
        buyer, seller = self.trader(exchange, "1"), self.trader(exchange, "2")
        buyer.place("buy", "10", "9.5")
        buyer.page.wait_for_count(1, "#own tbody")
        self.assertEqual(buyer.rows("own"), [["▲ buy SPY", "10", "9.5"]])
        buyer.wait_for_text("#free-cash", "905.00")
        self.assertIn("95.00", buyer.page.text("#reserved-cash"))

        seller.page.wait_for_count(1, "#ladder .level")
        seller.page.evaluate("document.querySelector('#ladder .level td').click()")
        limit = "document.querySelector('#ticket').elements.limit.value"
        self.assertEqual(seller.page.evaluate(limit), "9.5")
        seller.place("sell", "4", "9.5")
        for one, side, role in ((buyer, "▲ buy", "maker"), (seller, "▼ sell", "taker")):
            one.page.wait_for_count(1, "#fills tbody tr")
            self.assertEqual(one.rows("fills"), [[f"{side} SPY", "4", "9.5", role]])
        self.assertEqual(buyer.rows("own"), [["▲ buy SPY", "6 of 10", "9.5"]])
        buyer.wait_for_text("#free-shares", "4")
        seller.wait_for_text("#free-shares", "496")
        seller.wait_for_text("#free-cash", "38.00")

        seller.send("sell", "7", kind="market")
        seller.page.wait_for_count(3, "#fills tbody tr")  # the last share finds no buyer
        self.assertEqual(seller.rows("fills")[0][:3], ["▼ sell SPY", "1", "canceled"])
        buyer.page.wait_for_count(0, "#own tbody")
        buyer.wait_for_text("#profit", "0.00")
        buyer.place("buy", "1", "10")
        seller.place("sell", "1", "10")
        buyer.wait_for_text("#profit", "+5.00")  # the 10 shares for 9.5 are worth 10 now
        # It sold them for 9.5; those that it has gain nothing.
        seller.wait_for_text("#profit", "−5.00")
        if CHARTS.is_file():
            data = "Chart.getChart('candles').data.datasets.map(({data}) => data)"
            buyer.page.wait_for(f"{data}[0].length === 3")
            shares = f"{data}[3].reduce((sum, {{shares}}) => sum + shares, 0)"
            self.assertEqual(buyer.page.evaluate(shares), 11)

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
        exchange.request(
            f'{create}<symbol sym="SPY"><account id="1">100</account></symbol></create>'
        )
        trader.wait_for_text("#free-shares", "115")
        trade(1, 25)
        trader.wait_for_text("#profit", "+55.00")
        trader.page.call("Page.reload")
        trader.wait_for_text("#free-shares", "116")
        trader.wait_for_text("#profit", "+55.00")
        self.assertEqual([row[1] for row in trader.rows("fills")], ["1", "5", "10"])

    def test_orders_are_changed_and_canceled(self):
        exchange = self.start()
        trader = self.trader(exchange, "1")
        for limit in ("5", "6", "7"):
            trader.place("buy", "10", limit)
        page = trader.page
        page.wait_for_count(3, "#own tbody")
        page.evaluate("document.querySelector('#own tbody:last-of-type button').click()")
        change = "change-" + page.evaluate("document.querySelector('#own form').id.slice(7)")
        trader.fill(change, limit="600")
        page.wait_for("document.querySelector('[aria-invalid]')")
        self.assertEqual(list(trader.errors()), ["shares"])
        trader.fill(change, shares="8", limit="5.5")
        page.wait_for_count(0, "#own form")
        rows = [["▲ buy SPY", "10", "7.0"], ["▲ buy SPY", "10", "6.0"], ["▲ buy SPY", "8", "5.5"]]
        page.wait_for("document.querySelector('#own').innerText.includes('5.5')")
        self.assertEqual(trader.rows("own"), rows)
        cancel = "document.querySelector('#own tbody button:last-of-type')"
        page.evaluate(f"{cancel}.click()")
        page.wait_for_count(2, "#own tbody")
        self.assertEqual(trader.rows("own"), rows[1:])
        page.evaluate("document.querySelector('#cancel-all').click()")
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
        page.call("Page.reload")
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
        # One order after the other, each as soon as the ticket takes it, while the server is killed.
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

    def test_a_store_with_as_many_events_and_trades_is_noticed_too(self):
        ports = dict(zip(("port", "http_port"), free_ports(2), strict=True))
        exchange = self.start(**ports)
        trader = self.trader(exchange, "1")
        trader.place("buy", "10", "9.5")
        exchange.request(order(2, -1, 9), order(2, -1, 9))
        trader.page.wait_for_count(2, "#fills tbody tr")
        trader.page.wait_for("document.querySelector('#own').innerText.includes('8 of 10')")
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
        for fields, kind, field in (
            (("buy", "1000", "9.5"), "limit", "shares"),
            (("buy", "1", ""), "limit", "limit"),
            (("buy", "6", "12"), "fok", "shares"),
            (("buy", "1", "12"), "post", "limit"),
        ):
            with self.subTest(fields=fields):
                trader.send(*fields, kind=kind)
                trader.page.wait_for(
                    f"document.querySelector('#ticket [name={field}][aria-invalid]')"
                )
                self.assertEqual(list(trader.errors()), [field])
                self.assertEqual(trader.page.evaluate("document.activeElement.name"), field)
        trader.place("buy", "1", "5")
        self.assertEqual(trader.errors(), {})

    def test_accounts_with_keys_need_them(self):
        exchange = self.start("--auth", market=None)
        operator = (
            f'<create key="{OPERATOR_KEY}"><account id="1" balance="9" key="secret of 1"/></create>'
        )
        exchange.request(operator)
        trader = self.trader(exchange, fragment="#trade/")
        for account, key in (("1", ""), ("1", "not its key"), ("7", "secret of 1")):
            trader.sign_in(account, key)
            trader.page.wait_for("document.querySelector('#sign-in [aria-invalid]')")
            self.assertEqual(list(trader.errors()), ["account"])
        trader.sign_in("1", "secret of 1")
        trader.wait_for_text("#free-cash", "9.00")
        trader.page.call("Page.reload")
        trader.wait_for_text("#free-cash", "9.00")
        trader.page.evaluate("document.querySelector('#sign-out').click()")
        trader.page.wait_for("!document.querySelector('#sign-in').hidden")
        trader.page.call("Page.reload")
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
        self.assertEqual(trader.page.evaluate("location.hash"), "#trade/")
        trader.page.evaluate("location.hash = '#sign-in=2:secret%2Dof%2D2'")
        trader.wait_for_text("#free-cash", "20.00")
        trader.page.evaluate("location.hash = '#sign-in=1'")  # not the account from before it
        trader.page.wait_for("document.querySelector('#holdings').hidden")

    def test_the_rules_of_an_account_are_shown_as_the_operator_changes_them(self):
        exchange = self.start()
        exchange.request(order(1, 10, 9.5))
        trader = self.trader(exchange, "1")

        def set_account(attributes):
            exchange.request(f'<create><set-account id="1" {attributes}/></create>')

        self.assertEqual([trader.page.text("#frozen"), trader.page.text("#limits")], ["", ""])
        set_account('orders-max="7" position-max="1000.5"')
        trader.page.wait_for("/7 .*1,000.5 /.test(document.querySelector('#limits').innerText)")
        set_account('access="frozen"')
        frozen = "document.querySelector('#frozen')?.innerText"
        trader.page.wait_for(frozen)
        trader.page.wait_for("document.querySelector('#send').disabled")
        trader.page.call("Page.reload")  # the events alone do not say it
        trader.page.wait_for(frozen)
        trader.page.evaluate("document.querySelector('#cancel-all').click()")
        trader.page.wait_for_count(0, "#own tbody")
        set_account('access="active"')
        trader.wait_for_text("#frozen", "")
        trader.place("buy", "1", "9")

    def test_an_account_whose_key_is_changed_is_signed_out(self):
        exchange = self.start("--auth", market=None)
        create = f'<create key="{OPERATOR_KEY}">'
        exchange.request(f'{create}<account id="1" balance="9" key="secret of 1"/></create>')
        trader = self.trader(exchange, "1", "secret of 1", fragment="#trade/")
        exchange.request(f'{create}<set-key id="1" key="another of 1"/></create>')
        trader.page.wait_for("document.querySelector('#sign-in [aria-invalid]')")
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
        page.wait_for("document.querySelector('#account-state').innerText === 'live'")
        page.wait_for_count(2, "#ladder .level")
        page.press("b", "3", "Tab")
        self.assertEqual(page.evaluate(focus), "limit")
        page.press("ArrowUp", "ArrowUp", "ArrowDown", "Enter")  # along the prices of the book
        page.wait_for_count(1, "#fills tbody tr")
        self.assertEqual(Trader(page).rows("fills"), [["▲ buy SPY", "3", "12", "taker"]])


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

    def signed_in(self):
        site = Site()
        self.addCleanup(site.close)
        setup = f"exchange.symbols = {json.dumps([symbol('SPY', '9.5')])};"
        page = open_page(self, site.address, before=FAKE + setup)
        trader = Trader(page)
        trader.sign_in("1")
        self.wait_for_sent(page, {"account": "1"})
        page.evaluate(f"exchange.send({json.dumps(self.SNAPSHOT)})")
        page.wait_for("document.querySelector('#account-state').innerText === 'live'")
        return trader

    def wait_for_sent(self, page, subscription):
        page.wait_for(
            "exchange.sent.some(({subscribe}) => JSON.stringify(subscribe) === "
            f"JSON.stringify({json.dumps(subscription)}))"
        )

    def sent(self, page, verb):
        return page.evaluate(f"exchange.sent.filter((message) => message.{verb})")

    def test_an_order_without_an_answer_is_sent_again_under_its_reference(self):
        trader = self.signed_in()
        page = trader.page
        trader.send("buy", "10", "9.5")
        page.wait_for("exchange.sent.at(-1).place")
        (first,) = self.sent(page, "place")
        page.evaluate("exchange.sent.length = 0; exchange.sockets.at(-1).close()")
        self.wait_for_sent(page, {"account": "1", "from": 9})
        page.evaluate("exchange.send({type: 'subscribed', account: '1', from: 9, newest: 8})")
        self.assertEqual(self.sent(page, "place"), [first])
        self.assertEqual(self.sent(page, "login")[0]["login"], {"account": "1"})
        busy = {"type": "response", "id": first["id"], "status": 503, "error": "busy"}
        page.evaluate(f"exchange.sent.length = 0; exchange.send({json.dumps(busy)})")
        page.wait_for("exchange.sent.some(({place}) => place)")
        page.call("Page.reload")
        self.wait_for_sent(page, {"account": "1", "from": 9})
        (again,) = self.sent(page, "place")
        self.assertEqual(again["place"], first["place"])
        answer = {"type": "response", "id": again["id"], "status": 200, "order": 5}
        answer["repeated"] = True
        page.evaluate(f"exchange.send({json.dumps(answer)})")
        page.wait_for("document.querySelector('#said').innerText.includes('Order 5')")
        page.call("Page.reload")
        self.wait_for_sent(page, {"account": "1", "from": 9})
        self.assertEqual(self.sent(page, "place"), [])

    def test_events_go_on_arriving_while_the_page_is_hidden(self):
        page = self.signed_in().page
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
