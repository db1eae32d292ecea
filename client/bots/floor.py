"""The floor on which bots trade, over the HTTP port: each with its account, key and connection.

The floor asks the exchange instead of remembering: at each turn a bot sees its account and the
market, so it goes on after a lost reply, a restart, a failover or a new day. Threads only wait for
replies: each turn is one bot's own.
"""

from __future__ import annotations

import random
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from heapq import heappop, heappush
from typing import Any

from exchange_client import protocol
from exchange_client.errors import ConnectionFailed, ExchangeError, InDoubt, Refused
from exchange_client.http_port import basic
from exchange_client.servers import addresses

from .characters import CHARACTERS, Cancel, FairValue, Instrument, Market, Own, Place, Sight
from .connection import Http

REPLY_TIMEOUT_S = 10
MARKET_AGE_MAX_S = 0.2  # then the market is read again
RETRY_PAUSE_S = 1  # after no server could be reached
REST_MAX_S = 60  # of a bot after one error behind another
STOP_CHECK_S = 0.05
REPORT_INTERVAL_S = 300  # of refusals
THREADS_MAX = 8  # the exchange takes some milliseconds to show an account
SAME_REPORT_S = 60  # a problem that lasts is reported again after this time


@dataclass
class Bot:
    account: str
    key: str
    name: str
    character: str
    instrument: Instrument
    shares: float = 10  # of an order
    shares_at_start: float = 0
    pause_s: float = 2  # between two turns


class Seat:
    """A bot, its connection, and what it did."""

    def __init__(self, bot: Bot, http: Http, seed: int) -> None:
        self.bot, self.http = bot, http
        kind = CHARACTERS[bot.character]
        self.character = kind(bot.instrument, bot.shares, bot.shares_at_start, seed)
        self.requests = self.commands = self.refused = 0
        self.refusal = ""  # the last one
        self.rest_s = 0.0
        self.held: float | None = None  # shares, when it last looked
        self.traded = 0.0  # shares, as far as it saw
        self.open = 0  # orders
        self.created = 0  # accounts

    def sit(self, account: str, key: str) -> None:
        self.bot.account, self.bot.key, self.held = account, key, None
        self.http.authorization = basic(account, key)


