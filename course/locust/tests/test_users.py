"""What users ask and remember, and what the client of the XML port reports to the statistics.
Without Locust."""

import socket
import threading
import unittest
from unittest import mock

import users
from users import BadReply, Connection, Growing, Refused, TimedClient, Trader, judge

OPENED = b'<results><opened sym="SPY" amount="1" limit="2" id="7"/></results>\n'
REFUSED = b"<results><error>no</error></results>\n"
STATE = {
    "accounts": {"7": 100},
    "growing": {"buyer": "1", "order": 5, "quiet_order": 4, "sellers": ["2"]},
}


def opened(order):
    return b'<results><opened sym="LOAD" amount="1" limit="100" id="%d"/></results>\n' % order


def query(account, order):
    return f'<transactions id="{account}"><query id="{order}"/></transactions>'


class Remembered(unittest.TestCase):
    def setUp(self):
        self.trader = Trader(STATE)
        clock = mock.patch.object(users.time, "monotonic", lambda: self.now)
        clock.start()
        self.addCleanup(clock.stop)
        self.now = 1000.0

    def test_the_newest_order_is_queried_and_before_that_a_prepared_one(self):
        self.assertEqual(self.trader.query_document(), query(7, 100))
        self.trader.placed(opened(101))
        self.trader.placed(opened(102))
        self.assertEqual(self.trader.query_document(), query(7, 102))

    def test_over_http_an_order_is_read_once_it_has_had_time_to_get_there(self):
        self.trader.placed(opened(101))
        self.assertEqual(self.trader.readable_order(), 100)
        self.now += users.READABLE_AFTER_S - 0.5
        self.trader.placed(opened(102))
        self.now += 0.5
        self.assertEqual(self.trader.readable_order(), 101)
        self.now += users.READABLE_AFTER_S
        self.assertEqual(self.trader.readable_order(), 102)

    def test_all_users_read_the_order_that_every_write_trades_with_and_the_control_another(self):
        growing, control = Growing(STATE), Growing(STATE, control=True)
        self.assertEqual(growing.query_document(), query(1, 5))
        self.assertEqual(control.query_document(), query(1, 4))
        self.assertIn('<order sym="GROW" amount="-1" limit="1"/>', growing.order_document())
        self.assertEqual(control.order_document(), growing.order_document())


class Script:
    """A server of given conversations, one a connection: a list of replies for each. Keeps what it
    was sent."""

    def __init__(self, *conversations):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.conversations, self.received, self.connections = conversations, [], 0
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        for conversation in self.conversations:
            connection, _ = self.listener.accept()
            self.connections += 1
            with connection:
                for reply in conversation:
                    self.received.append(connection.recv(65536))
                    connection.sendall(reply)
        self.listener.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join()


class Judged(unittest.TestCase):
    def test_an_error_is_a_refusal_and_another_element_a_bad_reply(self):
        with self.assertRaisesRegex(Refused, "^no$"):
            judge(REFUSED, "opened")
        with self.assertRaisesRegex(Refused, "late"):
            judge(b'<results><opened id="1"/><error>late</error></results>\n', "opened")
        with self.assertRaises(BadReply):
            judge(OPENED, "status")


class Reported(unittest.TestCase):
    """What Locust's statistics get."""

    def setUp(self):
        self.events = []

    def client(self, port):
        client = TimedClient("127.0.0.1", port, lambda **event: self.events.append(event))
        self.addCleanup(client.close)
        return client

    def ask(self, client):
        return client.ask("order", "<a/>", "opened")

    def test_what_interrupts_a_request_ends_its_connection(self):
        class Killed(BaseException):
            pass

        class Interrupted(Connection):
            def receive(self):
                raise Killed

        with Script([OPENED], [OPENED]) as server:
            client = self.client(server.port)
            client.make_connection = Interrupted
            with self.assertRaises(Killed):
                self.ask(client)
            client.make_connection = Connection
            self.assertEqual(OPENED.strip(), self.ask(client))
        self.assertEqual(2, server.connections)

    def test_each_request_is_reported_with_time_and_length_over_one_connection(self):
        with Script([OPENED, REFUSED, OPENED]) as server:
            client = self.client(server.port)
            replies = [self.ask(client) for _ in range(3)]
        self.assertEqual(replies, [OPENED.strip(), None, OPENED.strip()])
        self.assertEqual((server.connections, server.received), (1, [b"4\n<a/>"] * 3))
        self.assertTrue(all(event.pop("response_time") > 0 for event in self.events))
        self.assertIsInstance(self.events[1].pop("exception"), Refused)
        named = {"request_type": "XML", "name": "order", "context": {}}
        for event, reply in zip(self.events, (OPENED, REFUSED, OPENED), strict=True):
            self.assertIsNone(event.pop("exception", None))
            self.assertEqual(event, {**named, "response_length": len(reply.strip())})

    def test_after_a_bad_reply_the_next_request_has_a_new_connection(self):
        for bad in (b"<results><status/></results>\n", b"nonsense", b"<results>"):
            with self.subTest(bad), Script([bad], [OPENED]) as server:
                client = self.client(server.port)
                self.assertIsNone(self.ask(client))
                self.assertEqual(self.ask(client), OPENED.strip())
                self.assertIsInstance(self.events[-2]["exception"], (BadReply, EOFError))
                self.assertIsNone(self.events[-1]["exception"])
                client.close()
            self.assertEqual(server.connections, 2)

    def test_a_server_that_is_not_there_is_a_failure(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.assertIsNone(self.ask(self.client(port)))
        self.assertIsInstance(self.events[0]["exception"], ConnectionRefusedError)
