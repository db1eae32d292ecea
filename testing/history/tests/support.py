"""A store for each test of histories."""

import tempfile
import unittest
from pathlib import Path

from postgres import Cluster, ClusterError
from servers import check_history


def postgres():
    """A cluster for the whole run of the tests; skips the test, with the reason, where there is no
    PostgreSQL."""
    if not hasattr(postgres, "cluster"):
        try:
            postgres.cluster = Cluster()
        except ClusterError as error:
            postgres.cluster = error
        else:
            unittest.addModuleCleanup(postgres.cluster.stop)
    if isinstance(postgres.cluster, Exception):
        raise unittest.SkipTest(str(postgres.cluster))
    return postgres.cluster


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
