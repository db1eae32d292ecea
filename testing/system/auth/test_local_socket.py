"""Clients of this machine on the UNIX-domain sockets of --listen and --http-listen."""

import asyncio
import os
import socket
import stat
import sys
import tempfile
import unittest
from pathlib import Path

from exchange_server import (
    BINARY,
    PATIENCE_S,
    POLICIES,
    ROOT,
    ExchangeServer,
    run_program,
)
from support import created, creation, tls_server

sys.path.insert(0, str(ROOT / "client/python/src"))
from exchange_client import AsyncExchange, Exchange  # noqa: E402


@unittest.skipUnless(BINARY.is_file(), f"{BINARY} is not built")
class LocalSocket(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="exchange-local-")
        self.addCleanup(holder.cleanup)
        self.path = Path(holder.name) / "socket"
        self.address = f"unix:{self.path}"

    def start(self, *options):
        server = ExchangeServer("--listen", self.address, *options).start()
        self.addCleanup(server.close)
        return server

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.settimeout(PATIENCE_S)
        client.connect(str(self.path))
        return client

    def ask(self, document, client=None):
        client = client or self.connect()
        client.sendall(b"%d\n%s" % (len(document), document.encode()))
        reply = client.recv(4096)
        while not reply.endswith(b"</results>\n"):
            reply += client.recv(4096)
        return reply.decode().rstrip()

    def create(self, account, client=None):
        return self.ask(creation(f'<account id="{account}" balance="9"/>', operator=None), client)

    def refused_start(self, status=1):
        done = run_program("server", "--listen", self.address, "--port", "0", "--store", "memory:")
        self.assertEqual(status, done.returncode, done.stderr)
        return done.stderr

    def test_every_policy_serves_every_kind_of_client(self):
        async def buy():
            async with AsyncExchange(self.address, account="2") as two:
                await two.create_account("2", 1000)
                return (await two.buy("SPY", 2, 10)).id

        for policy in POLICIES:
            options = ("--listen", self.address, "--policy", policy, "--threads", "2")
            with self.subTest(policy), ExchangeServer(*options) as server:
                with Exchange(self.address, account="1") as one:
                    one.create_account("1", 1000)
                    one.create_symbol("SPY", {"1": 5})
                    sold = one.sell("SPY", 2, 10)
                    asyncio.run(buy())
                    self.assertEqual(2, one.query(sold.id).executed)
                done = run_program(
                    "exchange-cli",
                    "--connect",
                    self.address,
                    "--account",
                    "1",
                    "status",
                    str(sold.id),
                )
                self.assertIn("executed 2", done.stdout + done.stderr)
                load = ("-c", "20", "-n", "2000", "--pipeline", "4")
                done = run_program("loadgen", "--connect", self.address, *load)
                self.assertEqual(0, done.returncode, done.stdout + done.stderr)
                (reply,) = server.request(creation('<account id="7" balance="9"/>', operator=None))
                self.assertEqual(created(7), reply)  # the port serves as well
            self.assertFalse(self.path.exists())  # removed at the end

    def test_the_load_generator_reaches_its_private_server_there(self):
        done = run_program("loadgen", "-c", "10", "-n", "1000", "--transport", "unix")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("transport=unix", done.stdout)

    def test_its_own_user_may_connect_unless_a_mode_admits_others(self):
        for mode, query in ((0o600, ""), (0o660, "?mode=660")):
            with self.subTest(query), ExchangeServer("--listen", self.address + query):
                self.assertEqual(mode, stat.S_IMODE(self.path.stat().st_mode))
                self.assertEqual(created(1), self.create(1))

    def test_a_socket_without_a_listener_is_replaced(self):
        self.start().kill()
        self.assertTrue(self.path.is_socket())
        self.start()
        self.assertEqual(created(1), self.create(1))

    def test_a_server_that_listens_and_a_file_are_left_alone(self):
        server = self.start()
        self.assertIn("(--listen): another server listens there", self.refused_start())
        self.assertEqual(created(1), self.create(1))
        server.stop()
        self.path.write_text("kept")
        self.assertIn("the file exists and is not a socket", self.refused_start())
        self.assertEqual("kept", self.path.read_text())
        self.address = f"unix:{self.path.parent}/none/socket"
        self.assertIn("No such file or directory", self.refused_start())

    def test_a_server_removes_only_its_own_socket(self):
        server = self.start()
        self.path.unlink()
        self.start()
        server.stop()
        self.assertEqual(created(1), self.create(1))

    def test_the_connections_of_one_user_are_limited(self):
        self.start("--connections-per-address", "2", "--threads", "1")
        clients = [self.connect() for _ in range(3)]
        self.assertIn(b"--connections-per-address", clients[2].recv(4096))
        self.assertEqual(b"", clients[2].recv(4096))

    def test_addresses_that_cannot_be_used_are_refused_at_once(self):
        for address, why in (
            ("/tmp/x", "is not unix:PATH"),
            ("unix:", "needs a path of 1 to 107 bytes"),
            ("unix:" + "x" * 108, "needs a path of 1 to 107 bytes"),
            ("unix:x?mode=9", "does not end with three digits from 0 to 7, as ?mode=660"),
        ):
            with self.subTest(address):
                self.address = address
                self.assertIn(why, self.refused_start(2))

    def test_a_trusted_user_needs_no_keys(self):
        made = creation('<account id="1" balance="9" key="secret of 1"/>', operator=None)
        account = '<transactions id="1"><query id="1"/></transactions>'
        options = ("--listen", self.address, "--auth", "--trust-user")
        with ExchangeServer(*options, str(os.getuid())) as server:
            self.assertEqual(created(1), self.ask(made))
            self.assertIn("no such order of this account", self.ask(account))
            wrong = '<transactions id="1" key="not that of 1"><query id="1"/></transactions>'
            self.assertIn("unknown account", self.ask(wrong))  # a wrong key stays wrong
            for reply in server.request(made, account):  # no user is known at the port
                self.assertRegex(reply, "operator|unknown account")
        with ExchangeServer(*options, str(os.getuid() + 1)):
            self.assertIn("operator", self.ask(made))
        done = run_program("server", "--trust-user", "no-such-user")
        self.assertEqual(2, done.returncode)
        self.assertIn("is not a user of this machine", done.stderr)

    def test_tls_is_for_the_ports_only(self):
        options = ("--connections-per-address", "1", "--threads", "1")
        with tls_server("--listen", self.address, *options):
            self.assertEqual(created(1), self.create(1, self.connect()))
            self.assertIn(b"--connections-per-address", self.connect().recv(4096))

    def test_http_is_served_there(self):
        page = f"{self.path}.http"
        with ExchangeServer("--listen", self.address, "--http-listen", f"unix:{page}?mode=606"):
            self.create(1)
            self.assertEqual(0o606, stat.S_IMODE(Path(page).stat().st_mode))
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE_S)
                client.connect(page)
                client.sendall(b"GET /api/accounts/1 HTTP/1.0\r\n\r\n")
                answer = b"".join(iter(lambda: client.recv(4096), b""))
            self.assertTrue(answer.startswith(b"HTTP/1.0 200"), answer)
            self.assertIn(b'"balance":"9"', answer)
        self.assertFalse(Path(page).exists())


if __name__ == "__main__":
    unittest.main()
