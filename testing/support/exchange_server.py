"""A server of the test's own: free ports, a store in a temporary folder or in memory, gone when the block is left.

Owned by whoever opens it with `with`. Ready and read_metrics also serve those who start servers in their own way."""

import os
import re
import select
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

BINARY = Path(
    os.environ.get("EXCHANGE_SERVER") or Path(__file__).resolve().parents[2] / "build/bin/server"
)
START_S, STOP_S = 30, 10


def process_cpu_seconds(pid):
    """User and system time of a process, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Ready:
    """What the line says that a server prints once it serves. Raises RuntimeError where it does not come in `seconds`."""

    def __init__(self, process, seconds=START_S):
        come = select.select([process.stdout], [], [], seconds)[0]
        self.line = process.stdout.readline().strip() if come else ""
        if not self.line.startswith("ready "):
            raise RuntimeError(
                f"{process.args[0]} {'did not start' if come else f'was not ready in {seconds} s'}: {self.line or 'see its messages'}"
            )
        self.port = int(re.search(r"\bport=(\d+)", self.line)[1])
        http_port = re.search(r"\bhttp-port=(\d+)", self.line)
        self.http_port = int(http_port[1]) if http_port else None


def read_metrics(http_port, timeout_s=START_S):
    """{name with labels: value} of a server's /metrics."""
    with urllib.request.urlopen(
        f"http://127.0.0.1:{http_port}/metrics", timeout=timeout_s
    ) as answer:
        return {
            name: float(value)
            for name, value in re.findall(
                r"^([a-z]\S*) (\S+)$", answer.read().decode(), re.MULTILINE
            )
        }


def is_sanitized(binary=BINARY):
    """Whether it was built with a sanitizer: then its memory says nothing."""
    symbols = Path(binary).read_bytes()
    return b"__asan_init" in symbols or b"__tsan_init" in symbols


class ExchangeServer:
    def __init__(self, *arguments, store="memory:", binary=None, errors=None):
        """`store` may hold {folder}, a temporary folder that lives as long as the server. `errors`: a file for its messages."""
        self.errors = errors
        self.binary = Path(binary or BINARY)
        self.arguments, self.store = arguments, store

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="exchange-")
        command = [
            str(self.binary),
            "--port",
            "0",
            "--http-port",
            "0",
            *([] if "--log-level" in self.arguments else ["--log-level", "error"]),
            "--store",
            self.store.format(folder=self.folder.name),
            *map(str, self.arguments),
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )
        try:
            ready = Ready(self.process)
            self.ready_line, self.port, self.http_port = ready.line, ready.port, ready.http_port
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()

    @property
    def pid(self):
        return self.process.pid

    def cpu_seconds(self):
        return process_cpu_seconds(self.pid)

    def http(self, path, data=None):
        """The body of a 200 answer; urllib.error.HTTPError for others."""
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self.http_port}{path}", data, timeout=START_S
        ) as answer:
            return answer.read().decode()

    def request(self, *documents):
        """Sends XML documents on one connection; their replies."""
        replies = []
        with socket.create_connection(
            ("127.0.0.1", self.port), START_S
        ) as connection, connection.makefile("rb") as file:
            for document in documents:
                body = document.encode()
                connection.sendall(b"%d\n%s" % (len(body), body))
                replies.append(file.readline().decode().strip())
        return replies

    def wait_until(self, condition, what, seconds=START_S):
        """Until condition() holds; polls, since there is nobody to be told by."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {seconds} s for {what}")
            time.sleep(0.02)
