"""exchange-replay: each format there and back, and whole tapes into the real server."""

import contextlib
import io
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import support
from exchange_client import Exchange
from exchange_replay import binance, itch, journal, lobster, others, sample
from exchange_replay.cli import main
from exchange_replay.tape import (
    ONE,
    SECOND,
    Add,
    BadTape,
    Delete,
    Execute,
    Note,
    Place,
    Replace,
    Skipped,
    symbol_name,
    text,
    units,
)
from exchange_server import OPERATOR_KEY, ExchangeServer, run_loadgen, wait_until

try:
    import itch.messages as itchfeed
except ImportError:
    itchfeed = None
needs_itchfeed = unittest.skipUnless(itchfeed, "no itchfeed here (pip install itchfeed)")

ALL = frozenset()
START = 34_200 * SECOND
MESSAGES = 2000


def market(*symbols, messages=MESSAGES):
    return list(sample.Market(list(symbols), 7, START, 1000).events(messages))


def read(form, path, wanted=ALL):
    return form.read(Place(path), wanted)


def trades_of(events):
    """(symbol, price, shares) of each execution."""
    orders, found = {}, []
    for event in events:
        if isinstance(event, Add):
            orders[event.order] = event.price
        elif isinstance(event, Replace):
            orders[event.becomes] = event.price
        elif isinstance(event, Execute):
            found.append((event.symbol, orders[event.order], event.shares))
    return found


