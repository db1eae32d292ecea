"""Classes with real bots: the lesson of course/docs/class.md prints what the page shows; what is
interrupted goes on."""

import base64
import csv
import json
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import tomllib
import unittest
import urllib.request
from pathlib import Path

from exchange_server import BIN, PATIENCE_S, ROOT, free_ports, read_metrics, wait_until
from postgres import Cluster, ClusterError
from support import run, steps_of, text_of

STEPS = steps_of("course/docs/class.md")
EXAMPLE = ROOT / "course/class/example"
PORTS = re.compile(r" --port \d+ --http-port \d+")  # which the page does not need
CHANGING = re.compile(r"(?<=process )\d+|127\.0\.0\.1:\d+")


class Class(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        for file in EXAMPLE.iterdir():
            shutil.copy(file, self.folder)
        self.port, self.http_port = free_ports(2)
        self.server, self.environment = None, {}
        self.addCleanup(self.end)

    def end(self):
        self.cli("class stop")
        if self.server:
            self.server.terminate()
            self.server.wait(PATIENCE_S)
            self.server.stdout.close()
            self.server = None

    def start(self, words, port, http_port, expected="ready"):
        ports = ["--port", str(port), "--http-port", str(http_port)]
        server = subprocess.Popen(
            [BIN / "server", *words, *ports, "--log-level", "error"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.assertIn(expected, server.stdout.readline())
        return server

    def start_server(self):
        """As the page starts it, on free ports."""
        (command,) = (words for words, _ in STEPS if words.startswith("exchange-server"))
        words = shlex.split(command.rstrip("& "))[1:]
        self.server = self.start(words, self.port, self.http_port)

    def kill_server(self):
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()
        self.server = None

    def cli(self, words):
        return run(f"exchange-cli {words}", self, self.folder, self.environment)

    def write_roster(self, count):
        rows = "".join(f"student {i},s{i}@x.org\n" for i in range(count))
        (self.folder / "roster.csv").write_text("name,email\n" + rows)

    def students(self):
        with open(self.folder / "class/keys.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def begin(self):
        """A class that trades."""
        self.cli("class init roster.csv scenario.toml")
        self.start_server()
        self.cli("class start")

    def get(self, path, **headers):
        url = f"http://127.0.0.1:{self.http_port}{path}"
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return response.read().decode()

    def account_of(self, student):
        login = base64.b64encode(f"{student['account']}:{student['key']}".encode()).decode()
        path = f"/api/accounts/{student['account']}"
        return json.loads(self.get(path, Authorization=f"Basic {login}"))

    def trades(self):
        rows = re.findall(r"^\w+ +open .* (\d+) +\d+$", self.cli("class status"), re.M)
        return sum(map(int, rows))

    def wait_for_trades(self, more_than=0):
        wait_until(lambda: self.trades() > more_than, "the bots to trade")

    def any_refused(self):
        """A command of the breaker: those of other bots are refused for other reasons."""
        return any(
            value > 0 and re.search("unknown_order|insufficient|tick|band", name)
            for name, value in read_metrics(self.http_port).items()
            if name.startswith("exchange_commands_total")
        )

    def check_begin(self):
        """Each student has what the scenario gives, once."""
        for student in self.students():
            account = self.account_of(student)
            self.assertEqual(account["balance"], "100000")
            held = {one["symbol"]: one["shares"] for one in account["positions"]}
            self.assertEqual(held, {"ABC": "100", "XYZ": "100"})
            self.assertEqual(account["name"], student["shown as"])
            self.assertEqual(account["orders_max"], 50)

    def test_each_command_prints_what_the_page_shows(self):
        printed = []
        for command, _ in STEPS:
            if command.startswith("exchange-server"):
                self.start_server()
                printed.append((command, ""))
                continue
            printed.append((command, run(command, self, self.folder, {})))
            if " start" in command:
                self.wait_for_trades()
        shown, real = (CHANGING.sub("N", text_of(steps)) for steps in (STEPS, printed))
        self.assertRegex(real, PORTS)
        real = PORTS.sub("", real)
        self.assertEqual(shown, real)

    def test_the_leaderboard_of_a_day_is_that_of_its_journal(self):
        self.begin()
        self.wait_for_trades()
        self.cli("class stop")
        wait_until(
            lambda: read_metrics(self.http_port)["exchange_projection_lag_batches"] == 0,
            "the tables",
        )
        shown = self.get("/api/leaderboard.csv")
        self.assertIn("maker", shown)
        self.cli("class new-day monday")

        def audit(text):
            (self.folder / "shown.csv").write_text(text)
            store = "sqlite:class/exchange.db.days/monday/exchange.db"
            return subprocess.run(
                [BIN / "exchange-audit", store, "--compare-leaderboard", "shown.csv"],
                cwd=self.folder,
                stdout=subprocess.PIPE,
                text=True,
            )

        same = audit(shown)
        self.assertEqual(same.returncode, 0, same.stdout)
        self.assertIn("leaderboard: shown.csv is that of the journal\n", same.stdout)
        first, second, *rest = shown.splitlines(keepends=True)
        other = audit(first + second.replace("1,", "1,x", 1) + "".join(rest))
        self.assertEqual(other.returncode, 1)
        self.assertIn("leaderboard: line 2 of shown.csv is '1,x", other.stdout)
        self.assertEqual(audit(shown + second).returncode, 1)
        self.assertEqual(audit(first).returncode, 1)

    def test_who_joins_gets_an_account_and_the_others_keep_theirs(self):
        self.write_roster(2)
        self.begin()
        before = self.students()
        self.write_roster(3)
        self.assertIn("1 student new", self.cli("class init roster.csv scenario.toml"))
        after = self.students()
        self.assertEqual(after[:2], before)
        self.assertEqual(len(after), 3)
        self.check_begin()
        self.assertEqual(len({student["account"] for student in after}), 3)

    def start_and_kill(self, after_s):
        environment = {
            "EXCHANGE_CONNECT": f"127.0.0.1:{self.port}",
            "EXCHANGE_HTTP": f"127.0.0.1:{self.http_port}",
        }
        with subprocess.Popen(
            [BIN / "exchange-cli", "class", "start"],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
        ) as start:
            time.sleep(after_s)
            start.kill()

    def test_a_start_that_is_killed_goes_on(self):
        self.write_roster(60)
        self.cli("class init roster.csv scenario.toml")
        self.start_server()
        for nth in range(6):  # at any moment: some of the accounts, or of the shares
            self.start_and_kill(after_s=0.05 + 0.05 * nth)
        self.cli("class start")
        self.check_begin()
        self.check_shares()

    def check_shares(self):
        """All shares that there are, also those of bots: each was given once."""
        scenario = tomllib.loads((self.folder / "class/scenario.toml").read_text())
        members = [(len(self.students()), scenario["student"])]
        members += [(bots.get("count", 1), bots) for bots in scenario["bots"]]
        symbols = json.loads(self.get("/api/symbols"))["symbols"]
        self.assertEqual(
            {one["symbol"]: int(one["shares_total"]) for one in symbols},
            {
                symbol: sum(count * start["shares"].get(symbol, 0) for count, start in members)
                for symbol in ("ABC", "XYZ")
            },
        )

    def shares_of(self, member, symbol):
        positions = self.account_of(member)["positions"]
        return sum(
            float(one["shares"]) + float(one["reserved"])
            for one in positions
            if one["symbol"] == symbol
        )

    def operator(self, words):
        return self.cli(f"--operator-key-file class/operator.key {words}")

    def test_shares_are_given_once_whatever_happens_to_names_and_shares(self):
        self.begin()
        ada, alan, grace = self.students()
        # No name, and no shares any more: sold to another student, or taken.
        self.operator(f"admin name {ada['account']} ''")
        self.operator(f"admin shares {alan['account']} ABC -100 --reason taken")
        for command in ("start", "init roster.csv scenario.toml", "stop", "start"):
            self.assertNotIn("shares", self.cli(f"class {command}"))
        self.assertEqual(self.shares_of(ada, "ABC"), 100)
        self.assertEqual(self.shares_of(alan, "ABC"), 0)
        self.assertEqual(self.shares_of(grace, "ABC"), 100)
        self.assertEqual(self.account_of(ada)["balance"], "100000")
        self.assertNotIn("name", self.account_of(ada))
        self.cli("class new-day monday")
        self.check_begin()
        self.check_shares()

    def test_shares_that_were_refused_are_given_later_and_only_these(self):
        self.cli("class init roster.csv scenario.toml")
        self.start_server()
        most = "92233720000"  # 368 less than a symbol can have
        (self.folder / "key-of-9").write_text("key-of-9\n")
        for words in ("create account 9 0 --key-file key-of-9", f"create symbol ABC 9={most}"):
            self.assertNotIn("exchange-cli:", self.operator(words))
        refused = "exchange-cli: class Market game: shares of this symbol would overflow\n"
        for _ in range(2):
            self.assertIn(refused, self.cli("class start"))
            self.assertRegex(self.cli("class status"), r"(?m)^round: none yet$")
        self.operator(f"admin shares 9 ABC -{most} --reason room")
        self.assertRegex(
            self.cli("class start"), r"^\d+ accounts of before got shares that were missing\n"
        )
        self.check_begin()
        self.assertNotIn("missing", self.cli("class start"))
        self.check_begin()
        self.check_shares()

    def test_bots_go_on_after_the_server_was_killed_and_end_behind_the_halt(self):
        self.begin()
        self.wait_for_trades()
        before = self.trades()
        self.kill_server()
        self.start_server()
        self.wait_for_trades(before)
        wait_until(self.any_refused, "the breaker of rules")
        self.assertIn("the bots trade already", self.cli("class start"))
        halted = "symbol ABC: trading halted\nsymbol XYZ: trading halted\n"
        self.assertEqual(self.cli("class stop"), f"{halted}the bots have ended\n")
        # Their orders are gone all the same; and without a server they end too.
        self.assertRegex(self.cli("class status"), r"(?m)^ABC +halted +- +- .* 0$")
        self.cli("class start")
        self.kill_server()
        self.assertIn("the bots have ended\n", self.cli("class stop"))
        log = (self.folder / "class/bots.log").read_text()
        self.assertRegex(log, r"breaker 1: \d+ sent, [1-9]\d* refused")

    def test_bots_go_on_with_the_standby_after_a_failover(self):
        try:
            cluster = Cluster()
        except ClusterError as error:
            self.skipTest(str(error))
        self.addCleanup(cluster.stop)
        self.addCleanup(self.end)  # before it
        self.cli("class init roster.csv scenario.toml")
        words = ["--auth", "--operator-key-file", "class/operator.key"]
        words += ["--store", cluster.create_database()[1]]
        self.server = self.start(words, self.port, self.http_port)
        ports = free_ports(2)
        standby = self.start([*words, "--standby"], *ports, "standby")
        pairs = zip(ports, (self.port, self.http_port), strict=True)
        both = [f"127.0.0.1:{one},127.0.0.1:{other}" for one, other in pairs]
        self.environment = {"EXCHANGE_CONNECT": both[0], "EXCHANGE_HTTP": both[1]}
        self.cli("class start")
        self.wait_for_trades()
        before = self.trades()
        self.kill_server()
        self.server = standby
        self.wait_for_trades(before)
        self.assertIn("the bots have ended", self.cli("class stop"))

    def test_accounts_of_another_class_are_not_taken(self):
        self.begin()
        self.cli("class stop")
        self.cli("class init roster.csv scenario.toml --folder other")
        shutil.copy(self.folder / "class/operator.key", self.folder / "other")
        self.assertRegex(
            self.cli("class start --folder other"),
            r"^exchange-cli: account \d+ exists already, with a key that other does not have: ",
        )
