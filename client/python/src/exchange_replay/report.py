"""What a replay measures: lateness, refusals, how its trades differ from those of the tape, and
what other accounts traded with it.

A reply does not contain the other side of an execution: if a bot took ten shares of an order, and
an execution of ten shares on the tape went to an order of the bot, the order looks untouched. The
HTTP port lists each execution with its number: if the accounts of the replay have it twice, it is
between them, else it is with another account.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import groupby, repeat
from typing import TYPE_CHECKING, NamedTuple

from exchange_client.http_port import Fill, HttpPort

from .tape import DAY, SECOND, TAKER, Unusable, text, units

if TYPE_CHECKING:
    from .mapping import Market, Order, Settings, Take

NAMES = {
    "Add": "orders",
    "Execute": "executions",
    "Reduce": "reductions",
    "Delete": "deletions",
    "DeleteAll": "deletions of all",
    "Replace": "replaces",
    "Trade": "trades",
    "Quote": "quotes",
}
SHOWN_MAX = 5  # differing trades, of each kind and reason
# Executions. The read of one account passes those of all accounts, some 3 million in a second.
PASSED_MAX = 3 * 10**8
TIMEOUT_S = 10


class Difference(NamedTuple):
    kind: str
    take: Take
    resting: Order | None
    shares: int  # on the tape, as the price
    price: int
    executed: int

    @property
    def reason(self) -> str:
        """Once the resting order has ended."""
        if self.kind == "refused":
            return self.take.code
        if self.resting and self.resting.code:
            return f"its resting order was refused: {self.resting.code}"
        if self.take.limit and self.take.limit != self.price:
            return "the tape has another price than that of its order"
        if self.kind == "other price":
            return "an order of another account had a better price"
        if self.resting and self.resting.by_others > 0:
            return "other accounts had executed its resting order"
        return "its resting order was not there"


class Others:
    """Shares that other accounts traded, and the ids of the orders of the replay on the other
    side."""

    def __init__(self) -> None:
        # shares of orders of the tape, and of orders sent for executions of the tape
        self.shares = self.shares_of_takes = 0
        self.orders: set[int] = set()
        self.takes: set[int] = set()
        self.seen = 0  # shares of all fills of the replay

    def add(self, fills: Iterable[tuple[str, Fill]]) -> None:
        """Those of all accounts of a symbol, with the owner, by execution."""
        for _, group in groupby(fills, key=_execution):
            (owner, fill), *others = group
            self.seen += _shares(fill) * (1 + len(others))
            if others:
                continue
            if owner == TAKER:
                self.shares_of_takes += _shares(fill)
                self.takes.add(fill.order)
            else:
                self.shares += _shares(fill)
                self.orders.add(fill.order)


class Report:
    def __init__(self) -> None:
        self.messages: Counter[str] = Counter()  # of the tape, by kind
        self.requests = self.elements = 0
        self.unknown: Counter[str] = Counter()  # messages about orders that are not on the tape
        self.skipped: Counter[str] = Counter()  # shares, by reason
        self.notes: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.lateness_us: Counter[int] = Counter()
        self.trades = 0  # sent, each of which is in one of these:
        self.same = 0
        self.different: list[Difference] = []
        self.ended = 0  # orders of the tape
        # Orders of the tape that other accounts executed (taken), and those whose executions went
        # to other accounts (passed), each less the other: what is known without the HTTP port.
        self.taken = self.taken_shares = 0
        self.passed = self.passed_shares = 0
        self.executed_shares = 0  # of all orders of the replay
        self.others: Others | None = None
        self.others_unknown = ""  # why

    def late(self, due: float, sent: float) -> None:
        self.lateness_us[rounded(int((sent - due) * 1e6))] += 1

    def order_ended(self, by_others: int) -> None:
        """Executed shares of an order of the tape, less those by orders of the tape."""
        self.ended += 1
        if by_others > 0:
            self.taken += 1
            self.taken_shares += by_others
        elif by_others < 0:
            self.passed += 1
            self.passed_shares -= by_others

    def traded(self, take: Take, executions: Counter[int]) -> None:
        """Compares what the tape has with the shares executed at each price."""
        if not take.order:  # those of an order of the tape are counted at its end
            self.executed_shares += executions.total()
        at_its_price = []
        for _, shares, price in take.wanted:
            at_its_price.append(min(shares, executions[price]))
            executions[price] -= at_its_price[-1]
        for (resting, shares, price), same in zip(take.wanted, at_its_price, strict=True):
            executed = same
            for other in executions:
                part = min(shares - executed, executions[other])
                executions[other] -= part
                executed += part
            for order in (resting, take.order):
                if order:
                    order.executed_by_tape += executed
            if same == shares:
                self.same += 1
                continue
            kind = "other price" if executed > same else "partial" if executed else "missing"
            if take.code:
                kind = "refused"
            self.different.append(Difference(kind, take, resting, shares, price, executed))

    def read_others(self, address: str, settings: Settings, markets: Iterable[Market]) -> None:
        """From the fills of the accounts of the replay. Raises ExchangeError; Unusable if the HTTP
        port does not list all executions, or lists too many."""
        if settings.accounts * self.trades > PASSED_MAX:
            raise Unusable(f"too many fills to read: {self.trades:,} trades")
        found = Others()
        for market in markets:
            lists = []
            for owner, account in market.accounts.items():
                port = HttpPort(address, None, TIMEOUT_S, account.id, settings.account_key)
                lists.append(zip(repeat(owner), port.account_fills(None, False)))
            found.add(heapq.merge(*lists, key=_execution))
        if found.seen < self.executed_shares:
            raise Unusable(f"{address} does not list all that was executed")
        self.others = found

    def lines(self, seconds: float, is_paced: bool, ended: str) -> list[str]:
        messages = self.messages.total()
        rate = f"{messages / seconds:,.0f} a second" if seconds else ""
        kinds = ", ".join(f"{count:,} {NAMES[kind]}" for kind, count in self.messages.most_common())
        found = [
            f"{ended}: {messages:,} messages in {seconds:.1f} s, {rate} ({kinds}), as"
            f" {self.elements:,} elements of {self.requests:,} requests"
        ]
        if is_paced and self.lateness_us:
            found.append(
                f"lateness: p50 {self.quantile(0.5)}, p99 {self.quantile(0.99)}, max"
                f" {self.quantile(1)}"
            )
        else:
            found.append("lateness: not measured, since messages were sent as fast as possible")
        different = defaultdict(list)
        for one in self.different:
            different[one.kind, one.reason].append(one)
        kinds = "".join(
            f", {count:,} {kind}"
            for kind, count in Counter(one.kind for one in self.different).most_common()
        )
        unanswered = self.trades - self.same - len(self.different)
        more = f", {unanswered:,} unanswered" if unanswered else ""
        found.append(f"trades: {self.trades:,} of the tape, {self.same:,} the same{kinds}{more}")
        for (kind, reason), those in different.items():
            found.append(f"  {len(those):,} {kind}: {reason}, such as")
            for one in those[:SHOWN_MAX]:
                found.append(
                    f"    {clock(one.take.time)} {one.take.symbol} {text(one.shares)} at "
                    f"{text(one.price)}: {text(one.executed)} executed"
                )
        found.append(f"other accounts: {self.of_others()}; {self.ended:,} orders ended")
        for why, shares in self.skipped.items():
            found.append(f"not played: trades {why}, {text(shares)} shares")
        for what, count in self.notes.items():
            found.append(f"{what}: {count:,}")
        for kind, count in self.unknown.items():
            found.append(f"not played: {count:,} {kind} of orders that are not on the tape")
        for (kind, code), count in self.refused.most_common():
            found.append(f"refused: {count:,} {kind}: {code}")
        return found

    def of_others(self) -> str:
        if self.others:
            return (
                f"executed {text(self.others.shares)} shares of {len(self.others.orders):,} orders"
                f" of the tape, and traded {text(self.others.shares_of_takes)} shares in"
                f" {len(self.others.takes):,} of its executions"
            )
        return (
            f"executed at least {text(self.taken_shares)} shares of {self.taken:,} orders of the"
            f" tape, and traded at least {text(self.passed_shares)} shares in {self.passed:,} of"
            f" its executions; exact figures need --http: {self.others_unknown}"
        )

    def quantile(self, part: float) -> str:
        wanted = part * self.lateness_us.total()
        seen = late = 0
        for late, count in sorted(self.lateness_us.items()):  # noqa: B007
            seen += count
            if seen >= wanted:
                break
        return f"{late / 1000:g} ms"


def _execution(fill: tuple[str, Fill]) -> int:
    return fill[1].execution


def _shares(fill: Fill) -> int:
    return units(format(fill.shares, "f"))


def rounded(number: int) -> int:
    """To three digits, so that a long run has few numbers."""
    scale = 1
    while number // scale >= 1000:
        scale *= 10
    return number // scale * scale


def clock(time: int) -> str:
    seconds, rest = divmod(time % DAY, SECOND)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{rest // 1000:06d}"
