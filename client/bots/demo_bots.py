"""The program demo-bots: bots that keep a few symbols of an exchange trading.

For each symbol a maker quotes, two bots trade at random, and one knows what a share is worth, which
brings the price back. They can trade for days: bots hold few orders, and one that has lost half of
what it had goes on as a new account.
"""

from __future__ import annotations

import argparse
import math
import re
import secrets
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from itertools import count
from typing import Any

from exchange_client import protocol
from exchange_client.errors import ExchangeError, Refused
from exchange_client.protocol import decimal

from .characters import UNIT, Instrument, Sight
from .command_line import (
    DURATION,
    HTTP_PORT,
    SERVERS,
    VERSION,
    XML_PORT,
    Parser,
    checked,
    http_of,
    number,
    read_key,
    run,
    stop_on_signals,
    variable,
)
from .floor import Bot, Floor, Seat

OF_EACH_SYMBOL = ("maker", "informed", "noise", "noise")
SHARES_GRANTED = 10_000  # to each account, and their worth in cash
PRICE_MIN, PRICE_MAX = Decimal("0.0001"), Decimal(10**9)
NAME_BYTES_MAX = 40


class DemoFloor(Floor):
    """Creates the accounts of its bots, also where a restarted exchange has an empty store."""

    def __init__(
        self,
        symbols: dict[str, Decimal],
        prefix: str,
        rate: float,
        http: str,
        operator_key: str | None,
        seed: int,
        log: Callable[[str], None],
    ) -> None:
        self._prefix, self._numbers, self._operator_key = prefix, count(), operator_key
        bots = []
        for symbol, price in symbols.items():
            instrument = Instrument(symbol, float(price), _tick(price))
            for character in OF_EACH_SYMBOL:
                account, key = self._next_account()
                name = f"{symbol} {character}"
                bots.append(
                    Bot(account, key, name, character, instrument, shares_at_start=SHARES_GRANTED)
                )
        for bot in bots:
            bot.pause_s = len(bots) / rate
        super().__init__(bots, http, seed=seed, log=log)
        # May have an account without shares: a reply was lost, or a run was killed.
        self._unchecked = set(self.seats)

    def _next_account(self) -> tuple[str, str]:
        account = f"{self._prefix}{next(self._numbers):06}"
        return account, secrets.token_hex(24)  # only a server with --auth looks at keys

    def account_missing(self, seat: Seat, error: Refused) -> None:
        seat.held = None  # the exchange may have lost its store
        self._unchecked.add(seat)
        while not self._create(seat):
            seat.sit(*self._next_account())
        seat.created += 1
        self._grant(seat)

    def _create(self, seat: Seat) -> bool:
        """Returns False if another run has the account."""
        root, bot = protocol.create_root(self._operator_key), seat.bot
        account = {"account": bot.account, "key": bot.key}
        balance = SHARES_GRANTED * Decimal(str(bot.instrument.price))
        create = protocol.change(root, "create_account", balance=balance, **account)
        (outcome,) = self._send(seat, [create])
        if isinstance(outcome, ExchangeError) and outcome.code != "account_exists":
            raise outcome
        return outcome is None

    def _grant(self, seat: Seat) -> None:
        """Gives shares and a name to an account that is of this run."""
        root, bot = protocol.create_root(self._operator_key), seat.bot
        name = f"{bot.name} {bot.account[-6:].lstrip('0') or '0'}"[:NAME_BYTES_MAX]
        operations = [
            protocol.create_symbol(root, bot.instrument.symbol, {bot.account: SHARES_GRANTED}),
            protocol.change(root, "set_account", account=bot.account, name=name),
        ]
        for outcome in self._send(seat, operations):
            if isinstance(outcome, ExchangeError):
                raise outcome
        self._unchecked.discard(seat)

    def may_trade(self, seat: Seat, account: Any) -> bool:
        if seat in self._unchecked:
            if seat.bot.instrument.symbol not in {one["symbol"] for one in account["positions"]}:
                self._grant(seat)
                return False
            self._unchecked.discard(seat)
        return True

    def trade(self, seat: Seat, sight: Sight) -> None:
        price = seat.bot.instrument.price
        shares = sight.shares + sight.shares_in_orders
        worth = sight.cash + sight.cash_in_orders + shares * min(sight.market.last or price, price)
        if worth < SHARES_GRANTED * price:  # half of what it was given
            self.cancel_all(seat)
            seat.sit(*self._next_account())
            self._unchecked.add(seat)
        else:
            super().trade(seat, sight)


def _tick(price: Decimal) -> Decimal:
    """About a ten-thousandth of the price, as in real markets: 0.01 for prices from 100 to 1000."""
    return max(UNIT, Decimal(1).scaleb((price / 10_000).adjusted()))


