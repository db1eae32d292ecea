"""The commands where the exchange does not answer, or is behind. With one that answers, they run as
the page of a class shows (testing/system/documents/test_class.py)."""

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace

from support import FOLDERS

from commands import export
from exchange_client import Exchange
from exchange_client.errors import ConnectionFailed, InDoubt
from folder import Folder, Member
from scenario import Values
from session import Options, Session, create_accounts

PROGRAM = "import commands; commands.main()"
SCENARIO = '[student]\n[[instrument]]\nsymbol = "ABC"\n'


class Commands(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.write("roster", "name\nAda\n")
        self.write("scenario", SCENARIO)

    def write(self, name, text):
        self.folder.joinpath(name).write_text(text)

    def run_class(self, *words, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("EXCHANGE_")}
        environment |= {"PYTHONPATH": ":".join(FOLDERS)} | variables
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    def test_where_no_server_runs_the_command_that_starts_one_has_its_ports_and_quoted_files(self):
        ports = {"EXCHANGE_CONNECT": "127.0.0.1:1", "EXCHANGE_HTTP": "127.0.0.1:2,127.0.0.1:3"}
        words = ("init", "roster", "scenario", "--folder", "my class")
        code, said, complained = self.run_class(*words, **ports)
        self.assertEqual((0, ""), (code, complained))
        self.assertIn("the scenario was not checked on an exchange: there is no server", said)
        self.assertIn(
            "\n  exchange-server --auth --operator-key-file 'my class/operator.key' --port 1 "
            "--http-port 2 --keep-journal --store 'sqlite:my class/exchange.db'\n",
            said,
        )
        keys = self.folder.joinpath("my class/keys.csv").read_text()
        self.assertIn(",http://127.0.0.1:2/#sign-in=1001:", keys)
        code, said, complained = self.run_class("start", "--folder", "my class", **ports)
        self.assertEqual((3, ""), (code, said))
        self.assertIn("exchange-cli: cannot connect to 127.0.0.1:2: Connection refused", complained)
        self.assertIn("--connect HOST:PORT names another", complained)

    def test_options_of_the_terminal_client_stand_before_and_after_the_command(self):
        expected = "exchange-cli: there is no class in x: 'class init ROSTER SCENARIO' makes one\n"
        for words in (
            ["--timeout", "1", "-a", "7", "status", "--folder", "x", "--retry"],
            ["--folder", "x", "--xml", "status", "--timeout=1", "--http", "127.0.0.1:1"],
        ):
            self.assertEqual((2, "", expected), self.run_class(*words))
        for words in (
            ["--timeout", "nan", "status"],
            ["status", "more"],
            ["--connect", "x", "stop"],
        ):
            self.assertEqual(2, self.run_class(*words)[0], words)
        code, _, complained = self.run_class("status", EXCHANGE_CONNECT="nowhere")
        self.assertEqual(2, code)
        self.assertIn("exchange-cli: EXCHANGE_CONNECT: 'nowhere' is not HOST:PORT", complained)
        code, _, complained = self.run_class("status", EXCHANGE_TLS_CA="/nowhere")
        self.assertEqual(2, code)
        self.assertIn("/nowhere", complained)

    def test_a_variable_sets_tls_by_any_word_that_other_programs_take(self):
        self.run_class("init", "roster", "scenario", EXCHANGE_HTTP="127.0.0.1:1")
        keys = self.folder / "class/keys.csv"
        words = {"https": "1 7 TRUE on Yes enable t y +", "http": "0 -1 false OFF no disable f n -"}
        for scheme, values in words.items():
            for value in values.split():
                code, _, complained = self.run_class(
                    *("init", "roster", "scenario"),
                    EXCHANGE_HTTP="127.0.0.1:1",
                    EXCHANGE_TLS=value,
                )
                self.assertEqual((0, ""), (code, complained), value)
                self.assertIn(f",{scheme}://", keys.read_text(), value)
        code, _, complained = self.run_class("status", EXCHANGE_TLS="perhaps")
        self.assertEqual(2, code)
        self.assertIn("exchange-cli: EXCHANGE_TLS: 'perhaps' is not true or false", complained)

    def test_a_command_that_changes_the_class_reads_it_alone(self):
        self.run_class("init", "roster", "scenario", EXCHANGE_HTTP="127.0.0.1:1")
        self.folder.joinpath("class/scenario.toml").write_text("half of it")
        with open(self.folder / "class/class.lock") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            code, _, complained = self.run_class("start")
        self.assertEqual(2, code)
        self.assertIn("another command changes the class in class now", complained)

    def test_a_file_that_cannot_be_used_is_named(self):
        folder = "x" * 300
        code, _, complained = self.run_class("status", "--folder", folder)
        expected = f"exchange-cli: {folder}/keys.csv: File name too long\n"
        self.assertEqual((2, expected), (code, complained))

    def test_text_of_a_roster_does_not_steer_the_terminal(self):
        self.write("roster", "name,email\nAda\x1b[2J,\n")
        code, _, complained = self.run_class("init", "roster", "scenario")
        self.assertEqual((2, False), (code, "\x1b" in complained))
        self.write("scenario", 'name = "\\u001b[2J"\n' + SCENARIO)
        self.write("roster", 'name\nAda\n"Points Possible \x1b[2J"\n')
        code, said, _ = self.run_class("init", "roster", "scenario", "--http", "127.0.0.1:1")
        self.assertEqual((0, False), (code, "\x1b" in said))


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


class Reading(unittest.TestCase):
    """What commands read of an exchange."""

    def session(self, holder, roster):
        Path(holder, "roster").write_text(roster, encoding="utf-8")
        Path(holder, "scenario").write_text(SCENARIO)
        folder = Folder(f"{holder}/class")
        self.addCleanup(folder.unlock)
        files = (f"{holder}/roster", f"{holder}/scenario")
        folder.write(*files, "http://x", [], "", lambda *_: None)
        return Session(folder, Options("127.0.0.1:1", "127.0.0.1:1", None, 0.05, None))

    def test_commands_do_not_decide_by_what_is_old(self):
        with tempfile.TemporaryDirectory() as holder:
            session = self.session(holder, "name\nAda\n")
            session.http = Behind()
            for act in (
                session.populate,
                lambda: session.set_trading("open"),
                lambda: export(None, session),
            ):
                with self.assertRaisesRegex(ConnectionFailed, "does not show yet what was"):
                    act()

    def test_results_are_a_table_like_the_roster_and_start_no_formula(self):
        with tempfile.TemporaryDirectory() as holder:
            session = self.session(holder, "\ufeffName;Email\n=1+1;ada@x\n-5;alan@x\n")
            ada = {"account": "1001", "rank": 1, "profit": "7", "volume": "9", "trades": 2}
            board = {"standings": [ada | {"largest_position": "3"}], "rounds": []}
            session.wait_for_all, session.leaderboard = lambda: None, lambda: board
            export(SimpleNamespace(to=holder), session)
            results = Path(holder, "students.csv").read_text(encoding="utf-8")
        heading = "\ufeffName;Email;account;shown as;rank;profit;volume;trades;largest_position"
        rows = ["'=1+1;ada@x;1001;'=1+1;1;7;9;2;3", "'-5;alan@x;1002;'-5;;0;0;0;0"]
        self.assertEqual([heading, *rows], results.splitlines())


if __name__ == "__main__":
    unittest.main()
