"""What the tests of the dashboard share: the browser, and the page's files over HTTP."""

import atexit
import os
import threading
import unittest
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from browser import Browser, find_browser

TESTS = Path(__file__).resolve().parent
PROJECT = TESTS.parents[2]
PAGE = PROJECT / "server" / "web" / "page"
CHARTS = Path(os.environ.get("CHART_JS", "/usr/share/javascript/chart.js/chart.min.js"))
POLICY = "default-src 'self'"  # as the server sends it

# Sizes of windows: phones, a laptop, walls.
SIZES = [(360, 740), (390, 844), (768, 1024), (1000, 700), (1280, 800), (1920, 1080), (3840, 2160)]

_browser = None


def browser():
    """The one browser of all tests; skips where there is none."""
    global _browser
    if _browser is None:
        found = find_browser()
        if not found:
            raise unittest.SkipTest("no chromium, chromium-browser or google-chrome is installed")
        started = Browser(found)
        try:
            started.call("Browser.getVersion")
        except RuntimeError as error:  # some systems have a stub in its place
            started.close()
            raise unittest.SkipTest(f"{found} cannot be driven: {error}") from None
        atexit.register(started.close)
        _browser = started
    return _browser


def layouts():
    """For each theme: how a page is opened, and the sizes that its window then has."""
    for dark, sizes in ((False, SIZES), (True, SIZES[::-1])):
        width, height = sizes[0]
        yield {"width": width, "height": height, "dark": dark}, sizes


class Site:
    """The page's own files and those of the tests, and nothing else."""

    def __init__(self, charts=True):
        self.missing = missing = set()  # paths that a test makes fail

        class Handler(SimpleHTTPRequestHandler):
            def translate_path(self, path):
                name = path.split("?")[0].lstrip("/") or "index.html"
                name = "leaderboard.html" if name == "leaderboard" else name
                if name in missing or "/" in name.removeprefix("test/"):
                    return "/no/such/file"
                if name == "chart.min.js" and charts:
                    return str(CHARTS)
                return str(TESTS / name[5:] if name.startswith("test/") else PAGE / name)

            def end_headers(self):
                self.send_header("Content-Security-Policy", POLICY)
                super().end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
