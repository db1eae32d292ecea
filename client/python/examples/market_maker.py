"""Quotes a buy and a sell round the middle of the market, and moves them with it. It earns the spread, and bears the risk."""

import argparse
import asyncio
from collections.abc import AsyncIterator, Awaitable
from decimal import Decimal

from exchange_client import AccountEvent, AccountSnapshot, AsyncExchange, InDoubt, Order, Refused

TICK = Decimal("0.01")


class Executed:
    """What was bought and sold, from the events of the account: each comes once, also if the server is started again."""

    bought = sold = Decimal(0)

    async def follow(self, events: AsyncIterator[AccountSnapshot | AccountEvent]) -> None:
        async for event in events:
            if isinstance(event, AccountEvent) and event.kind == "executed":
                if event.side == "buy":
                    self.bought += event.shares
                else:
                    self.sold += event.shares


async def cancel_all(exchange: AsyncExchange, symbol: str) -> None:
    while True:
        try:
            await exchange.cancel_all(symbol)
            return
        except InDoubt:  # the connection was lost: the next attempt waits for the server
            pass


async def place(order: Awaitable[Order]) -> None:
    try:
        await order
    except Refused as error:  # the other side goes on
        print("refused:", error, flush=True)


async def quote(
    exchange: AsyncExchange, symbol: str, shares: int, spread: Decimal, executed: Executed
) -> None:
    quoted = False
    async for market in exchange.market_data(symbol):
        if quoted and not market.trades and not market.is_snapshot:
            continue  # only its own quotes moved
        if market.bid and market.ask:
            middle = (market.bid.price + market.ask.price) / 2
        elif market.trades:
            middle = market.trades[-1].price
        else:
            continue
        await cancel_all(exchange, symbol)
        middle -= (executed.bought - executed.sold) / shares * TICK  # back to where it started
        bid = ((middle * (1 - spread / 2)) / TICK).to_integral_value() * TICK
        ask = max(((middle * (1 + spread / 2)) / TICK).to_integral_value() * TICK, bid + TICK)
        await asyncio.gather(
            place(exchange.buy(symbol, shares, bid)), place(exchange.sell(symbol, shares, ask))
        )
        quoted = True
        print(f"bid {bid}  ask {ask}  bought {executed.bought}  sold {executed.sold}", flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("symbol")
    parser.add_argument("--connect", default="127.0.0.1:12345", help="(default: %(default)s)")
    parser.add_argument("--http", default="127.0.0.1:8080", help="(default: %(default)s)")
    parser.add_argument("--account", default="9001", help="created with cash and shares if needed")
    parser.add_argument(
        "--shares", type=int, default=10, help="of each quote (default: %(default)s)"
    )
    parser.add_argument("--spread", type=Decimal, default=Decimal("0.004"), help="of the price")
    options = parser.parse_args()
    # Ctrl-C, or whatever else ends the connection, cancels what is open.
    async with AsyncExchange(
        options.connect, options.account, http=options.http, cancel_on_disconnect=True, retry=60
    ) as exchange:
        try:
            await exchange.create_account(options.account, 1_000_000)
            await exchange.create_symbol(options.symbol, {options.account: 1_000})
        except Refused as error:
            print(error)
        events, executed = exchange.events(), Executed()
        await anext(events)  # the snapshot: what was executed before does not count
        await asyncio.gather(
            executed.follow(events),
            quote(exchange, options.symbol, options.shares, options.spread, executed),
        )


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
