"""The server with planted faults, without one: it shares no code with ours, and gives the same replies to the wire scripts of the
core protocol. They are compared by meaning: not the words of errors, nor times."""

import contextlib
import itertools
import re
import socket
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

from test_faults import course_server

SCRIPTS = Path(__file__).parents[2] / "wire"
OPTIONS = {
    "close_after_reply",
    "lenient_framing",
    "open_queries",
    "refused_symbols",
    "reply_lengths",
}  # of our server
EXTENSIONS = {
    "error_codes",
    "execution_pages",
    "order_terms",
    "market_orders",
    "self_trades",
    "cancel_all",
    "cancel_on_disconnect",
    "replace",
    "rounding",  # of replaces too
}
LEFT_OUT = OPTIONS | EXTENSIONS | {"xml"}  # limits of documents
STEP = re.compile(rb"(\w+) (sends|gets|ends|is closed) *(raw )?(.*)\Z", re.DOTALL)
ESCAPE = re.compile(rb"\\(?:x(..)|(.))")
ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"s": b" ", b"\\": b"\\"}


def steps(script):
    """Client, action and bytes of each step."""
    text = re.sub(rb"^#.*\n", b"", script.read_bytes(), flags=re.MULTILINE)
    for step in re.split(rb"\n+(?=\w)", text.strip()):
        lines = b"".join(map(bytes.strip, step.split(b"\n")))
        client, action, raw, data = STEP.match(lines).groups()
        data = ESCAPE.sub(lambda m: bytes.fromhex(m[1].decode()) if m[1] else ESCAPED[m[2]], data)
        framed = action == b"sends" and not raw
        yield client, action, b"%d\n%s" % (len(data), data) if framed else data


def meaning(element):
    attributes = {name: name == "time" or value for name, value in element.items()}
    return element.tag, attributes, [meaning(child) for child in element]


class CourseServer(unittest.TestCase):
    maxDiff = None

    def replay(self, script, port):
        clients = {}
        for (client, action), group in itertools.groupby(steps(script), lambda step: step[:2]):
            if client not in clients:
                connection = socket.create_connection(("127.0.0.1", port), timeout=5)
                self.addCleanup(connection.close)
                clients[client] = connection, connection.makefile("rb")
            connection, stream = clients[client]
            texts = [data for _, _, data in group]
            if action == b"sends":
                connection.sendall(b"".join(texts))
            elif action == b"gets":
                for expected in texts:
                    got = stream.readline()
                    self.assertEqual(
                        meaning(ET.fromstring(expected)),
                        meaning(ET.fromstring(got)),
                        (expected, got),
                    )
            elif action == b"ends":
                connection.shutdown(socket.SHUT_WR)
            else:
                self.assertEqual(b"", stream.read())
        for connection, stream in clients.values():
            with contextlib.suppress(OSError):  # it is closed
                connection.shutdown(socket.SHUT_WR)
            self.assertEqual(b"", stream.read())

    def test_it_replies_as_the_wire_scripts_say(self):
        scripts = {script.stem: script for script in SCRIPTS.glob("*.txt")}
        self.assertLess(LEFT_OUT, set(scripts))
        for name in sorted(set(scripts) - LEFT_OUT):
            with self.subTest(name), course_server() as port:
                self.replay(scripts[name], port)

    def test_it_executes_its_journal_again(self):
        document = (
            '\ufeff\n<?xml version="1.0"?><create><account id="1" balance="1"/></create>'.encode()
        )
        with tempfile.TemporaryDirectory() as folder:
            for expected in (b"<created", b"<error"):
                with course_server("--journal", f"{folder}/journal") as port:
                    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                        connection.sendall(b"%d\n%s" % (len(document), document))
                        self.assertIn(expected, connection.makefile("rb").readline())


if __name__ == "__main__":
    unittest.main()
