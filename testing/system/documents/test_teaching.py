"""The steps of the first lab sheet on a real server: each command prints what the sheet shows."""

import re
import shutil
import unittest

from exchange_server import ExchangeServer
from support import run, steps_of, text_of

SHEET = steps_of("course/sheets/1-client.md")
PORT = "127.0.0.1 12345"
TIME = re.compile(r'time="\d+"')


@unittest.skipUnless(shutil.which("nc"), "there is no nc")
class FirstLab(unittest.TestCase):
    maxDiff = None

    def test_each_command_prints_what_the_sheet_shows(self):
        self.assertGreater(len(SHEET), 6)
        with ExchangeServer() as server:
            here = f"127.0.0.1 {server.port}"
            printed = run([command.replace(PORT, here) for command, _ in SHEET], server)
        printed = text_of(printed).replace(here, PORT)
        self.assertEqual(TIME.sub("TIME", text_of(SHEET)), TIME.sub("TIME", printed))
