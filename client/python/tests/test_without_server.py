"""What the client sends over the XML port, and how it takes replies and lost connections: against
servers that answer what a test says."""

import asyncio
import inspect
import pickle
import re
import unittest
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import partial

import support
from exchange_client import (
    MARKET,
    AsyncExchange,
    BadReply,
    ConnectionFailed,
    Exchange,
    ExchangeError,
    InDoubt,
    Order,
    Refused,
)
from exchange_client import protocol
from exchange_client.protocol import Execution, ReplyReader, Status, decimal, text
from support import Case, FakeServer

OPENED = b'<results><opened sym="S" amount="1" limit="2" id="7"/></results>\n'
CREATED = b'<results><created id="7"/></results>\n'
REPLACED = b'<results><replaced id="7" amount="-80" limit="141"/></results>\n'
STATUS = (
    b'<results><status id="7"><open shares="60"/>'
    b'<executed shares="40" price="145.67" time="1700000000"/></status></results>\n'
)
MARK = b"\xef\xbb\xbf"  # a byte order mark
BID, ASK = (Order(7, "S", Decimal(amount), Decimal(140), "R") for amount in (100, -100))


class Index:
    """As an int of numpy: no int."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


# A request, and the element that is sent for it: numbers are exact, texts escaped, and what is not
# given is left out.
ELEMENTS = (
    (lambda of: of.sell("S", Decimal("0.1"), "1e2"), '<order sym="S" amount="-0.1" limit="100"/>'),
    (
        lambda of: of.buy("S", 1, MARKET, "R", tif="ioc", post=True, stp="cancel-taking"),
        '<order sym="S" amount="1" type="market" ref="R" tif="ioc" post="true"'
        ' stp="cancel-taking"/>',
    ),
    (lambda of: of.replace(BID, "80.5", "1e2"), '<replace id="7" amount="80.5" limit="100"/>'),
    (lambda of: of.replace(ASK, 80, 141), '<replace id="7" amount="-80" limit="141"/>'),
    (lambda of: of.replace(7, 8, 1, side="buy"), '<replace id="7" amount="8" limit="1"/>'),
    (
        lambda of: of.replace(None, 8, 1, ref="R", side="sell"),
        '<replace ref="R" amount="-8" limit="1"/>',
    ),
    (lambda of: of.query(Index(10)), '<query id="10"/>'),
    (lambda of: of.query(0), '<query id="0"/>'),  # as other servers may count
    (
        lambda of: of.set_instrument("S", tick="0.05", lot=10, order_max=Decimal(9), price_min=0),
        '<instrument sym="S" tick="0.05" lot="10" order-max="9" price-min="0"/>',
    ),
    (
        lambda of: of.set_instrument("S", price_max="1e2", trading="open"),
        '<instrument sym="S" price-max="100" trading="open"/>',
    ),
    (lambda of: of.halt("S"), '<instrument sym="S" trading="halted"/>'),
    (lambda of: of.resume("S"), '<instrument sym="S" trading="open"/>'),
    (lambda of: of.create_account(Index(7), 1), '<account id="7" balance="1"/>'),
    (lambda of: of.create_account("007", 1), '<account id="007" balance="1"/>'),
    (lambda of: of.set_key("secret<7", 7), '<set-key id="7" key="secret&lt;7"/>'),
    (lambda of: of.set_limits(7), '<set-account id="7"/>'),
    (
        lambda of: of.set_limits(7, orders_per_second_max=9, position_max=Decimal("1.5")),
        '<set-account id="7" orders-per-second-max="9" position-max="1.5"/>',
    ),
    (
        lambda of: of.set_name(7, "Zo\u00eb & <Co>"),
        '<set-account id="7" name="Zo\u00eb &amp; &lt;Co&gt;"/>',
    ),
    (lambda of: of.set_name(7, ""), '<set-account id="7" name=""/>'),
    (
        lambda of: of.set_account(7, role="trader", cancel_orders=False, orders_max=5, name=None),
        '<set-account id="7" role="trader" orders-max="5"/>',
    ),
    (
        lambda of: of.adjust_cash(7, "-0.5", "a:fine"),
        '<adjust-cash id="7" amount="-0.5" reason="a:fine"/>',
    ),
    (lambda of: of.adjust_shares(7, "S", 5), '<adjust-shares sym="S" id="7" amount="5"/>'),
)


def accept(request, _=None):
    """The reply to a request of one element."""
    name = re.search(r"<([\w-]+) ", request[request.index(">") :])[1]
    return {"order": OPENED, "replace": REPLACED, "query": STATUS}.get(name, CREATED)


def buy(address, **options):
    with Exchange(address, 1, **options) as exchange:
        return exchange.buy("S", 1, 2)


def buy_async(address, **options):
    async def run():
        async with AsyncExchange(address, 1, **options) as exchange:
            return await exchange.buy("S", 1, 2)

    return asyncio.run(run())


def start_tag(request):
    return request[: request.index(">") + 1]


class Requests(Case):
    def test_each_is_an_element(self):
        async def run(address):
            async with AsyncExchange(address, 1) as exchange:
                for act, _ in ELEMENTS:
                    await act(exchange)

        with FakeServer(accept) as server:
            with Exchange(server.address, 1) as exchange:
                for act, _ in ELEMENTS:
                    act(exchange)
            asyncio.run(run(server.address))
        wanted = [element for _, element in ELEMENTS]
        found = [re.search(r">(.*)</", request)[1] for request in server.requests]
        self.assertEqual(wanted * 2, found)

    def test_the_start_tag_names_the_account_or_the_operator(self):
        escaped = """ id='a"&lt;&amp;' key="&lt;k&gt;" """.rstrip()
        both = {"key": "secret-of-1", "operator_key": "<k>"}
        for account, more, trader, operator in (
            (1, {}, ' id="1"', ""),
            (1, {"cancel_on_disconnect": True}, ' id="1" cancel-on-disconnect="true"', ""),
            ('a"<&', {"key": "<k>"}, escaped, escaped),
            (1, both, ' id="1" key="secret-of-1"', ' key="&lt;k&gt;"'),
        ):
            with self.subTest(more=more), FakeServer(accept) as server:
                with Exchange(server.address, account, **more) as exchange:
                    exchange.query(1)
                    exchange.halt("S")
                wanted = [
                    f'<transactions{trader} codes="true">',
                    f'<create{operator} codes="true">',
                ]
                self.assertEqual(wanted, list(map(start_tag, server.requests)))

    def test_a_client_goes_on_with_its_new_key(self):
        refused = b'<results><error code="unknown_account">unknown account</error></results>\n'
        answers = [refused, CREATED, CREATED]
        with FakeServer(lambda _, number: answers[number - 1]) as server:
            with Exchange(server.address, 1, key="secret-of-1") as exchange:
                self.assert_refused("unknown_account", exchange.set_key, "another-of-1")
                exchange.set_key("another-of-1")
                exchange.set_key("third-of-1")
        roots = [
            f'<transactions id="1" key="{key}" codes="true">'
            for key in ("secret-of-1", "secret-of-1", "another-of-1")
        ]
        self.assertEqual(roots, list(map(start_tag, server.requests)))
        self.assertIn('<set-key key="third-of-1"/>', server.requests[2])

    def test_an_order_has_what_was_asked_for(self):
        with FakeServer(accept) as server, Exchange(server.address, 1) as exchange:
            self.assertEqual(
                [
                    Order(7, "S", Decimal("-0.1"), Decimal(100)),
                    Order(7, "S", Decimal("80.5"), Decimal("1e2"), "R"),
                    Order(7, "S", Decimal(-80), Decimal(141), "R"),
                    Order(7, "", Decimal(80), Decimal(141)),
                    Order(7, "", Decimal(-80), Decimal(141), "R"),
                ],
                [
                    exchange.sell("S", Decimal("0.1"), "1e2"),
                    exchange.replace(BID, "80.5", "1e2"),
                    exchange.replace(ASK, 80, 141),
                    exchange.replace(7, 80, 141, side="buy"),
                    exchange.replace(None, 80, 141, ref="R", side="sell"),
                ],
            )

    def test_a_cancel_of_all_is_alone_in_its_request(self):
        root = '<transactions id="1" codes="true">'
        one, every = protocol.cancel(root, 1, None), protocol.cancel_all(root, "S")
        self.assertEqual(
            [[one, one], [every], [every], [one]],
            protocol.groups([one, one, every, every, one]),
        )

    def test_wrong_arguments_are_refused_before_anything_is_sent(self):
        exchange, keyed = Exchange("127.0.0.1:1", 1), Exchange("127.0.0.1:1", 1, key=1)
        self.assert_each_raises(
            ValueError,
            lambda: exchange.buy("S", "many", 2),
            lambda: exchange.buy("S", 0, 2),
            lambda: exchange.buy("S", -1, 2),
            lambda: exchange.buy("S", 1, "market"),
            lambda: exchange.replace(7, 80, 141),
            lambda: exchange.replace(7, 80, 141, side="both"),
            lambda: exchange.replace(None, 80, 141, side="buy"),
            lambda: exchange.replace(7, 80, 141, side="buy", ref="R"),
            lambda: exchange.replace(BID, 0, 141),
            lambda: exchange.query(),
            lambda: exchange.query(1, ref="x"),
            lambda: Exchange("127.0.0.1:1").buy("S", 1, 1),
        )
        self.assert_each_raises(
            TypeError,
            lambda: exchange.buy("S", 0.1, 2),
            lambda: exchange.buy("S", 1),
            lambda: exchange.buy("S", 1, None),
            lambda: exchange.buy("S", 1, 2, tiff="ioc"),
            lambda: exchange.buy("S", 1, 2, type="market"),
            lambda: exchange.replace(BID, 80, 1.5),
            lambda: exchange.replace(BID, 80, MARKET),
            lambda: exchange.replace(BID, 80),
            lambda: exchange.replace(BID, 80, 141, tif="ioc"),
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
        )
        for seconds in (0, -1, float("nan")):
            with self.subTest(seconds), self.assertRaises(ValueError):
                Exchange("127.0.0.1:1", timeout=seconds)
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

    def test_ids_of_orders_are_ints_and_those_of_accounts_texts_or_ints(self):
        exchange = Exchange("127.0.0.1:1", 1)
        for order in (43.99, True, False, "1_0", "10", "", Decimal(10), [10], 1j):
            for act in (
                exchange.query,
                exchange.cancel,
                partial(exchange.replace, shares=1, limit=1, side="buy"),
            ):
                with self.subTest(order=order, act=act), self.assertRaisesRegex(TypeError, "order"):
                    act(order)
        for account in (True, 1.0, Decimal(1), b"1", (1,)):
            for act, *arguments in (
                (Exchange("127.0.0.1:1", account).query, 1),
                (exchange.create_account, account, 1),
                (exchange.create_symbol, "S", {account: 1}),
            ):
                with self.subTest(account, act=act), self.assertRaisesRegex(TypeError, "account"):
                    act(*arguments)


class Replies(Case):
    def test_a_status(self):
        for before in (b"", b"%d\n" % len(STATUS), b"<?xml version='1.0'?>\n", MARK):
            reply = before + STATUS
            with self.subTest(before), FakeServer(lambda *_, reply=reply: reply) as server:
                with Exchange(server.address, 1) as exchange:
                    exchange.query(7)
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
        for before in (b"", MARK, b"\r\n" + MARK):
            for reply in (STATUS, b"%d\n%s" % (len(STATUS), STATUS)):
                self.assertEqual([STATUS.strip()] * 2, self.in_pieces(2 * (before + reply)))
        empty = b"<results />\n<results/>"
        self.assertEqual([b"<results />", b"<results/>"], self.in_pieces(empty))

    def test_a_refusal_has_a_sentence_and_a_code_if_the_server_knows_codes(self):
        for attribute, code in ((b' code="insufficient_funds"', "insufficient_funds"), (b"", None)):
            refusal = b'<results><error sym="S"%s>what a pity</error></results>\n' % attribute
            with FakeServer(lambda *_, reply=refusal: reply) as server:
                with Exchange(server.address, 1) as exchange:
                    for act, *arguments in (
                        (exchange.buy, "S", 1, 2),
                        (exchange.create_account, 1, 2),
                        (exchange.cancel_all,),
                        (buy_async, server.address),
                    ):
                        with self.assertRaisesRegex(Refused, "^what a pity$") as raised:
                            act(*arguments)
                        self.assertEqual(code, raised.exception.code)

    def test_an_error_of_a_whole_request_is_that_of_each_of_its_parts(self):
        whole = b'<results><error code="no_memory">no memory</error></results>'
        with FakeServer(lambda *_: whole) as server, Exchange(server.address, 1) as exchange:
            with exchange.pipeline() as pipeline:
                orders = [pipeline.query(1) for _ in range(3)]
            for order in orders:
                self.assert_refused("no_memory", order.result)

    def test_all_errors_have_a_code_and_can_be_copied(self):
        errors = [ExchangeError(), ConnectionFailed(), InDoubt(), BadReply(), Refused("no")]
        self.assertEqual(
            [None, "connection_failed", "in_doubt", "bad_reply", None],
            [error.code for error in errors],
        )
        copy = pickle.loads(pickle.dumps(Refused("no memory", "no_memory")))
        self.assertEqual(("no memory", "no_memory"), (str(copy), copy.code))

    def test_what_is_no_reply(self):
        place = partial(Exchange.buy, symbol="S", shares=1, limit=2)
        replace = partial(Exchange.replace, order=7, shares=1, limit=1, side="buy")
        for request, reply, error in (
            (place, b"HTTP/1.1 400 Bad Request\r\n\r\n", BadReply),
            (place, MARK[:2] + b"no mark", BadReply),
            (place, b"<results></results>\n", BadReply),
            (place, b"<results><status/></results>\n", BadReply),
            (place, b"<results><opened/></results>\n", BadReply),
            (place, b"99999999999999999999999\n", BadReply),
            (place, b"<results><opened id='1'></results>\n", BadReply),
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

        for run in (buy, buy_async):
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
            for run in (buy, buy_async):
                self.assertEqual(7, run(f"127.0.0.1:1,{server.address}").id)

    def test_retries_end(self):
        with FakeServer(lambda *_: None) as server, self.assertRaises(InDoubt):
            buy(server.address, retry=0.3)

    def test_a_reply_that_does_not_come(self):
        with FakeServer(lambda *_: b"") as server:
            for run in (buy, buy_async):
                with self.subTest(run), self.assertRaises(InDoubt):
                    run(server.address, timeout=0.2)

    def test_awaited_together_is_pipelined_on_one_connection(self):
        async def run(address):
            async with AsyncExchange(address, 1) as exchange:
                return await asyncio.gather(*(exchange.query(7) for _ in range(50)))

        with FakeServer(lambda *_: STATUS) as server:
            self.assertEqual(50, len(asyncio.run(run(server.address))))
