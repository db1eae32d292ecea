"""The terminal client and the load generator against a server that requires keys."""

import os
import pty
import subprocess
import unittest
from pathlib import Path

from exchange_server import BIN, ExchangeServer, run_loadgen
from support import OPENSSL, certificate, tls_server

KEY = "correct horse"


def cli(server, *words, key=None, environment=None):
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith("EXCHANGE_")
    }
    variables |= {
        "EXCHANGE_CONNECT": f"127.0.0.1:{server.port}",
        "EXCHANGE_HTTP": f"127.0.0.1:{server.http_port}",
    } | (environment or {})
    if key:
        variables["EXCHANGE_KEY"] = key
    result = subprocess.run(
        [BIN / "exchange-cli", *words],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    return result.returncode, result.stdout, result.stderr


@unittest.skipUnless((BIN / "exchange-cli").exists(), "exchange-cli is not built")
class TerminalClient(unittest.TestCase):
    def trade(self, server, environment=None):
        def run(*words, key=KEY):
            return cli(server, *words, key=key, environment=environment)

        self.assertEqual(
            run("create", "account", "1", "1000"), (0, "account 1: created with balance 1000\n", "")
        )
        self.assertEqual(run("create", "symbol", "S"), (0, "symbol S: created\n", ""))
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
                words = f"--connect 127.0.0.1:{server.port} --key - create account 1 5".split()
                os.execv(BIN / "exchange-cli", ["exchange-cli", *words])
            shown = b""
            while b"key: " not in shown:
                shown += os.read(terminal, 1000)
            os.write(terminal, KEY.encode() + b"\n")
            try:
                while piece := os.read(terminal, 1000):
                    shown += piece
            except OSError:  # the terminal of a process that has ended
                pass
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            os.close(terminal)
            self.assertIn(b"account 1: created", shown)
            self.assertNotIn(KEY.encode(), shown)
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
    def test_auth_gives_keys_to_a_private_server(self):
        code, said = run_loadgen("-c 4 -n 400 --workload mix --auth --expect 'errors<1%'")
        self.assertEqual(code, 0, said)
        code, said = run_loadgen("--auth --audit")
        self.assertNotEqual(code, 0)
        self.assertIn("not with --auth", said)


if __name__ == "__main__":
    unittest.main()
