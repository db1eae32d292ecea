"""What every version since 1.0 wrote and answered, read and reproduced by the server of today."""

import lzma
import subprocess
import tarfile
import tempfile
import unittest

from exchange_server import BIN
from golden import (
    HERE,
    answers,
    converse,
    read_conversation,
    series,
    server_on,
    transactions,
    without_times,
)
from postgres import Cluster, ClusterError

VERSIONS = sorted(path.parent for path in HERE.glob("*/conversation.txt"))


class EachVersion(unittest.TestCase):
    maxDiff = None

    def test_there_are_versions(self):
        self.assertIn("1.0.0", [folder.name for folder in VERSIONS])

    def test_replies_and_metrics_are_the_same(self):
        for folder in VERSIONS:
            with self.subTest(version=folder.name):
                expected = read_conversation(folder / "conversation.txt")
                with server_on("memory:") as server:
                    actual = without_times(converse(server, [asked for asked, _ in expected]))
                    for (asked, wanted), (_, reply) in zip(expected, actual, strict=True):
                        self.assertEqual(reply, wanted, asked)
                    names = (folder / "metrics.txt").read_text().split()
                    self.assertEqual(set(names) - set(series(server)), set())

    def test_a_sqlite_store_opens_and_goes_on(self):
        for folder in VERSIONS:
            with self.subTest(version=folder.name):
                with tempfile.TemporaryDirectory(prefix="exchange-golden-") as place:
                    with tarfile.open(folder / "sqlite.tar.xz") as archive:
                        archive.extractall(place)
                    self.check(f"sqlite:{place}/exchange.db", folder / "sqlite_answers.txt")

    def test_a_postgresql_store_opens_and_goes_on(self):
        try:
            cluster = Cluster()
        except ClusterError as error:
            self.skipTest(str(error))
        self.addCleanup(cluster.stop)
        for folder in VERSIONS:
            with self.subTest(version=folder.name):
                name, url = cluster.create_database()
                with lzma.open(folder / "postgresql.sql.xz", "rt") as dump:
                    cluster.query(name, dump.read())
                self.check(url, folder / "postgresql_answers.txt")

    def check(self, store, file):
        with server_on(store) as server:
            expected = read_conversation(file)
            self.assertEqual(answers(server), expected)
            order = transactions("3", '<order sym="SPY" amount="1" limit="1"/>')
            self.assertRegex(server.request(order)[0], r'<opened .* id="\d+"/>')
            server.stop()
        # It replays the journal from its first batch, and compares all rows and digests.
        done = subprocess.run([BIN / "exchange-audit", store], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, "batches replayed: [1-9]")
