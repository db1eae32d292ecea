"""Certificates, credentials and HTTP requests of the tests of keys and TLS."""

import base64
import contextlib
import http.client
import shutil
import ssl
import subprocess
import tempfile

from exchange_server import PATIENCE_S

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
