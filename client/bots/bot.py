"""Quotes a bid and an ask around the last price: python bot.py ACCOUNT SYMBOL HOST:PORT"""

import asyncio
import json
import sys
import time
from decimal import Decimal

import websockets

ACCOUNT, SYMBOL, SERVER = sys.argv[1:]
LOGIN = {"account": ACCOUNT, "key": ""}  # of the account, if the server has --auth
SIZE, POSITION_MAX, DISTANCE = 10, 50, Decimal("0.10")


async def main():
    price = quoted = None  # the last price, and the one that the open orders are around
    position = cash = Decimal(0)  # bought and earned since the start
    open_refs = set()  # of the orders that are not known to have ended
    async with websockets.connect(f"ws://{SERVER}/ws") as socket:

        async def send(request):
            await socket.send(json.dumps(request))

        await send({"id": "login", "login": LOGIN})
        await send({"id": "cancel", "cancel_all": {"symbol": SYMBOL}})  # of an earlier run
        await send({"subscribe": LOGIN})
        async for text in socket:
            message = json.loads(text)
            if "error" in message and message.get("id") != "cancel":  # which may find nothing open
                sys.exit(message["error"])
            if message["type"] == "account":  # from here on, every event comes
                await send({"subscribe": SYMBOL})
            for event in message.get("events", []):
                if event["event"] == "executed" and event.get("ref") in open_refs:
                    shares = Decimal(event["shares"]) * (1 if event["side"] == "buy" else -1)
                    position += shares
                    cash -= shares * Decimal(event["price"])
                    profit = cash + position * Decimal(event["price"])
                    print(event["side"], event["shares"], "at", event["price"], end=": ")
                    print(f"position {position}, profit {profit:.2f}", flush=True)
                    quoted = None
                if event.get("open") == "0":
                    open_refs.discard(event.get("ref"))
            if "trades" in message:  # a snapshot has the newest first, an update last
                newest = max(message["trades"], key=lambda trade: trade["id"], default=None)
                price = Decimal(newest["price"]) if newest else price or Decimal(100)
            if open_refs and quoted != price:
                await send({"id": "cancel", "cancel_all": {"symbol": SYMBOL}})
            elif price and not open_refs:
                for side, sign in (("buy", 1), ("sell", -1)):
                    if sign * position + SIZE <= POSITION_MAX:
                        limit, ref = str(price - sign * DISTANCE), f"{side}-{time.time_ns()}"
                        order = {"symbol": SYMBOL, "side": side, "shares": SIZE, "limit": limit}
                        order |= {"ref": ref, "cancel_on_disconnect": True}
                        await send({"id": ref, "place": order})
                        open_refs.add(ref)
            quoted = price


try:
    asyncio.run(main())
except (KeyboardInterrupt, OSError, websockets.WebSocketException) as end:
    sys.exit(f"ended: {end!r}")
