"""The work of docs/operator.md on a real server with keys: each command prints what the page shows.
"""

import re
import shutil
import tempfile
import unittest

from exchange_server import ExchangeServer
from support import run, steps_of, text_of

STEPS = steps_of("docs/operator.md")
VARIES = re.compile(r"\b[0-9a-f]{48}\b|\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b")  # keys, times


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make keys with")
class Operator(unittest.TestCase):
    maxDiff = None

    def test_each_command_prints_what_the_page_shows(self):
        self.assertGreater(len(STEPS), 25)
        with ExchangeServer("--auth") as server, tempfile.TemporaryDirectory() as folder:
            printed = run(
                [command for command, _ in STEPS],
                server,
                cwd=folder,
                env={"EXCHANGE_OPERATOR_KEY_FILE": server.operator_key_file},
            )
        self.assertEqual(VARIES.sub("…", text_of(STEPS)), VARIES.sub("…", text_of(printed)))
