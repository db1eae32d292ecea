"""The leaderboard for a projector: by itself, and on a real server."""

import json
import unittest

from exchange_server import BINARY, ExchangeServer
from support import Site, browser

# Answers as the server does: 304 to the tag of what the page has.
FAKE = """
window.asked = [];
window.down = false;
window.fetch = async (path, {headers}) => {
  asked.push([String(path), headers["If-None-Match"] ?? null, headers["Cache-Control"]]);
  if (down) throw new TypeError("Failed to fetch");
  if (board.error) return new Response(JSON.stringify(board), {status: 404});
  const tag = JSON.stringify(board);
  const unchanged = headers["If-None-Match"] === `"${tag.length} ${tag.slice(0, 20)} ${board.batch}"`;
  return new Response(unchanged ? null : tag, {status: unchanged ? 304 : 200, headers: {ETag: `"${tag.length} ${tag.slice(0, 20)} ${board.batch}"`}});
};
window.board = """
# The pages of a long list turn when a test says so, and not while it reads.
TURNED_BY_TESTS = """;
const realInterval = setInterval;
window.setInterval = (run, ms) => (ms > 2000 ? (window.turn = run) : realInterval(run, ms));
"""
NOON_US = 1795256991123456
ROUNDS = [
    {"round": 1, "name": "warm-up", "began_at_us": NOON_US},
    {"round": 2, "name": "noon", "began_at_us": NOON_US + 3_600_000_000},
]


def standing(rank, name=None, account=None, profit="0", volume="1", trades=1):
    who = {"name": name} if account is None else {"account": account}
    return {"rank": rank, **who, "profit": profit, "volume": volume, "trades": trades}


def leaderboard(*standings, batch=1, round=2, rounds=ROUNDS):
    return {"batch": batch, "round": round, "rounds": rounds, "standings": standings}


def crowd(count):
    return leaderboard(*(standing(i + 1, f"n{i + 1}", profit=str(500 - i)) for i in range(count)))


