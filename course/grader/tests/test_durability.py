"""Acknowledged orders are counted right: of a server that keeps them, forgets some, or all."""

import time
from decimal import Decimal
from xml.etree import ElementTree

import durability
import toys
from dialogue import Dialogue, NoReply, Style, find_style, parsed, reply_end

PLAN = {"clients": 3, "kills": 2, "load_s": 0.4, "seed": 1, "timeout_s": toys.PATIENCE_S}
IN_TIME_S = 10 * toys.PATIENCE_S


class Kills(toys.TestCase):
    def run_part(self, journal="", fault="none", **plan):
        with self.server(self.toy(journal, fault)) as server:
            return durability.run(server, Style(), {**PLAN, **plan}, time.monotonic() + IN_TIME_S)

    def test_a_server_that_keeps_all(self):
        found = self.run_part("{data}/orders")
        self.assertEqual("", found["problem"])
        self.assertGreater(found["acknowledged"], 0)
        self.assertEqual((0, 0, 0), (found["gone"], found["changed"], found["unknown"]))
        self.assertEqual(2, len(found["rounds"]))
        self.assertIsNotNone(found["rounds"][0]["seconds"])
        self.assertTrue(found["keeps_data"])

    def test_a_server_with_words_of_its_own_that_keeps_all(self):
        for fault in ("other-root", "text-ids"):
            found = self.run_part("{data}/orders", fault, kills=1)
            self.assertEqual("", found["problem"])
            self.assertGreater(found["acknowledged"], 0)
            self.assertEqual((0, 0, 0), (found["gone"], found["changed"], found["unknown"]))

    def test_an_answer_that_is_no_xml_is_one_after_a_kill(self):
        with self.server(self.toy(fault="raw-errors")) as server:
            setup = durability.Setup(["1"], "S", Style(), 1, 5, server.port)
            self.assertLess(durability.answers_again(server, setup, "7", 30), 10)

    def test_a_server_that_writes_late(self):
        found = self.run_part("{data}/orders", "forgets")
        lost = found["gone"] + found["changed"]
        self.assertGreater(lost, 0)
        self.assertGreater(found["acknowledged"], lost)

    def test_a_server_that_forgets_all(self):
        found = self.run_part(kills=1)
        self.assertFalse(found["keeps_data"])
        self.assertGreater(found["acknowledged"], 0)
        self.assertEqual(found["acknowledged"], found["gone"])

    def test_a_server_that_does_not_come_back(self):
        first = self.toy("{data}/orders")
        command = f"test ! -e {{data}}/orders && exec {first}"
        with self.server(command) as server:
            found = durability.run(server, Style(), PLAN, time.monotonic() + IN_TIME_S)
        self.assertIn("did not answer again", found["problem"])
        self.assertEqual(found["acknowledged"], found["gone"])

    def test_kills_that_cannot_succeed_are_left_out(self):
        found = self.run_part(kills=5)
        self.assertEqual(2, len(found["rounds"]))
        self.assertTrue(found["problem"])

    def test_out_of_time(self):
        with self.server(self.toy()) as server:
            found = durability.run(server, Style(), PLAN, time.monotonic() - 1)
        self.assertIn("out of time", found["problem"])


class States(toys.TestCase):
    def fault(self, inner, amount=-10, executed=0):
        order = durability.Order("7", amount, Decimal(executed))
        return durability.fault_of(order, ElementTree.fromstring(f"<results>{inner}</results>"))

    def test_open_canceled_and_executed_shares_are_all_of_the_order(self):
        half = (
            '<open shares="5"/><executed shares="2.5" price="1"/><executed shares="2.5" price="1"/>'
        )
        self.assertEqual("", self.fault(f"<status>{half}</status>"))
        self.assertEqual("", self.fault('<status><open shares="-10"/></status>'))
        for inner, is_gone in (
            ("<error>unknown order</error>", True),
            ('<status id="1"/>', True),
            ('<status><executed shares="11"/></status>', False),
            ('<status><canceled shares="10"/></status>', False),  # no request asked for it
            ('<status><open shares="NaN"/></status>', False),
        ):
            found = self.fault(inner)
            self.assertTrue(found, inner)
            self.assertEqual(is_gone, found.startswith("gone"), inner)
        self.assertTrue(self.fault('<status><open shares="10"/></status>', executed=4))

    def test_an_id_of_two_orders_is_noticed(self):
        books = durability.Books(orders={"1": durability.Order("7", 5)}, twice=["1"])
        self.assertEqual(1, durability.counted(books)["changed"])
        books = durability.Books(orders={"1": durability.Order("7", 5)}, kills=1)
        books.given_again("1")  # after a kill
        counted = durability.counted(books)
        self.assertEqual((1, 0), (counted["gone"], counted["changed"]))


class Replies(toys.TestCase):
    def test_length_lines_blanks_and_nul_bytes_are_skipped(self):
        self.assertEqual("results", parsed(b"\0\n27\n<results/>").tag)

    def test_a_root_of_another_name_ends_the_reply(self):
        for reply in (b"<result><a>x</a></result>", b"3\n<?xml version='1.0'?>\n<r a='1'/>"):
            self.assertEqual(len(reply), reply_end(reply + b"<more"))
            self.assertIsNone(reply_end(reply[:-1]))

    def test_hostile_replies_are_refused(self):
        bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa">]><results>&a;</results>'
        deep = b"<r>" * 150_000 + b"</r>" * 150_000  # the end of some programs
        for reply in (bomb, deep, deep[:450_000], b"<results><a></results>", b"\xff\xfe", b""):
            with self.assertRaises(NoReply):
                parsed(reply)

    def test_a_reply_that_trickles_without_end_is_waited_for_once(self):
        code = """import socket,sys,time
s=socket.create_server(('127.0.0.1',int(sys.argv[1])))
c=s.accept()[0]
while True: c.sendall(b'<'); time.sleep(0.1)"""
        with self.server(self.python(code)) as server, Dialogue(
            server.port, Style(), 1
        ) as dialogue:
            began = time.monotonic()
            with self.assertRaises(NoReply):
                dialogue.ask("<create/>")
            self.assertLess(time.monotonic() - began, 30)

    def test_a_server_that_is_not_there(self):
        with self.assertRaises(NoReply), Dialogue(1, Style(), 1) as dialogue:
            dialogue.ask("<create/>")

    def test_a_server_that_closes_after_each_reply_is_noticed(self):
        with self.server(self.toy(style="close")) as server:
            self.assertEqual(Style(per_request=True), find_style(server.port))
        with self.server(self.toy()) as server:
            self.assertEqual(Style(), find_style(server.port))

    def test_the_style_comes_from_the_conformance_test(self):
        style = {"connection": "per-request", "trailing_newline": True, "framing": "length"}
        self.assertEqual(Style(True, True, False), Style.of({"style": style}))
        self.assertTrue(Style.of({"style": style}).fits_loadgen)
        self.assertFalse(Style.of({"style": {**style, "end_of_stream": True}}).fits_loadgen)
