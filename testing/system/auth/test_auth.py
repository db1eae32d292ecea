"""A real server with --auth, with TLS and without: which keys log in, over both ports, and what a
restart keeps."""

import contextlib
import http.client
import json
import select
import signal
import socket
import ssl
import tempfile
import unittest
import warnings
from pathlib import Path

from exchange_server import (
    OPERATOR_KEY,
    PATIENCE_S,
    POLICIES,
    Connection,
    ExchangeServer,
    run_program,
    wait_until,
    write_key_file,
)
from support import (
    OPENSSL,
    account,
    basic,
    certificate,
    created,
    creation,
    error,
    http_request,
    metric,
    openssl,
    result,
    tls_server,
    transactions,
)

KEY, WRONG = "correct horse", "battery staple"
NOT_OPERATOR = "creating needs the operator's key"
UNKNOWN = error("unknown account")
LOGGED_IN = error("no such order of this account")
QUERY = '<query id="9"/>'
OPENED = result('<opened sym="S" amount="2" limit="3" id="1"/>')
STATUS = result('<status id="1"><open shares="2"/></status>')


class Keys(unittest.TestCase):
    def test_who_gets_in_under_every_policy(self):
        for policy in POLICIES:
            with self.subTest(policy=policy), ExchangeServer(
                "--auth", "--policy", policy
            ) as server:
                self.conversation(server)

    @unittest.skipUnless(OPENSSL, "there is no openssl to make a certificate with")
    def test_who_gets_in_under_every_policy_with_tls(self):
        for policy in POLICIES:
            with self.subTest(policy=policy), tls_server("--auth", "--policy", policy) as (
                server,
                cert,
                _,
            ):
                self.conversation(server, ca=cert)

    def conversation(self, server, ca=None):
        with Connection(server.port, ca) as owner, Connection(server.port, ca) as other:
            shares = '<symbol sym="S"><account id="1">5</account></symbol>'
            refused = error(NOT_OPERATOR, 'sym="S" id="1"')
            order = '<order sym="S" amount="2" limit="3"/>'
            missing = "missing attribute 'key': this exchange wants one for each account"
            wrong = [(1, WRONG), (1, None), (2, KEY), (2, None), (1, "short")]
            for client, request, reply in (
                (owner, account(1), error(missing, 'id="1"')),
                (owner, account(1, "short"), error("key must have 8 to 128 bytes", 'id="1"')),
                (owner, account(1, KEY), created(1)),
                (owner, creation(shares), result('<created sym="S" id="1"/>')),
                *((other, creation(shares, key), refused) for key in (WRONG, KEY, None)),
                *((other, transactions(name, QUERY, key), UNKNOWN) for name, key in wrong),
                (other, account(1, WRONG), error("account already exists", 'id="1"')),
                (other, transactions(1, QUERY, WRONG), UNKNOWN),
                (owner, transactions(1, order, KEY), OPENED),
                (owner, transactions(1, '<query id="1"/>'), STATUS),
                (other, transactions(1, '<cancel id="1"/>'), error("unknown account", 'id="1"')),
            ):
                self.assertEqual(client.ask(request), reply, request)
            # One hash for each key that is created, and for each other one the first time: the
            # operator's is known, and a missing one is refused without.
            for name, value in (
                ("exchange_key_hashes_total", 2 + 2 + 2 + 1),
                ('exchange_operator_logins_total{result="refused"}', 3),
                ('exchange_operator_logins_total{result="accepted"}', 2),
                ('exchange_logins_total{result="refused"}', 7),
                ('exchange_logins_total{result="accepted"}', 1),
            ):
                self.assertEqual(metric(server.http_port, name, ca), value, name)
        self.known_to_be_wrong(server, ca)

    def known_to_be_wrong(self, server, ca):
        """A wrong key is refused as it was the first time, on each connection and over HTTP."""
        port, wrong = server.http_port, "another battery"
        document = creation('<symbol sym="T"/><symbol sym="U"/>', wrong)
        errors = "".join(f'<error sym="{name}">{NOT_OPERATOR}</error>' for name in "TU")
        for _ in range(3):
            with Connection(server.port, ca) as client:
                for request, reply in (
                    (document, result(errors)),
                    (transactions(1, QUERY, wrong), UNKNOWN),
                ):
                    for _ in range(2):
                        self.assertEqual(client.ask(request), reply)
            reply = http_request(port, "POST", "/api/xml", document, ca=ca)[2]
            self.assertEqual(reply.strip(), result(errors))
        lag = lambda: metric(port, "exchange_projection_lag_batches", ca)
        wait_until(lambda: lag() == 0, "the tables")
        page = json.loads(http_request(port, "GET", "/api/symbols", ca=ca)[2])
        self.assertEqual([one["symbol"] for one in page["symbols"]], ["S"])

    def test_http_wants_the_key_of_the_account_and_else_answers_as_for_what_does_not_exist(self):
        with ExchangeServer("--auth") as server:
            port = server.http_port
            order = '<order sym="S" amount="2" limit="3"/>'
            for document, reply in (
                (account(1, KEY), created(1)),
                (account(2, WRONG), created(2)),
                (creation('<symbol sym="S"/>'), result('<created sym="S"/>')),
                (creation('<symbol sym="T"/>', None), error(NOT_OPERATOR, 'sym="T"')),
                (creation('<symbol sym="T"/>', WRONG), error(NOT_OPERATOR, 'sym="T"')),
                (transactions(1, order), error("unknown account", 'sym="S" amount="2" limit="3"')),
                (transactions(1, order, KEY), OPENED),
                (transactions(1, QUERY), UNKNOWN),  # each request stands alone
            ):
                self.assertEqual(http_request(port, "POST", "/api/xml", document)[2].strip(), reply)
            wait_until(lambda: metric(port, "exchange_projection_lag_batches") == 0, "the tables")

            for path, own in (
                ("/api/accounts/1", "/api/accounts/3"),
                ("/api/orders/1", "/api/orders/77"),
            ):
                status, _, body = http_request(port, "GET", path, headers=basic(1, KEY))
                self.assertEqual(status, 200)
                self.assertEqual(json.loads(body)["account"], "1")
                as_operator = {"Authorization": f"Bearer {OPERATOR_KEY}"}
                self.assertEqual(http_request(port, "GET", path, headers=as_operator)[2], body)
                missing = http_request(port, "GET", own)
                self.assertEqual(missing[0], 404)
                others = [basic(1, WRONG), basic(2, WRONG), basic(2, KEY), basic(3, KEY)]
                malformed = [{"Authorization": text} for text in ("Basic !", "Bearer x")]
                for headers in [{}, *others, *malformed]:
                    before = metric(port, "exchange_key_hashes_total")
                    self.assertEqual(http_request(port, "GET", path, headers=headers), missing)
                    self.assertEqual(http_request(port, "GET", own, headers=headers), missing)
                    hashed = metric(port, "exchange_key_hashes_total") - before
                    self.assertIn(hashed, (0, 1))  # the first time
            books = ["/api/symbols", "/api/books/S", "/api/trades?sym=S"]
            for path in ["/", "/healthz", "/readyz", "/metrics", *books]:
                self.assertEqual(http_request(port, "GET", path)[0], 200, path)

    def test_a_key_that_was_sent_before_is_hashed_once(self):
        """Each request must still carry it: connections of a proxy have many users."""
        with ExchangeServer("--auth") as server, contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=PATIENCE_S)
        ) as connection:
            for name, key in ((1, KEY), (2, WRONG)):
                http_request(server.http_port, "POST", "/api/xml", account(name, key))
            hashed = lambda: metric(server.http_port, "exchange_key_hashes_total")

            def check(status, hashes, method, path, body=None, headers=None):
                before = hashed()
                connection.request(method, path, body, headers or {})
                answer = connection.getresponse()
                answer.read()
                self.assertEqual((answer.status, hashed() - before), (status, hashes))

            def see(status, hashes, headers=None):
                check(status, hashes, "GET", "/api/accounts/1", headers=headers)

            order = json.dumps({"symbol": "S", "side": "buy", "shares": "1", "limit": "1"})
            wait_until(
                lambda: http_request(
                    server.http_port, "GET", "/api/accounts/1", headers=basic(1, KEY)
                )[0]
                == 200,
                "the account",
            )
            see(200, 0, basic(1, KEY))
            check(201, 0, "POST", "/api/orders", order, basic(1, KEY))
            check(200, 0, "POST", "/api/xml", transactions(1, QUERY, KEY))
            see(404, 0)
            for headers in (basic(2, WRONG), basic(2, KEY), basic(3, KEY)):
                see(404, 1, headers)
                see(404, 0, headers)
                see(200, 0, basic(1, KEY))
            see(404, 1, basic(1, WRONG))
            see(200, 0, basic(1, KEY))
            check(404, 0, "POST", "/api/orders", order, basic(1, WRONG))
            check(404, 0, "POST", "/api/orders", order, basic(2, KEY))
            check(201, 0, "POST", "/api/orders", order, basic(2, WRONG))
            see(200, 0, basic(1, KEY))
            check(201, 0, "POST", "/api/orders", order, basic(2, WRONG))
            # An account that is an operator reads each account, until it is no operator any more.
            role = '<set-account id="2" role="{}"/>'
            for name, status, hashes in (("operator", 200, 0), ("trader", 404, 0)):
                document = creation(role.format(name))
                http_request(server.http_port, "POST", "/api/xml", document)
                see(status, hashes, basic(2, WRONG))
            # Another key ends what the one before has proven.
            change = creation('<set-key id="1" key="another key"/>')
            self.assertIn("created", http_request(server.http_port, "POST", "/api/xml", change)[2])
            see(404, 1, basic(1, KEY))
            see(200, 1, basic(1, "another key"))
            see(200, 0, basic(1, "another key"))

    def test_keys_are_nowhere_in_what_the_server_says(self):
        key = "unmistakable-secret"
        with tempfile.TemporaryFile() as log:
            with ExchangeServer(
                "--auth", "--log-level", "debug", store="sqlite:{folder}/x.db", errors=log
            ) as server:
                replies = server.request(
                    account(1, key),
                    account(1, key),
                    transactions(1, QUERY, key),
                    transactions(2, QUERY, key),
                    transactions(1, f"<{key}/>", key),
                    f'<transactions id="1" key="{key}"/>',
                    f'<what key="{key}"/>',
                    f'<create><account id="1" key="{key}"/></create>',
                    creation('<symbol sym="S"/>', key),
                )
                http_request(server.http_port, "GET", "/api/accounts/1", headers=basic(1, key))
                texts = replies + [http_request(server.http_port, "GET", "/metrics")[2]]
                lag = lambda: metric(server.http_port, "exchange_projection_lag_batches")
                wait_until(lambda: lag() == 0, "the tables")
                every = Path(server.folder.name).iterdir()
                files = [path.read_bytes() for path in every if path.name != "operator.key"]
                files.append(Path(f"/proc/{server.process.pid}/cmdline").read_bytes())
            log.seek(0)
            for text in texts:
                self.assertNotIn("<error>" + key, text.replace(f"unknown element '{key}'", ""))
            own_words = f"<results><error>unknown element '{key}'</error></results>"
            self.assertEqual([text for text in texts if key in text], [own_words])
            for content in files + [log.read()]:
                self.assertNotIn(key.encode(), content)
                self.assertNotIn(OPERATOR_KEY.encode(), content)
            self.assertFalse([text for text in texts if OPERATOR_KEY in text])

    def test_auth_without_a_usable_operator_key_does_not_start(self):
        with tempfile.TemporaryDirectory(prefix="exchange-") as folder:
            path = write_key_file(folder)
            for key, words in (
                (None, "openssl rand"),
                ("short", "8 to 128 bytes"),
                ("", "is empty"),
                ("two\nlines of text", "one line"),
                (OPERATOR_KEY, ""),
            ):
                if key is not None:
                    Path(path).write_text(key)
                file = ["--operator-key-file", path] if key is not None else []
                messages = self.messages_of("--auth", *file)
                self.assertIn(words, messages)
                self.assertEqual("key" in messages, words != "")
            Path(path).chmod(0o644)
            file = ["--operator-key-file", path]
            self.assertIn("chmod 600", self.messages_of("--auth", *file))
            self.assertIn("no effect without --auth", self.messages_of(*file))

    def messages_of(self, *options):
        """What a server prints that cannot start, since its address is not on this machine."""
        address = "--port 0 --bind 192.0.2.1 --store memory:".split()
        ended = run_program("server", *address, *options)
        self.assertNotEqual(ended.returncode, 0)
        return ended.stderr

    def test_keys_survive_a_kill_and_a_server_without_auth_in_between(self):
        with tempfile.TemporaryDirectory(prefix="exchange-") as folder:
            store = f"sqlite:{folder}/x.db"
            with ExchangeServer("--auth", store=store) as server, Connection(server.port) as client:
                client.ask(account(1, KEY))
                server.kill()
            with ExchangeServer(store=store) as server, Connection(server.port) as client:
                self.assertEqual(client.ask(transactions(1, QUERY)), LOGGED_IN)
                # The key is an unknown attribute,
                self.assertEqual(client.ask(account(2, KEY)), created(2))
            with ExchangeServer("--auth", store=store) as server, Connection(server.port) as client:
                self.assertEqual(client.ask(transactions(1, QUERY)), UNKNOWN)
                # and never becomes its key.
                self.assertEqual(client.ask(transactions(2, QUERY, KEY)), UNKNOWN)
                self.assertEqual(client.ask(transactions(1, QUERY, KEY)), LOGGED_IN)

    @staticmethod
    @contextlib.contextmanager
    def crowd(server, documents):
        """Connections that have sent these documents, once half of them wait for a hash."""
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Connection(server.port)) for _ in documents]
            for client, document in zip(clients, documents):
                client.send(document)
            depth = lambda: metric(server.http_port, "exchange_key_queue_depth")
            wait_until(lambda: depth() > len(clients) / 2, "the crowd")
            yield clients

    def test_a_burst_of_wrong_keys_keeps_no_logged_in_client_from_trading(self):
        wrong = [transactions(1 if i % 2 else 7_000 + i, QUERY, f"{WRONG} {i}") for i in range(200)]
        with ExchangeServer("--auth") as server, Connection(server.port) as good:
            good.ask(account(1, KEY))
            good.ask(creation('<symbol sym="S"/>'))
            self.assertEqual(good.ask(transactions(1, QUERY, KEY)), LOGGED_IN)
            with self.crowd(server, wrong) as clients:
                for order in range(1, 301):
                    reply = good.ask(transactions(1, '<order sym="S" amount="1" limit="1"/>'))
                    opened = f'<opened sym="S" amount="1" limit="1" id="{order}"/>'
                    self.assertEqual(reply, result(opened))
                for _ in range(3):
                    sockets = [client.socket for client in clients]
                    answered = select.select(sockets, [], [], PATIENCE_S)[0][0]
                    self.assertEqual(clients.pop(sockets.index(answered)).reply(), UNKNOWN)

    def test_a_stop_does_not_wait_for_keys_that_are_not_hashed(self):
        # Keys that differ: one hash would answer all that are the same.
        wrong = [transactions(1, QUERY, f"{WRONG} {i}") for i in range(200)]
        with ExchangeServer("--auth") as server, self.crowd(server, wrong) as clients:
            server.process.terminate()
            self.assertEqual(server.process.wait(10), 0)
            replies = {client.reply() for client in clients}
            self.assertIn(error("the key could not be checked now; nothing was executed"), replies)
            self.assertLessEqual(len(replies), 2)


