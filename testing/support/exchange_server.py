"""Servers of tests and studies, on loopback and free ports, and connections to them.

ExchangeServer is a server process, with its store in a temporary folder, in a place of the
caller's, or in memory. Connection talks the XML protocol, plain or under TLS. read_metrics and the
functions for a pid look at a server from outside."""

import os
import re
import select
import shlex
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("EXCHANGE_BIN") or ROOT / "build/bin").resolve()
BINARY, LOADGEN = BIN / "server", BIN / "loadgen"
POLICIES = tuple(
    re.search(r"\(Policy, std::uint8_t, ([\w, ]+)\)", (ROOT / "server/net/limits.hpp").read_text())[
        1
    ].split(", ")
)
PATIENCE_S = 30  # for a reply
OPERATOR_KEY = "operator of tests"
MESSAGES = object()


class ServerError(RuntimeError):
    pass


_reserved = []


def free_ports(count):
    """Ports for servers that are started later. Sockets that are bound and do not listen keep them
    from clients of other tests, as the ports that these connect from, until this process ends; a
    server that sets SO_REUSEADDR, as most do, can listen there.
    """
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
    _reserved.extend(sockets)
    return [one.getsockname()[1] for one in sockets]


def wait_until(condition, what, seconds=PATIENCE_S):
    """Until condition() holds. Raises ServerError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise ServerError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


def process_cpu_seconds(pid):
    """User and system time of a process, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_metrics(http_port, timeout_s=PATIENCE_S):
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


def write_key_file(folder, key=OPERATOR_KEY):
    path = Path(folder) / "operator.key"
    path.touch(0o600)
    path.write_text(key + "\n")
    return str(path)


def is_sanitized(binary=BINARY):
    """Whether it was built with a sanitizer: then its memory says nothing."""
    symbols = Path(binary).read_bytes()
    return b"__asan_init" in symbols or b"__tsan_init" in symbols


def run_program(name, *words, timeout_s=PATIENCE_S, **options):
    """A program of BIN to its end, with its output as text."""
    options |= {"capture_output": True, "text": True, "timeout": timeout_s}
    return subprocess.run([BIN / name, *words], **options)


def loadgen_command(options, binary=LOADGEN):
    """The words of a run of the load generator; `options` as in a shell."""
    return [str(binary), *shlex.split(options)]


def run_loadgen(options, binary=LOADGEN, timeout_s=600):
    """Exit status and output."""
    done = subprocess.run(
        loadgen_command(options, binary), capture_output=True, text=True, timeout=timeout_s
    )
    return done.returncode, done.stdout + done.stderr


class Connection:
    """One connection to the XML port; with `ca` under TLS, and checking the server's
    certificate."""

    def __init__(self, port, ca=None, timeout_s=PATIENCE_S, source="127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout_s, (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if ca:
            self.socket = ssl.create_default_context(cafile=ca).wrap_socket(
                self.socket, server_hostname="127.0.0.1"
            )
        self.file = self.socket.makefile("rb", 1 << 18)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, document):
        body = document if isinstance(document, bytes) else document.encode()
        self.socket.sendall(b"%d\n%s" % (len(body), body))

    def receive(self):
        """The next reply as it came, with the end of its line; less if the connection ended
        before."""
        return self.file.readline()

    def reply(self):
        return self.receive().decode().strip()

    def ask(self, document):
        self.send(document)
        return self.reply()


class ExchangeServer:
    """A server process, from start() or entering the block until stop(), kill() or leaving the
    block.

    `store` may hold {folder}, a temporary folder that is removed at the end of the block. `errors`:
    a file for what it writes to stderr; MESSAGES: a temporary one, which messages() reads; without
    it that goes where stderr of this program goes.
    With "--auth" among the arguments the operator's key is OPERATOR_KEY, and stands in
    `operator_key_file`.
    `cpus`: the only ones that it runs on (default: any).
    """

    start_s, stop_s, log_level = 30, 10, "error"

    def __init__(
        self, *arguments, store="memory:", binary=None, errors=None, port=0, http_port=0, cpus=()
    ):
        self.binary, self.errors, self.cpus = Path(binary or BINARY), errors, cpus
        self.arguments, self.store, self.ports = arguments, store, (port, http_port)

    def start(self):
        self.folder = tempfile.TemporaryDirectory(prefix="exchange-")
        errors = self.log = tempfile.TemporaryFile("w+") if self.errors is MESSAGES else None
        command = [
            *(["taskset", "-c", ",".join(map(str, self.cpus))] if self.cpus else []),
            str(self.binary),
            *("--port", str(self.ports[0]), "--http-port", str(self.ports[1])),
            *([] if "--log-level" in self.arguments else ["--log-level", self.log_level]),
            *("--store", self.store.format(folder=self.folder.name)),
            *map(str, self.arguments),
        ]
        if "--auth" in self.arguments:
            self.operator_key_file = write_key_file(self.folder.name)
            command += ["--operator-key-file", self.operator_key_file]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("EXCHANGE_")}
        began = time.monotonic()
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors or self.errors,
            text=True,
            env=environment,
        )
        try:
            self._await_ready()
        except BaseException:
            self.close()
            raise
        self.ready_s = time.monotonic() - began
        return self

    def _await_ready(self):
        come = select.select([self.process.stdout], [], [], self.start_s)[0]
        self.ready_line = self.process.stdout.readline().strip() if come else ""
        if not self.ready_line.startswith("ready "):
            failure = "did not start" if come else f"was not ready in {self.start_s} s"
            raise self._error(f"{self.binary} {failure}: {self.ready_line or 'see its messages'}")
        facts = dict(word.split("=", 1) for word in self.ready_line.split() if "=" in word)
        self.port, self.http_port = int(facts["port"]), int(facts.get("http-port", 0)) or None

    def stop(self):
        """As an operator would; the seconds that it took. Raises ServerError if it does not end
        with status 0."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(self.stop_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._error(f"the server did not stop in {self.stop_s} s") from None
        if status != 0:
            raise self._error(f"the server ended with status {status}")
        return time.monotonic() - began

    def messages(self):
        self.log.seek(0)
        return self.log.read()

    def _error(self, text):
        return ServerError(f"{text}: {self.messages()[-1000:]}" if self.log else text)

    def kill(self):
        """SIGKILL, as a power cut would end it."""
        self.process.kill()
        self.process.wait()

    def close(self):
        """Ends it if it runs, and removes its folder."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(self.stop_s)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process.stdout.close()
        self.folder.cleanup()
        if self.log:
            self.log.close()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()

    @property
    def pid(self):
        return self.process.pid

    @property
    def address(self):
        return f"http://127.0.0.1:{self.http_port}"

    def cpu_seconds(self):
        return process_cpu_seconds(self.pid)

    def http(self, path, data=None):
        """The body of a 200 answer; urllib.error.HTTPError for others."""
        with urllib.request.urlopen(self.address + path, data, timeout=PATIENCE_S) as answer:
            return answer.read().decode()

    def request(self, *documents):
        """Sends XML documents in turn on one connection; their replies."""
        with Connection(self.port) as connection:
            return [connection.ask(document) for document in documents]
