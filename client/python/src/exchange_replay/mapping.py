"""From events of the tape to requests of the protocol, and from replies to the report.

The orders of a symbol that rest on the tape belong to one account (of a journal: to one of each
owner), and have their id on the tape as reference. An execution is an order of another account, the
taker's, that is executed at once or canceled. Accounts are created before their first order, on its
connection.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from exchange_client import protocol
from exchange_client.protocol import attribute

from .connection import Connection, Handle
from .report import Report
from .tape import (
    TAKER,
    Add,
    Contradiction,
    Delete,
    Event,
    Execute,
    Quote,
    Reduce,
    Replace,
    Skipped,
    Trade,
    Unusable,
    text,
    units,
)


@dataclass
class Settings:
    """What all symbols share."""

    report: Report
    prefix: str  # of account ids
    cash: int  # of each account
    shares: int
    batch: int  # elements of a request at most
    operator_key: str | None
    account_key: str | None
    accounts: int = 0  # created
    silent: bool = False  # before --from: the book changes, and nothing is sent


class Account:
    def __init__(self, settings: Settings) -> None:
        settings.accounts += 1
        self.settings = settings
        self.id = f"{settings.prefix}{settings.accounts:04d}"
        self.root = protocol.transactions_root(self.id, settings.account_key)

    def creation(self, symbol: str) -> str:
        chosen = self.settings
        root = protocol.create_root(chosen.operator_key)
        account = {"account": self.id, "balance": chosen.cash, "key": chosen.account_key}
        return protocol.document(
            [
                protocol.change(root, "create_account", **account),
                protocol.create_symbol(root, symbol, {self.id: chosen.shares}),
            ]
        )

    def created(self, reply: ET.Element) -> None:
        if reply.tag == "error":
            code = code_of(reply)
            advice = "; choose another --accounts" if code == "account_exists" else ""
            raise Unusable(f"account {self.id} was not created: {code}{advice}")


@dataclass(slots=True, eq=False)
class Order:
    """One that rests on the tape."""

    market: Market
    account: Account
    # as attribute; the reference, until the id is known, which the exchange never forgets
    id_or_ref: str
    buy: bool
    amount: int  # with what was executed
    open: int  # on the tape
    price: int
    executed: int = 0  # on the tape
    executed_by_tape: int = 0  # by the orders that were sent for executions of the tape
    by_others: int = 0  # executed beyond that, once it ended
    code: str = ""  # why it was refused

    def opened(self, reply: ET.Element) -> None:
        if reply.tag == "error":
            self.code = code_of(reply)
            self.market.report.refused["order", self.code] += 1
        else:
            self.id_or_ref = attribute("id", reply.attrib["id"])

    def replaced(self, reply: ET.Element) -> None:
        if reply.tag == "error" and not self.code:
            self.market.report.refused["replace", code_of(reply)] += 1

    def ended(self, reply: ET.Element) -> None:
        if self.code:
            return
        if reply.tag != "error":
            self.executed_in_all(sum(executions_of(reply).values()))
        elif code_of(reply) != "nothing_open":
            self.market.report.refused["cancel", code_of(reply)] += 1
        elif self.open > 0:  # but open on the tape
            self.market.ask(self.account, f"<query{self.id_or_ref}/>", self.queried)
        else:
            self.executed_in_all(self.amount)

    def queried(self, reply: ET.Element) -> None:
        self.executed_in_all(sum(executions_of(reply).values()))

    def executed_in_all(self, shares: int) -> None:
        self.market.report.executed_shares += shares
        self.by_others = shares - self.executed_by_tape
        self.market.report.order_ended(self.by_others)


@dataclass(slots=True, eq=False)
class Take:
    """An order that is executed on arrival on the tape."""

    report: Report
    time: int
    symbol: str
    wanted: list[tuple[Order | None, int, int]]  # resting order, shares and price of each trade
    limit: int = 0  # of an order that the tape does not show
    order: Order | None = None  # one that it shows
    code: str = ""  # why it was refused
    before: Counter[int] = field(default_factory=Counter)  # executions, by price

    def opened(self, reply: ET.Element) -> None:
        if reply.tag == "error":
            self.code = code_of(reply)
            self.report.refused["execution", self.code] += 1

    def queried_before(self, reply: ET.Element) -> None:
        self.before = executions_of(reply)

    def queried(self, reply: ET.Element) -> None:
        self.report.traded(self, executions_of(reply) - self.before)


class Market:
    """A symbol: its orders on the tape, and the request that is being made."""

    def __init__(self, symbol: str, connection: Connection, settings: Settings) -> None:
        self.symbol, self.connection, self.settings = symbol, connection, settings
        self.sym = attribute("sym", symbol)
        self.report = settings.report
        self.orders: dict[str, Order] = {}  # open on the tape, by id, oldest place first
        self.accounts: dict[str, Account] = {}
        self.serial = 0
        self.quotes: dict[bool, str] = {}  # the ids of the best bid and the best ask
        self.root = ""
        self.elements: list[str] = []
        self.handles: list[Handle] = []
        self.handlers: dict[type[Event], Callable[..., None]] = {
            Add: self.add,
            Execute: self.execute,
            Reduce: self.reduce,
            Delete: self.delete,
            Replace: self.replace,
            Trade: self.trade,
            Quote: self.quote,
            Skipped: self.skip,
        }

    # --- requests ---

    def ask(self, account: Account, element: str, handle: Handle) -> None:
        if self.settings.silent:
            return
        if account.root is not self.root or len(self.elements) >= self.settings.batch:
            self.flush()
            self.root = account.root
        if not self.elements:
            self.connection.unfinished.append(self)
        self.elements.append(element)
        self.handles.append(handle)

    def flush(self) -> None:
        """Finishes the request."""
        if self.elements:
            document = f"{self.root}{''.join(self.elements)}</transactions>"
            self.connection.add(document, self.handles)
            self.elements, self.handles = [], []

    def account(self, owner: str) -> Account:
        account = self.accounts.get(owner)
        if account is None:
            account = self.accounts[owner] = Account(self.settings)
            self.flush()
            self.connection.add(account.creation(self.symbol), [account.created] * 2)
        return account

    def open(self, order: Order, terms: str = "") -> None:
        sign = "" if order.buy else "-"
        limit = f'limit="{text(order.price)}"' if order.price else 'type="market"'
        element = (
            f'<order{self.sym} amount="{sign}{text(order.amount)}"'
            f" {limit}{order.id_or_ref}{terms}/>"
        )
        self.ask(order.account, element, order.opened)

    def end(self, name: str) -> None:
        order = self.orders.pop(name)
        self.ask(order.account, f"<cancel{order.id_or_ref}/>", order.ended)

    def executed(self, name: str, shares: int) -> None:
        """On the tape. What other accounts left of an order ends with it."""
        order = self.orders[name]
        order.open -= shares
        order.executed += shares
        if order.open <= 0:
            self.end(name)

    # --- events ---

    def add(self, event: Add) -> None:
        self.check_new(event.order)
        order = Order(
            self,
            self.account(event.owner),
            attribute("ref", event.order),
            event.buy,
            event.shares,
            event.shares,
            event.price,
        )
        self.orders[event.order] = order
        self.open(order, event.terms)
        if event.trades:
            self.arrived(self.journal_take(event, order), event, event.order)
        if not event.rests:
            self.orders.pop(event.order, None)

    def check_new(self, name: str) -> None:
        if name in self.orders:
            raise Contradiction(f"order {name} of {self.symbol} is open already")

    def journal_take(self, event: Add | Replace, order: Order) -> Take:
        wanted = [(self.orders.get(other), shares, price) for other, shares, price in event.trades]
        return Take(self.report, event.time, self.symbol, wanted, order=order)

    def arrived(self, take: Take, event: Add | Replace, name: str) -> None:
        """Asks for what a journal's order executed on arrival."""
        assert take.order
        self.take(take, take.order.account, take.order.id_or_ref)
        for other, shares, _ in event.trades:
            for one in (other, name):
                if one in self.orders:
                    self.executed(one, shares)

    def take(self, take: Take, account: Account, id_or_ref: str) -> None:
        if not self.settings.silent:
            self.report.trades += len(take.wanted)
        self.ask(account, f"<query{id_or_ref}/>", take.queried)

    def execute(self, event: Execute) -> None:
        order = self.orders.get(event.order)
        if order is None and event.price:
            self.trade(Trade(event.time, event.symbol, not event.buy, event.shares, event.price))
        elif order is None:
            self.report.unknown["executions"] += 1
        else:
            self.serial += 1
            ref = attribute("ref", f"t{self.serial}")
            wanted = (order, event.shares, event.price or order.price)
            take = Take(self.report, event.time, self.symbol, [wanted], order.price)
            account = self.account(TAKER)
            sign = "-" if order.buy else ""
            element = (
                f'<order{self.sym} amount="{sign}{text(event.shares)}"'
                f' limit="{text(order.price)}"{ref} tif="ioc"/>'
            )
            self.ask(account, element, take.opened)
            self.take(take, account, ref)
            self.executed(event.order, event.shares)

    def trade(self, event: Trade) -> None:
        """Executes the quote that it hit, or an order made for it, since the tape shows none."""
        left = event.shares
        for buy, name in list(self.quotes.items()):
            quote = self.orders.get(name)
            if quote is None:
                continue
            if buy != event.buy and quote.price == event.price:
                shares = min(left, quote.open)
                left -= shares
                self.execute(Execute(event.time, event.symbol, name, shares))
            elif (quote.price >= event.price) if buy else (quote.price <= event.price):
                self.end(name)  # the trade shows that it is gone
        if left:
            self.serial += 1
            name = f"m{self.serial}"
            self.add(Add(event.time, event.symbol, name, not event.buy, left, event.price))
            self.execute(Execute(event.time, event.symbol, name, left))

    def reduce(self, event: Reduce) -> None:
        order = self.orders.get(event.order)
        if order is None:
            self.report.unknown["reductions"] += 1
            return
        order.open -= event.shares
        if order.open <= 0:
            self.end(event.order)
        else:
            order.amount -= event.shares
            self.change(order)

    def change(self, order: Order) -> None:
        sign = "" if order.buy else "-"
        element = (
            f'<replace{order.id_or_ref} amount="{sign}{text(order.amount)}"'
            f' limit="{text(order.price)}"/>'
        )
        self.ask(order.account, element, order.replaced)

    def delete(self, event: Delete) -> None:
        if event.order in self.orders:
            self.end(event.order)
        else:
            self.report.unknown["deletions"] += 1

    def replace(self, event: Replace) -> None:
        order = self.orders.get(event.order)
        if order is None:
            self.report.unknown["replaces"] += 1
            return
        if event.becomes != event.order:
            self.check_new(event.becomes)
        keeps_place = event.price == order.price and event.shares <= order.amount
        if keeps_place and not event.as_protocol:  # where a <replace> would, but the tape does not
            self.end(event.order)
            self.add(
                Add(event.time, event.symbol, event.becomes, order.buy, event.shares, event.price)
            )
            return
        executed = order.executed
        order.amount = event.shares if event.as_protocol else executed + event.shares
        order.open, order.price = order.amount - executed, event.price
        if not keeps_place:
            del self.orders[event.order]
            self.orders[event.becomes] = order
        if event.trades:
            take = self.journal_take(event, order)
            self.ask(order.account, f"<query{order.id_or_ref}/>", take.queried_before)
            self.change(order)
            self.arrived(take, event, event.becomes)
        else:
            self.change(order)

    def quote(self, event: Quote) -> None:
        sides = {True: (event.bid, event.bid_shares), False: (event.ask, event.ask_shares)}
        for buy, name in list(self.quotes.items()):
            old = self.orders.get(name)
            if old is None or (old.price, old.open) != sides[buy]:
                del self.quotes[buy]
                if old:
                    self.end(name)
        for buy, (price, shares) in sides.items():
            if buy not in self.quotes and price and shares:
                self.serial += 1
                name = self.quotes[buy] = f"q{self.serial}"
                self.add(Add(event.time, event.symbol, name, buy, shares, price))

    def skip(self, event: Skipped) -> None:
        self.report.skipped[event.why] += event.shares

    def delete_all(self, owner: str) -> None:
        """The oldest thousand, as one command does."""
        account = self.accounts.get(owner)
        for name in [name for name, order in self.orders.items() if order.account is account][
            :1000
        ]:
            self.end(name)


def code_of(error: ET.Element) -> str:
    return error.get("code") or "".join(error.itertext())


def executions_of(status: ET.Element) -> Counter[int]:
    """The shares executed at each price."""
    found: Counter[int] = Counter()
    for child in status:
        if child.tag == "executed":
            found[units(child.attrib["price"])] += units(child.attrib["shares"])
    return found