class PageAlone(unittest.TestCase):
    def open(self, board, fragment="", script="", **more):
        site = Site()
        self.addCleanup(site.close)
        page = browser().open(
            f"{site.address}/leaderboard{fragment}",
            before=FAKE + json.dumps(board) + script,
            **more,
        )
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual(page.complaints(), []))
        page.wait_for("document.querySelector('#state').dataset.state !== 'connecting'")
        return page

    def rows(self, page):
        return [text.split("\t") for text in page.texts("#standings tbody tr")]

    def test_rank_name_profit_volume_and_trades_are_shown(self):
        page = self.open(
            leaderboard(
                standing(
                    1, "Zoë & <b>Co</b>", profit="1234567.891", volume="92233720.5", trades=1234
                ),
                standing(2, account="77", profit="0.001"),
                standing(3, "Bo", profit="-0.005"),
            )
        )
        page.wait_for_count(3, "#standings tbody tr")
        self.assertEqual(
            self.rows(page),
            [
                ["1", "Zoë & <b>Co</b>", "+1,234,567.89", "92,233,720.50", "1,234"],
                ["2", "77", "0.00", "1.00", "1"],
                ["3", "Bo", "−0.01", "1.00", "1"],
            ],
        )
        self.assertEqual(len(page.texts("#standings .gain")), 1)
        self.assertEqual(page.texts("#standings .loss"), ["−0.01"])
        self.assertEqual(page.text("#round-name"), "noon")
        self.assertIn("Round 2, since", page.text("#round-time"))
        self.assertEqual(page.text("#shown"), "3 in all")

    def test_before_the_first_round_and_the_first_trade_it_says_so(self):
        page = self.open(leaderboard(round=None, rounds=[]))
        page.wait_for_part("#nothing", "has not begun")
        page.evaluate(f"board = {json.dumps(leaderboard(batch=2))}")
        page.wait_for_part("#nothing", "No trades")
        self.assertEqual(page.text("#round-name"), "noon")

    def test_a_leaderboard_that_is_the_same_is_not_sent_again(self):
        page = self.open(leaderboard(standing(1, "Ada")))
        page.wait_for("asked.length > 2")
        asked = page.evaluate("asked")
        self.assertEqual(asked[0], ["api/leaderboard?round=newest", None, "max-age=1"])
        self.assertIsNotNone(asked[1][1])
        self.assertEqual(page.text("#standings tbody .name"), "Ada")

    def test_a_round_is_chosen_by_the_address_and_by_the_list(self):
        page = self.open(leaderboard(standing(1, "Ada")), fragment="#1")
        self.assertEqual(page.evaluate("asked[0][0]"), "api/leaderboard?round=1")
        self.assertEqual(page.evaluate("document.querySelector('#rounds').value"), "1")
        page.evaluate(f"board = {json.dumps(leaderboard(standing(1, 'Bo'), round=None))}")
        page.evaluate(
            "(() => { const list = document.querySelector('#rounds'); list.value = 'all';"
            " list.dispatchEvent(new Event('change')); })()"
        )
        page.wait_for_text("#standings tbody .name", "Bo")
        self.assertEqual(page.evaluate("asked.at(-1)[0]"), "api/leaderboard")
        self.assertEqual(page.evaluate("location.hash"), "#all")
        self.assertEqual(page.text("#round-name"), "All rounds")

    def test_a_lost_connection_is_said_and_a_new_one_found(self):
        page = self.open(leaderboard(standing(1, "Ada")))
        page.evaluate("down = true")
        page.wait_for_state("away")
        self.assertIn(
            "Connection lost: the server cannot be reached. This is of", page.text("#notice")
        )
        self.assertEqual(page.text("#standings tbody .name"), "Ada")  # what is known stays
        page.evaluate("down = false; dispatchEvent(new Event('online'))")
        page.wait_for_state("live")
        self.assertTrue(page.evaluate("document.querySelector('#notice').hidden"))
        page.evaluate("board = {error: 'there is no such round'}")
        page.wait_for_state("away")
        self.assertIn("there is no such round", page.text("#notice"))

    def test_an_answer_that_is_not_a_leaderboard_is_said_and_asked_again(self):
        page = self.open(leaderboard(standing(1, "Ada")))
        page.wait_for_count(1, "#standings tbody tr")
        page.evaluate("window.realFetch = fetch")
        for odd in ("<html>Password?", "", "null", "7", "{}", '{"rounds": 1, "standings": []}'):
            page.evaluate(
                f"window.fetch = async () => new Response({json.dumps(odd)}, {{status: 200}})"
            )
            page.wait_for_state("away")
            self.assertIn("the answer is not a leaderboard. This is of", page.text("#notice"))
            self.assertEqual(page.text("#standings tbody .name"), "Ada")
            page.evaluate("window.fetch = realFetch; dispatchEvent(new Event('online'))")
            page.wait_for_state("live")

    def test_the_list_of_rounds_is_that_of_the_answer(self):
        page = self.open(leaderboard(standing(1, "Ada")))
        options = "[...document.querySelector('#rounds').options].map((one) => one.text).join()"
        page.wait_for(f"{options} === 'current,all,1: warm-up,2: noon'")
        another = [
            {**one, "name": name} for one, name in zip(ROUNDS, ("dawn", "dusk"), strict=True)
        ]
        page.evaluate(f"board = {json.dumps(leaderboard(batch=2, rounds=another))}")
        page.wait_for(f"{options} === 'current,all,1: dawn,2: dusk'")

    def test_a_phone_shows_name_and_profit(self):
        ids = [f"17957764035536510000000{i:02}" for i in range(8)]
        board = leaderboard(
            *(standing(i, account=one, profit="-1234.5") for i, one in enumerate(ids, 1)),
            standing(9, "An account with a name"),
        )
        page = self.open(board, width=390, height=844)
        page.wait_for_count(9, "#standings tbody tr")
        shown = (
            "[...document.querySelectorAll('#standings tbody tr:first-child td')].map((one) =>"
            " one.checkVisibility())"
        )
        self.assertEqual(page.evaluate(shown), [True, True, True, False, False])
        # What is cut of an id is its begin.
        self.assertEqual(
            page.evaluate("getComputedStyle(document.querySelector('.account')).direction"), "rtl"
        )
        self.assertEqual(page.texts("#standings .account"), ids)
        self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), 390)
        page.evaluate("down = true")
        page.wait_for_state("away")
        box = "document.querySelector('{}').getBoundingClientRect()"
        notice, footer = (box.replace("{}", one) for one in ("#notice", "footer"))
        self.assertTrue(
            page.evaluate(f"{notice}.bottom <= {footer}.top || {notice}.top >= {footer}.bottom")
        )
        for small in ("#shown", "#round-time", "thead .name", "#state"):
            size = f"parseFloat(getComputedStyle(document.querySelector('{small}')).fontSize)"
            self.assertGreaterEqual(page.evaluate(size), 12)

    def test_rows_glide_to_new_ranks_unless_motion_is_unwanted(self):
        before = leaderboard(*(standing(i, name) for i, name in enumerate("ABC", 1)))
        after = leaderboard(*(standing(i, name) for i, name in enumerate("CAB", 1)), batch=2)
        for still in (False, True):
            page = self.open(before, still=still)
            page.wait_for_count(3, "#standings tbody tr")
            page.evaluate(
                "window.moved = []; const animate = Element.prototype.animate;"
                "Element.prototype.animate = function (frames, options) {"
                " moved.push([this.cells[1].innerText, frames[0].transform ?? 'new']);"
                " return animate.call(this, frames, options); };"
                f"board = {json.dumps(after)}"
            )
            page.wait_for_text("#standings tbody .name", "C")
            moved = dict(page.evaluate("moved"))
            with self.subTest(still=still):
                self.assertEqual(set(moved), set() if still else set("ABC"))
                if not still:
                    self.assertRegex(moved["C"], r"translateY\([1-9]")  # from below
                    self.assertRegex(moved["A"], r"translateY\(-")

    def test_rows_that_do_not_fit_are_paged_below_the_leaders(self):
        for width, height in ((1920, 1080), (1280, 720), (800, 1200)):
            with self.subTest(height=height):
                page = self.open(
                    crowd(200), width=width, height=height, still=True, script=TURNED_BY_TESTS
                )
                page.wait_for("document.querySelector('#standings tbody tr')")
                names = page.texts("#standings tbody .name")
                self.assertTrue(10 <= len(names) <= 20, names)
                self.assertEqual(names, [f"n{i + 1}" for i in range(len(names))])
                bottom = (
                    "[...document.querySelectorAll('#standings tbody"
                    " tr')].at(-1).getBoundingClientRect().bottom"
                )
                self.assertLessEqual(
                    page.evaluate(bottom),
                    page.evaluate(
                        "document.querySelector('footer').getBoundingClientRect().top + 1"
                    ),
                )
                self.assertEqual(
                    page.evaluate("[document.documentElement.scrollWidth, scrollY]"), [width, 0]
                )
                page.evaluate("turn()")
                page.wait_for(
                    "document.querySelector('#standings tbody tr:nth-child(4) .name').innerText"
                    f" === 'n{len(names) + 1}'"
                )
                turned = page.texts("#standings tbody .name")
                self.assertEqual(turned[:3], ["n1", "n2", "n3"])

    def test_long_names_are_cut_and_numbers_are_not(self):
        page = self.open(
            leaderboard(standing(1, "W" * 40, profit="-123456789012.34", volume="92233720368")),
            width=1280,
            height=720,
        )
        page.wait_for_count(1, "#standings tbody tr")
        cut = (
            "(() => { const cell = document.querySelector('#standings tbody .{}'); return"
            " cell.scrollWidth > cell.clientWidth; })()"
        )
        self.assertEqual(
            [page.evaluate(cut.replace("{}", name)) for name in ("name", "profit", "volume")],
            [True, False, False],
        )
        self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), 1280)


