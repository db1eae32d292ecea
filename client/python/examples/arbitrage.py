"""Trades two symbols whose prices should keep their ratio: sells the one that has become dear, and
buys the one that has become cheap."""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from decimal import Decimal

from exchange_client import AccountEvent, AccountSnapshot, AsyncExchange, MarketUpdate, Refused


class Fills:
    """What was executed of each order, from the events of the account."""

    def __init__(self) -> None:
        self.executed: defaultdict[int, Decimal] = defaultdict(Decimal)  # shares, by order
        self.closed: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)

    async def follow(self, events: AsyncIterator[AccountSnapshot | AccountEvent]) -> None:
        async for event in events:
            if isinstance(event, AccountEvent) and event.order is not None:
                self.executed[event.order] += event.shares if event.kind == "executed" else 0
                if not event.open:
                    self.closed[event.order].set()

    async def of(self, order: int) -> Decimal:
        """Once nothing of it is open."""
        await self.closed[order].wait()
        del self.closed[order]
        return self.executed.pop(order)


async def fill(exchange: AsyncExchange, fills: Fills, symbol: str, amount: int, at: Decimal) -> str:
    trade = exchange.buy if amount > 0 else exchange.sell
    try:
        order = await trade(symbol, abs(amount), at, tif="ioc")  # what is there at once
    except Refused as error:
        return f"{symbol}: {error}"
    return f"{'bought' if amount > 0 else 'sold'} {await fills.of(order.id)} {symbol}"


async def watch(
    exchange: AsyncExchange, fills: Fills, symbols: tuple[str, str], shares: int, edge: Decimal
) -> None:
    books: dict[str, MarketUpdate] = {}
    usual: Decimal | None = None  # ratio, a slow average
    async for market in exchange.market_data(*symbols):
        books[market.symbol] = market
        first, second = (books.get(symbol) for symbol in symbols)
        if not (first and first.bid and first.ask and second and second.bid and second.ask):
            continue
        ratio = (first.bid.price + first.ask.price) / (second.bid.price + second.ask.price)
        usual = ratio if usual is None else usual + (ratio - usual) / 50
        if first.bid.price / second.ask.price > usual * (1 + edge):
            orders = (-shares, first.bid.price), (shares, second.ask.price)
        elif first.ask.price / second.bid.price < usual * (1 - edge):
            orders = (shares, first.ask.price), (-shares, second.bid.price)
        else:
            continue
        done = await asyncio.gather(
            *(
                fill(exchange, fills, symbol, *order)
                for symbol, order in zip(symbols, orders, strict=True)
            )
        )
        print(f"ratio {ratio:.5f}, usually {usual:.5f}: {', '.join(done)}", flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("symbols", nargs=2)
    parser.add_argument("--connect", default="127.0.0.1:12345", help="(default: %(default)s)")
    parser.add_argument("--http", default="127.0.0.1:8080", help="(default: %(default)s)")
    parser.add_argument("--account", default="9003", help="created with cash and shares if needed")
    parser.add_argument("--shares", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--edge", type=Decimal, default=Decimal("0.001"), help="above the spreads")
    options = parser.parse_args()
    # Ctrl-C, or whatever else ends the connection, cancels what is open.
    async with AsyncExchange(
        options.connect, options.account, http=options.http, cancel_on_disconnect=True, retry=60
    ) as exchange:
        try:
            await exchange.create_account(options.account, 1_000_000)
            for symbol in options.symbols:
                await exchange.create_symbol(symbol, {options.account: 1_000})
        except Refused as error:
            print(error)
        events, fills = exchange.events(), Fills()
        await anext(events)  # the snapshot
        await asyncio.gather(
            fills.follow(events),
            watch(exchange, fills, tuple(options.symbols), options.shares, options.edge),
        )


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
