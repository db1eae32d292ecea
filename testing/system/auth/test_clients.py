"""The terminal client and the load generator against a server that requires keys."""

import os
import pty
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from exchange_server import (
    BIN,
    OPERATOR_KEY,
    ExchangeServer,
    run_loadgen,
    run_program,
)
from support import OPENSSL, certificate, tls_server

KEY = "correct horse"


def cli(server, *words, key=None, environment=None):
    others = os.environ.items()
    variables = (
        {name: value for name, value in others if not name.startswith("EXCHANGE_")}
        | {
            "EXCHANGE_CONNECT": f"127.0.0.1:{server.port}",
            "EXCHANGE_HTTP": f"127.0.0.1:{server.http_port}",
            "EXCHANGE_OPERATOR_KEY_FILE": getattr(server, "operator_key_file", ""),
        }
        | (environment or {})
    )
    if key:
        variables["EXCHANGE_KEY"] = key
    done = run_program("exchange-cli", *words, env=variables, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


@unittest.skipUnless((BIN / "exchange-cli").exists(), "exchange-cli is not built")
class TerminalClient(unittest.TestCase):
    def trade(self, server, environment=None):
        def run(*words, key=KEY):
            return cli(server, *words, key=key, environment=environment)

        self.assertEqual(
            run("create", "account", "1", "1000"), (0, "account 1: created with balance 1000\n", "")
        )
        self.assertEqual(run("create", "symbol", "S"), (0, "symbol S: created\n", ""))
        no_operator = (environment or {}) | {"EXCHANGE_OPERATOR_KEY_FILE": ""}
        for words, what in (
            (["create", "account", "2", "9"], "account 2"),
            (["create", "symbol", "S", "1=9"], "symbol S, account 1"),
        ):
            self.assertEqual(
                cli(server, *words, key=KEY, environment=no_operator),
                (1, "", f"exchange-cli: {what}: creating needs the operator's key\n"),
            )
        self.assertEqual(
            run("--xml", "create", "symbol", "S")[1],
            '> <create key="…"><symbol sym="S"/></create>\n<results><created sym="S"/></results>\n',
        )
        self.assertEqual(
            run("-a", "1", "buy", "S", "2", "3"), (0, "order 1: 2 S open, to buy at limit 3\n", "")
        )
        self.assertEqual(
            run("-a", "1", "--xml", "status", "1")[1],
            '> <transactions id="1" key="…"><query id="1"/></transactions>\n'
            '<results><status id="1"><open shares="2"/></status></results>\n',
        )
        status = run("-a", "1", "status")
        self.assertEqual(status[0], 0)
        self.assertIn("balance 994 free, 6 reserved", status[1])
        for key in ("battery staple", None):
            self.assertEqual(
                run("-a", "1", "status", key=key), (1, "", "exchange-cli: unknown account\n")
            )
            self.assertEqual(
                run("-a", "1", "cancel", "1", key=key),
                (1, "", "exchange-cli: order 1: unknown account\n"),
            )
        self.assertIn("top S 3 2 - -", run("watch", "S", "-n", "1")[1])
        self.assertIn("S", run("book", "S")[1])

    def test_trades_with_a_key(self):
        with ExchangeServer("--auth") as server:
            self.trade(server)

    def test_keys_are_changed_by_the_operator_and_by_the_account(self):
        with ExchangeServer("--auth") as server, tempfile.TemporaryDirectory() as folder:
            query = lambda key: cli(server, "-a", "1", "status", "9", key=key)[2]
            knows = lambda key: "no such order" in query(key)
            file, changed = f"{folder}/new.key", "account 1: key changed\n"
            Path(file).write_text("key of a file\n")
            created = "account 1: created with balance 5\n"
            self.check(server, created, "create", "account", "1", "5", key=KEY)
            self.assertTrue(knows(KEY))

            code, said, errors = cli(server, "admin", "set-key", "1")
            found = re.fullmatch(
                r"new key of account 1, shown only now: (\w{48})\naccount 1: key changed\n", said
            )
            self.assertTrue(found, (code, said, errors))
            self.assertEqual([False, True], [knows(KEY), knows(found[1])])
            own = ("-a", "1", "set-key", "--key-file", file)
            self.check(server, changed, *own, key=found[1])
            self.assertEqual([False, True], [knows(found[1]), knows("key of a file")])
            self.check(server, "account 1: key revoked\n", "admin", "revoke-key", "1")
            self.assertFalse(knows("key of a file"))
            self.assertEqual(
                cli(server, *own, key="key of a file"),
                (1, "", "exchange-cli: account 1: unknown account\n"),
            )
            self.check(server, changed, "admin", "set-key", "1", "--key-file", file)
            self.assertTrue(knows("key of a file"))

    def check(self, server, text, *words, **more):
        self.assertEqual(cli(server, *words, **more), (0, text, ""))

    def test_a_script_goes_on_with_the_new_key_of_its_account(self):
        with ExchangeServer("--auth") as server, tempfile.TemporaryDirectory() as folder:
            Path(folder, "new.key").write_text("key of a file\n")
            script = f"create account 1 5\nset-key --key-file {folder}/new.key\nbuy S 1 1\n"
            script += "admin set-key 1\ncancel 1\n"
            done = run_program(
                "exchange-cli",
                *f"--connect 127.0.0.1:{server.port} --operator-key-file".split(),
                server.operator_key_file,
                *("--account", "1", "--key", KEY),
                input=script,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.endswith("order 1: 1 S canceled\n"), done.stdout)

    def test_an_account_that_is_an_operator_and_others(self):
        with ExchangeServer("--auth") as server, tempfile.TemporaryDirectory() as folder:
            others, new = f"{folder}/others.key", f"{folder}/new.key"
            Path(others).write_text("operator of others\n")
            Path(new).write_text("key of account 3\n")
            for account in ("1", "2"):
                cli(server, "create", "account", account, "5", key=f"key of account {account}")
            cli(server, "create", "symbol", "S")
            as_operator = {
                "key": "key of account 2",
                "environment": {"EXCHANGE_ACCOUNT": "2", "EXCHANGE_OPERATOR_KEY_FILE": ""},
            }
            with_others_key = {"environment": {"EXCHANGE_OPERATOR_KEY_FILE": others}}
            commands = (
                ("account 1", "admin", "set-key", "1", "--key-file", new),
                ("account 1", "admin", "revoke-key", "1"),
                ("account 2", "admin", "role", "2", "operator"),
                ("account 1", "admin", "freeze", "1"),
                ("account 1", "admin", "unfreeze", "1"),
                ("account 1", "admin", "limits", "1", "--orders-max", "5"),
                ("account 1", "admin", "cash", "1", "5", "--reason", "gift"),
                ("account 1", "admin", "shares", "1", "S", "5", "--reason", "gift"),
                ("account 3", "create", "account", "3", "5", "--key-file", new),
                ("symbol S", "halt", "S"),
            )
            refused = "creating needs the operator's key\n"
            for more in (as_operator, with_others_key):
                for what, *words in commands:
                    self.assertEqual(
                        cli(server, *words, **more), (1, "", f"exchange-cli: {what}: {refused}")
                    )
            self.check(server, "account 2: role operator\n", "admin", "role", "2", "operator")
            for text, *words in (
                ("account 1: frozen\n", "admin", "freeze", "1"),
                ("account 3: created with balance 5\n", *commands[-2][1:]),
                ("symbol S: trading halted\n", "halt", "S"),
                ("account 2: role trader\n", "admin", "role", "2", "trader"),
            ):
                self.check(server, text, *words, **as_operator)
            key = "key of account 3"
            self.assertIn("no such order", cli(server, "-a", "3", "cancel", "1", key=key)[2])
            self.assertEqual(
                cli(server, "admin", "unfreeze", "1", **as_operator),
                (1, "", f"exchange-cli: account 1: {refused}"),
            )

    @unittest.skipUnless(OPENSSL, "there is no openssl to make a certificate with")
    def test_trades_with_a_key_over_tls_and_knows_who_answers(self):
        with certificate() as (other, _), tls_server("--auth") as (server, cert, _):
            self.trade(server, {"EXCHANGE_TLS_CA": cert})
            for words in (["create", "symbol", "T"], ["symbols"], ["watch", "S", "-n", "1"]):
                for arguments in (["--tls"], ["--tls-ca", other]):
                    status, _, errors = cli(server, *arguments, *words)
                    self.assertEqual(status, 3)
                    self.assertIn("its certificate is not good", errors)
                self.assertEqual(cli(server, "--tls-insecure", *words)[0], 0)
                self.assertEqual(cli(server, *words)[0], 3)  # plain text to a TLS port
            names = {
                "EXCHANGE_CONNECT": f"localhost:{server.port}",
                "EXCHANGE_HTTP": f"localhost:{server.http_port}",
            }
            self.assertEqual(cli(server, "--tls-ca", cert, "symbols", environment=names)[0], 0)
            wrong_name = {"EXCHANGE_HTTP": f"127.0.0.2:{server.http_port}"}
            self.assertNotEqual(
                cli(server, "--tls-ca", cert, "symbols", environment=wrong_name)[0], 0
            )

    def test_a_key_that_is_asked_for_is_not_shown(self):
        with ExchangeServer("--auth") as server:
            child, terminal = pty.fork()
            if child == 0:
                os.environ.pop("EXCHANGE_KEY", None)
                words = f"--connect 127.0.0.1:{server.port} --key - --operator-key-file -"
                words += " create account 1 5"
                os.execv(BIN / "exchange-cli", ["exchange-cli", *words.split()])
            shown = b""
            for prompt, answer in ((b"key: ", KEY), (b"operator's key: ", OPERATOR_KEY)):
                while prompt not in shown:
                    shown += os.read(terminal, 1000)
                os.write(terminal, answer.encode() + b"\n")
            try:
                while piece := os.read(terminal, 1000):
                    shown += piece
            except OSError:  # the terminal of a process that has ended
                pass
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            os.close(terminal)
            self.assertIn(b"account 1: created", shown)
            self.assertNotIn(KEY.encode(), shown)
            self.assertNotIn(OPERATOR_KEY.encode(), shown)
            self.assertEqual(
                cli(server, "-a", "1", "cancel", "9", key=KEY)[2],
                "exchange-cli: order 9: no such order of this account\n",
            )

    def test_a_key_on_the_command_line_is_hidden_from_the_list_of_processes(self):
        with ExchangeServer("--auth") as server:
            address = f"127.0.0.1:{server.port}"
            for form in (["--key", KEY], [f"--key={KEY}"]):
                process = subprocess.Popen(
                    [BIN / "exchange-cli", "--connect", address, *form],
                    env=os.environ | {"EXCHANGE_OPERATOR_KEY_FILE": server.operator_key_file},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                process.stdin.write("create symbol S\n")
                process.stdin.flush()
                process.stdout.readline()
                self.assertNotIn(KEY.encode(), Path(f"/proc/{process.pid}/cmdline").read_bytes())
                process.stdin.close()
                process.wait()
                process.stdout.close()


@unittest.skipUnless((BIN / "loadgen").exists(), "loadgen is not built")
class LoadGenerator(unittest.TestCase):
    def test_a_server_that_runs_already_needs_the_operators_key(self):
        with ExchangeServer("--auth") as server:
            load = f"-c 2 -n 30 --auth --connect 127.0.0.1:{server.port}"
            code, said = run_loadgen(load)
            self.assertNotEqual(code, 0)
            self.assertIn("creating needs the operator's key", said)
            for workload in ("mix", "create"):
                code, said = run_loadgen(
                    f"{load} --workload {workload} --operator-key-file {server.operator_key_file}"
                    " --expect 'errors<1%'"
                )
                self.assertEqual(code, 0, said)
            code, said = run_loadgen(f"{load} --operator-key-file /nowhere")
            self.assertEqual(code, 2)
            self.assertIn("/nowhere", said)

    def test_auth_gives_keys_to_a_private_server(self):
        code, said = run_loadgen("-c 4 -n 400 --workload mix --auth --expect 'errors<1%'")
        self.assertEqual(code, 0, said)
        code, said = run_loadgen("--auth --audit")
        self.assertNotEqual(code, 0)
        self.assertIn("not with --auth", said)


@unittest.skipUnless((BIN / "demo-bots").exists(), "demo-bots is not built")
class Bots(unittest.TestCase):
    def test_bots_without_the_operators_key_say_what_keeps_them_from_trading(self):
        reason = "creating needs the operator's key; trying again in"
        with ExchangeServer("--auth") as server:
            words = ("--http", f"127.0.0.1:{server.http_port}", "--rate", "1000", "-d")
            # on a busy machine, and with sanitizers, keys take long to hash
            said = (run_program("demo-bots", *words, time).stderr for time in ("1s", "10s", "30s"))
            self.assertTrue(any(reason in text for text in said))