class Floor:
    def __init__(
        self,
        bots: Sequence[Bot],
        http: str,
        *,
        tls: ssl.SSLContext | None = None,
        seed: int | None = None,
        log: Callable[[str], None] = print,
    ) -> None:
        """http: "HOST:PORT", or several with commas, of which one is active."""
        self._servers, self._log = deque(addresses(http)), log
        draw = random.Random(seed)
        self.seats = [
            Seat(bot, self._http(tls, basic(bot.account, bot.key)), draw.getrandbits(64))
            for bot in bots
        ]
        self._connection = self._http(tls)
        self._values = {
            bot.instrument.symbol: FairValue(bot.instrument.price, draw.getrandbits(64))
            for bot in bots
        }
        self._begun = time.monotonic()
        self._market: dict[str, Market] = {}
        self._market_due = self._time_s = 0.0
        shortest = min((bot.pause_s for bot in bots), default=1)
        self._market_age_max_s = min(MARKET_AGE_MAX_S, shortest)
        self._reported: dict[str, float] = {}
        self._stopped: Callable[[], bool] = lambda: False
        self.lost = 0  # replies
        self._is_unreachable = False  # at the end

    def _http(self, tls: ssl.SSLContext | None, authorization: str | None = None) -> Http:
        return Http(self._servers, tls, REPLY_TIMEOUT_S, authorization)

    def run(self, stopped: Callable[[], bool], report_refusals: bool = True) -> None:
        """Trades until stopped(), then cancels all orders of the bots, if the exchange answers."""
        self._stopped = stopped
        due = [
            (self._begun + seat.bot.pause_s * nth / len(self.seats), nth)
            for nth, seat in enumerate(self.seats)
        ]
        report_due = self._begun + REPORT_INTERVAL_S
        with ThreadPoolExecutor(THREADS_MAX) as self._pool:
            while due and not stopped():
                self._wait(due[0][0])
                now = time.monotonic()
                batch = []
                while due and due[0][0] <= now:
                    batch.append(heappop(due))
                self._serve([self.seats[nth] for _, nth in batch])
                for at, nth in batch:  # a turn that is missed is left out
                    seat = self.seats[nth]
                    heappush(due, (max(at + seat.bot.pause_s, now) + seat.rest_s, nth))
                if report_refusals and now >= report_due:
                    report_due = now + REPORT_INTERVAL_S
                    self._report_refusals()
            list(self._pool.map(self._end, self.seats))
        if report_refusals:
            self._report_refusals()

    # --- turns ---

    def _serve(self, seats: list[Seat]) -> None:
        """Their turns, at the same time. A problem ends these turns alone."""
        if self._stopped():
            return
        try:
            self._read_market()
            lost = [problem for problem in self._pool.map(self._serve_one, seats) if problem]
        except Exception as error:  # also of a reply that is not understood
            lost = [error]
        if lost:
            self.lost += sum(isinstance(error, InDoubt) for error in lost)
            self._market_due = 0
            self._servers.rotate(-1)
            for one in (self._connection, *(seat.http for seat in self.seats)):
                one.close()
            self._report(_text(lost[0]), "; trying again")
            self._wait(time.monotonic() + RETRY_PAUSE_S)

    def _serve_one(self, seat: Seat) -> Exception | None:
        """Returns a problem that concerns all bots. Runs in a thread of the pool."""
        try:
            self._turn(seat)
            seat.rest_s = 0
        except (ConnectionFailed, InDoubt) as error:
            return error
        except Exception as error:  # of this bot alone: its key, or a reply that is not understood
            seat.http.close()
            seat.rest_s = min(2 * seat.rest_s or 1, REST_MAX_S)
            more = f"; trying again in {seat.rest_s:.0f} s"
            self._report(_text(error), more, f"{seat.bot.name}: ")
        return None

    def _turn(self, seat: Seat) -> None:
        market = self._market.get(seat.bot.instrument.symbol)
        if market and market.trading == "halted":
            return
        try:
            account = seat.http.json(f"/api/accounts/{seat.bot.account}")
        except Refused as error:
            if error.code not in ("not_found", "unknown_account"):
                raise
            return self.account_missing(seat, error)
        if self.may_trade(seat, account) and market:
            self.trade(seat, self._sight(seat, market, account))

    def account_missing(self, seat: Seat, error: Refused) -> None:
        """There is no such account, or its key is another."""
        raise Refused(f"account {seat.bot.account}: {error}", error.code)

    def may_trade(self, seat: Seat, account: Any) -> bool:
        """Whether the account, as the HTTP port shows it, has all that its bot needs."""
        return True

    def trade(self, seat: Seat, sight: Sight) -> None:
        """Carries out what the character wants to do."""
        if commands := seat.character.turn(sight):
            self._send(seat, [_operation(seat.bot, one) for one in commands])

    def _sight(self, seat: Seat, market: Market, account: Any) -> Sight:
        symbol = seat.bot.instrument.symbol
        sight = Sight(self._time_s, self._values[symbol].value, market)
        sight.cash, sight.cash_in_orders = float(account["balance"]), float(account["reserved"])
        for one in account["positions"]:
            if one["symbol"] == symbol:
                sight.shares, sight.shares_in_orders = float(one["shares"]), float(one["reserved"])
        sight.orders = [
            Own(int(one["order"]), one["side"], Decimal(one["limit"] or 0))
            for one in account["orders"]
        ]
        held = sight.shares + sight.shares_in_orders
        seat.traded += 0 if seat.held is None else abs(held - seat.held)
        seat.held, seat.open = held, len(sight.orders)
        return sight

    def _read_market(self) -> None:
        now = time.monotonic()
        self._time_s = now - self._begun
        for value in self._values.values():
            value.at(self._time_s)
        if now >= self._market_due:
            self._market = {
                row["symbol"]: _market(row)
                for page in self._connection.pages("/api/symbols", "next", "after")
                for row in page["symbols"]
            }
            self._market_due = now + self._market_age_max_s

    def _send(self, seat: Seat, operations: list[protocol.Operation[Any]]) -> list[Any]:
        """One request; the errors in it are counted. Returns the outcomes."""
        seat.requests += 1
        _, reply = seat.http.ask("/api/xml", protocol.document(operations))
        found = protocol.outcomes(operations, reply)
        for outcome in found:
            seat.commands += 1
            if isinstance(outcome, ExchangeError):
                seat.refused += 1
                seat.refusal = str(outcome)
        return found

    def cancel_all(self, seat: Seat) -> None:
        root = protocol.transactions_root(seat.bot.account, seat.bot.key)
        while True:  # a request cancels 1,000 at most
            (canceled,) = self._send(seat, [protocol.cancel_all(root, None)])
            if isinstance(canceled, ExchangeError):
                raise canceled
            if not canceled:
                seat.open = 0
                return

    # --- the end, and what is logged ---

    def _end(self, seat: Seat) -> None:
        if seat.held is None or self._is_unreachable:  # it may have no account
            return
        try:
            self.cancel_all(seat)
        except Exception as error:
            self._is_unreachable |= isinstance(error, (ConnectionFailed, InDoubt))
            self._report(_text(error), "; orders of the bots may be open")

    def _wait(self, until: float) -> None:
        while (left := until - time.monotonic()) > 0 and not self._stopped():
            time.sleep(min(left, STOP_CHECK_S))

    def _report(self, problem: str, more: str, bot: str = "") -> None:
        now = time.monotonic()
        if now - self._reported.get(problem, -SAME_REPORT_S) < SAME_REPORT_S:
            return
        if len(self._reported) > 1_000:
            self._reported.clear()
        self._reported[problem] = now
        self._write(bot + problem + more)

    def _write(self, line: str) -> None:
        with suppress(OSError):  # a full disk does not end the bots
            self._log(line)

    def _report_refusals(self) -> None:
        for seat in self.seats:
            last = f", the last: {seat.refusal}" if seat.refused else ""
            self._write(f"{seat.bot.name}: {seat.commands} sent, {seat.refused} refused{last}")


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, ExchangeError) else repr(error)


def _operation(bot: Bot, command: Place | Cancel) -> protocol.Operation[Any]:
    root = protocol.transactions_root(bot.account, bot.key)
    if isinstance(command, Cancel):
        return protocol.cancel(root, command.order, None)
    amount = command.shares if command.side == "buy" else -command.shares
    tif = "ioc" if command.immediate else None
    return protocol.order(root, bot.instrument.symbol, amount, command.limit, None, tif=tif)


def _market(row: Any) -> Market:
    bid, ask, last = (row.get(name) and float(row[name]) for name in ("bid", "ask", "last"))
    return Market(bid, ask, last, row.get("trading", "open"))
