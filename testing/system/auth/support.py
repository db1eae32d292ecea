"""Servers with keys and TLS, and clients for them."""

import base64
import contextlib
import http.client
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from exchange_server import ExchangeServer  # noqa: E402,F401

PATIENCE_S = 30
POLICIES = ("thread", "pool", "loop")
OPENSSL = shutil.which("openssl")


@contextlib.contextmanager
def certificate():
    """Paths of a self-signed certificate for 127.0.0.1 and of its key."""
    with tempfile.TemporaryDirectory(prefix="exchange-tls-") as folder:
        cert, key = f"{folder}/cert.pem", f"{folder}/key.pem"
        subprocess.run(
            [
                OPENSSL,
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "1",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=IP:127.0.0.1,DNS:localhost",
                "-keyout",
                key,
                "-out",
                cert,
            ],
            check=True,
            capture_output=True,
        )
        yield cert, key


class Client:
    """A connection to the trading port; with `ca` under TLS, and checking the server's certificate."""

    def __init__(self, port, ca=None):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        if ca:
            self.socket = ssl.create_default_context(cafile=ca).wrap_socket(
                self.socket, server_hostname="127.0.0.1"
            )
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, document):
        body = document.encode()
        self.socket.sendall(b"%d\n%s" % (len(body), body))

    def reply(self):
        return self.file.readline().decode().strip()

    def ask(self, document):
        self.send(document)
        return self.reply()


def account(name, key=None, balance=1000):
    return (
        f'<create><account id="{name}" balance="{balance}"'
        + (f' key="{key}"' if key else "")
        + "/></create>"
    )


def transactions(name, elements, key=None):
    return (
        f'<transactions id="{name}"'
        + (f' key="{key}"' if key else "")
        + f">{elements}</transactions>"
    )


def basic(name, key):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{key}".encode()).decode()}


def http_request(port, method, path, body=None, headers=None, ca=None):
    """Status, headers but Date, and body."""
    if ca:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=PATIENCE_S, context=ssl.create_default_context(cafile=ca)
        )
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, sorted(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def metric(port, name, ca=None):
    lines = http_request(port, "GET", "/metrics", ca=ca)[2].splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))
