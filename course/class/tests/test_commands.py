"""The commands where the exchange does not answer. With one, they run as the page of a class shows
(testing/system/documents/test_class.py)."""

import fcntl
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import FOLDERS

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


if __name__ == "__main__":
    unittest.main()
