"""Real servers under each policy and store: their histories are possible."""

import json
import re
import signal
import subprocess
import threading
import time

import support
from exchange_server import BIN, POLICIES, loadgen_command, run_loadgen
from journal_file import bytes_of_records
from random_clients import Client, History, Market, play, set_up_market
from servers import journaling_server


class RandomClients(support.HistoryTest):
    def run_on(self, store, policy, seed):
        with journaling_server(store, policy) as server:
            play(server.port, seed, clients=4, requests=50).write(self.file())
        self.assertIn("201 requests, 0 of them unanswered", self.replay(store=store))

    def test_sqlite(self):
        for seed, policy in enumerate(POLICIES):
            with self.subTest(policy):
                self.run_on(f"sqlite:{self.folder}/{policy}.db", policy, seed)

    def test_postgresql(self):
        cluster = support.postgres()
        for seed, policy in enumerate(POLICIES):
            with self.subTest(policy):
                self.run_on(cluster.create_database()[1], policy, seed + 20)


class LoadGenerator(support.HistoryTest):
    def test_every_workload_with_workers_pipelines_and_an_audit_one_after_another_on_one_store(
        self,
    ):
        with journaling_server(self.store) as server:
            asked = 0
            for workload in ["create", "transactions", "mix", "reads"]:
                code, said = run_loadgen(
                    "-c 6 -n 600 --workers 2 --pipeline 3 --orders-per-request 2 --accounts 4"
                    f" --audit --workload {workload} --connect 127.0.0.1:{server.port} --history"
                    f" {self.file()} --history-append"
                )
                self.assertEqual(code, 0, said)
                asked += 600
            code, said = run_loadgen(
                f"-c 3 -n 30 --connection per-request --connect 127.0.0.1:{server.port}"
                f" --history {self.file('more.jsonl')}"
            )
            self.assertEqual(code, 0, said)
        said = self.replay(self.file(), self.file("more.jsonl"))
        self.assertGreater(int(re.match(r"\d+", said)[0]), asked + 30)
        self.assertIn("0 of them unanswered", said)
        self.replay(
            self.file("more.jsonl"), possible=False
        )  # the rest is what no client there asked for

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
            for _ in range(
                20
                + 1
                # a commit more than clients, each of which waits for its reply: one was
                # acknowledged
            ):
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
        self.assertEqual(run_loadgen("--history-append")[0], 2)
        self.file().write_text("nonsense\n")
        for arguments in [
            [],
            ["--store", self.store],
            ["--store", self.store, str(self.file())],
            ["--store", "memory:", str(self.file())],
        ]:
            self.assertEqual(
                subprocess.run(
                    [str(BIN / "check-history"), *arguments], capture_output=True
                ).returncode,
                2,
                arguments,
            )


class KillAndRestart(support.HistoryTest):
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
            with Client(
                history, 9, server.port
            ) as client:  # closed orders are in the tables alone now
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
