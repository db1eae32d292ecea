"""What commands read of an exchange that is behind."""

import socket
import tempfile
import threading
import unittest
from pathlib import Path

import support  # noqa: F401
from commands import export
from folder import Folder, Member
from scenario import Values
from session import Options, Session, create_accounts

from exchange_client import Exchange
from exchange_client.errors import ConnectionFailed, InDoubt


class Behind:
    """An HTTP port that does not show the newest batch."""

    def ask(self, path, body=None):
        return 200, b"exchange_journal_batch 5\n"

    def json(self, path):
        return {"batch": 4}


class Secrets(unittest.TestCase):
    def test_errors_of_a_lost_connection_have_no_keys(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            members = [Member(f"{n}", f"key; of {n}", f"{n}", Values(cash=1)) for n in range(300)]

            def take_one():
                listener.accept()[0].close()

            taker = threading.Thread(target=take_one)
            taker.start()
            session = Session.__new__(Session)
            session.options = Options(address, "", None, 5, None)
            with self.assertRaises(InDoubt) as raised, session._change("class x"):
                create_accounts(Exchange(address, operator_key="key; of all"), members)
            taker.join()
        self.assertRegex(str(raised.exception), f"^no reply from {address}: ")
        self.assertNotIn("key", str(raised.exception))
        with self.assertRaises(ConnectionFailed) as raised, session._change("class x"):
            create_accounts(Exchange(address), members)
        refused = f"cannot connect to {address}: Connection refused"
        self.assertEqual(refused, str(raised.exception))


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
