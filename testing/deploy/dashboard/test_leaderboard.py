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
  asked.push([String(path), headers["If-None-Match"] ?? null]);
  if (down) throw new TypeError("Failed to fetch");
  const text = JSON.stringify(board), tag = `"${text.length}"`, unchanged = headers["If-None-Match"] === tag;
  return new Response(unchanged ? null : text, {status: unchanged ? 304 : 200, headers: {ETag: tag}});
};
window.board = """
NOON_US = 1795256991123456
ROUNDS = [
    {"round": 1, "name": "warm-up", "began_at_us": NOON_US},
    {"round": 2, "name": "noon", "began_at_us": NOON_US + 3_600_000_000},
]


def standing(rank, name=None, account=None, profit="0", volume="1", trades=1):
    who = {"name": name} if account is None else {"account": account}
    return {"rank": rank, **who, "profit": profit, "volume": volume, "trades": trades}


def leaderboard(*standings, round=2):
    return {"batch": 1, "round": round, "rounds": ROUNDS, "standings": standings}


class PageAlone(unittest.TestCase):
    def open(self, board, fragment=""):
        site = Site()
        self.addCleanup(site.close)
        address = f"{site.address}/leaderboard{fragment}"
        page = browser().open(address, before=FAKE + json.dumps(board))
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual(page.complaints(), []))
        page.wait_for("document.querySelector('#state').dataset.state !== 'connecting'")
        return page

    def test_rank_name_profit_volume_and_trades_are_shown(self):
        first = standing(1, "Zoë & <b>Co</b>", profit="1234567.5", volume="92233720.5", trades=1234)
        page = self.open(leaderboard(first, standing(2, account="77", profit="-5")))
        page.wait_for_count(2, "#standings tbody tr")
        self.assertEqual(
            [text.split("\t") for text in page.texts("#standings tbody tr")],
            [
                ["1", "Zoë & <b>Co</b>", "+1,234,567.50", "92,233,720.50", "1,234"],
                ["2", "77", "−5.00", "1.00", "1"],
            ],
        )
        self.assertEqual(page.text("#round-name"), "noon")

    def test_a_leaderboard_that_is_the_same_is_not_sent_again(self):
        page = self.open(leaderboard(standing(1, "Ada")))
        page.wait_for("asked.length > 2")
        asked = page.evaluate("asked")
        self.assertEqual(asked[0], ["api/leaderboard?round=newest", None])
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
        page.wait_for("document.querySelector('#standings tbody .name')?.innerText === 'Bo'")
        self.assertEqual(page.evaluate("asked.at(-1)[0]"), "api/leaderboard")
        self.assertEqual(page.evaluate("location.hash"), "#all")

    def test_a_lost_connection_is_said_and_a_new_one_found(self):
        page = self.open(leaderboard(standing(1, "Ada")))
        page.evaluate("down = true")
        page.wait_for_state("away")
        self.assertEqual(page.text("#standings tbody .name"), "Ada")  # what is known stays
        page.evaluate("down = false; dispatchEvent(new Event('online'))")
        page.wait_for_state("live")
        self.assertTrue(page.evaluate("document.querySelector('#notice').hidden"))

    def test_an_answer_that_is_not_a_leaderboard_is_said_and_asked_again(self):
        page = self.open(leaderboard(standing(1, "Ada")))
        page.wait_for_count(1, "#standings tbody tr")
        page.evaluate("window.realFetch = fetch")
        for odd in ("<html>Password?", "null", '{"rounds": 1, "standings": []}'):
            page.evaluate(
                f"window.fetch = async () => new Response({json.dumps(odd)}, {{status: 200}})"
            )
            page.wait_for_state("away")
            self.assertEqual(page.text("#standings tbody .name"), "Ada")
            page.evaluate("window.fetch = realFetch; dispatchEvent(new Event('online'))")
            page.wait_for_state("live")

    def test_rows_that_do_not_fit_are_paged_below_the_leaders(self):
        places = [standing(i + 1, f"n{i + 1}", profit=str(500 - i)) for i in range(200)]
        page = self.open(leaderboard(*places))
        page.wait_for("document.querySelector('#standings tbody tr')")
        names = page.texts("#standings tbody .name")
        self.assertEqual(names, [f"n{i + 1}" for i in range(len(names))])
        page.wait_for(
            f"document.querySelector('#standings tbody tr:nth-child(4) .name').innerText === 'n{len(names) + 1}'"
        )
        self.assertEqual(page.texts("#standings tbody .name")[:3], ["n1", "n2", "n3"])


@unittest.skipUnless(BINARY.is_file(), f"{BINARY} is not built")
class PageOfTheServer(unittest.TestCase):
    def test_a_round_is_followed_live_without_a_key(self):
        with ExchangeServer() as exchange:
            page = browser().open(exchange.address + "/leaderboard")
            self.addCleanup(page.close)
            page.wait_for("document.querySelector('#nothing').innerText.includes('has not begun')")
            exchange.request(
                '<create><account id="1" balance="1000"/><account id="2" balance="0"/>'
                '<symbol sym="SPY"><account id="2">50</account></symbol>'
                '<set-account id="1" name="Ada"/><begin-round name="one"/></create>'
            )
            page.wait_for("document.querySelector('#nothing').innerText.includes('No trades')")

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
            (gain,), (loss,) = page.texts("#standings .gain"), page.texts("#standings .loss")
            self.assertEqual((gain[1:], loss[0]), (loss[1:], "−"))
            self.assertTrue(0 < float(gain) <= 4, gain)
            exchange.request('<create><begin-round name="two"/></create>')
            page.wait_for("document.querySelector('#round-name').innerText === 'two'")
            self.assertEqual(page.complaints(), [])
            self.assertEqual(page.failed_requests(), [])
