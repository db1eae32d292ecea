"""HTTP and the WebSocket before judges that others wrote: the description is valid, its examples
work, random requests find no difference between it and the server, and the frames of the Autobahn
test suite no fault."""

import http.client
import json
import socket
import unittest

import interfaces
from exchange_server import BINARY, ExchangeServer
from python_packages import NotInstalled, python_with

SEED = 1


@unittest.skipUnless(BINARY.exists(), f"no {BINARY}")
class Interfaces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.missing = None
        try:
            cls.python = python_with(interfaces.REQUIREMENTS)
        except NotInstalled as reason:
            cls.missing = str(reason)

    def setUp(self):
        if self.missing:
            self.skipTest(self.missing)

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stdout[-20_000:] + done.stderr[-5_000:])

    def examples(self, *arguments):
        with ExchangeServer("--projection-interval-ms", "0", *arguments) as server:
            keys = ["--keys"] if arguments else []
            self.check(interfaces.run_with(self.python, "examples.py", server.address, *keys))

    def test_the_descriptions_are_valid_and_their_examples_work(self):
        self.examples()

    def test_the_examples_work_with_keys(self):
        self.examples("--auth")

    def test_random_requests_find_the_server_as_it_is_described(self):
        with interfaces.server_with_market() as server:
            self.check(interfaces.schemathesis(self.python, server, "--seed", SEED, "-n", 30))

    def test_random_requests_find_orders_with_keys_as_they_are_described(self):
        with interfaces.server_with_market("--auth") as server:
            options = ("--seed", SEED, "-n", 2, "--include-tag", "orders")  # each takes a hash
            self.check(interfaces.schemathesis(self.python, server, *options, keys=True))

    def test_random_messages_find_the_web_socket_as_it_is_described(self):
        with interfaces.server_with_market() as server:
            self.check(interfaces.random_messages(self.python, server, SEED, 20))

    def test_the_frames_of_the_autobahn_test_suite(self):
        with ExchangeServer() as server:
            url = f"ws://127.0.0.1:{server.http_port}/ws"
            self.check(interfaces.run_with(self.python, "autobahn_cases.py", url))


@unittest.skipUnless(BINARY.exists(), f"no {BINARY}")
class Paths(unittest.TestCase):
    """Each path of the description has its methods and no other."""

    def test_each_path_has_the_methods_of_the_description(self):
        paths = json.loads((interfaces.DESCRIPTIONS / "openapi.json").read_text())["paths"]
        with ExchangeServer() as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=30)
            for path, item in paths.items():
                methods = {method.upper() for method in item if method != "parameters"}
                if "GET" in methods:
                    methods.add("HEAD")
                path = path.replace("{id}", "1").replace("{symbol}", "SPY")
                for method in "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE QUERY".split():
                    with self.subTest(f"{method} {path}"):
                        connection.request(method, path)
                        answer = connection.getresponse()
                        answer.read()
                        self.assertEqual(answer.status == 405, method not in methods)
                        allowed = set((answer.getheader("Allow") or "").split(", "))
                        self.assertEqual(allowed, methods if answer.status == 405 else {""})
                        if answer.getheader("Connection") == "close":
                            connection.close()


@unittest.skipUnless(BINARY.exists(), f"no {BINARY}")
class Frames(unittest.TestCase):
    """What the Autobahn test suite does not ask of a server."""

    def connect(self, server, fields=""):
        connection = socket.create_connection(("127.0.0.1", server.http_port), 30)
        handshake = (
            "GET /ws HTTP/1.1\r\nHost: exchange\r\nUpgrade: websocket\r\nConnection:"
            " Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key:"
            f" dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
        )
        connection.sendall(handshake.encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        return connection, head.decode()

    def test_frames_that_autobahn_does_not_send(self):
        text, binary, rest = 0x1, 0x2, 0x0
        final, masked = 0x80, 0x80
        half = masked | 126, *(9_000).to_bytes(2, "big"), *bytes(4), *bytes(9_000)
        cases = {
            "a frame without a mask (RFC 6455 5.1)": ([final | text, 2, *b"{}"], 1002),
            "a binary message": ([final | binary, masked | 0, *bytes(4)], 1003),
            "fragments of a message that is too long": ([text, *half, rest, *half], 1009),
            "a length of 2^63": ([final | text, masked | 127, 0x80, *bytes(11)], 1009),
        }
        with ExchangeServer() as server:
            for name, (frames, code) in cases.items():
                with self.subTest(name):
                    connection, _ = self.connect(server)
                    with connection:
                        connection.sendall(bytes(frames))
                        answer = connection.recv(4)
                        self.assertEqual(answer[:1], bytes([final | 0x8]))
                        self.assertEqual(int.from_bytes(answer[2:4], "big"), code)

    def test_no_extension_and_no_subprotocol_is_accepted(self):
        offers = "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: chat\r\n"
        with ExchangeServer() as server:
            connection, head = self.connect(server, offers)
            connection.close()
            self.assertTrue(head.startswith("HTTP/1.1 101 "))
            self.assertNotIn("sec-websocket-extensions", head.lower())
            self.assertNotIn("sec-websocket-protocol", head.lower())
