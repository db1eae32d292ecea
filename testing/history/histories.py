"""What histories are made of and judged with: a server that keeps its journal, random clients that
share a few poor accounts and write a history of what they did (docs/load-generator.md,
"Histories"), and the judge.

The load generator's accounts are rich and its orders its own; here money and shares run out,
accounts exist already, orders are other people's, requests mix several commands, and numbers have
decimals: what docs/protocol.md says of refusals happens often.
"""

import json
import random
import re
import threading
import time

from exchange_server import Connection, ExchangeServer, run_program

# Some are rounded.
PRICES = "9.5 9.75 10 10.25 10.5 10.000000000000 9.999999999 10.000000001".split()
# What the operator, one of the clients, changes now and then; symbols and accounts are those of a
# market.
CHANGES = [
    '<instrument sym="{symbol}" trading="auction"/>',
    '<instrument sym="{symbol}" trading="auction"/>',
    '<instrument sym="{symbol}" trading="open"/>',
    '<instrument sym="{symbol}" trading="open"/>',
    '<instrument sym="{symbol}" trading="open"/><instrument sym="{symbol}" trading="halted"/>',
    '<instrument trading="open" band="0"/>',
    '<instrument sym="{symbol}" tick="0.25" lot="0.25"/>',
    '<instrument sym="{symbol}" tick="0" lot="0" order-max="10"/>',
    '<instrument sym="{symbol}" price-min="9.5" price-max="10.25" order-max="0"/>',
    '<instrument sym="{symbol}" price-max="0"/>',
    '<instrument sym="{symbol}" band="0.3" at-band="auction"/>',
    '<instrument sym="{symbol}" band="0.3" at-band="refuse"/>',
    '<set-account id="{account}" access="frozen" cancel-orders="true"/>',
    '<set-account id="{account}" access="active" orders-max="4"/>',
    '<set-account id="{account}" access="active" position-max="45"/>',
    '<set-account id="{account}" access="active" position-max="0" orders-max="0"/>',
    '<adjust-cash id="{account}" amount="100.5" reason="gift"/>',
    '<adjust-cash id="{account}" amount="-250"/>',
    '<adjust-shares sym="{symbol}" id="{account}" amount="7.5"/>',
    '<adjust-shares sym="{symbol}" id="{account}" amount="-10"/>',
    '<set-key id="{account}" key="12345678"/>',
]
AMOUNTS = ["1", "2", "5", "7.5", "0.25", "20", "1.000000000000"]


def journaling_server(store, policy="loop", **more):
    return ExchangeServer(
        "--keep-journal", "--policy", policy, store=store, http_port="off", **more
    )


def check_history(store, *histories):
    """(exit code, output)"""
    words = ["--store", store, *map(str, histories)]
    done = run_program("check-history", *words, timeout_s=None)
    return done.returncode, done.stdout + done.stderr


class History:
    def __init__(self):
        self.lock, self.lines, self.connections = threading.Lock(), [], 0

    def connection(self):
        with self.lock:
            self.connections += 1
            return self.connections

    def begin(self, client, connection, document):
        entry = {
            "client": client,
            "connection": connection,
            "call": time.monotonic_ns(),
            "return": None,
            "request": document,
            "reply": None,
        }
        with self.lock:
            self.lines.append(entry)
        return entry

    def write(self, path):
        with open(path, "w") as file:
            header = {"history": 1, "clock": "monotonic, ns", "command": ["histories.play"]}
            print(json.dumps(header), file=file)
            for entry in sorted(self.lines, key=lambda line: line["call"]):
                print(json.dumps(entry), file=file)


