"""Every entry of malformed.py, at once and byte by byte, under each policy: every byte that comes back."""

import socket
import unittest

from exchange_server import POLICIES, ExchangeServer
from harness import PATIENCE_S
from malformed import ENTRIES, deep, framed, malformed

BYTEWISE_MAX = 400  # longer ones in pieces of which there are so many


class Malformed(unittest.TestCase):
    def replay_all(self, policy):
        with ExchangeServer("--policy", policy, "--threads", 1) as server:
            accounts = '<account id="1" balance="1000"/><account id="2" balance="0"/>'
            shares = '<symbol sym="S"><account id="2">10</account></symbol>'
            server.request(f"<create>{accounts}{shares}</create>")
            for name, data, expected, closes in ENTRIES:
                for step in {len(data), max(1, len(data) // BYTEWISE_MAX)}:
                    with self.subTest(name, policy=policy, step=step):
                        self.check(server.port, data, step, expected, closes)
            self.assertEqual(
                server.request('<transactions id="1"><query id="1"/></transactions>'),
                ['<results><error id="1">no such order of this account</error></results>'],
                "an entry changed something",
            )

    def check(self, port, data, step, expected, closes):
        after = b"9\n<create/>"
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for at in range(0, len(data), step):
                    connection.sendall(data[at : at + step])
                if not closes:
                    connection.sendall(after)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it is refused already
            got = b""
            try:
                while piece := connection.recv(65536):
                    got += piece
            except ConnectionResetError:
                pass  # it was still sending when the server had said all
        self.assertEqual(got, expected if closes else expected + b"<results></results>\n")

    def test_a_million_deep(self):
        limit = ("--frame-bytes-max", 1 << 24)
        for policy in POLICIES:
            with self.subTest(policy), ExchangeServer("--policy", policy, *limit) as server:
                for data, problem in (
                    (deep(1_000_000), "elements nested too deep"),
                    (framed(b"<a>" * 5_000_000), "Start-end tags mismatch"),
                ):
                    self.check(server.port, data, 1 << 20, malformed(problem), False)

    def test_thread(self):
        self.replay_all("thread")

    def test_pool(self):
        self.replay_all("pool")

    def test_loop(self):
        self.replay_all("loop")


if __name__ == "__main__":
    unittest.main()
