"""exchange-replay: the requests of a tape, and whole tapes into the real server."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import support
from exchange_replay import binance, itch, journal, lobster
from exchange_replay.report import Report
from exchange_replay.tape import ONE, Add, BadTape, Execute, Replace
from exchange_server import OPERATOR_KEY, ExchangeServer, run_loadgen, wait_until
from support import PYTHON, FakeServer, InFolder, Served
from test_tapes import MESSAGES, START, framed, market, read, run


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


def ports_of(server):
    """As options."""
    return "--connect", f"127.0.0.1:{server.port}", "--http", f"127.0.0.1:{server.http_port}"


class Tapes(InFolder):
    def lobster(self, *lines):
        path = self.folder / "ABC_message.csv"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path


class Journals(InFolder):
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


class DryRuns(Tapes):
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


class Replays(Tapes):
    def replay(self, *words, status=0):
        """The report of a replay, and the executions in the server's tables as (symbol, price,
        shares)."""
        store = f"sqlite:{self.folder}/exchange.db"
        with ExchangeServer("--keep-journal", store=store) as server:
            found, out, err = run(*words, *ports_of(server))
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
            with support.Exchange(f"127.0.0.1:{server.port}") as operator:
                operator.create_symbol("OTHER")
                operator.set_instrument("OTHER", tick="0.05", order_max=9, trading="halted")
            options = "--requests 20000 --clients 4 --symbols 3 --accounts 4 --pipeline 8"
            address = f"127.0.0.1:{server.port}"
            status, output = run_loadgen(f"--connect {address} {options} --workload {mix}")
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

    def test_messages_of_itch_that_are_not_of_orders_are_left_out_or_counted(self):
        path = self.folder / "day.itch"
        add = Add(START, "ABC", "1", True, 100 * ONE, 100 * ONE)
        itch.write(path, [add, Execute(START + 1, "ABC", "1", 100 * ONE)])
        header = path.read_bytes()[3:13]
        broken, unknown, end = b"B" + header + bytes(8), b"?" + header, b"S" + header + b"C"
        path.write_bytes(path.read_bytes() + framed(b"", broken, unknown, unknown, end))
        report, found = self.replay("itch", path, "--speed", 0)
        self.assertEqual(len(found), 1)
        self.assertIn("played: 2 messages", report)
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


class Replies(Tapes):
    def test_what_is_not_a_reply_is_one_sentence(self):
        created = "<results><created/><created/></results>"
        for reply, problem in (
            ("garbage", "not a reply"),
            ("<results><a></results>", "not XML"),
            ("<results/>", "0 of 1 replies"),
            ("<results><opened/></results>", "KeyError('id') in b'<opened />'"),
        ):
            answers = [created, reply]
            with FakeServer(
                lambda _, number, answers=answers: answers[number - 1].encode()
            ) as server, self.subTest(reply=reply):
                path = self.lobster("34200.0,1,1,100,1000000,1")
                words = ("--connect", server.address, "--http", "127.0.0.1:1", "--speed", 0)
                status, report, err = run("lobster", path, *words)
                self.assertEqual((status, err.count("\n")), (1, 1))
                self.assertIn(f"exchange-replay: {problem}", err)
                self.assertIn("failed: 1 messages", report)


class WithBots(Tapes, Served):
    def setUp(self):
        super().setUp()
        self.bot = self.client(1)
        self.bot.create_account(1, balance=10**9)
        self.bot.create_symbol("ABC", {1: 1000})

    def start(self, path):
        command = [sys.executable, "-m", "exchange_replay", "lobster", path, *ports_of(self.server)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **PYTHON
        )
        self.addCleanup(process.wait)
        return process

    def play(self, *lines, options=()):
        """The report."""
        path = self.lobster(*lines)
        status, report, err = run("lobster", path, *ports_of(self.server), *options)
        self.assertEqual((status, err), (0, ""))
        return report

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

    TRADE = "34200.0,1,1,100,1000000,1", "34200.0,4,1,100,1000000,1"

    def test_without_the_http_port_the_report_has_lower_bounds(self):
        self.bot.buy("ABC", 60, 101)
        report = self.play(*self.TRADE, options=("--http", self.address))
        self.assertIn("executed at least 0 shares of 0 orders of the tape, and traded at", report)
        self.assertIn(
            "at least 60 shares in 1 of its executions; exact figures need --http", report
        )

    def test_the_report_says_where_other_accounts_had_a_better_price(self):
        self.bot.buy("ABC", 60, 101)
        report = self.play(*self.TRADE)
        self.assertIn("trades: 1 of the tape, 0 the same, 1 other price\n", report)
        self.assertIn("1 other price: an order of another account had a better price", report)
        self.assertIn("and traded 60 shares in 1 of its executions; 1 orders ended", report)

    def test_the_report_has_the_codes_of_refusals(self):
        report = self.play(*self.TRADE, options=("--cash", 5))
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
        with patch.object(Report, "read_others", side_effect=KeyboardInterrupt):
            report = self.play(self.TRADE[0])
        self.assertIn("played: 1 messages", report)
        self.assertIn("exact figures need --http: interrupted", report)

    def test_accounts_that_exist_are_not_used(self):
        options = ("--accounts", 77, "--speed", 0)
        self.play(self.TRADE[0], options=options)
        path = self.lobster(self.TRADE[0])
        status, _, err = run("lobster", path, *ports_of(self.server), *options)
        self.assertEqual(status, 1)
        self.assertIn("account 770001 was not created: account_exists; choose another", err)


class WithKeys(Tapes, Served):
    arguments = ("--auth",)

    def test_accounts_get_keys(self):
        path = self.lobster(*WithBots.TRADE)
        options = (*ports_of(self.server), "--operator-key", OPERATOR_KEY, "--speed", 0)
        status, report, err = run("lobster", path, *options)
        self.assertEqual(status, 0, err)
        self.assertIn("trades: 1 of the tape, 1 the same\n", report)
        self.assertIn("other accounts: executed 0 shares of 0 orders", report)
