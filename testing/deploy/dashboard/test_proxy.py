"""The page behind nginx and haproxy, under a path of theirs, with the configurations of ops/proxy.
"""

import shutil
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path
from urllib.error import HTTPError, URLError

from exchange_server import BINARY, ROOT, ExchangeServer, free_ports, wait_until
from support import browser
from test_server import BID, MARKET

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
EXAMPLES = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg"}


def example(name, port, server_port):
    """The configuration for this program, with these ports."""
    text = (ROOT / "ops/proxy" / EXAMPLES[name]).read_text()
    assert "8443" in text and "127.0.0.1:8080" in text
    return text.replace("127.0.0.1:8080", f"127.0.0.1:{server_port}").replace("8443", str(port))


def find(name):
    return shutil.which(name) or shutil.which(name, path="/usr/sbin")


def setUpModule():
    if not BINARY.is_file():
        raise unittest.SkipTest(f"{BINARY} is not built")


class BehindAProxy(unittest.TestCase):
    def start(self, name, configure, arguments):
        program = find(name)
        if not program:
            self.skipTest(f"{name} is not installed")
        exchange = ExchangeServer().start()
        self.addCleanup(exchange.close)
        folder = tempfile.TemporaryDirectory(prefix="exchange-proxy-")
        self.addCleanup(folder.cleanup)
        (port,) = free_ports(1)
        configuration = Path(folder.name) / "configuration"
        configuration.write_text(configure(example(name, port, exchange.http_port), folder.name))
        process = subprocess.Popen([program, *arguments, str(configuration)])
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.terminate)
        address = f"http://127.0.0.1:{port}"

        def answers():
            try:
                with urllib.request.urlopen(f"{address}/exchange/healthz", timeout=30):
                    return True
            except (URLError, ConnectionError):
                return False

        wait_until(answers, name)
        return exchange, address

    def check(self, exchange, address):
        exchange.request(MARKET)
        for origin, status in ((address, 200), ("http://evil.example", 403)):
            request = urllib.request.Request(
                f"{address}/exchange/api/xml", b"<create/>", {"Origin": origin}
            )
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
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

    def test_nginx(self):
        self.check(
            *self.start(
                "nginx",
                lambda text, folder: NGINX_AROUND.format(folder=folder, example=text),
                ["-e", "stderr", "-c"],
            )
        )

    def test_haproxy(self):
        self.check(*self.start("haproxy", lambda text, folder: text, ["-db", "-q", "-f"]))
