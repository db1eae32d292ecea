#!/usr/bin/env python3
"""A small server of the course protocol, independent of the exchange: what other people's servers are
to the conformance test and to the grader. With --fault it has one fault, planted where it says `fault`.

  course_server.py --port 0 --fault takers-price --journal FILE

It keeps the rules of the course protocol and most others of docs/protocol.md, in memory; with --journal
a request is on the disk before its reply goes out, and is executed again at the next start."""

import argparse
import json
import os
import random
import re
import socket
import sys
import threading
import time
import uuid
import xml.etree.ElementTree as ET

FAULTS = {
    "takers-price": "executes at the limit of the arriving order",
    "newest-first": "of orders at one price the newest goes first",
    "worst-price-first": "the worst price goes first",
    "lost-remainder": "drops what a partly filled arriving order has left",
    "refund-forgotten": "keeps the difference between a buyer's limit and the price",
    "cancel-keeps-cash": "a canceled buy does not give its cash back",
    "cancel-keeps-shares": "a canceled sell does not give its shares back",
    "seller-not-paid": "a seller gets nothing",
    "float-cash": "keeps cash as a float",
    "reversed-replies": "answers the elements of a request in reverse",
    "any-account": "queries and cancels orders of any account",
    "overdraft": "accepts buys without the cash",
    "naked-sells": "accepts sells without the shares",
    "no-reservation": "checks the cash of a buy, and takes it at the execution only",
    "dies-on-bad-xml": "ends at a malformed document",
    "hangs-on-bad-xml": "never answers a malformed document",
    "ignores-length": "takes what one recv() returns as one request",
    "counts-characters": "counts characters, not bytes",
    "no-match-on-equal": "does not match equal prices",
    "loses-place": "a partly filled order goes behind others at its price",
    "duplicate-accounts": "creates an existing account again",
    "same-ids": "numbers the orders of each account from 1",
    "no-echo": "does not repeat attributes",
    "stops-at-error": "does nothing behind an element that is an error",
    "one-error": "answers an unknown account with one error for all",
    "milliseconds": "gives times in milliseconds",
    "unlocked": "does not lock between a check and the change",
    "forgets": "writes its journal late",
    "slow": "takes 50 ms for each request",
    "zeros": "accepts amounts of zero, and limits of zero or less",
    "below-zero": "accepts balances and placements below zero",
    "backwards": "executes the elements of a request in reverse, and answers them in order",
    "shares-for-anyone": "accepts shares for accounts that do not exist",
    "cancels-nothing": "confirms a cancel, and leaves the order as it is",
    "buyer-gets-nothing": "a buyer pays, and gets no shares",
    "never-matches": "executes nothing",
    # In form: what they do is right.
    "other-root": "names the root of its replies <result>",
    "text-ids": "gives transaction ids that are no integers",
    "random-ids": "gives transaction ids that rise in no order",
    "ids-from-0": "numbers orders from 0",
    "bare-errors": "answers queries and cancels in vain with errors without the id",
    "bare-created": "does not repeat the attributes of what it creates",
    "doubles": "prints limits and prices as doubles with 17 digits",
    "exponents": "prints numbers as Java prints doubles",
    "zero-limits": "accepts limits of zero",
    "byte-order-mark": "writes a byte order mark before the first reply of a connection",
    "raw-errors": "does not escape what it quotes in errors",
    "children-at-random": "executes the children of <transactions> in any order",
    "one-worker": "serves one connection at a time, and none after one that asked nothing",
}
RANDOM = 0x9E3779B97F4A7C15F39CC0605CEDC835  # odd: each number has an inverse
SHARES, CASH = 10**8, 10**16  # units of a share or price, and of money
UNITS_MAX, NUMBER_MAX, CASH_MAX = 2**63, 92_233_720_368 * SHARES, 2**127
NUMBER = re.compile(r"(-?)(\d*)(?:\.(\d*))?\Z", re.ASCII)
# What --style narrow can hold: 32 bits, whole shares and cents.
CENTS = r"-?\d+(\.\d\d?)?"
NARROW = {"id": r"\d{1,9}", "amount": r"-?\d+", "balance": CENTS, "limit": CENTS}


