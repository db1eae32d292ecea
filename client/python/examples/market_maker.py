"""Quotes a buy and a sell round the middle of the market, and moves them with it. It earns the spread, and bears the risk."""

import argparse
import asyncio
from decimal import Decimal

from exchange_client import AsyncExchange, Order, Refused

TICK = Decimal("0.01")


async def cancel(exchange: AsyncExchange, order: Order | None) -> Decimal:
    """Ends an order; the shares that were executed."""
    if order is None:
        return Decimal(0)
    try:
        return (await exchange.cancel(order)).executed
    except Refused:  # nothing was open: it was executed
        return (await exchange.query(order)).executed


def opened(result: Order | BaseException) -> Order | None:
    """None if it was refused: the other side goes on."""
    if isinstance(result, Refused):
        print("refused:", result, flush=True)
        return None
    if isinstance(result, BaseException):
        raise result
    return result


async def quote(exchange: AsyncExchange, symbol: str, shares: int, spread: Decimal) -> None:
    bought = sold = Decimal(0)
    buy: Order | None = None
    sell: Order | None = None
    async for market in exchange.market_data(symbol):
        if not market.trades and (buy or sell):
            continue  # only its own quotes moved
        if market.bid and market.ask:
            middle = (market.bid.price + market.ask.price) / 2
        elif market.trades:
            middle = market.trades[-1].price
        else:
            continue
        executed = await asyncio.gather(cancel(exchange, buy), cancel(exchange, sell))
        bought, sold = bought + executed[0], sold + executed[1]
        middle -= (bought - sold) / shares * TICK  # to come back to where it started
        bid = ((middle * (1 - spread / 2)) / TICK).to_integral_value() * TICK
        ask = max(((middle * (1 + spread / 2)) / TICK).to_integral_value() * TICK, bid + TICK)
        quotes = await asyncio.gather(
            exchange.buy(symbol, shares, bid),
            exchange.sell(symbol, shares, ask),
            return_exceptions=True,
        )
        buy, sell = map(opened, quotes)
        print(f"bid {bid}  ask {ask}  bought {bought}  sold {sold}", flush=True)


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
        options.connect, options.account, http=options.http, cancel_on_disconnect=True
    ) as exchange:
        try:
            await exchange.create_account(options.account, 1_000_000)
            await exchange.create_symbol(options.symbol, {options.account: 1_000})
        except Refused as error:
            print(error)
        await quote(exchange, options.symbol, options.shares, options.spread)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
