"""The client against servers that answer what a test says."""

import asyncio
import inspect
import os
import pickle
import re
import threading
import unittest
from contextlib import aclosing
from datetime import datetime, timezone
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch

import support
from exchange_client import (
    MARKET,
    AsyncExchange,
    BadReply,
    ConnectionFailed,
    Exchange,
    ExchangeError,
    Fill,
    InDoubt,
    Order,
    Refused,
    market_data,
)
from exchange_client.market import Books
from exchange_client import protocol
from exchange_client.protocol import Execution, ReplyReader, Status, decimal, text
from support import FakeServer, FakeWebSocket, needs_websockets, websockets

OPENED = b'<results><opened sym="S" amount="1" limit="2" id="7"/></results>\n'
CREATED = b'<results><created id="7"/></results>\n'
REPLACED = b'<results><replaced id="7" amount="-80" limit="141"/></results>\n'
STATUS = (
    b'<results><status id="7"><open shares="60"/>'
    b'<executed shares="40" price="145.67" time="1700000000"/></status></results>\n'
)


def with_length(reply):
    return b"%d\n%s" % (len(reply), reply)


class Requests(unittest.TestCase):
    def test_an_order_is_one_element_with_exact_numbers(self):
        with FakeServer(lambda *_: OPENED) as server, Exchange(server.address, 1) as exchange:
            order = exchange.sell("S", Decimal("0.1"), "1e2")
            self.assertEqual(
                [
                    '<transactions id="1" codes="true"><order sym="S" amount="-0.1"'
                    ' limit="100"/></transactions>'
                ],
                server.requests,
            )
            self.assertEqual((7, Decimal("-0.1")), (order.id, order.amount))

    def test_terms_are_attributes(self):
        with FakeServer(lambda *_: OPENED) as server:
            with Exchange(server.address, 1, cancel_on_disconnect=True) as exchange:
                exchange.buy("S", 1, MARKET, "R", tif="ioc", post=True, stp="cancel-taking")
        self.assertEqual(
            (
                '<transactions id="1" cancel-on-disconnect="true" codes="true"><order sym="S"'
                ' amount="1" type="market" ref="R" tif="ioc" post="true"'
                ' stp="cancel-taking"/></transactions>'
            ),
            server.requests[0],
        )

    def test_a_replace_takes_the_side_of_its_order(self):
        bid, ask = (Order(7, "S", Decimal(amount), Decimal(140), "R") for amount in (100, -100))
        with FakeServer(lambda *_: REPLACED) as server, Exchange(server.address, 1) as exchange:
            self.assertEqual(
                [
                    Order(7, "S", Decimal("80.5"), Decimal("1e2"), "R"),
                    Order(7, "S", Decimal(-80), Decimal(141), "R"),
                    Order(7, "", Decimal(80), Decimal(141)),
                    Order(7, "", Decimal(-80), Decimal(141), "R"),
                ],
                [
                    exchange.replace(bid, "80.5", "1e2"),
                    exchange.replace(ask, 80, 141),
                    exchange.replace(7, 80, 141, side="buy"),
                    exchange.replace(None, 80, 141, ref="R", side="sell"),
                ],
            )
            self.assertEqual(
                [
                    f'<transactions id="1" codes="true"><replace {attributes}/></transactions>'
                    for attributes in (
                        'id="7" amount="80.5" limit="100"',
                        'id="7" amount="-80" limit="141"',
                        'id="7" amount="80" limit="141"',
                        'ref="R" amount="-80" limit="141"',
                    )
                ],
                server.requests,
            )

    def test_rules_are_attributes(self):
        async def run(address):
            async with AsyncExchange(address) as exchange:
                await exchange.set_instrument("S", price_max="1e2", trading="open")
                await asyncio.gather(exchange.halt("S"), exchange.resume("S"))

        with FakeServer(lambda *_: CREATED) as server:
            with Exchange(server.address, operator_key="<k>") as exchange:
                exchange.set_instrument("S", tick="0.05", lot=10, order_max=Decimal(9), price_min=0)
                exchange.halt("S")
                exchange.resume("S")
            asyncio.run(run(server.address))
        trading = [f'<instrument sym="S" trading="{word}"/>' for word in ("halted", "open")]
        self.assertEqual(
            [
                '<instrument sym="S" tick="0.05" lot="10" order-max="9" price-min="0"/>',
                *trading,
                '<instrument sym="S" price-max="100" trading="open"/>',
                *trading,
            ],
            _elements(server.requests),
        )
        self.assertTrue(server.requests[0].startswith('<create key="&lt;k&gt;" codes="true">'))

    def test_a_cancel_of_all_is_alone_in_its_request(self):
        root = '<transactions id="1" codes="true">'
        one, every = protocol.cancel(root, 1, None), protocol.cancel_all(root, "S")
        self.assertEqual(
            [[one, one], [every], [every], [one]],
            protocol.groups([one, one, every, every, one]),
        )

    def test_text_is_escaped(self):
        with FakeServer(lambda *_: OPENED) as server:
            with Exchange(server.address, 'a"<&', key="<k>") as exchange:
                exchange.buy("S", 1, 2)
        self.assertIn(
            """<transactions id='a"&lt;&amp;' key="&lt;k&gt;" codes="true">""", server.requests[0]
        )

    def test_wrong_arguments_are_refused_before_anything_is_sent(self):
        exchange, bid = Exchange("127.0.0.1:1", 1), Order(7, "S", Decimal(1), Decimal(1))
        for act, arguments, more, error in (
            (exchange.buy, ("S", 0.1, 2), {}, TypeError),
            (exchange.buy, ("S", True, 2), {}, TypeError),
            (exchange.buy, ("S", "many", 2), {}, ValueError),
            (exchange.buy, ("S", "nan", 2), {}, ValueError),
            (exchange.buy, ("S", 0, 2), {}, ValueError),
            (exchange.buy, ("S", -1, 2), {}, ValueError),
            (exchange.buy, ("S", 1), {}, TypeError),
            (exchange.buy, ("S", 1, None), {}, TypeError),
            (exchange.buy, ("S", 1, "market"), {}, ValueError),
            (exchange.buy, ("S", 1, 2), {"tiff": "ioc"}, TypeError),
            (exchange.buy, ("S", 1, 2), {"type": "market"}, TypeError),
            (exchange.replace, (7, 80, 141), {}, ValueError),
            (exchange.replace, (7, 80, 141), {"side": "both"}, ValueError),
            (exchange.replace, (None, 80, 141), {"side": "buy"}, ValueError),
            (exchange.replace, (7, 80, 141), {"side": "buy", "ref": "R"}, ValueError),
            (exchange.replace, (bid, 0, 141), {}, ValueError),
            (exchange.replace, (bid, 80, 1.5), {}, TypeError),
            (exchange.replace, (bid, 80, MARKET), {}, TypeError),
            (exchange.replace, (bid, 80), {}, TypeError),
            (exchange.replace, (bid, 80, 141), {"tif": "ioc"}, TypeError),
            (exchange.query, (), {}, ValueError),
            (exchange.query, (1,), {"ref": "x"}, ValueError),
            (Exchange("127.0.0.1:1").buy, ("S", 1, 1), {}, ValueError),
        ):
            with self.subTest(act=act, arguments=arguments, more=more), self.assertRaises(error):
                act(*arguments, **more)
        for servers in (
            *("", "host", "host:x", "host:99999", ":1", "host:١"),
            *("http://host:1", "ho st:1", "host:+1", "host:1_0"),
        ):
            with self.subTest(servers), self.assertRaisesRegex(ValueError, "is not HOST:PORT"):
                Exchange(servers)

    def test_a_number_is_exactly_what_the_caller_wrote(self):
        """What Python would turn into another number, or guess, is refused before anything is
        sent."""
        for number in (True, False, 43.99, 1.0, None, [1], b"1", Fraction(1, 2)):
            with self.subTest(number), self.assertRaises(TypeError):
                decimal(number, "n")
        for number in ("1_0", "١", "１", " 1", "1\n", "", ".", "0x10", "1e", "inf", "-nan", "1e65"):
            with self.subTest(number), self.assertRaises(ValueError):
                decimal(number, "n")
        for number in ("1e99999999999999999999", Decimal("1e999999999"), Decimal("0e-999999999")):
            with self.subTest(number), self.assertRaisesRegex(ValueError, "out of range"):
                decimal(number, "n")
        for number, wanted in (
            (7, "7"),
            (Index(7), "7"),
            ("-.5", "-0.5"),
            ("5.", "5"),
            ("+1E2", "100"),
        ):
            with self.subTest(number):
                self.assertEqual(wanted, text(decimal(number, "n")))

    def test_the_programs_own_precision_changes_no_number(self):
        long = Decimal("1234567890.12345678")
        status = Status(1, long, long, (Execution(long, long, None), Execution(long, long, None)))
        with FakeServer(lambda *_: OPENED) as server, Exchange(server.address, 1) as exchange:
            with localcontext(Context(prec=3)):
                exchange.sell("S", long, long)
                executed, cash = status.executed, status.cash
        self.assertIn(
            'amount="-1234567890.12345678" limit="1234567890.12345678"', server.requests[0]
        )
        self.assertEqual("2469135780.24691356", str(executed))
        self.assertEqual("3048315750647767305.5936599530559368", str(cash))

    def test_the_id_of_an_order_is_an_int(self):
        exchange = Exchange("127.0.0.1:1", 1)
        for order in (43.99, True, False, "1_0", "10", "", Decimal(10), [10], 1j):
            for act in (exchange.query, exchange.cancel, partial(exchange.replace, side="buy")):
                numbers = (1, 1) if act not in (exchange.query, exchange.cancel) else ()
                with self.subTest(order=order, act=act), self.assertRaisesRegex(TypeError, "order"):
                    act(order, *numbers)
        with FakeServer(lambda *_: STATUS) as server, Exchange(server.address, 1) as exchange:
            exchange.query(Index(10))
            exchange.query(0)  # as other servers may count
        self.assertEqual(['<query id="10"/>', '<query id="0"/>'], _elements(server.requests))

    def test_the_id_of_an_account_is_a_text_or_an_int(self):
        any_account = Exchange("127.0.0.1:1")
        for account in (True, 1.0, Decimal(1), b"1", (1,)):
            for act, *arguments in (
                (Exchange("127.0.0.1:1", account).query, 1),
                (any_account.create_account, account, 1),
                (any_account.create_symbol, "S", {account: 1}),
            ):
                with self.subTest(account, act=act), self.assertRaisesRegex(TypeError, "account"):
                    act(*arguments)
        with FakeServer(lambda *_: CREATED) as server, Exchange(server.address) as exchange:
            for account in (Index(7), 7, "007"):
                exchange.create_account(account, 1)
        self.assertEqual(
            [f'<account id="{account}" balance="1"/>' for account in ("7", "7", "007")],
            _elements(server.requests),
        )

    def test_the_other_arguments_have_types_too(self):
        exchange, keyed = Exchange("127.0.0.1:1", 1), Exchange("127.0.0.1:1", 1, key=1)
        for act in (
            lambda: exchange.buy(1, 1, 1),
            lambda: exchange.buy("S", 1, 1, ref=1),
            lambda: exchange.query(ref=1),
            lambda: exchange.buy("S", 1, 1, post="false"),
            lambda: exchange.buy("S", 1, 1, post=1),
            lambda: exchange.buy("S", 1, 1, tif=True),
            lambda: exchange.buy("S", 1, 1, stp=1),
            lambda: exchange.cancel_all(1),
            lambda: exchange.create_symbol(1),
            lambda: exchange.create_account(1, 1.5),
            lambda: exchange.create_account(1, 1, key=1),
            lambda: exchange.create_symbol("S", {1: 0.5}),
            lambda: exchange.set_instrument("S", tick=0.5),
            lambda: exchange.set_instrument("S", trading=True),
            lambda: exchange.set_instrument("S", at_band=1),
            lambda: exchange.set_key(12345678, 1),
            lambda: exchange.set_instrument("S", ticks=1),
            lambda: exchange.set_account(1, access=True),
            lambda: exchange.set_account(1, roles="trader"),
            lambda: exchange.set_account(None, role="trader"),
            lambda: exchange.set_role(1, True),
            lambda: exchange.set_role(1, None),
            lambda: exchange.set_name(1, None),
            lambda: exchange.begin_round(None),
            lambda: exchange.freeze(1, cancel_orders="true"),
            lambda: exchange.set_limits(1, orders_max="5"),
            lambda: exchange.set_limits(1, position_max=0.5),
            lambda: exchange.adjust_cash(1, 0.5),
            lambda: exchange.adjust_cash(1, 5, 7),
            lambda: exchange.adjust_shares(1, None, 5),
            lambda: exchange.halt(1),
            lambda: keyed.query(1),
            lambda: Exchange("127.0.0.1:1", cancel_on_disconnect="false"),
            lambda: Exchange("127.0.0.1:1", timeout="30"),
            lambda: Exchange("127.0.0.1:1", timeout=True),
            lambda: Exchange("127.0.0.1:1", retry="30"),
            lambda: Exchange(12345),
        ):
            with self.subTest(inspect.getsource(act)), self.assertRaises(TypeError):
                act()
        for seconds in (0, -1, float("nan")):
            with self.subTest(seconds), self.assertRaises(ValueError):
                Exchange("127.0.0.1:1", timeout=seconds)


