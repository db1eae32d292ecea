"""Servers whose store outlives them, and one that lies: what the tests of histories and `run` start. All on loopback."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "testing/support"))
from exchange_server import Ready  # noqa: E402

BINARIES = Path(os.environ.get("EXCHANGE_BINARIES") or ROOT / "build/bin")
START_S = 60


class Server:
    """A server that keeps its journal. Leaving the block stops it; kill() is a power cut of the process."""

    def __init__(self, store, policy="loop", port=0, binary=None):
        self.command = [
            str(binary or BINARIES / "server"),
            "--port",
            str(port),
            "--http-port",
            "off",
            "--log-level",
            "error",
            "--keep-journal",
            "--policy",
            policy,
            "--store",
            store,
        ]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        try:
            self.port = Ready(self.process, START_S).port
        except RuntimeError:
            self.__exit__()
            raise
        return self

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process.stdout.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def read_frame(file):
    """The document behind a length line; None at the end of the stream."""
    line = file.readline()
    return file.read(int(line)) if line.strip() else None


class StaleServer:
    """A real exchange behind a cache that believes orders do not change: a query that was answered once is answered so ever after.

    Each reply was right once, so that nobody who looks at one connection or one reply alone can tell.
    """

    def __init__(self, port):
        self.upstream, self.lock, self.answers = port, threading.Lock(), {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lies = 0
        self.threads = []

    def __enter__(self):
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.acceptor.join()
        for thread in self.threads:
            thread.join()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.upstream))
        with client, server, client.makefile("rb") as requests, server.makefile("rb") as replies:
            try:
                while (document := read_frame(requests)) is not None:
                    server.sendall(b"%d\n%s" % (len(document), document))
                    reply = replies.readline()
                    if not reply:
                        return
                    if re.search(rb"<query\b", document) and not re.search(
                        rb"<(order|cancel)\b", document
                    ):
                        with self.lock:
                            first = self.answers.setdefault(document, reply)
                            self.lies += first != reply
                        reply = first
                    client.sendall(reply)
            except OSError:
                return  # one of the two has gone
