"""haproxy with ops/cluster/haproxy.cfg: a client that comes before a check has noticed the death of a server is served by the next one."""

import csv
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from cluster import OPS, XML
from fake_server import FakeServer

NET = "127.79.0"
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/sbin")


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

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"waited for {what}")
            time.sleep(0.01)

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
        self.wait_for(self.statistics.exists, "haproxy")
        self.wait_for(lambda: self.server(2)["status"] == "DOWN", "a check of the second")
        with socket.create_connection((f"{NET}.20", XML), timeout=20) as client:
            client.sendall(b"who serves?")
            self.wait_for(lambda: self.server(1)["lbtot"] != "0", "the choice of the first")
            ready.add(2)
            self.wait_for(lambda: self.server(2)["status"] == "UP", "a check of the second")
            ready.remove(1)
            self.assertEqual(b"who serves?", client.recv(100))
