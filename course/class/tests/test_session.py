"""What commands read of an exchange that is behind."""

import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401
from commands import export
from folder import Folder
from session import Options, Session

from exchange_client.errors import ConnectionFailed


class Behind:
    """An HTTP port that does not show the newest batch."""

    def ask(self, path, body=None):
        return 200, b"exchange_journal_batch 5\n"

    def json(self, path):
        return {"batch": 4}


class BehindTheJournal(unittest.TestCase):
    def test_commands_do_not_decide_by_what_is_old(self):
        with tempfile.TemporaryDirectory() as holder:
            Path(holder, "roster").write_text("name\nAda\n")
            Path(holder, "scenario").write_text('[student]\n[[instrument]]\nsymbol = "ABC"\n')
            folder = Folder(f"{holder}/class")
            self.addCleanup(folder.unlock)
            files = (f"{holder}/roster", f"{holder}/scenario")
            folder.write(*files, "http://x", [], "", lambda *_: None)
            options = Options("127.0.0.1:1", "127.0.0.1:1", None, 0.05, None)
            session = Session(folder, options)
            session.http = Behind()
            for act in (
                session.populate,
                lambda: session.set_trading("open"),
                lambda: export(None, session),
            ):
                with self.assertRaisesRegex(ConnectionFailed, "does not show yet what was"):
                    act()


if __name__ == "__main__":
    unittest.main()