class Client:
    def __init__(self, history, number, port):
        self.history, self.number, self.port, self.wire = history, number, port, None

    def connect(self):
        self.wire = Connection(self.port)
        self.connection = self.history.connection()

    def ask(self, document):
        """The reply, or None where the connection ended."""
        if self.wire is None:
            self.connect()
        entry = self.history.begin(self.number, self.connection, document)
        try:
            self.wire.send(document)
            reply = self.wire.receive()
        except OSError:
            reply = b""
        if not reply.endswith(b"</results>\n"):
            self.close()
            return None
        entry["reply"] = reply.decode()
        entry["return"] = time.monotonic_ns()
        return entry["reply"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.wire is not None:
            self.wire.close()
        self.wire = None


class Market:
    """What the clients know of each other: accounts, symbols, and the ids of orders with their
    accounts."""

    def __init__(self, accounts=("1", "2", "3"), symbols=("S1",)):
        self.accounts, self.symbols = accounts, symbols
        self.lock, self.orders = threading.Lock(), []

    def set_up(self):
        accounts = "".join(f'<account id="{id_}" balance="600.125"/>' for id_ in self.accounts)
        places = "".join(f'<account id="{id_}">40</account>' for id_ in self.accounts)
        shares = "".join(f'<symbol sym="{symbol}">{places}</symbol>' for symbol in self.symbols)
        return f"<create>{accounts}{shares}</create>"

    def request(self, random_):
        """One request document and the account whose it is."""
        account = random_.choice(self.accounts) if random_.random() < 0.97 else "404"
        choice = random_.random()
        if choice < 0.04:
            new = str(random_.randint(100, 104))  # two clients may ask for the same
            balance = random_.choice(["0", "12.5", "-1"])
            symbol, owner = random_.choice(self.symbols), random_.choice([account, new])
            elements = f'<account id="{new}" balance="{balance}"/>'
            elements += f'<symbol sym="{symbol}"><account id="{owner}">3</account></symbol>'
            return f"<create>{elements}</create>", account
        if choice < 0.06:
            return f'<create><symbol sym="N{random_.randint(1, 2)}"/></create>', account
        elements = "".join(
            self.element(random_, account) for _ in range(random_.choice([1, 1, 1, 2, 3]))
        )
        return f'<transactions id="{account}">{elements}</transactions>', account

    def change(self, random_):
        """A request of the operator."""
        symbol, account = random_.choice(self.symbols), random_.choice(self.accounts)
        return f"<create>{random_.choice(CHANGES).format(symbol=symbol, account=account)}</create>"

    def element(self, random_, account):
        with self.lock:
            latest = self.orders[-12:]
        choice = random_.random()
        if choice < 0.5 or not latest:
            symbol = random_.choice(self.symbols)
            if random_.random() < 0.04:
                symbol = f"N{random_.randint(1, 3)}"
            amount = random_.choice(["", "-"]) + random_.choice(AMOUNTS)
            limit = random_.choice(PRICES)
            return f'<order sym="{symbol}" amount="{amount}" limit="{limit}"/>'
        own = [order for owner, order in latest if owner == account]
        order = random_.choice(own) if own and random_.random() < 0.9 else random_.choice(latest)[1]
        return f'<{"query" if choice < 0.85 else "cancel"} id="{order}"/>'

    def learn(self, account, reply):
        with self.lock:
            self.orders += [
                (account, order) for order in re.findall(r'<opened [^>]* id="(\d+)"/>', reply)
            ]


def set_up_market(history, market, port):
    with Client(history, -1, port) as client:
        client.ask(market.set_up())


def play(port, seed, clients=4, requests=60, history=None, market=None, set_up=True):
    """Each client sends this number of requests one after another, or until its
    connection ends; returns the history."""
    history, market = history or History(), market or Market()
    if set_up:
        set_up_market(history, market, port)

    def work(number):
        random_ = random.Random(f"{seed} {number}")
        client = Client(history, number, port)
        for _ in range(requests):
            document, account = market.request(random_)
            if number == 0 and random_.random() < 0.3:
                document = market.change(random_)
            try:
                reply = client.ask(document)
            except OSError:
                break  # no server is there
            if reply is None:
                break
            market.learn(account, reply)
        client.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return history