def symbols_of(text: str) -> dict[str, Decimal]:
    """NAME or NAME=PRICE, with commas between. Raises ValueError."""
    symbols: dict[str, Decimal] = {}
    for part in text.split(","):
        name, equals, price = part.partition("=")
        if not re.fullmatch("[A-Za-z0-9]{1,32}", name):
            raise ValueError(f"'{part}': a symbol is 1 to 32 letters and digits")
        if name in symbols:
            raise ValueError(f"'{part}' is there twice")
        symbols[name] = decimal(price, part) if equals else Decimal(100)
        if not PRICE_MIN <= symbols[name] <= PRICE_MAX or symbols[name] % UNIT:
            limits = f"from {PRICE_MIN} to {PRICE_MAX}, with at most 8 decimals"
            raise ValueError(f"'{part}': a price is {limits}")
    return symbols


def _prefix(text: str) -> str:
    if not re.fullmatch("[0-9]{1,24}", text):
        raise ValueError("must be 1 to 24 digits")
    return text


def _parser() -> Parser:
    about = """Bots that keep a few symbols of an exchange trading: for each symbol a market maker,
    two that buy and sell at random, and one that trades towards the price at which the symbol began.
    They trade until SIGTERM or SIGINT, then cancel their orders and end with status 0."""
    parser = Parser("demo-bots", prog="demo-bots", description=about)
    add = parser.add_argument
    add("--version", action="version", version=f"demo-bots {VERSION}")
    add(
        "--connect",
        type=SERVERS,
        default=f"127.0.0.1:{XML_PORT}",
        metavar="HOST:PORT",
        help="XML port of the exchange, or of several servers with commas: its hosts have the HTTP "
        "port",
    )
    add(
        "--http",
        type=SERVERS,
        metavar="HOST:PORT",
        help="HTTP port, where the bots trade; of several, the active one (default: "
        f"{HTTP_PORT} of those hosts)",
    )
    add("--retry", action="store_true", help=argparse.SUPPRESS)  # of earlier versions: no effect
    add(
        "--symbols",
        type=checked(symbols_of),
        default="SPY=580,QQQ=500,IWM=225,GLD=245",
        metavar="LIST",
        help="what to trade, as NAME or NAME=PRICE; else 100 (default: %(default)s)",
    )
    add(
        "--rate",
        type=number(0.01, 10_000),
        default=40,
        metavar="N",
        help="turns of bots per second, all symbols together; at a turn a bot sends at most one "
        "request (default: %(default)s)",
    )
    add(
        "--seed",
        type=int,
        default=secrets.randbits(32),
        metavar="N",
        help="seed of all random choices (default: drawn)",
    )
    add(
        "--operator-key-file",
        default=variable("EXCHANGE_OPERATOR_KEY_FILE"),
        metavar="FILE",
        help="file of the operator's key of a server with --auth (or "
        "$EXCHANGE_OPERATOR_KEY_FILE)",
    )
    add(
        "-d",
        "--duration",
        type=DURATION,
        metavar="TIME",
        help="how long to trade: 10, 500ms, 2m (default: until stopped)",
    )
    add(
        "--account-prefix",
        type=checked(_prefix),
        default=str(time.time_ns() // 1_000),
        metavar="DIGITS",
        help="digits that the account ids start with (default: from the clock)",
    )
    return parser


def _main() -> int:
    parser = _parser()
    options = parser.parse_args()
    try:
        key = read_key(options.operator_key_file) if options.operator_key_file else None
    except ValueError as error:
        parser.error(f"--operator-key-file: {error}")
    has_stopped = stop_on_signals()
    end = time.monotonic() + (options.duration or math.inf)

    def log(line: str) -> None:
        sys.stderr.write(f"demo-bots: {line}\n")  # in one piece: bots have threads

    http = http_of(options.connect, options.http)
    log(f"{', '.join(options.symbols)} at {http}, --seed {options.seed}")
    floor = DemoFloor(
        options.symbols, options.account_prefix, options.rate, http, key, options.seed, log
    )
    floor.run(lambda: has_stopped() or time.monotonic() >= end, report_refusals=False)
    seats = floor.seats
    requests, accounts, open_orders = (
        sum(getattr(seat, name) for seat in seats) for name in ("requests", "created", "open")
    )
    shares = sum(seat.traded for seat in seats)
    print(
        f"requests={requests} lost={floor.lost} shares={shares:.0f} "
        f"accounts={accounts} open={open_orders}"
    )
    return 0


def main() -> None:
    run("demo-bots", _main)


if __name__ == "__main__":
    main()