class Refused(Exception):
    pass


def parse(text, decimals, maximum=NUMBER_MAX, round_up=0):
    """In units of 10^-decimals; more decimals are cut off, and add round_up units. What is cut to 0 is refused."""
    match = NUMBER.match(text or "")
    if not match or not (match[2] or match[3]):
        raise Refused("not a number")
    digits = (match[3] or "").rstrip("0")
    units = int((match[2] or "0") + digits[:decimals].ljust(decimals, "0"))
    if len(digits) > decimals:
        units += round_up
        if not units:
            raise Refused("rounds to 0")
    if units >= maximum:
        raise Refused("out of range")
    return -units if match[1] else units


def check_empty(element):
    if len(element) or (element.text or "").strip():
        raise Refused("unexpected content")


def check_narrow(element):
    for name, pattern in NARROW.items():
        if element.get(name) is not None and not re.fullmatch(pattern, element.get(name)):
            raise Refused("not a number that fits")


def java_double(number):
    """As Double.toString: 1.0, 9.9999898E7."""
    number = float(number)
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number) if "." in repr(number) else f"{number:.1f}"
    digits, _, exponent = f"{number:.17e}".partition("e")
    for places in range(1, 18):
        digits, _, exponent = f"{number:.{places}e}".partition("e")
        if float(f"{digits}e{exponent}") == number:
            break
    return f"{digits}E{int(exponent)}"


def plain(units):
    return f"{units // SHARES}.{units % SHARES:08}".rstrip("0").rstrip(".")


class Account:
    def __init__(self, cash):
        self.cash, self.shares, self.references, self.orders = cash, {}, {}, 0


class Order:
    def __init__(self, account, symbol, units, limit, buys):
        self.account, self.symbol, self.limit, self.buys = account, symbol, limit, buys
        self.id, self.open, self.canceled, self.executions = 0, units, None, []


