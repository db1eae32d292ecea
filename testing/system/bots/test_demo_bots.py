"""demo-bots as their users run them: on the real server, which stops and starts again."""

import json
import signal
import subprocess
import tempfile
import unittest

from exchange_server import BIN, PATIENCE_S, ExchangeServer, free_ports, run_program, wait_until


@unittest.skipUnless((BIN / "demo-bots").exists(), "demo-bots is not built")
class DemoBots(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.store = f"sqlite:{holder.name}/exchange.db"
        self.port, self.http_port = free_ports(2)

    def start_server(self, store=None, *options):
        ports = {"port": self.port, "http_port": self.http_port}
        self.server = ExchangeServer(*options, store=store or self.store, **ports).start()
        self.addCleanup(self.server.close)

    def start_bots(self, *words, http=None):
        self.said = tempfile.TemporaryFile("w+")
        self.addCleanup(self.said.close)
        http = http or f"127.0.0.1:{self.http_port}"
        self.bots = subprocess.Popen(
            [BIN / "demo-bots", "--http", http, "--rate", "400", *words],
            stdout=self.said,
            stderr=subprocess.STDOUT,
        )
        self.addCleanup(self.bots.wait)
        self.addCleanup(self.bots.kill)

    def output(self):
        self.said.seek(0)
        return self.said.read()

    def end_bots(self, signal_number=signal.SIGTERM):
        self.bots.send_signal(signal_number)
        self.assertEqual(0, self.bots.wait(PATIENCE_S))
        return self.output().splitlines()[-1]

    def symbols(self):
        rows = json.loads(self.server.http("/api/symbols"))["symbols"]
        return {row["symbol"]: row for row in rows}

    def trades(self):
        return sum(row["trades"] for row in self.symbols().values())

    def open_orders(self):
        return sum(row["open_orders"] for row in self.symbols().values())

    def wait_for_trades(self, more_than=0):
        wait_until(lambda: self.trades() > more_than, "trades of the bots")

    def test_they_trade_outlive_their_server_and_clear_the_book_at_the_end(self):
        self.start_server()
        self.start_bots("--symbols", "SPY=580,QQQ=500.5,IWM")
        self.wait_for_trades(more_than=50)
        self.assertEqual({"SPY", "QQQ", "IWM"}, set(self.symbols()))
        before = self.trades()
        self.server.kill()
        wait_until(lambda: "trying again" in self.output(), "the bots to notice")
        self.start_server()
        self.wait_for_trades(before + 50)
        self.assertTrue(0 < self.open_orders() <= 3 * 8)
        self.assertRegex(
            self.end_bots(),
            r"^requests=\d+ lost=\d+ shares=[1-9]\d* accounts=12 open=0$",
        )
        wait_until(lambda: self.open_orders() == 0, "an empty book")

    def test_where_a_restarted_exchange_is_empty_they_create_accounts_again(self):
        self.start_server("memory:")
        self.start_bots("--symbols", "SPY", "--account-prefix", "900")
        self.wait_for_trades()
        self.server.kill()
        self.start_server("memory:")
        self.wait_for_trades()
        self.assertIn(" accounts=8 open=0", self.end_bots())

    def test_bots_that_were_killed_start_again_with_the_same_accounts(self):
        self.start_server()
        for _ in range(3):
            before = self.trades()
            self.start_bots("--symbols", "SPY", "--account-prefix", "900")
            self.wait_for_trades(before + 10)
            self.bots.kill()
            self.bots.wait()
        self.assertLessEqual(self.open_orders(), 8)
        self.assertEqual(str(4 * 10_000), self.symbols()["SPY"]["shares_total"])

    def test_accounts_of_an_earlier_run_with_other_keys_stay_as_they_are(self):
        self.start_server(None, "--auth")
        words = ["--operator-key-file", self.server.operator_key_file]
        for run in (1, 2):
            self.start_bots("--symbols", "SPY", "--account-prefix", "900", *words)
            self.wait_for_trades(50 * run)
            self.assertIn(" accounts=4 open=0", self.end_bots())
            self.assertEqual(str(4 * run * 10_000), self.symbols()["SPY"]["shares_total"])

    def test_they_wait_for_a_server_and_write_no_line_for_each_failure(self):
        free, http = free_ports(1)[0], f"127.0.0.1:{self.http_port}"
        self.start_bots("--symbols", "SPY", http=f"127.0.0.1:{free},{http}")
        wait_until(lambda: "cannot connect to" in self.output(), "a message")
        self.start_server()  # the second of two addresses
        self.wait_for_trades()
        self.assertLessEqual(len(self.output().splitlines()), 4)
        self.assertIn("requests=", self.end_bots(signal.SIGINT))

    def test_they_end_when_their_time_is_over(self):
        self.start_bots("--duration", "300ms")
        self.assertEqual(0, self.bots.wait(PATIENCE_S))
        self.assertIn("requests=0 ", self.output())

    def test_invalid_options_end_with_status_2(self):
        for words in (
            ["--symbols", "S-Y"],
            ["--symbols", "SPY=0"],
            ["--symbols", "A,A"],
            ["--rate", "0"],
            ["--rate", "nan"],
            ["--duration", "soon"],
            ["--account-prefix", "x"],
            ["--connect", "here"],
            ["--operator-key-file", "/nowhere"],
            ["more"],
        ):
            self.assertEqual(2, run_program("demo-bots", *words).returncode, words)


if __name__ == "__main__":
    unittest.main()
