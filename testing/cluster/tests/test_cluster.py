"""A cluster on loopback addresses comes up, loses servers and connections under load, and every
reply was right. haproxy passes a client that comes before a check has noticed the death of a server
to the next one, and ops/cluster/switchover makes the standby the active server."""

import contextlib
import csv
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from cluster import (
    HTTP,
    OPS,
    XML,
    Cluster,
    ClusterError,
    patroni_settings,
    programs,
    yaml,
)
from exchange_server import wait_until

CLUSTER = Path(__file__).resolve().parents[1]
NET = "127.79.0"
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/sbin")
ADDRESSES = ("127.79.1.1", "127.79.1.2")


@unittest.skipUnless(yaml, "no yaml here (Debian: python3-yaml)")
class Settings(unittest.TestCase):
    def test_commits_wait_for_a_replica(self):
        cluster = Cluster("/nonexistent", "127.80")
        settings = patroni_settings(cluster, {"postgresql": "/bin"}, 2, Path("/nonexistent/node2"))
        dcs = settings["bootstrap"]["dcs"]
        self.assertEqual("quorum", dcs["synchronous_mode"])
        self.assertTrue(dcs["synchronous_mode_strict"] and dcs["check_timeline"])
        self.assertIn("data-checksums", settings["bootstrap"]["initdb"])


class Refusals(unittest.TestCase):
    def test_without_a_server_nothing_is_started(self):
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder, "cluster")
            done = subprocess.run(
                [CLUSTER / "run", "--folder", state, "--net", "127.78", "up"],
                capture_output=True,
                text=True,
                timeout=30,
                env={**os.environ, "EXCHANGE_BIN": folder},
            )
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn(folder, done.stderr)
            self.assertFalse(state.exists())


class UnderFire(unittest.TestCase):
    def setUp(self):
        try:
            programs()
        except ClusterError as error:
            self.skipTest(str(error))

    def test_takeovers_under_load(self):
        kinds = ("kill_active", "switch_over", "terminate_all")
        command = [CLUSTER / "chaos", "--faults", str(len(kinds)), "--pairs", "0"]
        command += ["--net", "127.73"]
        for kind in kinds:
            command += ["--only", kind]
        done = subprocess.run(command, capture_output=True, text=True, timeout=400)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("3 rounds, 0 violations", done.stdout)


class FakeServer:
    """Answers /readyz, and repeats what a client of the XML port sends, if it has one."""

    def __init__(self, address, is_ready, has_xml=False):
        """`is_ready`: called for each answer; if it is not, it is a standby."""
        self.is_ready = is_ready
        self.listeners = [self._listen((address, HTTP), self._answer_http)]
        if has_xml:
            self.listeners.append(self._listen((address, XML), self._repeat))

    def close(self):
        for listener in self.listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    @staticmethod
    def _listen(address, serve):
        listener = socket.create_server(address)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],)).start()

        threading.Thread(target=accept).start()
        return listener

    def _answer_http(self, connection):
        with connection, contextlib.suppress(OSError):
            if request := connection.recv(4096):
                is_200 = self.is_ready() or b"/readyz?standby" in request
                status = "200 OK\r\n\r\nok" if is_200 else "503 No\r\n\r\nstandby"
                connection.sendall(f"HTTP/1.0 {status}\n".encode())

    @staticmethod
    def _repeat(connection):
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(4096):
                connection.sendall(data)


@unittest.skipUnless(HAPROXY, "no haproxy here (Debian: haproxy)")
class Proxy(unittest.TestCase):
    def start_haproxy(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.statistics = Path(folder.name, "statistics")
        (Path(folder.name) / "global.cfg").write_text(
            f"global\n  stats socket {self.statistics} mode 600\n"
        )
        names = {"EXCHANGE_BIND": f"{NET}.20", "EXCHANGE_1": f"{NET}.11", "EXCHANGE_2": f"{NET}.12"}
        command = [HAPROXY, "-db", "-q", "-f", Path(folder.name) / "global.cfg"]
        process = subprocess.Popen(
            [*command, "-f", OPS / "haproxy.cfg"], env={**os.environ, **names}
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def server(self, number):
        """What haproxy says of a server of the XML port."""
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(str(self.statistics))
            one.sendall(b"show stat\n")
            lines = one.makefile().read().removeprefix("# ").splitlines()
        rows = {(row["pxname"], row["svname"]): row for row in csv.DictReader(lines)}
        return rows["xml", f"exchange{number}"]

    def test_a_client_of_a_server_that_has_just_died_is_served_by_the_next(self):
        ready = {1}
        for number in (1, 2):
            server = FakeServer(
                f"{NET}.{10 + number}", lambda n=number: n in ready, has_xml=number == 2
            )
            self.addCleanup(server.close)
        self.start_haproxy()
        wait_until(self.statistics.exists, "haproxy")
        wait_until(lambda: self.server(2)["status"] == "DOWN", "a check of the second")
        with socket.create_connection((f"{NET}.20", XML), timeout=20) as client:
            client.sendall(b"who serves?")
            wait_until(lambda: self.server(1)["lbtot"] != "0", "the choice of the first")
            ready.add(2)
            wait_until(lambda: self.server(2)["status"] == "UP", "a check of the second")
            ready.remove(1)
            self.assertEqual(b"who serves?", client.recv(100))


class Switchover(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.signaled = Path(folder.name, "signaled")
        first = FakeServer(ADDRESSES[0], lambda: not self.signaled.exists())
        second = FakeServer(ADDRESSES[1], self.signaled.exists)
        self.addCleanup(first.close)
        self.addCleanup(second.close)

    def run_it(self, standby, active, signal=None):
        command = [OPS / "switchover", f"{standby}:{HTTP}", f"--active={active}:{HTTP}"]
        command += [f"--signal={signal or 'touch ' + str(self.signaled)}", "--wait-s=5"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        return done.returncode, done.stdout + done.stderr

    def test_the_standby_becomes_active(self):
        status, text = self.run_it(ADDRESSES[1], ADDRESSES[0])
        self.assertEqual(0, status, text)
        self.assertTrue(self.signaled.exists())

    def test_nothing_is_done_if_the_servers_are_not_what_they_should_be(self):
        for standby, active in ((ADDRESSES[0], ADDRESSES[1]), ("127.79.1.3", ADDRESSES[0])):
            self.assertEqual(1, self.run_it(standby, active)[0])
        self.assertEqual(1, self.run_it(ADDRESSES[1], ADDRESSES[0], "false")[0])
        self.assertFalse(self.signaled.exists())