class Exchange:
    def __init__(self, fault, narrow):
        self.fault, self.narrow = fault, narrow
        self.accounts, self.symbols, self.orders, self.books = {}, {}, {}, {}
        self.cash = self.now = 0  # cash: of all accounts

    # --- <create> ---

    def create_account(self, element):
        identity = element.get("id", "")
        if not re.fullmatch(r"[0-9]{1,64}", identity):
            raise Refused("not an account id")
        check_empty(element)
        balance = parse(element.get("balance"), 16, CASH_MAX)
        if balance < 0 and self.fault != "below-zero":
            raise Refused("negative balance")
        if identity in self.accounts and self.fault != "duplicate-accounts":
            raise Refused("the account exists already")
        if self.cash + balance >= CASH_MAX:
            raise Refused("too much cash")
        self.cash += balance
        self.accounts[identity] = Account(balance / CASH if self.fault == "float-cash" else balance)
        return ET.Element("created", id=identity)

    def place_shares(self, symbol, element):
        if not re.fullmatch(r"[A-Za-z0-9]{1,32}", symbol):
            raise Refused("not a symbol")
        if len(element):
            raise Refused("unexpected content")
        units = parse((element.text or "").strip(), 8)
        if units < 0 and self.fault != "below-zero":
            raise Refused("below zero")
        if self.narrow and units % SHARES:
            raise Refused("not whole")
        if self.fault == "shares-for-anyone" and element.get("id") not in self.accounts:
            return ET.Element("created", sym=symbol, id=element.get("id"))
        account = self.account(element.get("id"))
        if self.symbols.get(symbol, 0) + units >= UNITS_MAX:
            raise Refused("too many shares")
        self.symbols[symbol] = self.symbols.get(symbol, 0) + units
        account.shares[symbol] = account.shares.get(symbol, 0) + units
        return ET.Element("created", sym=symbol, id=element.get("id"))

    # --- <transactions> ---

    def account(self, identity):
        if identity not in self.accounts:
            raise Refused("unknown account")
        return self.accounts[identity]

    def money(self, units, limit):
        return units * limit / CASH if self.fault == "float-cash" else units * limit

    def open_order(self, identity, element):
        account, symbol = self.account(identity), element.get("sym", "")
        if not re.fullmatch(r"[A-Za-z0-9]{1,32}", symbol):
            raise Refused("not a symbol")
        amount = parse(element.get("amount"), 8)
        limit = parse(element.get("limit"), 8, round_up=0 if amount > 0 else 1)
        check_empty(element)
        is_zero = amount == 0 or limit < 0 or (limit == 0 and self.fault != "zero-limits")
        if is_zero and self.fault != "zeros":
            raise Refused("not above zero")
        reference = element.get("ref")
        if reference is not None and not re.fullmatch(r"[A-Za-z0-9._:-]{1,64}", reference):
            raise Refused("not a reference")
        if reference in account.references:
            order, *values = account.references[reference]
            if values != [symbol, amount, limit]:
                raise Refused(f"reference already used by order {order}")
            return order
        order = Order(identity, symbol, abs(amount), limit, amount > 0)
        cost, shares = self.money(order.open, limit), account.shares.get(symbol, 0)
        if order.buys and account.cash < cost and self.fault != "overdraft":
            raise Refused("insufficient funds")
        if not order.buys and shares < order.open and self.fault != "naked-sells":
            raise Refused("insufficient shares")
        if self.fault == "unlocked":
            time.sleep(0.002)
        if not order.buys:
            account.shares[symbol] = shares - order.open
        elif self.fault != "no-reservation":
            account.cash -= cost
        order.id = len(self.orders) + (self.fault != "ids-from-0")
        if self.fault == "same-ids":
            account.orders += 1
            order.id = account.orders
        self.orders[(identity, order.id) if self.fault == "same-ids" else order.id] = order
        if reference is not None:
            account.references[reference] = (order.id, symbol, amount, limit)
            if len(account.references) > 1024:
                del account.references[next(iter(account.references))]
        self.match(order)
        return order.id

    def best(self, taker):
        found = None
        for maker in self.books.get(taker.symbol, []):
            if maker.buys == taker.buys:
                continue
            gap = (taker.limit - maker.limit) * (1 if taker.buys else -1)
            if gap < 0 or (gap == 0 and self.fault == "no-match-on-equal"):
                continue
            if self.fault == "worst-price-first":
                gap = -gap
            if (
                found is None
                or gap > found[0]
                or (gap == found[0] and self.fault == "newest-first")
            ):
                found = gap, maker
        return found and found[1]

    def match(self, taker):
        book = self.books.setdefault(taker.symbol, [])
        while taker.open and self.fault != "never-matches" and (maker := self.best(taker)):
            units = min(taker.open, maker.open)
            price = taker.limit if self.fault == "takers-price" else maker.limit
            buy, sell = (taker, maker) if taker.buys else (maker, taker)
            buyer, seller = self.accounts[buy.account], self.accounts[sell.account]
            if self.fault == "no-reservation":
                buyer.cash -= self.money(units, price)
            elif self.fault != "refund-forgotten":
                buyer.cash += self.money(units, buy.limit - price)
            if self.fault != "seller-not-paid":
                seller.cash += self.money(units, price)
            if self.fault != "buyer-gets-nothing":
                buyer.shares[buy.symbol] = buyer.shares.get(buy.symbol, 0) + units
            for order in (buy, sell):
                order.open -= units
                order.executions.append((units, price, self.now))
            if not maker.open:
                book.remove(maker)
            elif self.fault == "loses-place":
                book.remove(maker)
                book.append(maker)
        if taker.open and taker.executions and self.fault == "lost-remainder":
            self.give_back(taker)
            taker.open = 0
        if taker.open:
            book.append(taker)

    def give_back(self, order):
        account = self.accounts[order.account]
        if not order.buys:
            if self.fault != "cancel-keeps-shares":
                account.shares[order.symbol] += order.open
        elif self.fault not in ("cancel-keeps-cash", "no-reservation"):
            account.cash += self.money(order.open, order.limit)

    def find(self, identity, element):
        account, text = self.account(identity), element.get("id")
        check_empty(element)
        if element.get("ref") is not None:
            if text is not None or element.get("ref") not in account.references:
                raise Refused("unknown order")
            text = str(account.references[element.get("ref")][0])
        number = self.number_of(text or "")
        order = self.orders.get((identity, number) if self.fault == "same-ids" else number)
        if order is None or (order.account != identity and self.fault != "any-account"):
            raise Refused("unknown order")
        return order

    def id_of(self, number):
        """As replies have it."""
        if self.fault == "text-ids":
            return f"x{number:06x}"
        if self.fault == "random-ids":
            return str(uuid.UUID(int=number * RANDOM % 2**128))
        return str(number)

    def number_of(self, text):
        try:
            if self.fault == "text-ids" and text.startswith("x"):
                return int(text[1:], 16)
            if self.fault == "random-ids":
                return uuid.UUID(text).int * pow(RANDOM, -1, 2**128) % 2**128
        except ValueError:
            pass
        if not re.fullmatch(r"[0-9]{1,20}", text):
            raise Refused("unknown order")
        return int(text)

    def cancel(self, order):
        if not order.open:
            raise Refused("nothing is open")
        self.give_back(order)
        order.canceled = (order.open, self.now)
        order.open = 0
        self.books[order.symbol].remove(order)

    def state(self, name, order, element):
        scale = 1000 if self.fault == "milliseconds" else 1
        state = ET.Element(name, id=self.id_of(order.id))
        if element.get("ref") is not None:
            state.set("ref", element.get("ref"))
        if order.open:
            ET.SubElement(state, "open", shares=plain(order.open))
        if order.canceled:
            units, at = order.canceled
            ET.SubElement(state, "canceled", shares=plain(units), time=str(int(at * scale)))
        for units, price, at in order.executions:
            ET.SubElement(
                state,
                "executed",
                shares=plain(units),
                price=plain(price),
                time=str(int(at * scale)),
            )
        return state

    # --- requests ---

    def execute(self, root, now):
        self.now = now
        results = ET.Element("results")
        steps = list(self.steps(root))
        order = list(range(len(steps)))
        if self.fault == "backwards":
            order.reverse()
        elif self.fault == "children-at-random" and root.tag == "transactions":
            random.Random(len(self.orders)).shuffle(order)
        for element, act in map(steps.__getitem__, order):
            try:
                if self.narrow:
                    check_narrow(element)
                results.append(act())
            except Refused as error:
                names = {
                    "order": ("sym", "amount", "limit", "ref"),
                    "placement": ("sym", "id"),
                    "symbol": ("sym",),
                }
                kept = names.get(element.tag, ("id", "ref"))
                if self.fault == "bare-errors" and element.tag in ("query", "cancel"):
                    kept = ()
                answer = ET.SubElement(results, "error")
                answer.text = str(error) + (" (0 < 1)" if self.fault == "raw-errors" else "")
                for name in kept:
                    if element.get(name) is not None:
                        answer.set(name, element.get(name))
                if self.fault == "stops-at-error":
                    break
        if self.fault == "no-echo":
            for answer in results:
                if answer.tag in ("error", "opened"):
                    answer.attrib = {
                        k: v for k, v in answer.items() if k == "id" and answer.tag != "error"
                    }
        if self.fault == "bare-created":
            for answer in results.iter("created"):
                answer.attrib.clear()
        if self.fault in ("doubles", "exponents"):
            for element in results.iter():
                for name in ("amount", "limit", "shares", "price"):
                    self.as_double(element, name)
        if self.fault in ("backwards", "children-at-random"):
            results[:] = [answer for _, answer in sorted(zip(order, results), key=lambda p: p[0])]
        if self.fault == "reversed-replies":
            results[:] = results[::-1]
        return results

    def as_double(self, element, name):
        text = element.get(name, "")
        if not NUMBER.match(text) or not text.strip("-."):
            return
        if self.fault == "exponents":
            element.set(name, java_double(text))
        elif name in ("limit", "price") and float(text) != int(float(text)):
            element.set(name, f"{float(text):.17g}")

    def steps(self, root):
        """Pairs of an element and what it does, in document order."""
        if root.tag not in ("create", "transactions"):
            yield root, lambda: self.unknown(root)
            return
        identity = root.get("id", root.get("account", ""))
        if root.tag == "transactions" and len(root) and identity not in self.accounts:
            if self.fault == "one-error":
                yield ET.Element("all"), lambda: self.account(identity)
                return
        for element in root:
            if root.tag == "create" and element.tag == "account":
                yield element, lambda element=element: self.create_account(element)
            elif root.tag == "create" and element.tag == "symbol":
                symbol = element.get("sym", "")
                sym = {name: value for name, value in element.items() if name == "sym"}
                if not len(element):
                    yield element, lambda symbol=symbol: self.create_symbol(symbol)
                for child in element:
                    if child.tag != "account":
                        yield child, lambda child=child: self.unknown(child)
                        continue
                    placement = ET.Element("placement", {**child.attrib, **sym})
                    yield placement, lambda s=symbol, child=child: self.place_shares(s, child)
            elif root.tag == "transactions" and element.tag in ("order", "query", "cancel"):
                yield element, lambda element=element: self.transact(identity, element)
            else:
                yield element, lambda element=element: self.unknown(element)

    def unknown(self, element):
        element.attrib = {}
        raise Refused(f"unknown element '{element.tag}'")

    def create_symbol(self, symbol):
        if not re.fullmatch(r"[A-Za-z0-9]{1,32}", symbol):
            raise Refused("not a symbol")
        return ET.Element("created", sym=symbol)

    def transact(self, identity, element):
        if element.tag == "order":
            opened = ET.Element("opened")
            number = self.open_order(identity, element)
            for name in ("sym", "amount", "limit"):
                opened.set(name, element.get(name))
            opened.set("id", self.id_of(number))
            if element.get("ref") is not None:
                opened.set("ref", element.get("ref"))
            return opened
        order = self.find(identity, element)
        if element.tag == "cancel":
            if self.fault != "cancels-nothing":
                self.cancel(order)
            return self.state("canceled", order, element)
        return self.state("status", order, element)


