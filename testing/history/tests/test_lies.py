"""Histories made into lies: the judge says so."""

import re
import shutil
import tempfile
import threading
import unittest
from pathlib import Path

import support
from journal_file import lose_newest_record
from random_clients import Client, History, Market, play, set_up_market
from servers import journaling_server


class StaleReads(support.HistoryTest):
    """What a cache would reply that believes orders do not change: right once, and too late."""

    def test_a_stale_read_is_caught(self):
        history = History()
        with journaling_server(self.store) as server, Client(
            history, 10, server.port
        ) as asker, Client(history, 11, server.port) as other:
            set_up_market(history, Market(), server.port)
            # Two clients make noise in a market of their own while a third asks twice for what a
            # fourth changes in between.
            noise = threading.Thread(
                target=play, args=(server.port, 1, 2, 30, history, Market(("7", "8"), ("T",)))
            )
            noise.start()
            reply = asker.ask(
                '<transactions id="1"><order sym="S1" amount="1" limit="11"/></transactions>'
            )
            order = re.search(r' id="(\d+)"', reply)[1]
            query = f'<transactions id="1"><query id="{order}"/></transactions>'
            got = asker.ask(query)
            other.ask(
                '<transactions id="2"><order sym="S1" amount="-20" limit="9"/></transactions>'
            )
            honest = other.ask(query)
            self.assertEqual(honest, asker.ask(query))
            noise.join()
        self.assertNotEqual(got, honest)
        [entry for entry in history.lines if entry["request"] == query][-1]["reply"] = got
        history.write(self.file())
        self.assertIn("stale", self.replay(possible=False))


class EditedHistories(support.HistoryTest):
    """Other lies; those of the journal itself are in testing/unit/history."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="exchange-history-")
        cls.addClassCleanup(folder.cleanup)
        cls.honest = Path(folder.name)
        history = History()
        with journaling_server(f"sqlite:{cls.honest}/x.db") as server, Client(
            history, 1, server.port
        ) as client:

            def order(account, amount, limit):
                client.ask(
                    f'<transactions id="{account}"><order sym="S1" amount="{amount}"'
                    f' limit="{limit}"/></transactions>'
                )

            def query(account, order):
                client.ask(f'<transactions id="{account}"><query id="{order}"/></transactions>')

            client.ask(Market().set_up())
            order(1, "5", "10")  # 1
            order(1, "5", "10.5")  # 2
            order(2, "-7", "9.5")  # 3: 5 at 10.5, 2 at 10
            query(1, 1)
            order(3, "2", "9")  # 4
            query(3, 4)
            client.ask('<transactions id="3"><cancel id="4"/></transactions>')
            query(3, 4)
            client.ask('<create><instrument sym="S1" trading="auction"/></create>')
            order(2, "-3", "9.5")  # 5: it takes what is left of 1
            client.ask('<create><instrument sym="S1" trading="open"/></create>')
            query(2, 5)
            client.ask('<create><set-account id="3" access="frozen"/></create>')
            order(3, "1", "9")
            client.ask('<create><adjust-cash id="1" amount="-400"/></create>')
            order(1, "20", "9")
        history.write(cls.honest / "history.jsonl")

    def setUp(self):
        super().setUp()
        shutil.copytree(self.honest, self.folder, dirs_exist_ok=True)

    def test_unedited_it_is_possible(self):
        self.replay()

    def lie(self, change):
        return self.replay(self.edit(change), possible=False)

    def replace(self, number, pattern, text):
        """In the reply to request `number`, from 0, the set-up."""

        def change(requests):
            edited = re.sub(pattern, text, requests[number]["reply"], count=1)
            self.assertNotEqual(edited, requests[number]["reply"])
            requests[number]["reply"] = edited

        return change

    def test_wrong_replies(self):
        for what, number, pattern, text in (
            ("price", 4, 'price="10"', 'price="10.5"'),
            ("shares", 4, 'executed shares="2"', 'executed shares="1"'),
            ("a lost execution", 4, "<executed [^>]*>", ""),
            ("a stale query after a cancel", 8, "<canceled [^>]*>", '<open shares="2"/>'),
            (
                "a refusal of what there was money for",
                5,
                "<opened ([^>]*) id=.4./>",
                r"<error \1>insufficient funds</error>",
            ),
            ("the same id for two orders", 5, 'id="4"', 'id="3"'),
            ("the price of an auction", 11, 'price="10"', 'price="9.5"'),
            ("the volume of an auction", 11, 'volume="3"', 'volume="2"'),
            ("an execution of an auction", 12, 'shares="3" price="10"', 'shares="3" price="9.5"'),
            (
                "an order of a frozen account",
                14,
                "<error ([^>]*)>[^<]*</error>",
                r'<opened \1 id="6"/>',
            ),
            (
                "an order without the cash that the operator took",
                16,
                "<error ([^>]*)>[^<]*</error>",
                r'<opened \1 id="6"/>',
            ),
        ):
            with self.subTest(what):
                self.lie(self.replace(number, pattern, text))

    def test_a_wrong_time(self):
        edited = self.edit(self.replace(4, r'time="\d+"', 'time="1"'))
        self.assertIn("no place of the commit order", self.replay(edited, possible=False))

    def test_a_change_that_was_seen_before_it_was_asked_for(self):
        def change(requests):  # the query that showed the sale was over before the sale was sent
            sale, query = requests[3], requests[4]
            sale["call"], query["call"] = query["call"], sale["call"]
            sale["return"], query["return"] = query["return"], sale["return"]
            sale["client"], sale["connection"] = 2, 2

        self.lie(change)

    def test_a_reply_before_its_commit_and_kill_9(self):
        lose_newest_record(self.folder / "x.db.journal")  # the last commit never reached the disk
        self.assertIn("an acknowledged command is lost", self.replay(possible=False))