@unittest.skipUnless(OPENSSL, "there is no openssl to make a certificate with")
class Tls(unittest.TestCase):
    def test_only_tls_from_1_2_on_is_spoken(self):
        with tls_server() as (server, cert, _):
            versions = {ssl.TLSVersion.TLSv1_1: False}
            versions |= {ssl.TLSVersion.TLSv1_2: True, ssl.TLSVersion.TLSv1_3: True}
            for port in (server.port, server.http_port):
                for version, spoken in versions.items():
                    context = ssl.create_default_context(cafile=cert)
                    context.set_ciphers("DEFAULT:@SECLEVEL=0")
                    with warnings.catch_warnings():  # of the version that is refused
                        warnings.simplefilter("ignore", DeprecationWarning)
                        context.minimum_version = context.maximum_version = version
                    with self.subTest(version=version), socket.create_connection(
                        ("127.0.0.1", port), 30
                    ) as connection, (
                        contextlib.nullcontext()
                        if spoken
                        else self.assertRaises((ssl.SSLError, ConnectionError))
                    ):
                        context.wrap_socket(connection, server_hostname="127.0.0.1").close()

    def test_page_and_websocket_over_https(self):
        with tls_server() as (server, cert, _):
            self.assertIn("<html", http_request(server.http_port, "GET", "/", ca=cert)[2])
            with Connection(server.port, cert) as client:
                client.ask('<create><symbol sym="S"/></create>')
            symbols = lambda: http_request(server.http_port, "GET", "/api/symbols", ca=cert)[2]
            wait_until(lambda: '"S"' in symbols(), "the symbol")
            with Connection(server.http_port, cert) as socket_client:
                socket_client.socket.sendall(
                    b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade:"
                    b" websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key:"
                    b" AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
                )
                self.assertIn(b"101", socket_client.file.readline())
                while socket_client.file.readline() != b"\r\n":
                    pass
                text, zeros = b'{"subscribe": "S"}', bytes(4)
                socket_client.socket.sendall(bytes([0x81, 0x80 | len(text)]) + zeros + text)
                _, size = socket_client.file.read(2)
                if size == 126:
                    size = int.from_bytes(socket_client.file.read(2), "big")
                self.assertEqual(json.loads(socket_client.file.read(size))["type"], "snapshot")
            with socket.create_connection(("127.0.0.1", server.http_port), 30) as plain:
                plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertNotIn(b"HTTP", self.to_the_end(plain))
            self.assertEqual(http_request(server.http_port, "GET", "/healthz", ca=cert)[0], 200)

    @staticmethod
    def to_the_end(connection):
        data = b""
        try:
            while piece := connection.recv(4096):
                data += piece
        except ConnectionResetError:
            pass
        return data

    def test_sighup_reads_the_certificate_again(self):
        with certificate() as other, tempfile.NamedTemporaryFile() as log, tls_server(
            errors=log
        ) as (server, cert, key):
            new, old = Path(other[0]).read_text(), Path(cert).read_text()
            shown = lambda port: ssl.get_server_certificate(("127.0.0.1", port)).split()
            with Connection(server.port, cert) as before:
                Path(cert).write_text(new)
                Path(key).write_text(Path(other[1]).read_text())
                server.process.send_signal(signal.SIGHUP)
                wait_until(lambda: shown(server.port) == new.split(), "the new certificate")
                self.assertEqual(before.ask(account(1)), created(1))
            Path(cert).write_text("no certificate")
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: b"not read again" in Path(log.name).read_bytes(), "its complaint")
            self.assertEqual(shown(server.http_port), new.split())
            self.assertNotEqual(new, old)

    def test_files_that_cannot_be_used_stop_the_start(self):
        with certificate() as (cert, key):
            locked = key + ".locked"
            openssl(f"pkey -in {key} -aes256 -passout pass:secret -out {locked}")
            for arguments, words in (
                (["--tls-cert", cert], "--tls-key"),
                (["--tls-cert", "/nowhere", "--tls-key", key], "/nowhere"),
                (["--tls-cert", cert, "--tls-key", cert], "--tls-key"),
                (["--tls-cert", cert, "--tls-key", locked], "has a password"),
            ):
                start = "--port 0 --http-port off --store memory:".split()
                ended = run_program("server", *start, *arguments, start_new_session=True)
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn(words, ended.stderr + ended.stdout)
