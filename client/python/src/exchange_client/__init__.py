"""Trades on the exchange: Exchange waits for each reply, AsyncExchange is for asyncio.

    with Exchange("127.0.0.1:12345", account=1) as exchange:
        order = exchange.buy("SPY", 10, "99.5")
        print(exchange.query(order).executions)
"""

from ._described import AccountSettings, Rules, Terms
from .asynchronous import AsyncExchange
from .errors import BadReply, ConnectionFailed, ExchangeError, InDoubt, Refused
from .events import AccountEvent, AccountSnapshot, account_events
from .http_port import (
    Account,
    Fill,
    Leaderboard,
    OpenOrder,
    Performance,
    Position,
    Round,
    Standing,
    performance,
)
from .market import Book, Level, MarketUpdate, Trade, market_data
from .protocol import MARKET, Auction, Execution, Market, Order, Status
from .sync import Connection, Exchange, Pending, Pipeline

__all__ = [
    "MARKET",
    "Account",
    "AccountEvent",
    "AccountSettings",
    "AccountSnapshot",
    "AsyncExchange",
    "Auction",
    "BadReply",
    "Book",
    "Connection",
    "ConnectionFailed",
    "Exchange",
    "ExchangeError",
    "Execution",
    "Fill",
    "InDoubt",
    "Leaderboard",
    "Level",
    "Market",
    "MarketUpdate",
    "OpenOrder",
    "Order",
    "Pending",
    "Performance",
    "Pipeline",
    "Position",
    "Refused",
    "Round",
    "Rules",
    "Standing",
    "Status",
    "Terms",
    "Trade",
    "account_events",
    "market_data",
    "performance",
]
