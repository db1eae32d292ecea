"""The page as the real server serves it: a trade on the XML port is seen, a server that stops and starts again too. Also behind nginx and
haproxy, under a path of theirs, with the configurations of ops/proxy."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from exchange_server import BINARY, ROOT, ExchangeServer, free_ports, wait_until
from support import POLICY, browser

MARKET = '<create><account id="1" balance="100000"/><account id="2" balance="0"/><symbol sym="SPY"><account id="2">500</account></symbol></create>'
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
        page = self.open(exchange)
        page.wait_for("!document.querySelector('#no-symbols').hidden")

        self.assertIn('created sym="SPY"', exchange.request(MARKET)[0])
        page.wait_for("location.hash === '#SPY'")
        exchange.request(BID)
        page.wait_for_count(1, "#ladder .level")
        self.assertEqual(page.text("#ladder .bids .level").split(), ["145.67", "100", "1", "100"])

        self.assertIn("opened", exchange.request(HIT)[0])
        page.wait_for_count(1, "#tape tbody tr")
        self.assertEqual(page.text("#tape tbody tr").split()[1:], ["▼", "sell", "145.67", "40.5"])
        page.wait_for("document.querySelector('#ladder .bids .level').innerText.includes('59.5')")
        page.wait_for("document.querySelector('[data-key=trades] .note').innerText === '1 in all'")

        exchange.request(
            '<transactions id="2"><order sym="SPY" amount="-1000" limit="1"/></transactions>'
        )
        page.wait_for("document.querySelector('#commands').innerText.includes('insufficient')")
        self.assert_clean(page, exchange)
        self.assertEqual(page.failed_requests(), [])
        with urlopen(exchange.address + "/", timeout=60) as answer:  # no scripts of others
            self.assertIn(POLICY, answer.headers["Content-Security-Policy"])

    def test_an_auction_is_shown_with_what_it_would_execute(self):
        exchange = self.start()

        def trade(state):
            exchange.request(f'<create><instrument sym="SPY" trading="{state}"/></create>')

        exchange.request(MARKET)
        page = self.open(exchange)
        trade("auction")
        page.wait_for_count(1, "#symbols a[data-trading=auction]")
        exchange.request(BID)
        exchange.request(HIT.replace('limit="140"', 'type="market"'))
        page.wait_for("document.querySelector('#spread').innerText.includes('40.5 @ 145.67')")
        self.assertEqual(page.texts("#ladder .asks .level"), [])
        for state in ("halted", "open"):
            trade(state)
            page.wait_for_count(1, f"#symbols a[data-trading={state}]")
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
        self.assertFalse(page.evaluate("document.querySelector('#notice').hidden"))

        second = self.start(port=first.port, http_port=first.http_port)
        page.wait_for("document.querySelector('#state').dataset.state !== 'away'")
        for request in (MARKET, BID.replace("145.67", "9.25"), HIT.replace("140", "9")):
            second.request(request)
        page.wait_for("document.querySelector('#ladder .bids .level')?.innerText.includes('9.25')")
        page.wait_for("document.querySelector('#tape tbody tr')?.innerText.includes('9.25')")
        page.wait_for_state("live")
        self.assertTrue(page.evaluate("document.querySelector('#notice').hidden"))
        self.assert_clean(page, second)


NGINX_AROUND = """
daemon off;
user root;
pid {folder}/pid;
error_log stderr error;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {example}
}}
"""
# The example, what stands around it, and the options before its file.
PROXIES = {
    "nginx": ("nginx.conf", NGINX_AROUND, ["-e", "stderr", "-c"]),
    "haproxy": ("haproxy.cfg", "{example}", ["-db", "-q", "-f"]),
}


class BehindAProxy(unittest.TestCase):
    def start(self, name):
        """The server, and the address of a proxy before it."""
        program = shutil.which(name) or shutil.which(name, path="/usr/sbin")
        if not program:
            self.skipTest(f"{name} is not installed")
        exchange = ExchangeServer().start()
        self.addCleanup(exchange.close)
        folder = tempfile.TemporaryDirectory(prefix="exchange-proxy-")
        self.addCleanup(folder.cleanup)
        (port,) = free_ports(1)
        file, around, options = PROXIES[name]
        text = (ROOT / "ops/proxy" / file).read_text()
        for was, now in (
            ("127.0.0.1:8080", f"127.0.0.1:{exchange.http_port}"),
            ("8443", str(port)),
        ):
            self.assertIn(was, text)
            text = text.replace(was, now)
        configuration = Path(folder.name) / "configuration"
        configuration.write_text(around.format(folder=folder.name, example=text))
        process = subprocess.Popen([program, *options, str(configuration)])
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.terminate)
        address = f"http://127.0.0.1:{port}"

        def answers():
            try:
                with urlopen(f"{address}/exchange/healthz", timeout=30):
                    return True
            except (URLError, ConnectionError):
                return False

        wait_until(answers, name)
        return exchange, address

    def test_the_page_works_there_and_others_may_not_post(self):
        for name in PROXIES:
            with self.subTest(name):
                self.check(*self.start(name))

    def check(self, exchange, address):
        exchange.request(MARKET)
        for origin, status in ((address, 200), ("http://evil.example", 403)):
            request = Request(f"{address}/exchange/api/xml", b"<create/>", {"Origin": origin})
            try:
                with urlopen(request, timeout=30) as answer:
                    self.assertEqual(answer.status, status)
            except HTTPError as error:
                self.assertEqual(error.code, status)
                error.close()
        page = browser().open(f"{address}/exchange#SPY")  # redirected to /exchange/
        self.addCleanup(page.close)
        page.wait_for_state("live")
        exchange.request(BID)  # only the WebSocket brings it
        page.wait_for_count(1, "#ladder .level")
        self.assertEqual(page.complaints(), [])
        self.assertEqual(page.failed_requests(), [])
        self.assertIn(address.replace("http", "ws") + "/exchange/ws", page.asked())
