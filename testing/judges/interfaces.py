"""What the judges of HTTP and the WebSocket share: a server with a market in it, and how each judge
is called.

Those that are Python packages (requirements.txt) run in an environment of their own."""

import base64
import contextlib
import json
import os
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from exchange_server import BINARY, OPERATOR_KEY, ROOT, ExchangeServer

HERE = Path(__file__).resolve().parent
DESCRIPTIONS = BINARY.resolve().parents[1] / "server/generated"  # with the schemas
REQUIREMENTS = HERE / "requirements.txt"


def key_of(account):
    return f"secret-of-{account}"


def basic(account="1"):
    pair = f"{account}:{key_of(account)}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def bearer():
    return "Bearer " + OPERATOR_KEY


def is_judged(name, body, fits):
    """Whether a request must be refused if, and only if, it does not fit its description."""
    content = body.get(name, body) if isinstance(body, dict) else None
    label = content.get("name") if isinstance(content, dict) else None
    # which of these are visible, a pattern that every language reads cannot say
    if isinstance(label, str) and any(ord(character) > 0xFFFF for character in label):
        return False
    if fits or not isinstance(content, dict):
        return True
    # of several orders, one that is wrong is an error in the list
    is_list = isinstance(content.get("orders"), list)
    # a schema counts no bytes
    texts = [text for text in (content.get("key"), body.get("id")) if isinstance(text, str)]
    return not is_list and all(text.isascii() for text in texts)


def ask(address, method, path, body=None, authorization=None):
    """The status and the JSON of a response."""
    headers = {"Authorization": authorization} if authorization else {}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def make_market(address):
    """Two accounts, two symbols, open orders on both sides, an execution, references."""

    def create(path, body, authorization):
        status, answer = ask(address, "POST", path, body, authorization)
        assert status == 201, answer

    for account in "12":
        new = {"account": account, "balance": "1000000", "key": key_of(account)}
        create("/api/accounts", new, bearer())
    for symbol in ("SPY", "QQQ"):
        new = {"symbol": symbol, "holdings": {"1": "1000", "2": "1000"}}
        create("/api/symbols", new, bearer())
    for number in range(5):
        for account, side, limit in (("1", "buy", 99 - number), ("2", "sell", 101 + number)):
            order = {"account": account, "symbol": "SPY", "side": side, "shares": 10}
            order |= {"limit": str(limit), "ref": f"{side}-{number}"}
            create("/api/orders", order, basic(account))
    taker = {"account": "1", "symbol": "SPY", "side": "buy", "shares": "12", "limit": "102"}
    create("/api/orders", taker | {"ref": "taker"}, basic("1"))


@contextlib.contextmanager
def server_with_market(*arguments):
    with ExchangeServer("--projection-interval-ms", "0", *arguments) as server:
        make_market(server.address)
        yield server


def schemathesis(python, server, *options, keys=False):
    """Random requests that fit the description, and some that do not."""
    command = [python, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml", "run"]
    command += [DESCRIPTIONS / "openapi.json", "--url", server.address, "--continue-on-failure"]
    command += ["--no-color", "--generation-database", "none", *map(str, options)]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_hooks"}
    environment["PYTHONPATH"] = f"{HERE}:{ROOT / 'testing/support'}"
    environment["EXCHANGE_KEYS"] = "1" if keys else ""
    with tempfile.TemporaryDirectory(prefix="exchange-") as folder:  # it keeps notes there
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def run_with(python, script, *arguments):
    """A script of this folder, which needs the packages."""
    environment = {**os.environ, "PYTHONPATH": f"{HERE}:{ROOT / 'testing/support'}"}
    command = [python, "-B", HERE / script, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def random_messages(python, server, seed, count):
    """To the WebSocket, likewise; `count` of each kind."""
    return run_with(python, "descriptions.py", server.address, "random", str(seed), str(count))
