"""Certificates, credentials and HTTP requests of the tests of keys and TLS."""

import base64
import contextlib
import http.client
import shutil
import ssl
import subprocess
import tempfile

from exchange_server import OPERATOR_KEY, PATIENCE_S, ExchangeServer

OPENSSL = shutil.which("openssl")


def openssl(arguments):
    subprocess.run([OPENSSL, *arguments.split()], check=True, capture_output=True)


@contextlib.contextmanager
def certificate():
    """Paths of a self-signed certificate for 127.0.0.1 and of its key."""
    with tempfile.TemporaryDirectory(prefix="exchange-tls-") as folder:
        cert, key = f"{folder}/cert.pem", f"{folder}/key.pem"
        openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 "
            "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost "
            f"-keyout {key} -out {cert}"
        )
        yield cert, key


@contextlib.contextmanager
def tls_server(*options, **arguments):
    """A server with TLS, and the paths of its certificate and key."""
    with certificate() as files, ExchangeServer(
        "--tls-cert", files[0], "--tls-key", files[1], *options, **arguments
    ) as server:
        yield server, *files


def result(content):
    return f"<results>{content}</results>"


def error(text, attributes='id="9"'):
    return result(f"<error {attributes}>{text}</error>")


def created(name):
    return result(f'<created id="{name}"/>')


def key_attribute(key):
    return f' key="{key}"' if key else ""


def creation(elements, operator=OPERATOR_KEY):
    return f"<create{key_attribute(operator)}>{elements}</create>"


def account(name, key=None, balance=1000):
    return creation(f'<account id="{name}" balance="{balance}"{key_attribute(key)}/>')


def transactions(name, elements, key=None):
    return f'<transactions id="{name}"{key_attribute(key)}>{elements}</transactions>'


def basic(name, key):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{key}".encode()).decode()}


def http_request(port, method, path, body=None, headers=None, ca=None):
    """Status, headers but Date, and body."""
    kind = http.client.HTTPSConnection if ca else http.client.HTTPConnection
    tls = {"context": ssl.create_default_context(cafile=ca)} if ca else {}
    with contextlib.closing(kind("127.0.0.1", port, timeout=PATIENCE_S, **tls)) as connection:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        others = sorted(header for header in answer.getheaders() if header[0] != "Date")
        return answer.status, others, answer.read().decode()


def metric(port, name, ca=None):
    lines = http_request(port, "GET", "/metrics", ca=ca)[2].splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))