class Index:
    """As an int of numpy: no int."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def _elements(requests):
    return [re.search(r">(.*)</", request)[1] for request in requests]


class Replies(unittest.TestCase):
    def test_a_status(self):
        for reply in (STATUS, with_length(STATUS), b"<?xml version='1.0'?>\n" + STATUS):
            with self.subTest(reply), FakeServer(lambda *_, reply=reply: reply) as server:
                with Exchange(server.address, 1) as exchange:
                    status = exchange.query(7)
                self.assertEqual((60, 0, 40), (status.open, status.canceled, status.executed))
                self.assertEqual(Decimal("5826.80"), status.cash)
                self.assertEqual(2023, status.executions[0].time.year)

    def in_pieces(self, stream):
        reader, found = ReplyReader(), []
        for byte in stream:
            reader.feed(bytes([byte]))
            if (one := reader.take()) is not None:
                found.append(one.strip())
        return found

    def test_replies_in_pieces(self):
        for before in (b"", b"\xef\xbb\xbf", b"\r\n\xef\xbb\xbf"):
            for reply in (STATUS, with_length(STATUS)):
                self.assertEqual([STATUS.strip()] * 2, self.in_pieces(2 * (before + reply)))
        empty = b"<results />\n<results/>"
        self.assertEqual([b"<results />", b"<results/>"], self.in_pieces(empty))

    def test_a_byte_order_mark(self):
        with FakeServer(lambda *_: b"\xef\xbb\xbf" + STATUS) as server:
            with Exchange(server.address, 1) as exchange:
                self.assertEqual([60, 60], [exchange.query(7).open for _ in range(2)])
        reader = ReplyReader()
        reader.feed(b"\xef\xbbno mark")
        with self.assertRaises(BadReply):
            reader.take()

    def test_the_sentence_of_a_refusal(self):
        refusal = b'<results><error sym="S">insufficient funds</error></results>\n'
        with FakeServer(lambda *_: refusal) as server, Exchange(server.address, 1) as exchange:
            with self.assertRaisesRegex(Refused, "^insufficient funds$") as raised:
                exchange.buy("S", 1, 2)
            self.assertIsNone(raised.exception.code)  # a server that knows no codes

    def test_the_code_of_a_refusal(self):
        refusal = b'<results><error sym="S" code="insufficient_funds">what a pity</error></results>'
        whole = b'<results><error code="no_memory">no memory</error></results>'

        async def run(address):
            async with AsyncExchange(address, 1) as exchange:
                await exchange.buy("S", 1, 2)

        with FakeServer(lambda *_: refusal) as server, Exchange(server.address, 1) as exchange:
            for act in (
                lambda: exchange.buy("S", 1, 2),
                lambda: exchange.create_account(1, 2),
                lambda: exchange.cancel_all(),
                lambda: asyncio.run(run(server.address)),
            ):
                with self.assertRaisesRegex(Refused, "^what a pity$") as raised:
                    act()
                self.assertEqual("insufficient_funds", raised.exception.code)
            self.assertTrue(all(' codes="true">' in one for one in server.requests))
        with FakeServer(lambda *_: whole) as server, Exchange(server.address, 1) as exchange:
            with exchange.pipeline() as pipeline:
                orders = [pipeline.query(1) for _ in range(3)]
            for order in orders:
                with self.assertRaises(Refused) as raised:
                    order.result()
                self.assertEqual("no_memory", raised.exception.code)
        copy = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual(("no memory", "no_memory"), (str(copy), copy.code))

    def test_all_errors_have_a_code(self):
        errors = [ExchangeError(), ConnectionFailed(), InDoubt(), BadReply(), Refused("no")]
        self.assertEqual(
            [None, "connection_failed", "in_doubt", "bad_reply", None],
            [error.code for error in errors],
        )

    def test_what_is_no_reply(self):
        buy = partial(Exchange.buy, symbol="S", shares=1, limit=2)
        replace = partial(Exchange.replace, order=7, shares=1, limit=1, side="buy")
        for request, reply, error in (
            (buy, b"HTTP/1.1 400 Bad Request\r\n\r\n", BadReply),
            (buy, b"<results></results>\n", BadReply),
            (buy, b"<results><status/></results>\n", BadReply),
            (buy, b"<results><opened/></results>\n", BadReply),
            (buy, b"99999999999999999999999\n", BadReply),
            (buy, b"<results><opened id='1'></results>\n", BadReply),
            (replace, OPENED, BadReply),
            (replace, b'<results><replaced amount="1" limit="1"/></results>\n', BadReply),
            (replace, b'<results><error id="7">nothing is open</error></results>\n', Refused),
            (Exchange.cancel_all, b"<results/>\n", BadReply),
            (Exchange.cancel_all, b'<results><status id="1"/></results>\n', BadReply),
            (Exchange.cancel_all, b"<results><error>unknown account</error></results>\n", Refused),
        ):
            with self.subTest(reply), FakeServer(lambda *_, reply=reply: reply) as server:
                with Exchange(server.address, 1) as exchange:
                    self.assertRaises(error, request, exchange)

    def test_a_cancel_of_all_repeats_its_request_until_nothing_is_open(self):
        def answer(_, number):
            if number > 2:
                return b'<results><error code="no_open_orders">none is open</error></results>\n'
            one = b'<canceled id="%d"><canceled shares="1" time="1700000000"/></canceled>'
            return b"<results>" + one % (2 * number) + one % (2 * number + 1) + b"</results>\n"

        with FakeServer(answer) as server, Exchange(server.address, 1) as exchange:
            self.assertEqual([2, 3, 4, 5], [one.id for one in exchange.cancel_all()])
            request = '<transactions id="1" codes="true"><cancel all="true"/></transactions>'
            self.assertEqual([request] * 3, server.requests)
            self.assertEqual([], exchange.cancel_all("S"))
            self.assertIn('<cancel sym="S"/>', server.requests[-1])

    def test_a_pipeline_gives_each_its_own_result(self):
        reply = b'<results><opened id="1"/><error>no</error><opened id="3"/></results>\n'
        with FakeServer(lambda *_: reply) as server, Exchange(server.address, 1) as exchange:
            with exchange.pipeline() as pipeline:
                pending = [pipeline.buy("S", n, 1) for n in (1, 2, 3)]
                with self.assertRaises(RuntimeError):
                    pending[0].result()
            self.assertEqual([1, 3], [pending[0].result().id, pending[2].result().id])
            with self.assertRaises(Refused):
                pending[1].result()
        self.assertEqual(1, len(server.requests))

    def test_a_long_pipeline_does_not_wait_for_itself(self):
        def answer(request, _):
            return b"<results>" + b'<opened id="1"/>' * request.count("<order") + b"</results>\n"

        with FakeServer(answer) as server, Exchange(server.address, 1) as exchange:
            with exchange.pipeline() as pipeline:
                pending = [pipeline.buy("S", 1, 1) for _ in range(20_000)]
            self.assertEqual({1}, {one.result().id for one in pending})


class LostConnections(unittest.TestCase):
    def test_without_retry_the_outcome_is_in_doubt(self):
        with FakeServer(lambda *_: None) as server, Exchange(server.address, 1) as exchange:
            with self.assertRaisesRegex(InDoubt, "closed the connection; whether the exchange"):
                exchange.buy("S", 1, 2)
            self.assertEqual(1, len(server.requests))

    def test_a_server_that_is_not_there(self):
        with self.assertRaisesRegex(ConnectionFailed, "cannot connect to 127.0.0.1:1: .*refused"):
            Exchange("127.0.0.1:1", 1).buy("S", 1, 2)

    def test_an_order_is_sent_again_with_the_same_reference(self):
        def answer(_, number):
            return None if number < 3 else OPENED

        for run in (self._buy, self._buy_async):
            with self.subTest(run), FakeServer(answer) as server:
                order = run(server.address, retry=10)
                self.assertEqual(7, order.id)
                self.assertIsNotNone(order.ref)
                self.assertEqual(3, len(server.requests))
                self.assertEqual(1, len(set(server.requests)))

    def test_only_an_order_is_sent_again(self):
        requests = (
            lambda exchange: exchange.cancel(1),
            lambda exchange: exchange.cancel_all(),
            lambda exchange: exchange.replace(7, 1, 1, side="buy"),
        )

        async def run(address, request):
            async with AsyncExchange(address, 1, retry=1) as exchange:
                await request(exchange)

        for request in requests:
            with self.subTest(inspect.getsource(request)), FakeServer(lambda *_: None) as server:
                with Exchange(server.address, 1, retry=1) as exchange:
                    self.assertRaises(InDoubt, request, exchange)
                with self.assertRaises(InDoubt):
                    asyncio.run(run(server.address, request))
                self.assertEqual(2, len(server.requests))

    def test_the_active_one_of_several_servers_is_found(self):
        with FakeServer(lambda *_: OPENED) as server:
            for run in (self._buy, self._buy_async):
                self.assertEqual(7, run(f"127.0.0.1:1,{server.address}").id)

    def test_retries_end(self):
        with FakeServer(lambda *_: None) as server, self.assertRaises(InDoubt):
            self._buy(server.address, retry=0.3)

    def test_a_reply_that_does_not_come(self):
        with FakeServer(lambda *_: b"") as server:
            for run in (self._buy, self._buy_async):
                with self.subTest(run), self.assertRaises(InDoubt):
                    run(server.address, timeout=0.2)

    def test_awaited_together_is_pipelined_on_one_connection(self):
        async def run(address):
            async with AsyncExchange(address, 1) as exchange:
                return await asyncio.gather(*(exchange.query(7) for _ in range(50)))

        with FakeServer(lambda *_: STATUS) as server:
            self.assertEqual(50, len(asyncio.run(run(server.address))))

    @staticmethod
    def _buy(address, **options):
        with Exchange(address, 1, **options) as exchange:
            return exchange.buy("S", 1, 2)

    @staticmethod
    def _buy_async(address, **options):
        async def run():
            async with AsyncExchange(address, 1, **options) as exchange:
                return await exchange.buy("S", 1, 2)

        return asyncio.run(run())


class HttpPort(unittest.TestCase):
    """The client's calls to a port that answers what a test says."""

    ACCOUNT = (
        '{"account":"1","balance":"5","reserved":"0","positions":[],"open_orders":0,"orders":[]}'
    )

    def serve(self, status, body=None):
        """All paths are answered alike, or as status(path) says."""
        asked = []
        answer = status if callable(status) else lambda _: (status, body)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def do_GET(self):
                asked.append((self.path, self.headers["Authorization"]))
                status, body = answer(self.path)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"127.0.0.1:{server.server_port}", asked

    def exchange(self, http, account=1, **more):
        return Exchange("127.0.0.1:1", account, http=http, **more)

    def test_the_server_that_answers_is_found(self):
        down, asked = self.serve(503, '{"error":"standby","code":"standby"}')
        good, _ = self.serve(200, self.ACCOUNT)
        for http in (good, f"127.0.0.1:1,{down},{good}"):
            with patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:1"}):
                self.assertEqual(5, self.exchange(http, account="a/b", key="k").account().balance)
        self.assertEqual([("/api/accounts/a%2Fb", "Basic YS9iOms=")], asked)
        with self.assertRaisesRegex(ConnectionFailed, "standby.*; 127.0.0.1:1: .*refused"):
            self.exchange(f"{down},127.0.0.1:1").account()

    def test_lists_in_pages(self):
        position = '{"symbol":"%s","shares":"1","reserved":"0"}'
        order = (
            '{"order":%d,"symbol":"S","side":"sell","shares":"2","limit":"3","open":"1",'
            '"opened_at_us":4}'
        )
        fill = '{"shares":"%d","price":"1","time_us":1}'
        account = (
            '{"account":"1","balance":"5","reserved":"0","open_orders":3,"positions":[%s],'
            '"orders":[%s]%s}'
        )
        closed, more = [], ',"next_order":8,"next_position":"A&B"'
        pages = {
            "/api/accounts/1": account % (position % "A&B", order % 8, more),
            "/api/accounts/1?positions_after=A%26B": account % (position % "C", "", ""),
            "/api/accounts/1?orders_after=8": account % ("", order % 9, ',"next_order":9'),
            "/api/accounts/1?orders_after=9": account % ("", order % 10, ""),
            "/api/orders/7": '{"account":"1","executions":[%s],"next":1}' % (fill % 3),
            "/api/orders/7?before=1": '{"account":"1","executions":[%s]}' % (fill % 2),
            "/api/accounts/2": account % ("", "", ',"next_position":"X"'),
            "/api/accounts/2?positions_after=X": account % ("", "", ',"next_position":"X"'),
        }

        def answer(path):
            if path.endswith("=9") and not closed:
                closed.append(path)  # and open again
                return 404, '{"error":"not open","code":"unknown_order"}'
            return 200, pages[path]

        http, _ = self.serve(answer)
        exchange = self.exchange(http)
        self.assertEqual(["A&B", "C"], [one.symbol for one in exchange.account().positions])
        self.assertEqual([8, 9, 10], [one.id for one in exchange.open_orders()])
        self.assertEqual(1, len(closed))
        self.assertEqual(
            [-2, 1], [exchange.open_orders()[0].amount, exchange.open_orders()[0].open]
        )
        self.assertEqual([2, 3], [one.shares for one in exchange.fills(7)])
        with self.assertRaisesRegex(BadReply, "refers to itself"):
            self.exchange(http, account=2).account()

    def test_fills_come_page_by_page(self):
        fill = (
            '{"execution":%d,"order":3,"ref":"mine","symbol":"S","side":"sell","shares":"0.5",'
            '"price":"2","role":"maker","auction":true,"time_us":1}'
        )
        usual = (
            '{"execution":%d,"order":4,"symbol":"S","side":"buy","shares":"1","price":"2",'
            '"role":"taker","time_us":1000000}'
        )
        page = '{"account":"1","fills":[%s],"newest_execution":9%s}'
        pages = {
            "": page % (fill % 4, ',"next":4'),
            "?after=4": page % ("", ',"next":8'),  # none among so many executions of others
            "?after=8": page % (usual % 9, ""),
            "?before=newest": page % (usual % 9, ',"next":9'),
            "?before=9": page % (fill % 4, ""),
        }
        http, asked = self.serve(
            lambda path: (200, pages[path.removeprefix("/api/accounts/1/fills")])
        )
        exchange = self.exchange(http)
        fills = exchange.fills()
        self.assertEqual([], asked)  # until one is wanted
        first, half = next(fills), Decimal("0.5")
        time = datetime(1970, 1, 1, 0, 0, 0, 1, timezone.utc)
        self.assertEqual(
            Fill(4, 3, "S", "sell", half, Decimal(2), "maker", time, "mine", True), first
        )
        self.assertEqual(1, len(asked))
        time = time.replace(second=1, microsecond=0)
        last = Fill(9, 4, "S", "buy", Decimal(1), Decimal(2), "taker", time)
        self.assertEqual([last], list(fills))
        self.assertEqual([last, first], list(exchange.fills(newest_first=True)))
        self.assertEqual([last], list(exchange.fills(after=8)))

        async def run():
            async with AsyncExchange("127.0.0.1:1", 1, http=http) as other:
                return [fill async for fill in other.fills()]

        self.assertEqual([first, last], asyncio.run(run()))
        pages[""] = page % ("{}", "")
        with self.assertRaises(BadReply):
            list(exchange.fills())

    def test_a_new_day_is_asked_for_until_it_is_closed(self):
        closing = (202, '{"day":"monday","closed":false}')
        answers = [closing, (503, "starting\n"), (200, '{"closed":true,"store":"sqlite:x"}')]
        http, asked = self.serve(lambda _: answers[len(asked) - 1])
        with self.exchange(f"127.0.0.1:1,{http}", operator_key="operator-1") as exchange:
            self.assertEqual("sqlite:x", exchange.new_day("monday"))
        self.assertEqual([("/api/admin/new-day", "Bearer operator-1")] * 3, asked)
        standby, _ = self.serve(503, '{"error":"this server is not the active one"}')
        with self.assertRaisesRegex(ConnectionFailed, "not the active one"):
            self.exchange(standby, operator_key="operator-1").new_day("monday")
        refusing, _ = self.serve(403, '{"error":"no","code":"operator_key"}')
        with self.assertRaises(Refused) as raised:
            self.exchange(refusing, operator_key="operator-2").new_day("monday")
        self.assertEqual("operator_key", raised.exception.code)
        slow, _ = self.serve(*closing)
        with self.assertRaises(InDoubt):
            self.exchange(slow, operator_key="operator-1", timeout=0.1).new_day("monday")

    def test_what_is_no_answer(self):
        for status, body in ((200, "[]"), (200, "{"), (200, ""), (404, "<html>"), (404, "null")):
            http, _ = self.serve(status, body)
            with self.subTest(body), self.assertRaises(BadReply):
                self.exchange(http).account()

    def test_wrong_arguments(self):
        exchange = self.exchange("127.0.0.1:1")
        for act, error in (
            (lambda: Exchange("127.0.0.1:1", 1).account(), ValueError),
            (lambda: self.exchange("127.0.0.1:1", account=None).open_orders(), ValueError),
            (lambda: self.exchange("127.0.0.1"), ValueError),
            (lambda: exchange.fills("7"), TypeError),
            (lambda: exchange.fills(7.5), TypeError),
            (lambda: exchange.fills(7, after=1), TypeError),
            (lambda: exchange.fills(after=1, newest_first=True), TypeError),
            (lambda: exchange.fills(after="1"), TypeError),
            (lambda: exchange.fills(after=-1), ValueError),
            (lambda: exchange.fills(newest_first=1), TypeError),
            (lambda: self.exchange("127.0.0.1:1", account=None).fills(), ValueError),
            (lambda: exchange.book(7), TypeError),
            (lambda: exchange.book("S", levels=True), TypeError),
            (lambda: exchange.open_orders(7), TypeError),
            (lambda: self.exchange("127.0.0.1:1", key="k").new_day("monday"), ValueError),
            (lambda: self.exchange("127.0.0.1:1", operator_key="k").new_day(7), TypeError),
        ):
            with self.subTest(inspect.getsource(act)), self.assertRaises(error):
                act()


