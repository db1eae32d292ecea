"""Durability: orders under load, kill -9 in the middle, and the count of acknowledged orders that
are gone or changed.

Each client has an account and one connection, with one order at a time, so it knows which orders
were acknowledged. Every order has an amount of its own: an id that another order got after a
restart is noticed."""

import random
import string
import threading
import time
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from xml.sax.saxutils import quoteattr

from dialogue import FIRST_REPLY_S, Dialogue, NoReply
from server import NotStarted

CASH, SHARES, AMOUNT_MAX = 10**9, 10**8, 9999
PRICES = ("9", "10", "10", "11")
STATES = ("open", "canceled", "executed")  # elements of a status
EXAMPLES = 6  # of what is gone or changed
OLDER = 1000  # orders of before the last kill that are looked at again
LOOK_S = 0.05  # between two looks whether a server answers again
HOPELESS = 2  # runs in a row in which nothing was found; then the others are left out


@dataclass
class Order:
    account: str
    amount: int
    executed: Decimal = Decimal(0)  # as far as the server reported
    fault: str = ""
    kills: int = 0  # before it was acknowledged


@dataclass
class Books:
    """What the clients know. Each client writes under the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    orders: dict = field(default_factory=dict)  # id -> Order
    # Ids that were given to two orders while the server ran.
    twice: list = field(default_factory=list)
    kills: int = 0
    refused: int = 0
    given: int = 0  # amounts so far

    def given_again(self, number):
        """The id of an order that was acknowledged is now that of another."""
        order = self.orders[number]
        if order.kills == self.kills:
            self.twice.append(number)
        else:
            order.fault = order.fault or "gone: after the kill its id was given to another order"


class Client(threading.Thread):
    def __init__(self, nth, setup, books, stop):
        super().__init__(daemon=True)
        self.account, self.setup, self.books, self.stop = setup.accounts[nth], setup, books, stop
        self.random = random.Random(f"{setup.seed} {nth}")

    def run(self):
        dialogue = Dialogue(self.setup.port, self.setup.style, self.setup.timeout_s)
        with dialogue:
            while not self.stop.is_set():
                try:
                    self.one(dialogue)
                except NoReply:
                    # The kill, or a request that the server lost: what the server did with it is
                    # unknown.
                    self.stop.wait(0.05)

    def one(self, dialogue):
        books = self.books
        with books.lock:
            books.given += 1
            amount = 1 + books.given % AMOUNT_MAX
        signed = amount if self.random.random() < 0.5 else -amount
        price = self.random.choice(PRICES)
        order = f'<order sym="{self.setup.symbol}" amount="{signed}" limit="{price}"/>'
        reply = dialogue.ask(f'<transactions id="{self.account}">{order}</transactions>')
        opened = reply.find("opened")
        number = opened.get("id") if opened is not None else None
        with books.lock:
            if number is None:
                books.refused += 1
            elif number in books.orders:
                books.given_again(number)
            else:
                books.orders[number] = Order(self.account, signed, kills=books.kills)


@dataclass
class Setup:
    accounts: list
    symbol: str
    style: object
    seed: int
    timeout_s: float
    port: int = 0


def prepared(port, style, clients, seed, timeout_s):
    """Accounts and a symbol of this grading. Raises NoReply."""
    name = random.Random(f"names {seed} {time.time_ns()}")
    first = name.randrange(10**5, 10**6) * 100
    symbol = "".join(name.choice(string.ascii_uppercase) for _ in range(6))
    names = [str(first + nth) for nth in range(clients)]
    setup = Setup(names, symbol, style, seed, timeout_s, port)
    accounts = "".join(f'<account id="{one}" balance="{CASH}"/>' for one in setup.accounts)
    shares = "".join(f'<account id="{one}">{SHARES}</account>' for one in setup.accounts)
    document = f'<create>{accounts}<symbol sym="{symbol}">{shares}</symbol></create>'
    with Dialogue(port, style, FIRST_REPLY_S) as dialogue:
        reply = dialogue.ask(document)
    refused = [child for child in reply if child.tag != "created"]
    if refused:
        text = "".join(refused[0].itertext())[:200]
        raise NoReply(f"accounts and shares of the test were refused: {text}")
    return setup


def query(account, order_id):
    """The id as the server gave it, inside an attribute again."""
    return f'<transactions id="{account}"><query id={quoteattr(order_id)}/></transactions>'


def answers_again(server, setup, order_id, limit_s):
    """Seconds until a query gets a reply, whatever it says; None if none came in time."""
    began = time.monotonic()
    document = query(setup.accounts[0], order_id)
    while time.monotonic() - began < limit_s:
        try:
            with Dialogue(server.port, setup.style, FIRST_REPLY_S) as dialogue:
                dialogue.ask(document)
            return time.monotonic() - began
        except NoReply as error:
            if error.came:
                return time.monotonic() - began
            if not server.alive():
                return None
            time.sleep(LOOK_S)
    return None


def number_of(element, name="shares"):
    try:
        value = abs(Decimal(element.get(name) or ""))
        return value if value.is_finite() else None
    except InvalidOperation:
        return None


def fault_of(order, results):
    """What is wrong with the state of an order that was acknowledged; empty if nothing. Remembers
    what is executed."""
    status = results.find("status")
    if status is None or not any(child.tag in STATES for child in status):
        error = "".join(results.itertext()).strip()
        return "gone" + (f": {error[:120]}" if error else "")
    sums = dict.fromkeys(STATES, Decimal(0))
    for child in status:
        shares = number_of(child)
        if child.tag in sums:
            if shares is None:
                return f"changed: the shares of <{child.tag}> are not a number"
            sums[child.tag] += shares
    whole, wanted = sum(sums.values()), abs(order.amount)
    if not whole:
        return "gone: the server knows its id, but none of its shares"
    if whole != wanted:
        return f"changed: it was of {wanted} shares, now {whole} are open, canceled or executed"
    if sums["canceled"]:
        return (
            f"changed: {sums['canceled']} of its shares are canceled, though no request asked"
            " for it"
        )
    if sums["executed"] < order.executed:
        return f"changed: {order.executed} of its shares were executed, now {sums['executed']}"
    order.executed = sums["executed"]
    return ""


def verify(books, wanted, setup, threads, deadline):
    """Asks for each of these orders that has no fault yet. Returns how many could not be asked
    for."""
    todo = [(number, books.orders[number]) for number in wanted if not books.orders[number].fault]
    lock, unknown = threading.Lock(), []

    def work():
        with Dialogue(setup.port, setup.style, setup.timeout_s) as dialogue:
            while True:
                with lock:
                    if not todo:
                        return
                    number, order = todo.pop()
                if time.monotonic() > deadline:
                    unknown.append(number)
                    continue
                try:
                    reply = dialogue.ask(query(order.account, number))
                except NoReply:
                    unknown.append(number)
                    continue
                order.fault = fault_of(order, reply)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(unknown)


def run(server, style, plan, deadline, say=lambda text: None):
    """plan: clients, kills, load_s, seed, timeout_s. Returns the result of the part; what ends it
    early is its `problem`."""
    books, rounds, problem = Books(), [], ""
    result = {"rounds": rounds, "keeps_data": server.submission.keeps_data}
    try:
        setup = prepared(server.port, style, plan["clients"], plan["seed"], plan["timeout_s"])
    except NoReply as error:
        result["problem"] = f"no orders could be placed: {error}"
        return {**result, **counted(books)}
    pause = random.Random(f"pauses {plan['seed']}")
    for nth in range(plan["kills"]):
        if time.monotonic() > deadline:
            problem = f"out of time after {nth} of {plan['kills']} kills"
            break
        say(f"kill {nth + 1} of {plan['kills']}")
        before, known = len(books.orders), faults(books)
        if is_hopeless(rounds, "left"):
            lost = f"after each of {nth} kills not one order was left: the other kills are left out"
            problem = lost if books.orders else "not one order was acknowledged"
            break
        ended = load(server, setup, books, plan["load_s"] * pause.uniform(0.6, 1.4))
        one = {"acknowledged": len(books.orders) - before, "ended_by_itself": ended}
        rounds.append(one)
        books.kills += 1
        one["seconds"], why = begin_again(server, setup, books)
        if one["seconds"] is None:
            problem = f"after kill {nth + 1} it did not answer again: {why}"
            for order in books.orders.values():
                order.fault = order.fault or "gone: the server did not answer again"
        else:
            wanted = list(books.orders)
            if nth + 1 < plan["kills"] and before > OLDER:  # the last time all are looked at
                wanted = pause.sample(wanted[:before], OLDER) + wanted[before:]
            one["unknown"] = verify(books, wanted, setup, plan["clients"], deadline)
        one["gone"], one["changed"] = (
            now - was for now, was in zip(faults(books), known, strict=True)
        )
        one["left"] = len(books.orders) - faults(books)[0]
        if problem:
            break
    if not books.orders and not problem:
        problem = "not one order was acknowledged"
    result["unknown"] = rounds[-1].get("unknown", 0) if rounds else 0
    return {**result, "problem": problem, **counted(books)}


def is_hopeless(runs, found):
    """Whether none of the last runs has what they were to find."""
    return len(runs) >= HOPELESS and not any(one.get(found) for one in runs[-HOPELESS:])


def load(server, setup, books, seconds):
    """Orders for so long, then the kill, while the clients go on. Returns whether the server ended
    before it."""
    stop = threading.Event()
    clients = [Client(nth, setup, books, stop) for nth in range(len(setup.accounts))]
    for client in clients:
        client.start()
    try:
        time.sleep(seconds)
        ended = not server.alive()
        server.kill()
    finally:
        stop.set()
    for client in clients:
        client.join()
    return ended


def begin_again(server, setup, books):
    """(seconds until it answers, why not)"""
    began = time.monotonic()
    try:
        server.start_again()
    except NotStarted as error:
        return None, str(error)
    setup.port = server.port
    asked = next(iter(books.orders), "1")
    if answers_again(server, setup, asked, FIRST_REPLY_S) is None:
        return None, f"no reply within {FIRST_REPLY_S} s"
    return round(time.monotonic() - began, 3), ""


def faults(books):
    gone = sum(order.fault.startswith("gone") for order in books.orders.values())
    changed = sum(order.fault.startswith("changed") for order in books.orders.values())
    return gone, changed + len(books.twice)


def counted(books):
    gone, changed = faults(books)
    examples = [
        f"order {number} of account {order.account}, {order.amount} shares: {order.fault}"
        for number, order in books.orders.items()
        if order.fault
    ][:EXAMPLES]
    examples += [f"the id {number} was given to two orders (T6)" for number in books.twice[:2]]
    return {
        "acknowledged": len(books.orders),
        "gone": gone,
        "changed": changed,
        "refused": books.refused,
        "examples": examples,
    }