def read_xml(document):
    if "<!DOCTYPE" in document:
        raise ET.ParseError("document types are refused")
    return ET.fromstring(re.sub(r"\A\s*(<\?xml[^>]*\?>)?", "", document.lstrip("\ufeff")))


class Journal:
    """A line of JSON for each request."""

    def __init__(self, path, late):
        self.late = late
        self.file = open(path, "a+b")

    def replay(self, exchange):
        self.file.seek(0)
        for line in self.file:
            if not line.endswith(b"\n"):
                break  # torn by a crash, and not acknowledged
            document, now = json.loads(line)
            exchange.execute(read_xml(document), now)

    def append(self, document, now):
        line = json.dumps([document, now]).encode() + b"\n"
        if self.late:
            threading.Timer(0.2, self.write, [line]).start()
        else:
            self.write(line)

    def write(self, line):
        self.file.write(line)
        self.file.flush()
        os.fsync(self.file.fileno())


class NoLock:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


class Server:
    def __init__(self, arguments):
        self.fault, self.style = arguments.fault, arguments.style
        self.exchange = Exchange(self.fault, self.style == "narrow")
        self.of_connection = threading.local()  # each has a thread
        self.worker = threading.Semaphore()
        self.lock = NoLock() if self.fault == "unlocked" else threading.Lock()
        self.journal = None
        if arguments.journal:
            self.journal = Journal(arguments.journal, self.fault == "forgets")
            self.journal.replay(self.exchange)

    def answer(self, document):
        """The reply to one document."""
        try:
            root = read_xml(document)
        except ET.ParseError as error:
            if self.fault == "dies-on-bad-xml":
                os._exit(1)
            if self.fault == "hangs-on-bad-xml":
                time.sleep(3600)
            return self.error(f"malformed XML: {error}")
        with self.lock:
            if self.fault == "slow":
                time.sleep(0.05)
            now = int(time.time() * 1000) / 1000
            results = self.exchange.execute(root, now)
            if self.journal:
                self.journal.append(document, now)
        if self.style == "narrow":
            for element in results.iter():
                for name in ("limit", "price"):
                    if re.fullmatch(CENTS, element.get(name, "")):
                        element.set(name, f"{float(element.get(name)):.2f}")
        if self.style == "pretty":
            for element in results.iter():
                element.attrib = dict(reversed(element.attrib.items()))
            ET.indent(results)
            text = ET.tostring(results, "unicode").replace('"', "'")
            return "<?xml version='1.0' encoding='UTF-8'?>\n" + text + "\n"
        if self.fault == "other-root":
            results.tag = "result"
        text = ET.tostring(results, "unicode", short_empty_elements=True) + "\n"
        return text.replace("&lt;", "<") if self.fault == "raw-errors" else text

    @staticmethod
    def error(sentence):
        results = ET.Element("results")
        ET.SubElement(results, "error").text = sentence
        return ET.tostring(results, "unicode") + "\n"

    def send(self, connection, reply):
        data = reply.encode()
        if self.fault == "byte-order-mark" and not hasattr(self.of_connection, "marked"):
            self.of_connection.marked = True
            data = "\ufeff".encode() + data
        connection.sendall(f"{len(data)}\n".encode() + data if self.style == "length" else data)

    def serve(self, connection):
        if self.fault == "one-worker":
            self.worker.acquire()
        asked = self.serve_requests(connection)
        if self.fault == "one-worker" and asked:
            self.worker.release()

    def serve_requests(self, connection):
        """Returns how many there were."""
        asked = 0
        try:
            with connection, connection.makefile("rb") as stream:
                while (document := self.read(connection, stream)) is not None:
                    asked += 1
                    self.send(connection, self.answer(document))
                    if self.style == "close":
                        break
        except Refused as error:
            pass
        except OSError:
            pass  # the client is gone
        return asked

    def read(self, connection, stream):
        """The next document; None at the end of the stream."""
        if self.fault == "ignores-length":
            data = connection.recv(65536)
            return data.decode("utf-8", "replace").lstrip("0123456789").strip() if data else None
        while (
            first := stream.read(1)
        ) and first in b" \t\r\n\0\xef\xbb\xbf":  # and byte order marks
            pass
        if not first:
            return None
        line = first
        while (line.isdigit() or line.endswith(b"\r")) and len(line) < 20:
            if not (one := stream.read(1)):
                break
            line += one
        match = re.fullmatch(rb"([0-9]+)\r?\n", line)
        length = int(match[1]) if match else 0
        if not 1 <= length <= 2**20:
            self.refuse(connection, "bad framing: a length line was expected")
        if self.fault == "counts-characters":
            data = b""
            while len(data.decode("utf-8", "ignore")) < length and (one := stream.read(1)):
                data += one
        else:
            data = b""
            while len(data) < length and (
                part := stream.readline()
                if self.style == "newline"
                else stream.read(length - len(data))
            ):
                data += part
            if len(data) < length:
                self.refuse(connection, f"bad framing: {length} bytes announced, {len(data)} came")
        return data.decode("utf-8", "replace")

    def refuse(self, connection, sentence):
        self.send(connection, self.error(sentence))
        connection.shutdown(socket.SHUT_WR)
        raise Refused()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=12345, help="0: a free one")
    parser.add_argument("--fault", choices=sorted(FAULTS), metavar="NAME")
    parser.add_argument("--journal", metavar="FILE")
    parser.add_argument(
        "--style", choices=["bare", "length", "close", "newline", "pretty", "narrow"]
    )
    parser.add_argument("--list-faults", action="store_true")
    arguments = parser.parse_args()
    if arguments.list_faults:
        for name, what in FAULTS.items():
            print(f"{name:20} {what}")
        return
    sys.setswitchinterval(0.001)
    server = Server(arguments)
    with socket.create_server(("127.0.0.1", arguments.port), backlog=512) as listener:
        print(f"listening on 127.0.0.1:{listener.getsockname()[1]}", flush=True)
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=server.serve, args=[connection], daemon=True).start()


if __name__ == "__main__":
    main()