@unittest.skipUnless(BINARY.is_file(), f"{BINARY} is not built")
class PageOfTheServer(unittest.TestCase):
    def test_a_round_is_followed_live_without_a_key(self):
        with ExchangeServer() as exchange:
            page = browser().open(exchange.address + "/leaderboard")
            self.addCleanup(page.close)
            page.wait_for_part("#nothing", "has not begun")
            exchange.request(
                '<create><account id="1" balance="1000"/><account id="2" balance="0"/>'
                '<symbol sym="SPY"><account id="2">50</account></symbol>'
                '<set-account id="1" name="Ada"/><begin-round name="one"/></create>'
            )
            page.wait_for_part("#nothing", "No trades")

            def trade(shares, limit):
                for account, sign in (("1", ""), ("2", "-")):
                    exchange.request(
                        f'<transactions id="{account}"><order sym="SPY" amount="{sign}{shares}"'
                        f' limit="{limit}"/></transactions>'
                    )

            trade(1, 3)
            page.wait_for_count(2, "#standings tbody tr")
            self.assertEqual(page.texts("#standings tbody .name"), ["Ada", "2"])
            trade(2, 5)
            # 3 shares that cost 13, at a mean of the prices 3 and 5 (G4 of docs/protocol.md): whole
            # seconds make none of these means 13/3
            page.wait_for("document.querySelector('#standings .gain')")
            (gain,), (loss,) = page.evaluate(  # at one moment
                "['gain', 'loss'].map((name) =>"
                " [...document.querySelectorAll(`#standings .${name}`)]"
                ".map((one) => one.innerText))"
            )
            self.assertEqual((gain[1:], loss[0]), (loss[1:], "−"))
            self.assertTrue(0 < float(gain) <= 4, gain)
            exchange.request('<create><begin-round name="two"/></create>')
            page.wait_for_text("#round-name", "two")
            self.assertEqual(page.complaints(), [])
            self.assertEqual(page.failed_requests(), [])
