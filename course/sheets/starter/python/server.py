"""A server of the exchange protocol to begin with: `python3 server.py PORT`.

It reads requests, parses and checks them, and answers each element. It creates accounts, and
accepts orders without looking at what the account has. Your work begins at each TODO.
"""

import re
import socket
import sys
import threading
import xml.etree.ElementTree as ET
from decimal import Decimal

FRAME_BYTES_MAX = 1_048_576
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)", re.ASCII)
ACCOUNT_ID = re.compile(r"\d{1,64}", re.ASCII)
SYMBOL = re.compile(r"[A-Za-z0-9]{1,32}")


class Refused(Exception):
    """Becomes an <error>: the message is for people."""


def number(text):
    """A plain decimal number, exactly. Decimal alone would also take "1e3", "nan" and " 1 "."""
    if text is None or not NUMBER.fullmatch(text):
        raise Refused("not a number")
    return Decimal(text)


class Exchange:
    """All state. The caller holds the lock."""

    def __init__(self):
        self.cash = {}  # account id: Decimal
        self.orders = 0  # ids given so far

    def create_account(self, account, balance):
        if not ACCOUNT_ID.fullmatch(account or ""):
            raise Refused("an account id has 1 to 64 digits")
        balance = number(balance)
        if balance < 0:
            raise Refused("the balance is negative")
        if account in self.cash:
            raise Refused("the account exists already")
        self.cash[account] = balance

    def place_shares(self, symbol, account, shares):
        if not SYMBOL.fullmatch(symbol or ""):
            raise Refused("a symbol has letters and digits")
        shares = number((shares or "").strip())
        if shares < 0:
            raise Refused("the number of shares is negative")
        if account not in self.cash:
            raise Refused("no such account")
        # TODO (C9): the account gets these shares.

    def order(self, account, symbol, amount, limit):
        """Returns the id."""
        if not SYMBOL.fullmatch(symbol or ""):
            raise Refused("a symbol has letters and digits")
        amount, limit = number(amount), number(limit)
        if amount == 0:
            raise Refused("the amount is zero")
        if limit <= 0:
            raise Refused("the limit must be above zero")
        # TODO (M1 to M9): check what the account has, reserve, match, rest.
        self.orders += 1
        return str(self.orders)

    def query(self, account, order):
        raise Refused("no such order")  # TODO (T9)

    def cancel(self, account, order):
        raise Refused("no such order")  # TODO (T10, M10)


def answer(results, name, attributes, execute):
    """Adds the reply element of one request element: `name` with the attributes, or <error>."""
    try:
        more = execute() or {}
    except Refused as refused:
        ET.SubElement(results, "error", attributes).text = str(refused)
    else:
        ET.SubElement(results, name, {**attributes, **more})


def create(exchange, root, results):
    for child in root:
        if child.tag == "account":
            account = child.get("id", "")
            execute = lambda: exchange.create_account(account, child.get("balance"))
            answer(results, "created", {"id": account}, execute)
        elif child.tag == "symbol":
            symbol = child.get("sym", "")
            if len(child) == 0:
                answer(results, "created", {"sym": symbol}, lambda: None)
            for placed in child:
                account = placed.get("id", "")
                execute = lambda: exchange.place_shares(symbol, account, placed.text)
                answer(results, "created", {"sym": symbol, "id": account}, execute)
        else:
            ET.SubElement(results, "error").text = "unknown element"


def transact(exchange, root, results):
    account = root.get("id", root.get("account"))

    def execute(child):
        if account not in exchange.cash:
            raise Refused("no such account")
        if child.tag == "order":
            values = (child.get("sym"), child.get("amount"), child.get("limit"))
            return {"id": exchange.order(account, *values)}
        if child.tag == "query":
            return exchange.query(account, child.get("id"))
        return exchange.cancel(account, child.get("id"))

    names = {"order": "opened", "query": "status", "cancel": "canceled"}
    repeated = {"order": ("sym", "amount", "limit"), "query": ("id",), "cancel": ("id",)}
    for child in root:
        if child.tag not in names:
            ET.SubElement(results, "error").text = "unknown element"
            continue
        attributes = {name: child.get(name) for name in repeated[child.tag] if name in child.keys()}
        answer(results, names[child.tag], attributes, lambda: execute(child))


def reply_to(exchange, lock, document):
    results = ET.Element("results")
    try:
        root = ET.fromstring(document)
    except ET.ParseError as error:
        ET.SubElement(results, "error").text = f"malformed XML: {error}"
        root = None
    if root is not None:
        handlers = {"create": create, "transactions": transact}
        with lock:  # T17: one request after another
            if root.tag in handlers:
                handlers[root.tag](exchange, root, results)
            else:
                ET.SubElement(results, "error").text = "unknown element"
    return ET.tostring(results, short_empty_elements=True) + b"\n"


def read_request(stream):
    """The next document; None at the end of the stream. Raises ValueError for bad framing."""
    line = stream.readline(20)
    if not line:
        return None
    if not re.fullmatch(rb"[0-9]+\r?\n", line) or not 0 < int(line) <= FRAME_BYTES_MAX:
        raise ValueError("a line with the length in bytes was expected")
    document = stream.read(int(line))  # waits for all of it
    if len(document) < int(line):
        raise ValueError("the stream ended inside a request")
    return document


def serve(connection, exchange, lock):
    with connection, connection.makefile("rwb") as stream:
        try:
            while (document := read_request(stream)) is not None:
                stream.write(reply_to(exchange, lock, document))
                stream.flush()
        except ValueError as error:
            stream.write(f"<results><error>bad framing: {error}</error></results>\n".encode())
        except OSError:
            pass  # the client is gone


def main():
    exchange, lock = Exchange(), threading.Lock()
    with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=256) as listener:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # TODO: a thread for each connection, or a pool (lab 3)?
            threading.Thread(target=serve, args=(connection, exchange, lock), daemon=True).start()


if __name__ == "__main__":
    main()
