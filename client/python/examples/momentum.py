"""Buys when the price has risen above its average, and sells when it has fallen below."""

import argparse
import asyncio
from collections import deque
from collections.abc import AsyncIterator
from decimal import Decimal

from exchange_client import AccountEvent, AccountSnapshot, AsyncExchange, Order, Refused

Events = AsyncIterator[AccountSnapshot | AccountEvent]


async def executions(events: Events, order: Order) -> list[AccountEvent]:
    """Those of an order; returns once nothing of it is open."""
    found: list[AccountEvent] = []
    async for event in events:
        if isinstance(event, AccountEvent) and event.order == order.id:
            if event.kind == "executed":
                found.append(event)
            if not event.open:
                break
    return found


async def follow(exchange: AsyncExchange, symbol: str, shares: int, window: int) -> None:
    prices: deque[Decimal] = deque(maxlen=window)
    held = Decimal(0)
    events = exchange.events()
    await anext(events)  # the snapshot: what the account had before is not for this bot to sell
    async for market in exchange.market_data(symbol):
        if market.is_snapshot:
            prices.clear()  # after a lost connection, its trades are not all new
        prices.extend(trade.price for trade in market.trades)
        if len(prices) < window or not market.bid or not market.ask:
            continue
        average = sum(prices, Decimal(0)) / len(prices)
        try:
            if prices[-1] > average and held < shares:
                order = await exchange.buy(symbol, shares - held, market.ask.price, tif="ioc")
            elif prices[-1] < average and held:
                order = await exchange.sell(symbol, held, market.bid.price, tif="ioc")
            else:
                continue
        except Refused as error:
            print("refused:", error, flush=True)
            continue
        done = await executions(events, order)  # none if the order came too late
        executed = sum((one.shares for one in done), Decimal(0))
        held += executed if order.amount > 0 else -executed
        cash = sum((one.shares * (one.price or 0) for one in done), Decimal(0))
        print(
            f"{'bought' if order.amount > 0 else 'sold'} {executed} for {cash}"
            f"  (last {prices[-1]}, average {average:.4f})",
            flush=True,
        )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("symbol")
    parser.add_argument("--connect", default="127.0.0.1:12345", help="(default: %(default)s)")
    parser.add_argument("--http", default="127.0.0.1:8080", help="(default: %(default)s)")
    parser.add_argument("--account", default="9002", help="created with cash if needed")
    parser.add_argument("--shares", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--window", type=int, default=20, help="trades in the average")
    options = parser.parse_args()
    # Ctrl-C, or whatever else ends the connection, cancels what is open.
    async with AsyncExchange(
        options.connect, options.account, http=options.http, cancel_on_disconnect=True, retry=60
    ) as exchange:
        try:
            await exchange.create_account(options.account, 1_000_000)
        except Refused as error:
            print(error)
        await follow(exchange, options.symbol, options.shares, options.window)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
