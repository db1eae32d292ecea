"""Histories made into lies: the judge says so."""

import re
import threading

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


class LostRecord(support.HistoryTest):
    """Other lies are in testing/unit/history."""

    def test_a_reply_before_its_commit_and_kill_9(self):
        history = History()
        with journaling_server(self.store) as server, Client(history, 1, server.port) as client:
            client.ask(Market().set_up())
            client.ask('<transactions id="1"><order sym="S1" amount="5" limit="9"/></transactions>')
        history.write(self.file())
        self.replay()
        lose_newest_record(self.folder / "x.db.journal")  # the last commit never reached the disk
        self.assertIn("an acknowledged command is lost", self.replay(possible=False))