def run(*words):
    """Exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(word) for word in words])
    return status, out.getvalue(), err.getvalue()


class InFolder(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def lobster(self, *lines, name="ABC_message.csv"):
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path


class Formats(InFolder):
    def test_itch_is_read_as_it_was_written(self):
        events = market("AAPL", "BRKB")
        path = self.folder / "day.itch"
        itch.write(path, events)
        self.assertEqual(list(read(itch, path)), events)
        some = [event for event in events if event.symbol == "BRKB"]
        self.assertEqual(list(read(itch, path, frozenset(["BRKB"]))), some)

    def test_what_is_cut_off_or_damaged_in_itch_is_named_with_its_byte(self):
        path = self.folder / "day.itch"
        itch.write(path, market("AAPL", messages=2))
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        with self.assertRaisesRegex(BadTape, f"{path}: byte 38: the file ends inside a message"):
            list(read(itch, path))
        path.write_bytes(whole[:38] + bytes([0, 2]) + b"A?")
        with self.assertRaisesRegex(BadTape, f"{path}: byte 38: a message A of 2 bytes, not 36"):
            list(read(itch, path))

    def test_messages_of_itch_that_are_not_of_orders_are_left_out_or_noted(self):
        path = self.folder / "day.itch"
        itch.write(path, market("AAPL", messages=2))
        order = path.read_bytes()[2:38]
        broken = b"B" + order[1:11] + bytes(8)
        unknown = b"?" + order[1:30]
        end = b"S" + order[1:11] + b"C"
        frames = [len(one).to_bytes(2, "big") + one for one in (order, b"", unknown, broken, end)]
        path.write_bytes(b"".join(frames))
        self.assertEqual(
            [type(event) for event in read(itch, path)], [Add, Note, Note], "the end is the last"
        )
        status, out, _ = run("itch", path, "--dry-run", "--accounts", 7)
        self.assertEqual((status, len(out.splitlines())), (0, 3))

    @needs_itchfeed
    def test_itch_has_the_sizes_of_another_reader(self):
        sizes = {kind: one.message_size for kind, one in itchfeed.messages.items()}
        self.assertEqual(sizes, itch.SIZES)

    def test_lobster_has_a_deletion_and_a_new_order_for_a_replace(self):
        events, sides = [], {}
        for event in market("AAPL"):
            if isinstance(event, Replace):
                buy = sides[event.order]
                events.append(Delete(event.time, "AAPL", event.order))
                event = Add(event.time, "AAPL", event.becomes, buy, event.shares, event.price)
            if isinstance(event, Add):
                sides[event.order] = event.buy
            events.append(event)
        path = self.folder / "AAPL_2026-11-26_34200000_57600000_message_10.csv"
        lobster.write(path, events)
        found = []
        for event in read(lobster, path):
            if isinstance(event, Execute):  # LOBSTER repeats what the order has
                event.price, event.buy = 0, False
            found.append(event)
        self.assertEqual(found, events)
        self.assertEqual(list(read(lobster, path, frozenset(["MSFT"]))), [])

    def test_hidden_trades_auctions_and_halts_of_lobster_are_not_of_the_book(self):
        path = self.lobster(
            "34200.1,5,0,10,1000000,1", "34200.2,6,-1,10,1000000,-1", "34200.3,7,0,0,-1,-1"
        )
        self.assertEqual([type(event) for event in read(lobster, path)], [Skipped, Skipped])

    def test_a_bad_line_is_named(self):
        good = "34200.1,1,1,10,1000000,1"
        for bad in (
            "34200.1,1",
            "x,1,1,10,1000000,1",
            "1,9,1,10,5,1",
            "1,1,1,0,5,1",
            "1,1,1,1,5,2",
        ):
            path = self.lobster(good, bad)
            with self.assertRaisesRegex(BadTape, f"ABC_message.csv:2: .*: .{bad}"):
                list(read(lobster, path))

    def test_binance_is_read_as_it_was_written(self):
        for write, make, name in (
            (binance.write_trades, sample.trades, "BTCUSDT-trades-2026-11-26.csv"),
            (binance.write_quotes, sample.quotes, "BTCUSDT-bookTicker-2026-11-26.csv"),
        ):
            path = self.folder / name
            random = [
                sample.Market(["BTCUSDT"], 7, START + 20_000 * 86_400 * SECOND, 1000) for _ in "12"
            ]
            write(path, make(random[0], MESSAGES))
            self.assertEqual(list(read(binance, path)), list(make(random[1], MESSAGES)))

    def test_binance_files_may_have_a_header_milliseconds_and_aggregated_trades(self):
        path = self.folder / "BTCUSDT-aggTrades-2024-01-01.csv"
        path.write_text(
            "agg_trade_id,price,quantity,first_trade_id,last_trade_id,transact_time,"
            "is_buyer_maker\n"
            "1,42283.58000000,0.02,5,6,1704067200123,true\n"
        )
        (trade,) = read(binance, path)
        self.assertEqual((trade.time, trade.buy), (1704067200123 * 10**6, False))
        self.assertEqual((trade.price, trade.shares), (units("42283.58"), units("0.02")))

    @staticmethod
    def make_tables(path):
        with contextlib.closing(sqlite3.connect(path)) as tables:
            tables.executescript((support.ROOT / "db/sqlite.sql").read_text())

    def test_a_store_without_a_journal_or_with_another_file_is_named(self):
        path = self.folder / "exchange.db"
        with self.assertRaisesRegex(BadTape, f"{path}: a SQLite store is"):
            list(read(journal, path))
        self.make_tables(path)
        Path(f"{path}.journal").write_bytes(bytes(8192))
        with self.assertRaisesRegex(BadTape, f"^{path} was written by a version"):
            list(read(journal, path))

    def test_the_program_that_reads_a_journal_is_named_where_it_is_missing(self):
        path = self.folder / "exchange.db"
        self.make_tables(path)
        Path(f"{path}.journal").touch()
        nowhere = {"EXCHANGE_BIN": str(self.folder), "PATH": str(self.folder)}
        with patch.dict(os.environ, nowhere):
            with self.assertRaisesRegex(BadTape, f"{path}: the program exchange-audit .* PATH"):
                list(read(journal, path))

    def test_what_a_reader_of_a_journal_says_is_the_end_after_the_records_before(self):
        program = self.folder / "exchange-audit"
        line = '{"batch":1,"time_us":7,"orders":3,"executions":2,"commands":[{"a":{"b":"c"}}]}'
        program.write_text(
            f"#!/bin/sh\necho '{line}'\necho \"exchange-audit: bad $2\" >&2\nexit 2\n"
        )
        program.chmod(0o755)
        with patch.dict(os.environ, EXCHANGE_BIN=str(self.folder)):
            found = journal.records(Path("x.db.journal"))
            self.assertEqual(next(found), (7, [("a", {"b": "c"})], 3, 2))
            with self.assertRaisesRegex(BadTape, r"\Ax\.db: bad sqlite:x\.db\s*\Z"):
                next(found)

    def test_numbers_and_symbols_are_those_of_the_exchange(self):
        for number in ("0", "1", "0.00000001", "42283.58", "92233720367"):
            self.assertEqual(text(units(number)), number)
        for bad in ("", "x", "-1", "0.000000001", "inf", "nan"):
            with self.assertRaises(ValueError):
                units(bad)
        self.assertEqual([symbol_name("AAPL"), symbol_name("BRK.A")], ["AAPL", "BRKx2EA"])


class DryRuns(InFolder):
    def requests(self, *lines):
        path = self.lobster(*lines)
        status, out, _ = run("lobster", path, "--dry-run", "--accounts", "7")
        self.assertEqual(status, 0)
        return out.replace(' codes="true"', "").splitlines()

    def test_each_message_becomes_the_request_of_the_protocol(self):
        self.assertEqual(
            self.requests(
                "34200.0,1,11,100,1005000,1",
                "34200.1,2,11,40,1005000,1",
                "34200.2,4,11,20,1005000,1",
                "34200.3,3,11,40,1005000,1",
                "34200.4,3,99,40,1005000,1",
            ),
            [
                (
                    '<create><account id="70001" balance="10000000000000"/><symbol sym="ABC">'
                    '<account id="70001">100000000</account></symbol></create>'
                ),
                (
                    '<transactions id="70001"><order sym="ABC" amount="100" limit="100.5"'
                    ' ref="11"/><replace ref="11" amount="60" limit="100.5"/></transactions>'
                ),
                (
                    '<create><account id="70002" balance="10000000000000"/><symbol sym="ABC">'
                    '<account id="70002">100000000</account></symbol></create>'
                ),
                (
                    '<transactions id="70002"><order sym="ABC" amount="-20" limit="100.5" ref="t1"'
                    ' tif="ioc"/><query ref="t1"/></transactions>'
                ),
                '<transactions id="70001"><cancel ref="11"/></transactions>',
            ],
        )

    def test_an_execution_of_an_order_before_the_tape_gets_an_order_of_its_own(self):
        found = self.requests("34200.0,4,11,100,1005000,-1")
        self.assertIn('<order sym="ABC" amount="-100" limit="100.5" ref="m1"/>', found[1])
        self.assertIn('<order sym="ABC" amount="100" limit="100.5" ref="t2" tif="ioc"/>', found[3])
        self.assertIn('<cancel ref="m1"/>', found[4])


class Replays(InFolder):
    def replay(self, *words, status=0):
        """The report of a replay, and the executions in the server's tables as (symbol, price,
        shares)."""
        store = f"sqlite:{self.folder}/exchange.db"
        with ExchangeServer("--keep-journal", store=store) as server:
            address = f"127.0.0.1:{server.port}"
            http = f"127.0.0.1:{server.http_port}"
            found, out, err = run(*words, "--connect", address, "--http", http)
            self.assertEqual(found, status, err)
            server.stop()
        return out, self.executions("exchange.db")

    def executions(self, name, may_be_open=False):
        """In tables of the folder."""
        with contextlib.closing(sqlite3.connect(self.folder / name)) as tables:
            (left,) = tables.execute("SELECT count(*) FROM orders WHERE open_e8 > 0").fetchone()
            self.assertTrue(may_be_open or left == 0)
            query = (
                "SELECT name, price_e8, shares_e8 FROM executions JOIN symbols ON number = symbol"
                " ORDER BY id"
            )
            return tables.execute(query).fetchall()

    def assert_all_trades(self, report, count):
        self.assertIn(f"trades: {count:,} of the tape, {count:,} the same\n", report)
        self.assertIn("other accounts: executed 0 shares of 0 orders", report)
        self.assertNotIn("refused", report)

    def test_the_trades_of_itch_are_those_of_the_tape(self):
        events = market("AAPL", "MSFT", "QQQ")
        path = self.folder / "day.itch"
        itch.write(path, events)
        report, found = self.replay("itch", path, "--speed", 0, "--connections", 1)
        wanted = trades_of(events)
        self.assert_all_trades(report, len(wanted))
        self.assertEqual(len(found), len(wanted))
        for symbol in ("AAPL", "MSFT", "QQQ"):
            mine = [[one for one in trades if one[0] == symbol] for trades in (found, wanted)]
            self.assertEqual(*mine)

    def test_the_trades_of_lobster_are_those_of_the_tape_and_so_are_those_of_the_journal_it_makes(
        self,
    ):
        events = market("AAPL")
        path = self.folder / "AAPL_message.csv"
        lobster.write(path, events)
        report, found = self.replay("lobster", path, "--speed", 10)
        self.assertEqual(found, trades_of(events))
        self.assert_all_trades(report, len(found))
        self.assertRegex(report, r"lateness: p50 \S+ ms, p99 \S+ ms, max \S+ ms")
        for name in ("exchange.db", "exchange.db.journal"):
            (self.folder / name).rename(self.folder / name.replace("exchange", "first"))
        report, again = self.replay("journal", self.folder / "first.db", "--speed", 0)
        self.assertEqual(again, found)
        self.assert_all_trades(report, len(found))

    def test_a_journal_of_every_kind_of_order_is_played_with_the_same_trades(self):
        store = f"sqlite:{self.folder}/first.db"
        mix = "order=50,cancel=10,replace=10,ioc=5,fok=5,post=5,market=5,stp=5,cancel_all=1"
        with ExchangeServer("--keep-journal", store=store) as server:
            with Exchange(f"127.0.0.1:{server.port}") as operator:
                operator.create_symbol("OTHER")
                operator.set_instrument("OTHER", tick="0.05", order_max=9, trading="halted")
            options = "--requests 20000 --clients 4 --symbols 3 --accounts 4 --pipeline 8"
            address = f"127.0.0.1:{server.port}"
            status, output = run_loadgen(f"--connect {address} {options} --mix {mix}")
            self.assertEqual(status, 0, output)
            server.stop()
        wanted = self.executions("first.db", may_be_open=True)
        report, found = self.replay("journal", self.folder / "first.db", "--speed", 0)
        self.assertEqual(sorted(found), sorted(wanted))
        self.assert_all_trades(report, len(wanted))

    def test_the_trades_of_binance_are_those_of_the_tape_with_quotes_and_without(self):
        trades = self.folder / "BTCUSDT-trades-2026-11-26.csv"
        quotes = self.folder / "BTCUSDT-bookTicker-2026-11-26.csv"
        for path in (trades, quotes):
            self.assertEqual(run("generate", "binance", path, "--messages", MESSAGES)[0], 0)
        wanted = [(one.symbol, one.price, one.shares) for one in read(binance, trades)]
        for tapes in ([trades], [trades, quotes]):
            report, found = self.replay("binance", *tapes, "--speed", 0)
            self.assert_all_trades(report, len(wanted))
            self.assertEqual(
                sum(shares for *_, shares in found), sum(shares for *_, shares in wanted)
            )
            (self.folder / "exchange.db").unlink()
            (self.folder / "exchange.db.journal").unlink()

    def test_the_report_counts_broken_trades_and_unknown_messages_of_itch(self):
        path = self.folder / "day.itch"
        add = Add(START, "ABC", "1", True, 100 * ONE, 100 * ONE)
        itch.write(path, [add, Execute(START + 1, "ABC", "1", 100 * ONE)])
        header = path.read_bytes()[3:13]
        more = [b"B" + header + bytes(8), b"?" + header, b"?" + header]
        path.write_bytes(
            path.read_bytes() + b"".join(len(one).to_bytes(2, "big") + one for one in more)
        )
        report, found = self.replay("itch", path, "--speed", 0)
        self.assertEqual(len(found), 1)
        self.assertIn("trades that were broken later, not undone: 1\n", report)
        self.assertIn("messages of unknown types, not played: 2\n", report)

    def test_what_is_open_at_from_is_placed_first(self):
        path = self.lobster(
            "34200.0,1,1,100,1000000,1",
            "34200.0,1,2,100,1000000,1",
            "34200.1,4,1,30,1000000,1",
            "34201.0,4,1,70,1000000,1",
            "34201.1,4,2,100,1000000,1",
            "34202.0,3,3,100,1000000,1",
        )
        report, found = self.replay(
            "lobster", path, "--speed", 0, "--from", "09:30:01", "--until", "09:30:02"
        )
        self.assertEqual([shares // ONE for *_, shares in found], [70, 100])
        self.assertIn("played: 2 messages", report)
        self.assert_all_trades(report, 2)

    def test_what_came_before_a_bad_line_is_played(self):
        path = self.lobster("34200.0,1,1,100,1000000,1", "34200.1,4,1,100,1000000,1", "x")
        report, found = self.replay("lobster", path, "--speed", 0, status=1)
        self.assertEqual(len(found), 1)
        self.assertIn("failed: 2 messages", report)


class Replies(InFolder):
    def test_what_is_not_a_reply_is_one_sentence(self):
        created = "<results><created/><created/></results>"
        for reply, problem in (
            ("garbage", "not a reply"),
            ("<results><a></results>", "not XML"),
            ("<results/>", "0 of 1 replies"),
            ("<results><opened/></results>", "KeyError('id') in b'<opened />'"),
        ):
            answers = [created, reply]
            with support.FakeServer(
                lambda _, number, answers=answers: answers[number - 1].encode()
            ) as server, self.subTest(reply=reply):
                path = self.lobster("34200.0,1,1,100,1000000,1")
                words = ("--connect", server.address, "--http", "127.0.0.1:1", "--speed", 0)
                status, report, err = run("lobster", path, *words)
                self.assertEqual((status, err.count("\n")), (1, 1))
                self.assertIn(f"exchange-replay: {problem}", err)
                self.assertIn("failed: 1 messages", report)


class WithBots(InFolder):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "exchange.db"
        self.server = ExchangeServer(store=f"sqlite:{self.store}").start()
        self.addCleanup(self.server.close)
        self.address = f"127.0.0.1:{self.server.port}"
        self.http = f"127.0.0.1:{self.server.http_port}"
        self.bot = Exchange(self.address, account=1)
        self.addCleanup(self.bot.close)
        self.bot.create_account(1, balance=10**9)
        self.bot.create_symbol("ABC", {1: 1000})

    def start(self, path, *words):
        replay = [
            sys.executable,
            "-m",
            "exchange_replay",
            "lobster",
            path,
            "--connect",
            self.address,
            "--http",
            self.http,
        ]
        environment = os.environ | {"PYTHONPATH": str(support.ROOT / "client/python/src")}
        process = subprocess.Popen(
            [*replay, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.addCleanup(process.wait)
        return process

    def take(self, shares):
        """Sells to the tape as soon as it bids."""

        def sold():
            order = self.bot.sell("ABC", shares, 100, tif="ioc")
            return self.bot.query(order).executed == shares

        wait_until(sold, "a bid of the tape")

    def test_the_report_says_what_other_accounts_executed(self):
        path = self.lobster(
            "34200.0,1,1,100,1000000,1", "34200.7,4,1,60,1000000,1", "34200.8,4,1,40,1000000,1"
        )
        replay = self.start(path)
        self.take(70)
        report, err = replay.communicate()
        self.assertEqual(replay.returncode, 0, err)
        self.assertIn("trades: 2 of the tape, 0 the same, 1 partial, 1 missing\n", report)
        self.assertIn(
            (
                "  1 partial: other accounts had executed its resting order, such as\n"
                "    09:30:00.700000 ABC 60 at 100: 30 executed\n"
            ),
            report,
        )
        self.assertIn("  1 missing: other accounts had executed its resting order", report)
        self.assertIn(
            (
                "other accounts: executed 70 shares of 1 orders of the tape, and traded 0 shares in"
                " 0 of its executions; 1 orders ended\n"
            ),
            report,
        )

    def test_what_other_accounts_took_and_what_they_gave_do_not_make_up_for_each_other(self):
        path = self.lobster(
            "34200.0,1,1,100,1000000,1", "34200.2,4,1,60,1000000,1", "34201.4,4,1,40,1000000,1"
        )
        bid = self.bot.buy("ABC", 10, 100)  # before the order of the tape
        replay = self.start(path)
        wait_until(lambda: self.bot.query(bid).executed == 10, "the execution of the tape")
        self.take(10)
        report, err = replay.communicate()
        self.assertEqual(replay.returncode, 0, err)
        self.assertIn("trades: 2 of the tape, 2 the same\n", report)
        self.assertIn(
            (
                "other accounts: executed 10 shares of 1 orders of the tape, and traded 10 shares"
                " in 1 of its executions; 1 orders ended\n"
            ),
            report,
        )
        query = "SELECT sum(shares) FROM tape WHERE '1' IN (buy_account, sell_account)"
        self.server.stop()
        with contextlib.closing(sqlite3.connect(self.store)) as tables:
            self.assertEqual(tables.execute(query).fetchone(), (20,))

    def test_without_the_http_port_the_report_has_lower_bounds(self):
        self.bot.buy("ABC", 60, 101)
        path = self.lobster("34200.0,1,1,100,1000000,1", "34200.0,4,1,100,1000000,1")
        words = ("lobster", path, "--connect", self.address, "--http", self.address)
        status, report, _ = run(*words)
        self.assertEqual(status, 0)
        self.assertIn("executed at least 0 shares of 0 orders of the tape, and traded at", report)
        self.assertIn(
            "at least 60 shares in 1 of its executions; exact figures need --http", report
        )

    def test_the_report_says_where_other_accounts_had_a_better_price(self):
        self.bot.buy("ABC", 60, 101)
        path = self.lobster("34200.0,1,1,100,1000000,1", "34200.0,4,1,100,1000000,1")
        words = ("lobster", path, "--connect", self.address, "--http", self.http)
        status, report, _ = run(*words)
        self.assertEqual(status, 0)
        self.assertIn("trades: 1 of the tape, 0 the same, 1 other price\n", report)
        self.assertIn("1 other price: an order of another account had a better price", report)
        self.assertIn("and traded 60 shares in 1 of its executions; 1 orders ended", report)

    def test_the_report_has_the_codes_of_refusals(self):
        path = self.lobster("34200.0,1,1,100,1000000,1", "34200.0,4,1,100,1000000,1")
        status, report, _ = run("lobster", path, "--connect", self.address, "--cash", 5)
        self.assertEqual(status, 0)
        self.assertIn("1 missing: its resting order was refused: insufficient_funds", report)
        self.assertIn("refused: 1 order: insufficient_funds\n", report)

    def test_an_interrupt_ends_it_with_the_report(self):
        path = self.lobster("34200.0,1,1,100,1000000,1", "36000.0,3,1,100,1000000,1")
        replay = self.start(path)
        self.take(10)
        replay.send_signal(signal.SIGINT)
        report, err = replay.communicate(timeout=10)
        self.assertEqual((replay.returncode, err), (0, ""))
        self.assertIn("interrupted: 1 messages", report)
        self.assertIn("other accounts: executed 10 shares of 1 orders", report)
        order = self.bot.sell("ABC", 10, 100, tif="ioc")
        self.assertEqual(self.bot.query(order).executed, 0)

    def test_an_interrupt_while_fills_are_read_leaves_the_report(self):
        path = self.lobster("34200.0,1,1,100,1000000,1")
        with patch.object(others, "read", side_effect=KeyboardInterrupt):
            status, report, err = run("lobster", path, "--connect", self.address)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("played: 1 messages", report)
        self.assertIn("exact figures need --http: interrupted", report)

    def test_accounts_that_exist_are_not_used(self):
        path = self.lobster("34200.0,1,1,100,1000000,1")
        words = ("lobster", path, "--connect", self.address, "--accounts", 77, "--speed", 0)
        self.assertEqual(run(*words)[0], 0)
        status, _, err = run(*words)
        self.assertEqual(status, 1)
        self.assertIn("account 770001 was not created: account_exists; choose another", err)

    def test_with_keys(self):
        with ExchangeServer("--auth") as server:
            path = self.lobster("34200.0,1,1,100,1000000,1", "34200.0,4,1,100,1000000,1")
            key = ("--operator-key", OPERATOR_KEY)
            ports = (
                "--connect",
                f"127.0.0.1:{server.port}",
                "--http",
                f"127.0.0.1:{server.http_port}",
            )
            status, report, err = run("lobster", path, *ports, *key, "--speed", 0)
            self.assertEqual(status, 0, err)
            self.assertIn("trades: 1 of the tape, 1 the same\n", report)
            self.assertIn("other accounts: executed 0 shares of 0 orders", report)


if __name__ == "__main__":
    unittest.main()
