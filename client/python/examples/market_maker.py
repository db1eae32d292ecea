"""Quotes a bid and an ask around the last price, and moves them with it. It earns the spread, and
bears the risk."""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from exchange_client import AccountEvent, AccountSnapshot, AsyncExchange, InDoubt, Refused

TICK, BUY, SELL = Decimal("0.01"), 1, -1


class MarketMaker:
    def __init__(self, exchange: AsyncExchange, options: argparse.Namespace) -> None:
        self.exchange, self.options, self.symbol = exchange, options, options.symbol
        self.price, self.quoted = options.price, Decimal(
            0
        )  # the last, and that of the orders; or 0
        self.position = self.cash = Decimal(0)  # bought and earned since the start
        self.refs: dict[int, str] = {}  # of each side's order, until it is known to have ended
        self.limits: dict[int, Decimal] = {}
        self.is_new = True  # the connection: orders from before it may be open
        self.changed = asyncio.Event()

    async def follow_account(self, events: AsyncIterator[AccountSnapshot | AccountEvent]) -> None:
        async for event in events:  # each comes once, also if the server is started again
            if isinstance(event, AccountSnapshot) or event.symbol != self.symbol or not event.side:
                continue
            sign = BUY if event.side == "buy" else SELL
            if event.price is not None:  # of an execution
                self.position += sign * event.shares
                self.cash -= sign * event.shares * event.price
                profit = self.cash + self.position * event.price
                print(f"{event.side} {event.shares} at {event.price}: ", end="")
                print(f"position {self.position}, profit {profit:.2f}", flush=True)
            if event.ref and event.ref == self.refs.get(sign) and not event.open:
                del self.refs[sign]
            if self.price:
                self.changed.set()

    async def follow_market(self) -> None:
        async for market in self.exchange.market_data(self.symbol):
            if market.trades:
                self.price = market.trades[-1].price
            elif not self.price and market.bid and market.ask:  # before the first trade
                self.price = (market.bid.price + market.ask.price) / 2
            self.is_new |= market.is_snapshot
            if self.price:
                self.changed.set()

    async def keep_quoting(self) -> None:
        while await self.changed.wait():
            self.changed.clear()
            try:
                if self.is_new:
                    self.is_new = False
                    await self.exchange.cancel_all(self.symbol)
                    self.refs.clear()
                price = self.price
                # If the price falls, the bid moves first, so that it never meets the ask.
                for sign in (BUY, SELL) if price < self.quoted else (SELL, BUY):
                    await self.quote(sign, price)
                self.quoted = price
            except InDoubt:  # the connection was lost: the next attempt waits for the server
                self.is_new = True
                self.changed.set()

    async def quote(self, sign: int, price: Decimal) -> None:
        shares, ref = self.options.shares, self.refs.get(sign)
        limit = price * (1 - sign * self.options.spread / 2)
        limit = limit.quantize(TICK, ROUND_FLOOR if sign == BUY else ROUND_CEILING)
        try:
            if ref is None and sign * self.position + shares <= self.options.position_max:
                place = self.exchange.buy if sign == BUY else self.exchange.sell
                self.refs[sign] = f"{sign}:{time.time_ns()}"
                await place(self.symbol, shares, limit, ref=self.refs[sign])
            elif ref is not None and limit != self.limits[sign]:
                await self.exchange.replace(
                    None, shares, limit, ref=ref, side="buy" if sign == BUY else "sell"
                )
            self.limits[sign] = limit
        except Refused as refusal:
            if ref is None:
                del self.refs[sign]
            if refusal.code != "nothing_open":  # its last share was just executed
                print("refused:", refusal, flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("symbol")
    parser.add_argument("--connect", default="127.0.0.1:12345", help="(default: %(default)s)")
    parser.add_argument("--http", default="127.0.0.1:8080", help="(default: %(default)s)")
    parser.add_argument("--account", default="9001", help="created with cash and shares if needed")
    parser.add_argument("--shares", type=int, default=10, help="of a quote (default: %(default)s)")
    parser.add_argument("--spread", type=Decimal, default=Decimal("0.004"), help="of the price")
    parser.add_argument("--price", type=Decimal, default=0, help="until there is one in the market")
    parser.add_argument("--position-max", type=int, default=50, help="shares bought or sold")
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
        bot, events = MarketMaker(exchange, options), exchange.events()
        await anext(events)  # the snapshot: what was executed before does not count
        await asyncio.gather(bot.follow_account(events), bot.follow_market(), bot.keep_quoting())


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
