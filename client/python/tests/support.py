"""Servers, the real one and some that answer what a test says; and the package without installing
it."""

import asyncio
import inspect
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "client/python/src"), str(ROOT / "testing/support")]

try:
    import websockets
except ImportError:
    websockets = None
from exchange_client import Exchange, Refused
from exchange_server import BIN, ExchangeServer, wait_until

needs_websockets = unittest.skipUnless(
    websockets, "no websockets here (Debian: python3-websockets)"
)
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "client/python/src"), "PYTHONUNBUFFERED": "1"}
PYTHON = {"env": ENVIRONMENT, "text": True}


def run_python(*words, **options):
    """A program that uses the package, to its end."""
    command, options = [sys.executable, *map(str, words)], PYTHON | options
    return subprocess.run(command, capture_output=True, check=False, **options)


def wait_for(wanted, read):
    """Until the HTTP port shows it."""

    def is_shown():
        try:
            return read() == wanted
        except Refused:
            return False

    wait_until(is_shown, f"{wanted}")


class Case(unittest.TestCase):
    maxDiff = None

    def assert_refused(self, code, act, *arguments, **named):
        with self.subTest(code, act=act), self.assertRaises(Refused) as raised:
            act(*arguments, **named)
        self.assertEqual(code, raised.exception.code)

    def in_child(self, action):
        """Runs it in a child, and fails if it raises there."""
        child = os.fork()
        if not child:
            status = 1
            try:
                action()
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(0, os.waitpid(child, 0)[1])

    def assert_each_raises(self, error, *acts):
        for act in acts:
            with self.subTest(inspect.getsource(act)), self.assertRaises(error):
                act()


class InFolder(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Served(InFolder):
    """With a server of its own, on a store that is kept when it is killed."""

    arguments = ()

    def setUp(self):
        super().setUp()
        self.store = self.folder / "exchange.db"
        self.server = ExchangeServer(*self.arguments, store=f"sqlite:{self.store}").start()
        self.addCleanup(lambda: self.server.close())
        self.address = f"127.0.0.1:{self.server.port}"
        self.http = f"127.0.0.1:{self.server.http_port}"

    def client(self, account=None, **options):
        """Until the end of the test."""
        exchange = Exchange(self.address, account, **{"http": self.http, **options})
        self.addCleanup(exchange.close)
        return exchange

    def start_bots(self, symbols):
        bots = subprocess.Popen(
            [BIN / "demo-bots", "--http", self.http, "--rate", "400", "--symbols", symbols],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(bots.wait)
        self.addCleanup(bots.terminate)

    def fund(self):
        with Exchange(self.address) as exchange:
            exchange.create_account(1, 100_000)
            exchange.create_account(2, 0)
            exchange.create_symbol("SPY", {2: 500})

    def kill_and_restart(self):
        killed = self.server
        killed.kill()
        ports = {"port": killed.port, "http_port": killed.http_port}
        self.server = ExchangeServer(*self.arguments, store=killed.store, **ports).start()
        killed.close()


class FakeServer:
    """Answers each request by `answer(request, number)`: bytes, or None to close the connection.
    Numbers count from 1, over all connections.

    `ended()` is called at the end of each connection."""

    def __init__(self, answer, ended=lambda: None):
        self.answer, self.ended, self.requests, self.connections = answer, ended, [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        self.connections.append(connection)
        with connection, connection.makefile("rb") as stream, suppress(OSError):
            while line := stream.readline():
                self.requests.append(stream.read(int(line)).decode())
                reply = self.answer(self.requests[-1], len(self.requests))
                if reply is None:
                    return
                connection.sendall(reply)
        self.ended()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class FakeWebSocket:
    """Answers the first message of connection n by the texts of scripts[n], and then closes it; the
    last one stays open. A number is a pause in seconds.

    `requests`: those messages; `ended`: set at the end of the last connection by the client."""

    def __init__(self, *scripts):
        self.scripts, self.requests, self.ended = scripts, [], threading.Event()
        self.loop, self.address = asyncio.new_event_loop(), None
        ready = threading.Event()
        self.task = self.loop.create_task(self._run(ready))
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()
        ready.wait()

    def _loop(self):
        with suppress(asyncio.CancelledError):
            self.loop.run_until_complete(self.task)
        self.loop.close()

    async def _run(self, ready):
        async with websockets.serve(self._serve, "127.0.0.1", 0) as server:
            self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            ready.set()
            await asyncio.Event().wait()

    async def _serve(self, connection, *_):
        self.requests.append(await connection.recv())
        for text in self.scripts[len(self.requests) - 1]:
            await (connection.send(text) if isinstance(text, str) else asyncio.sleep(text))
        if len(self.requests) == len(self.scripts):
            await connection.wait_closed()
            self.ended.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.task.cancel)
        self.thread.join()