class MarketData(unittest.TestCase):
    @needs_websockets
    def test_the_way_to_the_server(self):
        """An IPv6 address has brackets in the URL, and a proxy of the environment is not used."""
        asked = []

        async def run(address):
            async for update in market_data(address, "S"):
                return update

        async def serve(socket, *_):
            asked.append(socket)
            await socket.recv()
            await socket.send(self.SNAPSHOT)

        async def both():
            for host in ("127.0.0.1", "::1"):
                async with websockets.serve(serve, host, 0) as server:
                    port = server.sockets[0].getsockname()[1]
                    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
                    self.assertEqual("S", (await run(address)).symbol)

        proxies = {name: "http://127.0.0.1:1" for name in ("http_proxy", "all_proxy", "ws_proxy")}
        with patch.dict(os.environ, proxies | {"no_proxy": ""}):
            asyncio.run(asyncio.wait_for(both(), 60))
        self.assertEqual(2, len(asked))

    @needs_websockets
    def test_after_a_quiet_time_it_connects_again(self):
        """The time for it begins when the connection is lost."""
        quiet = 0.4

        async def sequences(address):
            async with aclosing(market_data(address, "S", retry=quiet / 2)) as updates:
                return [(await anext(updates)).sequence for _ in range(2)]

        later = self.SNAPSHOT.replace('"sequence":3', '"sequence":9')
        with FakeWebSocket([self.SNAPSHOT, quiet], [later]) as server:
            self.assertEqual([3, 9], asyncio.run(sequences(server.address)))

    SNAPSHOT = (
        '{"type":"snapshot","symbol":"S","sequence":3,"bids":[["2","5",1]],"asks":[],"trades":[]}'
    )

    def update(self, sequence, bids):
        return (
            f'{{"type":"update","symbol":"S","sequence":{sequence},"bids":{bids},'
            '"asks":[["3","1",1]],"trades":[{"id":1,"price":"2","shares":"1","taker":"sell",'
            '"buy_order":1,"sell_order":2,"time_us":5}]}'
        )

    def test_updates_change_the_book(self):
        books = Books()
        self.assertEqual(5, books.take(self.SNAPSHOT).bid.shares)
        update = books.take(self.update(4, '[["2","0",0],["1","9",2]]'))
        self.assertEqual((1, 9), (update.bid.price, update.bid.shares))
        self.assertEqual((3, False, 1), (update.ask.price, update.is_snapshot, len(update.trades)))

    def test_after_a_gap_it_asks_for_a_snapshot(self):
        books = Books()
        books.take(self.SNAPSHOT)
        self.assertEqual("S", books.take(self.update(5, "[]")))
        self.assertIsNone(books.take(self.update(6, "[]")))
        self.assertTrue(books.take(self.SNAPSHOT).is_snapshot)
        self.assertEqual(4, books.take(self.update(4, "[]")).sequence)

    def test_errors(self):
        with self.assertRaisesRegex(Refused, "unknown symbol"):
            Books().take('{"type":"error","error":"unknown symbol \'X\'"}')
        with self.assertRaises(BadReply):
            Books().take("[]")


if __name__ == "__main__":
    unittest.main()
