"""The teacher's scenario: its file, and what an exchange would refuse of it."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

import support
from check import check_scenario
from exchange_server import BINARY, PATIENCE_S, wait_until
from scenario import LIMITS, RULES, attributes, parse_scenario
from table import ClassError

LEAST = '[student]\n[[instrument]]\nsymbol = "ABC"\n'


class Scenario(unittest.TestCase):
    def error(self, text):
        try:
            parse_scenario(text, "s")
        except ClassError as error:
            return str(error)
        return ""

    def test_a_scenario_has_what_its_file_says_and_defaults_for_the_rest(self):
        scenario = parse_scenario(
            'name = "Autumn"\nanonymous = true\nfirst-account = 501\ntimetable = "10:00 open"\n'
            "[student]\ncash = 100_000\nshares = { ABC = 100, XYZ = 0.5 }\norders-max = 50\n"
            '[[instrument]]\nsymbol = "ABC"\nprice = 20\ntick = 0.05\nband = "1"\n'
            '[[instrument]]\nsymbol = "XYZ"\n'
            '[[bots]]\ncharacter = "maker"\ncount = 3\nsymbol = "XYZ"\ncash = 1_000_000\n'
            'order = 5\npause = 0.5\n[[bots]]\ncharacter = "bear"\n',
            "s",
        )
        self.assertEqual("Autumn", scenario.name)
        self.assertTrue(scenario.anonymous)
        self.assertEqual(501, scenario.first_account)
        self.assertEqual("10:00 open", scenario.timetable)
        self.assertEqual({"ABC": 100, "XYZ": Decimal("0.5")}, scenario.student.shares)
        self.assertEqual({"orders_max": 50}, attributes(scenario.student, LIMITS))
        first, second = scenario.instrument
        self.assertEqual({"tick": Decimal("0.05"), "band": 1}, attributes(first, RULES))
        self.assertEqual((20, 100), (first.price, second.price))
        maker, bear = scenario.bots
        self.assertEqual(("maker", 3, "XYZ"), (maker.character, maker.count, maker.symbol))
        self.assertEqual((1_000_000, 5, Decimal("0.5")), (maker.cash, maker.order, maker.pause))
        self.assertEqual((1, 0, 10, 2), (bear.count, bear.cash, bear.order, bear.pause))
        plain = parse_scenario(LEAST, "s")
        self.assertEqual(("class", False, []), (plain.name, plain.anonymous, plain.bots))

    def test_errors_have_file_and_table(self):
        bear = LEAST + '[[bots]]\ncharacter = "bear"\n'
        known = "cash, orders-max, orders-per-second-max, position-max, shares"
        a_list = "must be a list: write it as [[…]], once for each"
        a_number = "'cash' must be a number"
        kinds = "maker, thin, noise, momentum, informed, bear, breaker"
        for text, error in (
            ("[student]\n", "s: 'instrument' is missing"),
            (
                "instrument = []\n[student]\n",
                "s: an [[instrument]] is missing: what is to be traded?",
            ),
            ('[[instrument]]\nsymbol = "ABC"\n', "s: 'student' is missing"),
            ("[student]\n[[instrument]]\n", "s, [[instrument]] 1: 'symbol' is missing"),
            (
                LEAST.replace("]\n", "]\ncsah = 5\n", 1),
                f"s, [student]: 'csah' is not known there; there may be: {known}",
            ),
            (
                LEAST + '[[bots]]\ncharacter = "bull"\n',
                f"s, [[bots]] 1: 'bull' is not a character; there are: {kinds}",
            ),
            (bear + 'symbol = "B"\n', "s, [[bots]] 1: no [[instrument]] has the symbol 'B'"),
            (bear + "count = 201\n", "s, [[bots]] 1: 'count' must be a whole number from 0 to 200"),
            (bear + "pause = 0\n", "s, [[bots]] 1: 'pause' must be a number above 0"),
            ("anonymous = 1\n" + LEAST, "s: 'anonymous' must be true or false"),
            (
                LEAST.replace("]\n", "]\nshares = 5\n", 1),
                "s, [student]: 'shares' must be a table, such as { ABC = 100 }",
            ),
            ('[instrument]\nsymbol = "A"\n[student]\n', f"s: 'instrument' {a_list}"),
            (
                LEAST + '[[instrument]]\nsymbol = "ABC"\n',
                "s, [[instrument]] ABC: there is one already",
            ),
            *(
                (LEAST.replace("]\n", f"]\ncash = {cash}\n", 1), f"s, [student]: {a_number}")
                for cash in ("1e100", "1e-100", "nan", '"1e-30"')
            ),
            (LEAST + "tick = 'x'\n", "s, [[instrument]] ABC: 'tick' must be a number"),
        ):
            self.assertEqual(error, self.error(text))
        self.assertRegex(self.error("name = \n"), r"^s: .*line 1")

    def test_the_file_is_utf_8_with_or_without_a_byte_order_mark(self):
        self.assertEqual("", self.error("\ufeff" + LEAST))
        self.assertEqual(
            "s: it is not UTF-8: save it as UTF-8", self.error("# M\udcfcller\n" + LEAST)
        )

    def test_links_lead_to_an_address(self):
        pages = "javascript:alert(1) http:// http:///x exchange.example:8080 http://x/#y".split()
        for page in (*pages, "http://a b", 'https://x/">'):
            error = "s: 'page' must be an address, such as \"http://exchange.example:8080\""
            self.assertEqual(error, self.error(f"page = '{page}'\n{LEAST}"))
        self.assertEqual("", self.error(f"page = 'https://exchange.example/x'\n{LEAST}"))


@unittest.skipUnless(BINARY.exists(), "no server is built")
class Check(unittest.TestCase):
    """A scenario is carried out before its class is made."""

    def error(self, start="", rules="", students=2, first=""):
        text = f'{first}[student]\n{start}\n[[instrument]]\nsymbol = "ABC"\n{rules}\n'
        text += '[[bots]]\ncharacter = "bear"\ncount = 3\n'
        try:
            check_scenario(BINARY, parse_scenario(text, "s"), students, "s")
        except ClassError as error:
            return str(error)
        return ""

    def test_what_the_exchange_would_refuse(self):
        half = "shares = { ABC = 50_000_000_000 }"
        for words, error in (
            (
                {
                    "start": "cash = 5\nshares = { ABC = 1 }\norders-max = 3",
                    "rules": "tick = 0.05\nlot = 2",
                },
                "",
            ),
            ({"start": "shares = { ABC = -1 }"}, "s, [student]: number of shares is negative"),
            (
                {"rules": "price-min = 9\nprice-max = 5\nprice = 6"},
                "s, [[instrument]] ABC: the lowest price would be above the highest",
            ),
            # Together they have more shares than a symbol can.
            ({"start": half, "students": 1}, ""),
            ({"start": half}, "s, [student]: shares of this symbol would overflow"),
        ):
            self.assertEqual(error, self.error(**words), words)

    def test_a_check_that_is_terminated_leaves_no_server(self):
        with tempfile.TemporaryDirectory() as holder:
            program = Path(holder, "server")
            program.write_text("#!/bin/sh\necho $$ >&2\nexec sleep 60\n")
            program.chmod(0o755)
            Path(holder, "check.py").write_text(
                f"import sys; sys.path[:0] = {support.FOLDERS}\n"
                "from check import check_scenario\nfrom pathlib import Path\n"
                "from scenario import parse_scenario\n"
                f"check_scenario(Path('{program}'), parse_scenario({LEAST!r}, 's'), 1, 's')\n"
            )
            environment = {**os.environ, "TMPDIR": holder}
            check = subprocess.Popen([sys.executable, f"{holder}/check.py"], env=environment)
            found = lambda: [*Path(holder).glob("exchange-class-*/errors")]
            wait_until(lambda: found() and found()[0].read_text().endswith("\n"), "the server")
            server = int(found()[0].read_text())
            check.terminate()
            self.assertEqual(128 + signal.SIGTERM, check.wait(PATIENCE_S))
            self.assertEqual([], found())
            with self.assertRaises(ProcessLookupError):
                os.kill(server, 0)

    def test_bots_must_be_able_to_begin_at_the_price_of_an_instrument(self):
        where = "s, [[instrument]] ABC: 'price' is"
        for rules, error in (
            ("price = 10.05\ntick = 0.05\nlot = 5\norder-max = 10", ""),
            (
                "price = 10.03\ntick = 0.05",
                f"{where} 10.03, but the limit is not a multiple of the tick",
            ),
            ("price = 10\nprice-max = 5", f"{where} 10, but the limit is above the highest price"),
            ("price = 1_000_000\nlot = 1_000_000_000", ""),  # that needs only money
        ):
            found = self.error(rules=rules)
            self.assertTrue(found.startswith(error) and bool(found) == bool(error), found)

    def test_the_timetable_is_read_and_names_instruments_of_the_scenario(self):
        self.assertEqual("", self.error(first='timetable = "09:00 open ABC"\n'))
        wrong = self.error(first='timetable = "9:00 opne"\n')
        self.assertTrue(wrong.startswith("s, timetable:1: '9:00' is not a time"), wrong)
        unknown = "no [[instrument]] has the symbol 'now', which the step 09:00 open names"
        error = self.error(first='timetable = "09:00 open now"\n')
        self.assertEqual(f"s, timetable: {unknown}", error)


if __name__ == "__main__":
    unittest.main()
