"""Each attack of attacks.py in small numbers, under each policy, while good clients work. Good
clients see no error and only right replies, hostile ones get the documented replies or are ended,
memory stays bounded, and new clients are served. No time is judged."""

import collections
import contextlib
import re
import resource
import unittest
from pathlib import Path

from exchange_server import ExchangeServer, is_sanitized, read_metrics, wait_until
from harness import (
    PATIENCE_S,
    Attack,
    HealthChecks,
    connections,
    ended,
    make_long_order,
    make_symbols,
    memory_mib,
    raise_descriptor_limit,
    run_good_clients,
    seconds_until_answered,
)

CONNECTIONS_MAX, BUFFERED_MIB, RSS_MIB_MAX = 400, 8, 250
ADDRESS_SPACE = 4 << 30  # half of it counts as the memory: 512 connections over HTTP
FRAMING, FULL = "bad framing", "the server takes no more connections now"
OF_ADDRESS = "too many connections from your address"


def reasons(replies):
    """How often each reason came, without the numbers behind it."""
    counts = collections.Counter()
    for text, times in replies.items():
        counts[re.match(r"<results><error>([^:(]*[^:( ])", text)[1]] += times
    return counts


SANITIZED = is_sanitized()
LIMITS = (
    *("--connections-max", CONNECTIONS_MAX, "--buffered-bytes-max", BUFFERED_MIB << 20),
    *("--idle-timeout-s", 3, "--stall-timeout-s", 2),
)


@contextlib.contextmanager
def address_space(most):
    """What is started here has no more, and so the limits of a small machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


class Attacks:
    @classmethod
    def setUpClass(cls):
        raise_descriptor_limit()
        with address_space(ADDRESS_SPACE):
            cls.server = cls.enterClassContext(ExchangeServer("--policy", cls.policy, *LIMITS))
        cls.order = make_long_order(cls.server, 60_000)  # a reply of some 4 MB

    def setUp(self):
        self.before = ended(self.server)

    def good_clients(self):
        well, _, words = run_good_clients(self.server, "-n 3000", clients=20)
        self.assertTrue(well, words)

    def wait_until_all_left(self):
        wait_until(lambda: connections(self.server) == 0, "the last connection to end", PATIENCE_S)

    def ended(self, reason):
        return ended(self.server)[reason] - self.before[reason]

    def http_refused(self):
        return read_metrics(self.server.http_port)['exchange_http_refused_total{reason="peer"}']

    def tearDown(self):
        """The server runs, is small, keeps no connection of a peer that left, and takes new
        clients."""
        seconds_until_answered(self.server.port)
        self.wait_until_all_left()
        if SANITIZED:
            print("memory is not measured: the server was built with a sanitizer")
        else:
            self.assertLess(memory_mib(self.server.pid, "VmHWM"), RSS_MIB_MAX)

    def test_silent_and_slow_ones_are_ended(self):
        counts = {"idle": 60, "blanks": 30, "slow-senders": 60, "half-open": 40}
        with contextlib.ExitStack() as attacks:
            kinds = {
                kind: attacks.enter_context(Attack(kind, self.server.port, count, f"{10 + i}"))
                for i, (kind, count) in enumerate(counts.items())
            }
            refused = self.http_refused()
            attacks.enter_context(Attack("slow-http", self.server.http_port, 450, "20"))
            self.good_clients()
            wait_until(
                lambda: self.ended("idle") >= 110 and self.ended("stalled") >= 80,
                "idle and slow ones to be ended",
                PATIENCE_S,
            )
        self.assertEqual(
            (self.ended("stalled"), self.ended("memory"), self.ended("evicted")), (60 + 20, 0, 0)
        )
        self.assertIn(
            self.ended("idle") - (60 + 30 + 20),
            range(20 + 1),
            "and some of the good clients, which wait until the others are done",
        )
        for kind in ("idle", "blanks"):
            self.assertEqual(kinds[kind].result["fates"], {"closed": counts[kind], "open": 0}, kind)
        self.assertEqual(reasons(kinds["slow-senders"].result["replies"]), {FRAMING: 60})
        if not SANITIZED:  # else more, by the memory of the machine; an address has three quarters
            self.assertEqual(self.http_refused() - refused, 450 - 384)

    def test_those_that_ask_for_the_largest_answers_fail_no_health_check(self):
        make_symbols(self.server, 2_000)
        with (
            Attack("greedy-http", self.server.http_port, 100, "2", self.order) as attack,
            HealthChecks(self.server.http_port) as health,
        ):
            self.good_clients()
        self.assertGreater(health.checks, 0)
        self.assertEqual(health.failures, 0)
        self.assertEqual(attack.result["fates"], {"open": 100})

    def test_peers_that_make_the_server_buffer_much_are_ended(self):
        with Attack("half-frames", self.server.port, 30, "30") as half, Attack(
            "never-reading", self.server.port, 30, "31", self.order
        ) as deaf:
            self.good_clients()
            wait_until(
                lambda: self.ended("memory") + self.ended("stalled") >= 60,
                "all of them to be ended",
                PATIENCE_S,
            )
            self.wait_until_all_left()
        self.assertGreaterEqual(self.ended("memory"), 30)
        self.assertLessEqual(set(reasons(half.result["replies"])), {FRAMING})
        self.assertEqual(deaf.result["fates"], {"closed": 30, "open": 0})

    def test_a_storm_past_the_limit_is_refused_with_the_reason_and_leaves_room(self):
        with Attack("storm", self.server.port, 2 * CONNECTIONS_MAX, "40-41") as storm, Attack(
            "garbage", self.server.port, 20, "42"
        ) as garbage:
            self.good_clients()
            wait_until(lambda: self.ended("refused") > 0, "refusals", PATIENCE_S)
        self.assertLessEqual(set(reasons(storm.result["replies"])), {FULL, OF_ADDRESS})
        self.assertLessEqual(set(reasons(garbage.result["replies"])), {FRAMING, FULL})
        self.assertGreater(self.ended("evicted"), 0, "the server evicted peers for good clients")

    def test_a_shortage_of_descriptors_passes(self):
        limits = resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE)
        used = len(list(Path(f"/proc/{self.server.pid}/fd").iterdir()))
        resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE, (used + 150, limits[1]))
        try:
            with Attack("storm", self.server.port, 300, "50") as storm:
                seconds_until_answered(self.server.port)
                self.good_clients()
                failures = "exchange_accept_failures_total"
        finally:
            resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE, limits)
        self.assertGreater(read_metrics(self.server.http_port)[failures], 0)
        self.assertGreater(self.ended("evicted"), 0)
        self.assertGreater(storm.result["connected"], 100)


class UnderThread(Attacks, unittest.TestCase):
    policy = "thread"


class UnderPool(Attacks, unittest.TestCase):
    policy = "pool"


class UnderLoop(Attacks, unittest.TestCase):
    policy = "loop"
