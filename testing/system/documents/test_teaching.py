"""The steps of lab sheets on a real server: each command prints what the sheet shows."""

import re
import shutil
import tempfile
import unittest

from exchange_server import ExchangeServer
from support import run, steps_of, text_of

PORT = "127.0.0.1 12345"
TIME = re.compile(r'time="\d+"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d')


class Labs(unittest.TestCase):
    maxDiff = None

    def prints(self, sheet, server, least, **more):
        """`more`: as of run()."""
        steps = steps_of(f"teaching/{sheet}.md")
        self.assertGreater(len(steps), least)
        here = f"127.0.0.1 {server.port}"
        done = run([command.replace(PORT, here) for command, _ in steps], server, **more)
        printed = text_of(done).replace(here, PORT)
        if folder := more.get("cwd"):
            printed = printed.replace(f"sqlite:{folder}/", "sqlite:")
        self.assertEqual(TIME.sub("TIME", text_of(steps)), TIME.sub("TIME", printed))

    @unittest.skipUnless(shutil.which("nc"), "there is no nc")
    def test_client(self):
        with ExchangeServer() as server:
            self.prints("1-client", server, 6)

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make keys with")
    def test_class(self):
        with tempfile.TemporaryDirectory() as folder:
            store = f"sqlite:{folder}/class.db"
            with ExchangeServer("--auth", "--keep-journal", store=store) as server:
                environment = {"EXCHANGE_OPERATOR_KEY_FILE": server.operator_key_file}
                self.prints("6-class", server, 20, cwd=folder, env=environment)
