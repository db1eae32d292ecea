"""Links from broken rules to moments in days of this project's own server."""

import json
import re
import unittest
from pathlib import Path
from types import SimpleNamespace

import moments
import plan
import toys
import weights as weighing
from exchange_server import ExchangeServer
from grading import Grading
from server import Limits

A_BUY = '<transactions id="{}"><order sym="{}" amount="5" limit="2"/></transactions>'
A_QUERY = '<transactions id="{}"><query id="{}"/></transactions>'


class Matching(unittest.TestCase):
    DAY = {
        "name": "m4",
        "turns": [
            ['49\n<create><account id="1" balance="9"/></create>', 1],
            [A_BUY.format(1, "A"), 2],
            [A_QUERY.format(1, 7), 2],
            [A_BUY.format(1, "B"), 3],
            [A_BUY.format(1, "B"), 4],
        ],
        "symbols": {"A": 2, "B": 4},
    }

    def link(self, *turns):
        found = moments.moment_of(turns, self.DAY)
        return found and (found["link"], found["named"])

    def test_ids_and_symbols_may_differ_and_orders_that_are_repeated_are_several(self):
        account = '<create><account id="22" balance="9"/></create>'
        buy, query = A_BUY.format(22, "X"), A_QUERY.format(22, 1)
        for turns, wanted in (
            ([account, buy], ("m4/A@2", "X")),
            ([buy, query, query], ("m4/A@2", "X")),  # a query is of the symbol before
            ([query, buy, buy], ("m4/B@4", "X")),
            ([buy.replace("5", "6")], None),
            ([query, buy], None),  # the symbol is not there yet
        ):
            self.assertEqual(wanted, self.link(*turns), turns)


class WithoutAServer(toys.TestCase):
    def test_a_failure_leaves_links_out_and_is_said(self):
        self.write("bin/server", "#!/bin/sh\nexit 1\n", executable=True)
        said, turn = [], {"sent": A_BUY.format(1, "A"), "got": ""}
        rule = {"rule": "M4", "level": "must", "result": "broken", "conversation": [turn]}
        grade = SimpleNamespace(
            parts={"conformance": {"rules": [rule], "points_max": 3}},
            submission=SimpleNamespace(name="toy"),
        )
        weights = weighing.read(Path(moments.__file__).with_name("weights.toml"))
        places = (self.folder / "bin", self.folder / "out")
        shared = Grading(plan.quick(1), Limits(), *places, weights, ("conformance",))
        shared.progress = SimpleNamespace(say=said.append)
        moments.find(grade, shared)
        self.assertEqual(({}, 1), (grade.moments, len(said)))


class WithTheRealPrograms(toys.TestCase):
    def setUp(self):
        toys.require_programs("server", "conformance")
        super().setUp()

    def test_the_link_shows_the_book_that_was_right(self):
        toy = f"toy={self.toy(fault='newest-first')}"
        arguments = ["--server", toy, "--parts", "conformance", "--bin", str(toys.PROGRAMS)]
        status, _, log = self.grade(*arguments)
        self.assertEqual(0, status, log)
        out = self.folder / "out"
        page = (out / "toy.html").read_text()
        link = re.search(r"http://127\.0\.0\.1:8080/#replay/m4/(S\d+)@(\d+)", page)
        for name in ("gradescope.json", "classroom.json", "junit.xml"):
            self.assertNotIn("replay", (out / "toy" / name).read_text())
        # The first of three equal sells was executed: the other two are left.
        saved = json.loads((out / "toy/conformance.json").read_text())["result"]
        (rule,) = (one for one in saved["rules"] if one["rule"] == "M4")
        sells = [turn["sent"] for turn in rule["conversation"] if 'amount="-' in turn["sent"]]
        self.assertEqual(3, len(sells))
        amount, limit = re.search(r'amount="-(\d+)" limit="([\d.]+)"', sells[0]).groups()
        with ExchangeServer(store=f"sqlite:{out}/moments.db") as server:
            path = f"/api/moments?day=m4&sym={link[1]}&from={link[2]}"
            state = json.loads(server.http(path))["state"]
        self.assertEqual([[limit, str(2 * int(amount)), 2]], state["asks"])
        self.assertEqual([], state["bids"])
        self.assertEqual(int(link[2]), state["position"])
