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
    price = quoted = Decimal(0)  # the last price, and the one that the orders are around
    position = cash = Decimal(0)  # bought and earned since the start
    refs, limits = {}, {}  # of each side's order, until it is known to have ended
    async with websockets.connect(f"ws://{SERVER}/ws") as socket:

        async def send(request):
            await socket.send(json.dumps(request))

        await send({"id": "login", "login": LOGIN})
        await send({"id": "try", "cancel_all": {"symbol": SYMBOL}})  # of an earlier run
        await send({"subscribe": LOGIN})
        async for text in socket:
            message = json.loads(text)
            if "error" in message and message.get("id") != "try":  # which may find nothing open
                sys.exit(message["error"])
            if message["type"] == "account":  # from here on, every event comes
                await send({"subscribe": SYMBOL})
            for event in message.get("events", []):
                if event.get("ref") not in refs.values():
                    continue
                if event["event"] == "executed":
                    shares = Decimal(event["shares"]) * (1 if event["side"] == "buy" else -1)
                    position += shares
                    cash -= shares * Decimal(event["price"])
                    profit = cash + position * Decimal(event["price"])
                    print(event["side"], event["shares"], "at", event["price"], end=": ")
                    print(f"position {position}, profit {profit:.2f}", flush=True)
                if event["open"] == "0":
                    del refs[event["side"]]
            if "trades" in message:  # a snapshot has the newest first, an update last
                newest = max(message["trades"], key=lambda trade: trade["id"], default=None)
                price = Decimal(newest["price"]) if newest else price or Decimal(100)
            if not price:
                continue
            # If the price falls, the bid moves first, so that it never meets the ask.
            sides = (("buy", 1), ("sell", -1))
            for side, sign in sides if price < quoted else sides[::-1]:
                terms = {"side": side, "shares": SIZE, "limit": str(price - sign * DISTANCE)}
                if side not in refs and sign * position + SIZE <= POSITION_MAX:
                    refs[side] = f"{side}-{time.time_ns()}"
                    order = {"symbol": SYMBOL, "ref": refs[side], "cancel_on_disconnect": True}
                    await send({"id": refs[side], "place": order | terms})
                elif side in refs and limits[side] != terms["limit"]:
                    await send({"id": "try", "replace": {"order": f"ref:{refs[side]}"} | terms})
                limits[side] = terms["limit"]
            quoted = price


try:
    asyncio.run(main())
except (KeyboardInterrupt, OSError, websockets.WebSocketException) as end:
    sys.exit(f"ended: {end!r}")
