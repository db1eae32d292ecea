"""exchange-replay: each format there and back. A file of data is data: what is wrong in it is one
sentence with the file and the line, and nothing of it becomes a request."""

import contextlib
import gzip
import io
import random
import unittest
import xml.etree.ElementTree as ET
import zipfile

import support
from exchange_replay import binance, itch, lobster, sample
from exchange_replay.cli import main
from exchange_replay.tape import (
    SECOND,
    Add,
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
from support import InFolder

try:
    import itch.messages as itchfeed
except ImportError:
    itchfeed = None
needs_itchfeed = unittest.skipUnless(itchfeed, "no itchfeed here (pip install itchfeed)")

ALL = frozenset()
START = 34_200 * SECOND
MESSAGES = 2000
TRADE = "1,100.00,2,200,1767225600000,True,True\n"
LINE = "34200.1,1,1,10,1000000,1\n"
MARK = b"\xef\xbb\xbf"
REQUESTS = {"transactions", "order", "cancel", "replace", "query"}
CREATIONS = {"create", "account", "symbol"}
SEED = 20261126


def market(*symbols, messages=MESSAGES):
    return list(sample.Market(list(symbols), 7, START, 1000).events(messages))


def read(form, path, wanted=ALL):
    return form.read(Place(path), wanted)


def run(*words):
    """Exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(word) for word in words])
    return status, out.getvalue(), err.getvalue()


def framed(*messages):
    """Messages of an ITCH file."""
    return b"".join(len(one).to_bytes(2, "big") + one for one in messages)


def zip_of(*members):
    """(name, bytes) of each."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data)
    return packed.getvalue()


class Played(InFolder):
    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def play(self, form, *paths, more=()):
        """Status, requests, errors of a dry run. Each request is one of orders, or creates the
        accounts."""
        status, out, err = run(form, *paths, "--dry-run", "--accounts", 7, *more)
        documents = [ET.fromstring(line) for line in out.splitlines()]
        for document in documents:
            names = CREATIONS if document.tag == "create" else REQUESTS
            self.assertLessEqual({one.tag for one in document.iter()}, names)
            self.assertFalse([one for one in document.iter() if "all" in one.attrib])
        return status, documents, err

    def orders(self, form, *paths, more=()):
        status, documents, err = self.play(form, *paths, more=more)
        self.assertEqual((status, err), (0, ""))
        return [one.attrib for document in documents for one in document.iter("order")]

    def refused(self, form, *paths, more=()):
        """The sentence."""
        status, _, err = self.play(form, *paths, more=more)
        self.assertEqual((status, err.count("\n"), err[:17]), (1, 1, "exchange-replay: "))
        return err[17:-1]


class Formats(Played):
    def test_itch_is_read_as_it_was_written(self):
        events = market("AAPL", "BRKB")
        path = self.folder / "day.itch"
        itch.write(path, events)
        self.assertEqual(list(read(itch, path)), events)
        some = [event for event in events if event.symbol == "BRKB"]
        self.assertEqual(list(read(itch, path, frozenset(["BRKB"]))), some)

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
        lines = "34200.1,5,0,10,1000000,1\n34200.2,6,-1,10,1000000,-1\n34200.3,7,0,0,-1,-1\n"
        path = self.file("ABC_message.csv", lines)
        self.assertEqual([type(event) for event in read(lobster, path)], [Skipped, Skipped])

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
        header = (
            "agg_trade_id,price,quantity,first_trade_id,last_trade_id,transact_time,is_buyer_maker"
        )
        line = "1,42283.58000000,0.02,5,6,1704067200123,true"
        path = self.file("BTCUSDT-aggTrades-2024-01-01.csv", f"{header}\n{line}\n")
        (trade,) = read(binance, path)
        self.assertEqual((trade.time, trade.buy), (1704067200123 * 10**6, False))
        self.assertEqual((trade.price, trade.shares), (units("42283.58"), units("0.02")))

    def test_numbers_and_symbols_are_those_of_the_exchange(self):
        for number in ("0", "1", "0.00000001", "42283.58", "92233720367"):
            self.assertEqual(text(units(number)), number)
        for bad in ("", "x", "-1", "0.000000001", "inf", "nan"):
            with self.assertRaises(ValueError):
                units(bad)
        self.assertEqual([symbol_name("AAPL"), symbol_name("BRK.A")], ["AAPL", "BRKx2EA"])


class Damaged(Played):
    def test_a_line_that_cannot_be_a_message_is_named_and_not_played(self):
        trades, quotes = "SPY-trades-2026-01-01.csv", "SPY-bookTicker-2026-01-01.csv"
        orders = "ABC_message.csv"
        quote = "1,9.5,10,9.6,20,1767225600000,1767225600000\n"
        for form, name, good, bad, problem in (
            ("binance", trades, TRADE, "1,0.00,2,0,1767225600000,True,True", "a price that is not"),
            ("binance", trades, TRADE, "1,5,0.0,0,1767225600000,True,True", "a quantity that is"),
            ("binance", trades, TRADE, "1,-5,2,0,1767225600000,True,True", "'-5' is not a number"),
            ("binance", trades, TRADE, "1,1_0,2,0,1767225600000,True,True", "'1_0' is not a num"),
            ("binance", trades, TRADE, "1,1e999,2,0,1767225600000,True,True", "'1e999' is not a"),
            ("binance", trades, TRADE, "1,5,2,0,1767225600000,yes,True", "'yes' is neither true"),
            ("binance", trades, TRADE, "1,5,2,0,17672256000,True,True", "'17672256000' is not a"),
            ("binance", trades, TRADE, "1,5,2,0,97672256000000,True,True", "'97672256000000' is"),
            ("binance", trades, TRADE, "1,5,2,0,+1767225600000,True,True", "'+1767225600000' is"),
            ("binance", trades, TRADE, "1,5,2,0,1767225600000", "5 columns, not 6 or 7"),
            ("binance", trades, TRADE, TRADE.strip() * 2, "13 columns, not 6 or 7"),
            ("binance", quotes, quote, "1,9.5,x,9.6,20,1767225600000,1", "'x' is not a number"),
            ("binance", quotes, quote, "1,9.5,10,9.6,20,1", "6 columns, not 7"),
            ("lobster", orders, LINE, "34200.1,1,2,10,0,1", "a price that is not above 0"),
            ("lobster", orders, LINE, "34200.1,1,2,0,1000000,1", "a size that is not above 0"),
            ("lobster", orders, LINE, "34200.1,1,x,10,1000000,1", "'x' is not a whole number"),
            ("lobster", orders, LINE, "34200.1,1,0,10,1000000,1", "0 is not the id of an order"),
            ("lobster", orders, LINE, "34200.1,1,1,10,1000000,1", "order 1 of ABC is open alr"),
            ("lobster", orders, LINE, "94200.1,1,2,10,1000000,1", "'94200.1' is not a time of"),
            ("lobster", orders, LINE, "34200.-1,1,2,10,1000000,1", "'-10000000' is not a whole"),
            ("lobster", orders, LINE, "34200.1,8,2,10,1000000,1", "unknown type '8'"),
            ("lobster", orders, LINE, "34200.1,1,2,10,1000000,2", "direction '2' is neither"),
            ("lobster", orders, LINE, "34200.1,1,2,10,1000000", "5 columns, not 6"),
            ("lobster", orders, LINE, "34200.1,1,2,10,1000000,\u00e9", "not plain text"),
            ("lobster", orders, LINE, "5" * 2000, "a line of more than 1000 bytes"),
        ):
            with self.subTest(form=form, bad=bad):
                path = self.file(name, good + bad + "\n" + good)
                self.assertIn(f"{path}:2: {problem}", self.refused(form, path))

    def test_a_message_of_itch_that_cannot_be_is_named_and_not_played(self):
        def add(order=2, side=b"B", shares=10, stock=b"ABC     ", price=10_000, locate=1, time=1):
            body = itch.ADD.pack(order, side, shares, stock, price)
            return itch.HEADER.pack(b"A", locate, 0, 0, time) + body

        end = itch.HEADER.pack(b"S", 0, 0, 0, 1) + b"C"
        for bad, problem in (
            ([add(price=0)], "byte 38: a price that is not above 0"),
            ([add(shares=0)], "byte 38: a size that is not above 0"),
            ([add(side=b"X")], "byte 38: side b'X' is neither B nor S"),
            ([add(order=0)], "byte 38: 0 is not the id of an order"),
            ([add(order=1)], "byte 38: order 1 of ABC is open already"),
            ([add(stock=b"XYZ     ")], "byte 38: b'XYZ' has the locate code of b'ABC'"),
            ([add(stock=b"        ", locate=2)], "byte 38: '' is not a symbol of 1 to 32 charac"),
            ([add(stock=b"AB\xff     ", locate=2)], "byte 38: b'AB\\xff ' is not a stock"),
            ([add() + b"x"], "byte 38: a message A of 37 bytes, not 36"),
            ([b"?" * 101], "byte 38: an unknown message of 101 bytes"),
            ([itch.HEADER.pack(b"D", 1, 0, 1 << 15, 0) + bytes(8)], "byte 38: a time after mid"),
            ([itch.HEADER.pack(b"D", 1, 0, 0, 1) + bytes(8)], "byte 38: 0 is not the id of an"),
            ([end, add()], "byte 52: a message after the one that ends the day"),
        ):
            with self.subTest(problem=problem):
                path = self.file("day.itch", framed(add(1), *bad))
                self.assertIn(f"{path}: {problem}", self.refused("itch", path))
        path = self.file("day.itch", framed(add(1), add())[:-1])
        wanted = f"{path}: byte 38: the file ends inside a message"
        self.assertIn(wanted, self.refused("itch", path))

    def test_text_of_a_file_never_becomes_a_request(self):
        for bad in ('1"/><cancel all="true"/><x y="', "<", "&lt;", "a<b", "1 "):
            path = self.file("ABC_message.csv", f"34200.2,1,{bad},5,5859400,1\n")
            self.assertIn(f"{path}:1: ", self.refused("lobster", path))
        (order,) = self.orders("lobster", self.file('A"><x y=".csv', LINE))
        self.assertEqual(order["sym"], "Ax22x3Ex3Cxx20yx3Dx22")

    def test_a_file_without_a_symbol_in_its_name_is_refused(self):
        for form, name in (("lobster", "_message.csv"), ("binance", "-trades-2026.csv")):
            path = self.file(name, LINE)
            self.assertIn(f"{path}: the name must begin with the sym", self.refused(form, path))

    def test_a_byte_order_mark_blank_lines_and_a_header_are_not_messages(self):
        header = "id,price,qty,quote_qty,time,is_buyer_maker,is_best_match\n"
        for form, name, line in (
            ("binance", "SPY-trades-2026.csv", TRADE),
            ("lobster", "SPY_message.csv", LINE),
        ):
            wanted = len(self.orders(form, self.file(name, line)))
            for before, after in ((MARK, b""), (b"", b"\n\n"), (b"\n", b" \r\n"), (MARK, b"\r\n")):
                with self.subTest(form=form, before=before, after=after):
                    path = self.file(name, before + line.encode() + after)
                    self.assertEqual(len(self.orders(form, path)), wanted)
        for first in (header, MARK.decode() + header):
            path = self.file("SPY-trades-2026.csv", first + TRADE)
            self.assertEqual(len(self.orders("binance", path)), 2)

    def test_a_damaged_first_line_is_not_a_header(self):
        for first in (
            "x1,100,2,200,1767225600000,True,True",
            "?,100,2,200,1767225600000,True",
            ",",
        ):
            path = self.file("SPY-trades-2026.csv", f"{first}\n{TRADE}")
            self.assertIn(f"{path}:1: ", self.refused("binance", path))

    def test_a_header_with_columns_in_another_order_is_refused(self):
        path = self.file(
            "SPY-trades-2026.csv", "id,time,price,qty,quote_qty,is_buyer_maker\n" + TRADE
        )
        self.assertIn(f"{path}:1: time is column 2, not 5", self.refused("binance", path))


class Archives(Played):
    def test_archives_that_cannot_be_read_are_named(self):
        whole = gzip.compress(LINE.encode() * 3)
        damaged = bytearray(whole)
        damaged[14] ^= 0xFF
        packed = zip_of(("SPY-trades-2026-01-01.csv", TRADE))
        for form, name, data in (
            ("lobster", "SPY.csv.gz", bytes(damaged)),
            ("lobster", "SPY.csv.gz", whole[:-4]),
            ("lobster", "SPY.csv.gz", b"no archive"),
            ("itch", "day.gz", bytes(damaged)),
            ("itch", "day.gz", whole[:-4]),
            ("binance", "SPY-trades-2026.zip", packed[:-30]),
            ("binance", "SPY-trades-2026.zip", b"no archive"),
            ("binance", "SPY-trades-2026.zip", packed.replace(b"PK\1\2", b"PK\1\3")),
            ("binance", "SPY-trades-2026.csv.gz", bytes(damaged)),
        ):
            with self.subTest(name=name, data=data):
                path = self.file(name, data)
                self.assertRegex(self.refused(form, path), f"{path}.*: cannot be read")

    def test_archives_of_each_format_are_played(self):
        for name in ("SPY.csv.gz", "SPY_message.csv.GZ"):
            (order,) = self.orders("lobster", self.file(name, gzip.compress(LINE.encode())))
            self.assertEqual(order["sym"], "SPY")
        for name, data in (
            ("a.csv.gz", gzip.compress(TRADE.encode())),
            ("b.zip", zip_of(("x", TRADE))),
        ):
            self.assertEqual(len(self.orders("binance", self.file(f"SPY-trades-{name}", data))), 2)

    def test_an_archive_holds_one_file_beside_folders_and_check_sums(self):
        path = self.file(
            "SPY-trades-2026.zip",
            zip_of(("a/", ""), ("a/x.csv.CHECKSUM", "0"), ("__MACOSX/x", "0"), ("a/x.csv", TRADE)),
        )
        self.assertEqual(len(self.orders("binance", path)), 2)
        for members in ((), (("a.csv", TRADE), ("b.csv", TRADE))):
            path = self.file("SPY-trades-2026.zip", zip_of(*members))
            wanted = f"{path}: the archive must hold one file, not {len(members)}"
            self.assertEqual(self.refused("binance", path), wanted)

    def test_a_file_that_is_not_there_is_named(self):
        for form, name in (("lobster", "SPY.csv"), ("itch", "day.gz"), ("journal", "x.db")):
            self.assertIn(f"{self.folder / name}: ", self.refused(form, self.folder / name))


class SeveralFiles(Played):
    def test_two_days_of_a_format_without_dates_are_refused(self):
        names = "AAPL_2012-06-21_message_1.csv", "MSFT_2012-06-22_message_1.csv"
        paths = [self.file(name, LINE) for name in names]
        self.assertIn("is of 2012-06-21 and", self.refused("lobster", *paths))
        for names in (
            ("01302020.NASDAQ_ITCH50", "S013120-v50.txt"),
            ("2020-01-30.itch", "x20200131"),
        ):
            paths = [self.file(name, b"") for name in names]
            self.assertIn("is of 2020-01-30 and", self.refused("itch", *paths))
        names = "AAPL_2012-06-21_34200000_57600000_message_1.csv", "MSFT_2012-06-21_message_1.csv"
        self.assertEqual(len(self.orders("lobster", *(self.file(name, LINE) for name in names))), 2)

    def test_two_days_without_dates_in_their_names_end_at_the_first_order_of_both(self):
        paths = [self.file(f"AAPL_{day}.csv", LINE) for day in "ab"]
        self.assertIn(
            f"{paths[1]}:1: order 1 of AAPL is open already", self.refused("lobster", *paths)
        )

    def test_the_same_messages_are_not_played_twice(self):
        path = self.file("SPY-trades-2026-01-01.csv", TRADE)
        other = self.file("SPY-aggTrades-2026-01-01.csv", TRADE)
        for paths in ((path, path), (path, other)):
            self.assertIn("have the same messages", self.refused("binance", *paths))
        later = self.file("SPY-trades-2026-01-02.csv", TRADE)
        self.assertEqual(len(self.orders("binance", path, later)), 4)


class Times(Played):
    """Trades at 07:45 and 09:45 UTC."""

    def setUp(self):
        super().setUp()
        lines = [f"{at},100,{at},0,{at}000,True,True\n" for at in (1767253500, 1767260700)]
        self.path = self.file("SPY-trades-2026-01-01.csv", "".join(lines))

    def first(self, begin):
        return self.orders("binance", self.path, more=("--from", begin))[0]["amount"]

    def test_an_offset_counts(self):
        for begin in ("2026-01-01T09:30:00+02:00", "2026-01-01T07:30:00", "07:30", "07:45:00"):
            self.assertEqual(self.first(begin), "1767253500", begin)
        for begin in ("2026-01-01T09:30:00", "2026-01-01T07:30:00-01:00", "09:30", "07:45:00.001"):
            self.assertEqual(self.first(begin), "1767260700", begin)

    def test_a_time_of_another_form_is_refused(self):
        for begin in ("09:30+02:00", "2026-01-01", "noon", "2026-01-01T25:00", "24:30"):
            self.assertIn(repr(begin), self.refused("binance", self.path, more=("--from", begin)))

    def test_a_date_is_refused_where_the_tape_has_none(self):
        path = self.file("ABC_message.csv", LINE)
        begin = "2026-01-01T09:30"
        self.assertIn("times of a day alone", self.refused("lobster", path, more=("--from", begin)))


class Mutated(Played):
    """Files with random damage. Each is played, or refused with one sentence that names it."""

    ROUNDS = 150  # of each file

    def samples(self):
        for form, name, messages in (
            ("lobster", "AAPL_2026-11-26_message.csv", 60),
            ("binance", "BTC-trades-2026-11-26.csv", 300),
            ("binance", "BTC-bookTicker-2026-11-26.csv", 60),
            ("itch", "day.itch", 60),
        ):
            path = self.folder / name
            self.assertEqual(run("generate", form, path, "--messages", messages)[0], 0)
            data = path.read_bytes()
            yield form, name, data
            yield form, f"{name}.gz", gzip.compress(data, mtime=0)
            yield form, f"{name}.zip", zip_of((name, data))

    def mutated(self, dice, data):
        for _ in range(dice.choice((1, 1, 1, 2, 5))):
            at, other = sorted(dice.randrange(len(data) + 1) for _ in "12")
            noise = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 9)))
            words = (
                MARK,
                b"\n\n",
                b"0",
                b"-",
                b'"/><cancel all="true"/>',
                b"e99",
                b",",
                b"\0",
                b"nan",
            )
            data = dice.choice(
                (
                    data[:at] + noise[:1] + data[at + 1 :],
                    data[:at] + data[at + len(noise) :],
                    data[:at] + noise + data[at:],
                    data[:at],
                    data[:at] + dice.choice(words) + data[at:],
                    data[:at] + data[at:other][:300] + data[at:],
                    MARK + data,
                    data.replace(b"\n", b"\r\n"),
                    data + b"\n\n",
                )
            )
        return data

    def test_each_is_played_or_refused_with_its_name(self):
        print(f"seed {SEED}")
        dice = random.Random(SEED)
        for form, name, data in self.samples():
            for number in range(self.ROUNDS):
                with self.subTest(name=name, number=number):
                    path = self.file(name, self.mutated(dice, data))
                    status, _, err = self.play(form, path)
                    if status == 0:
                        self.assertEqual(err, "")
                    else:
                        self.assertRegex(err, rf"\Aexchange-replay: {path}.*\n\Z")
