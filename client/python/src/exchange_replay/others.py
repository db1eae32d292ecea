"""What other accounts traded with a replay, from the fills of its accounts.

A reply does not contain the other side of an execution: if a bot took ten shares of an order, and
an execution of ten shares on the tape went to an order of the bot, the order looks untouched. The
HTTP port lists each execution with its number: if the accounts of the replay have it twice, it is
between them, else it is with another account.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import groupby, repeat

from exchange_client.http_port import Fill, HttpPort

from .mapping import TAKER, Account, Market, Settings, Unusable
from .tape import units

# Executions. The read of one account passes those of all accounts, some 3 million in a second.
PASSED_MAX = 3 * 10**8
TIMEOUT_S = 10


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


def _execution(fill: tuple[str, Fill]) -> int:
    return fill[1].execution


def _shares(fill: Fill) -> int:
    return units(format(fill.shares, "f"))


def read(address: str, settings: Settings, markets: Iterable[Market]) -> Others:
    """Raises ExchangeError; Unusable if the HTTP port does not list all executions, or lists too
    many."""
    if settings.accounts * settings.report.trades > PASSED_MAX:
        raise Unusable(f"too many fills to read: {settings.report.trades:,} trades")
    found = Others()
    for market in markets:
        lists = [
            zip(repeat(owner), _port(address, one, settings).account_fills(None, False))
            for owner, one in market.accounts.items()
        ]
        found.add(heapq.merge(*lists, key=_execution))
    if found.seen < settings.report.executed_shares:
        raise Unusable(f"{address} does not list all that was executed")
    return found


def _port(address: str, account: Account, settings: Settings) -> HttpPort:
    return HttpPort(address, None, TIMEOUT_S, account.id, settings.account_key)
