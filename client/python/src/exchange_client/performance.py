"""What an account earned by trading, from its fills. Cash and shares that it was given, or had
before, do not count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

from .protocol import EXACT

if TYPE_CHECKING:
    from .http_port import Fill


@dataclass(frozen=True)
class Performance:
    """After a fill, with all fills before it."""

    time: datetime
    symbol: str
    position: Decimal  # shares of the symbol that were bought, less those that were sold
    cash: Decimal  # received less paid, in all symbols
    profit: Decimal  # cash, and what was bought at the price of the newest fill of its symbol


def performance(fills: Iterable[Fill]) -> list[Performance]:
    """One for each fill. fills: oldest first."""
    found = []
    positions: dict[str, Decimal] = {}
    values: dict[str, Decimal] = {}  # of the positions
    cash = Decimal(0)
    with localcontext(EXACT):
        for fill in fills:
            shares = fill.shares if fill.side == "buy" else -fill.shares
            cash -= shares * fill.price
            position = positions[fill.symbol] = positions.get(fill.symbol, Decimal(0)) + shares
            values[fill.symbol] = position * fill.price
            profit = cash + sum(values.values())
            found.append(Performance(fill.time, fill.symbol, position, cash, profit))
    return found
