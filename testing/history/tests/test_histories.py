"""Histories of real servers under each policy and store are possible. Made into lies they are not:
the judge says so. Other lies are in testing/unit/history."""

import json
import re
import signal
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from exchange_server import POLICIES, loadgen_command, run_loadgen, run_program
from histories import (
    Client,
    History,
    Market,
    check_history,
    journaling_server,
    play,
    set_up_market,
)
from postgres import Cluster, ClusterError

# Sizes in a journal file (server/journal/journal_file.hpp).
HEADER_BYTES, BLOCK_HEADER_BYTES, FRAGMENT_HEADER_BYTES, ALIGN_BYTES = 4096, 32, 32, 32


def fragments(path):
    """Offset and bytes of each fragment in the first block of a file; its end is zeros."""
    with open(path, "rb") as file:
        (block_bytes,) = struct.unpack_from("<Q", file.read(HEADER_BYTES), 40)
        block = file.read(block_bytes)
    at = BLOCK_HEADER_BYTES
    while any(header := block[at : at + FRAGMENT_HEADER_BYTES]):
        (payload,) = struct.unpack_from("<I", header, 8)
        size = FRAGMENT_HEADER_BYTES + -(-payload // ALIGN_BYTES) * ALIGN_BYTES
        yield HEADER_BYTES + at, size
        at += size


def bytes_of_records(path):
    """The bytes of records in the first block; 0 if there is no file yet."""
    if not Path(path).exists() or Path(path).stat().st_size <= HEADER_BYTES:
        return 0
    return sum(size for _, size in fragments(path))


def lose_newest_record(path):
    """Zeros in place of the newest record, of a file with one block: as if its write never reached
    the disk."""
    offset, size = list(fragments(path))[-1]
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(bytes(size))


class HistoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="exchange-history-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.store = f"sqlite:{self.folder}/x.db"

    def file(self, name="history.jsonl"):
        return self.folder / name

    def replay(self, *files, store=None, possible=True):
        """What check-history says; fails where it does not end as expected."""
        code, said = check_history(store or self.store, *(files or [self.file()]))
        self.assertEqual(code, 0 if possible else 1, said)
        return said


class RandomClients(HistoryTest):
    def run_on(self, store, policy, seed):
        with journaling_server(store, policy) as server:
            play(server.port, seed, clients=4, requests=50).write(self.file())
        self.assertIn("201 requests, 0 of them unanswered", self.replay(store=store))

    def test_sqlite(self):
        for seed, policy in enumerate(POLICIES):
            with self.subTest(policy):
                self.run_on(f"sqlite:{self.folder}/{policy}.db", policy, seed)

    def test_postgresql(self):
        try:
            cluster = Cluster()
        except ClusterError as error:
            self.skipTest(str(error))
        self.addCleanup(cluster.stop)
        for seed, policy in enumerate(POLICIES):
            with self.subTest(policy):
                self.run_on(cluster.create_database()[1], policy, seed + 20)


class LoadGenerator(HistoryTest):
    def test_every_workload_with_workers_pipelines_and_an_audit_one_after_another_on_one_store(
        self,
    ):
        workloads = ["create", "transactions", "mix", "reads"]
        with journaling_server(self.store) as server:
            for workload in workloads:
                code, said = run_loadgen(
                    "-c 6 -n 600 --workers 2 --pipeline 3 --orders-per-request 2 --accounts 4"
                    f" --audit --workload {workload} --connect 127.0.0.1:{server.port} --history"
                    f" {self.file(workload)}"
                )
                self.assertEqual(code, 0, said)
            code, said = run_loadgen(
                f"-c 3 -n 30 --connection per-request --connect 127.0.0.1:{server.port}"
                f" --history {self.file('more.jsonl')}"
            )
            self.assertEqual(code, 0, said)
        said = self.replay(*map(self.file, workloads), self.file("more.jsonl"))
        self.assertGreater(int(re.match(r"\d+", said)[0]), 600 * len(workloads) + 30)
        self.assertIn("0 of them unanswered", said)
        # The rest is what no client there asked for.
        self.replay(self.file("more.jsonl"), possible=False)

    def test_kill_9_and_a_restart_in_the_middle(self):
        journal = self.folder / "x.db.journal"

        def wait_for(is_so):
            while load.poll() is None and not is_so():
                time.sleep(0.002)

        with journaling_server(self.store) as server:
            load = subprocess.Popen(
                loadgen_command(
                    "-c 20 -d 1h --timeout 300 --workload mix --connect"
                    f" 127.0.0.1:{server.port} --history {self.file()}"
                ),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            self.addCleanup(load.kill)
            wait_for(lambda: bytes_of_records(journal) > 100_000)  # it is well under way
            killed = time.monotonic_ns()
            server.kill()
        with journaling_server(self.store, port=server.port):
            restarted = time.monotonic_ns()
            # A commit more than clients, each of which waits for its reply: one was acknowledged.
            for _ in range(20 + 1):
                written = journal.stat().st_mtime_ns
                wait_for(lambda: journal.stat().st_mtime_ns != written)
            load.send_signal(signal.SIGINT)
            said = load.communicate()[0]
            self.assertEqual(load.returncode, 130, said)
        requests = [
            line
            for line in map(json.loads, self.file().read_text().splitlines())
            if "request" in line
        ]
        self.assertTrue(any(line["return"] is None and line["call"] < killed for line in requests))
        self.assertTrue(
            any(line["return"] is not None and line["call"] > restarted for line in requests)
        )
        said = self.replay()
        self.assertGreater(int(re.search(r"(\d+) of them unanswered", said)[1]), 0, said)

    def test_usage(self):
        self.assertEqual(run_loadgen("-c 1 -n 1 --store memory: --history /nowhere/h.jsonl")[0], 2)
        self.file().write_text("nonsense\n")
        for arguments in [
            [],
            ["--store", self.store],
            ["--store", self.store, str(self.file())],
            ["--store", "memory:", str(self.file())],
        ]:
            self.assertEqual(run_program("check-history", *arguments).returncode, 2, arguments)


class KillAndRestart(HistoryTest):
    def test_replies_to_random_clients_before_a_kill_hold_after_it(self):
        history, market = History(), Market()
        with journaling_server(self.store) as server:
            set_up_market(history, market, server.port)

            begin, once = history.begin, threading.Lock()

            def begin_and_kill(*request):
                entry = begin(*request)
                if len(history.lines) >= 120 and once.acquire(blocking=False):
                    # while others have requests under way, and before this one is sent
                    server.kill()
                return entry

            history.begin = begin_and_kill
            play(
                server.port, 5, clients=3, requests=80, history=history, market=market, set_up=False
            )
            history.begin = begin
        self.assertTrue(any(line["return"] is None for line in history.lines))
        with journaling_server(self.store) as server:
            with Client(history, 9, server.port) as client:
                # Closed orders are in the tables alone now.
                for account, order in list(market.orders):
                    client.ask(f'<transactions id="{account}"><query id="{order}"/></transactions>')
                for account, order in market.orders[::3]:
                    client.ask(
                        f'<transactions id="{account}"><cancel id="{order}"/><query'
                        f' id="{order}"/></transactions>'
                    )
            play(
                server.port, 6, clients=3, requests=20, history=history, market=market, set_up=False
            )
        history.write(self.file())
        self.replay()


class StaleReads(HistoryTest):
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


class LostRecord(HistoryTest):
    def test_a_reply_before_its_commit_and_kill_9(self):
        history = History()
        with journaling_server(self.store) as server, Client(history, 1, server.port) as client:
            client.ask(Market().set_up())
            client.ask('<transactions id="1"><order sym="S1" amount="5" limit="9"/></transactions>')
        history.write(self.file())
        self.replay()
        lose_newest_record(self.folder / "x.db.journal")  # the last commit never reached the disk
        self.assertIn("an acknowledged command is lost", self.replay(possible=False))
