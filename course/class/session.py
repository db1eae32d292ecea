"""A class and its exchange. What was done is in the exchange, and the keys are in the folder: each
command asks what is done already, so after an interruption it goes on."""

from __future__ import annotations

import re
import shlex
import ssl
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bots.characters import Instrument
from bots.command_line import HTTP_PORT, XML_PORT, read_key, stop_on_signals
from bots.connection import Http
from bots.floor import Bot, Floor
from exchange_client import Exchange
from exchange_client.errors import BadReply, ConnectionFailed, ExchangeError, InDoubt, Refused
from exchange_client.http_port import basic
from exchange_client.servers import addresses

from folder import BotMember, Folder, Member
from scenario import RULES, Values, attributes
from table import ClassError

KEYS_TRIED_MAX = 10
ACCOUNTS_OF_A_REQUEST = 100  # the exchange takes 256 keys
BOTS_STOP_S = 30  # longer than the timeout of one reply, and of a cancel after it
CATCH_UP_S, CATCH_UP_PAUSE_S = 5, 0.01
Gift = tuple[str, str, Decimal]  # symbol, account, shares


@dataclass
class Options:
    connect: str
    http: str
    tls: ssl.SSLContext | None
    timeout_s: float
    operator_key_file: str | None  # None: that of the folder
    operator_key: str | None = None  # typed


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


class Session:
    def __init__(self, folder: Folder, options: Options) -> None:
        self.folder, self.options = folder, options
        self.scenario = folder.scenario()
        self.students = folder.students(self.scenario)
        self.bots = folder.bots(self.scenario)
        self._what = f"class {self.scenario.name}"
        self.size = f"{counted(len(self.students), 'student')}, {counted(len(self.bots), 'bot')}"
        self._key_file = options.operator_key_file or str(folder.operator_key)
        try:
            self._key = options.operator_key or read_key(self._key_file)
        except ValueError as error:
            raise ClassError(str(error)) from None
        self._exchange = Exchange(
            options.connect,
            operator_key=self._key,
            http=options.http,
            tls=options.tls or False,
            timeout=options.timeout_s,
        )
        self.http = self._http(f"Bearer {self._key}")

    def _http(self, authorization: str | None) -> Http:
        servers = deque(addresses(self.options.http))
        return Http(servers, self.options.tls, self.options.timeout_s, authorization)

    def start_of_server(self) -> str:
        words = ["exchange-server", "--auth", "--operator-key-file", shlex.quote(self._key_file)]
        for option, servers, usual in (
            ("--port", self.options.connect, XML_PORT),
            ("--http-port", self.options.http, HTTP_PORT),
        ):
            _, port = addresses(servers)[0]
            words += [option, str(port)] if port != usual else []
        words.append("--keep-journal")
        if self.scenario.timetable:
            words += ["--timetable", shlex.quote(str(self.folder.timetable))]
        return " ".join([*words, "--store", shlex.quote(f"sqlite:{self.folder.path}/exchange.db")])

    # --- what the exchange has ---

    def committed_batch(self) -> int:
        _, text = self.http.ask("/metrics")
        found = re.search(rb"^exchange_journal_batch (\d+)$", text, re.M)
        if not found:
            raise BadReply("/metrics has no exchange_journal_batch")
        return int(found[1])

    def catch_up(self, seconds: float = CATCH_UP_S) -> bool:
        """Waits until the HTTP port shows what is committed now; returns whether it does."""
        committed, end = self.committed_batch(), time.monotonic() + seconds
        while self.http.json("/api/symbols?limit=1")["batch"] < committed:
            if time.monotonic() > end:
                return False
            time.sleep(CATCH_UP_PAUSE_S)
        return True

    def wait_for_all(self) -> None:
        """A command decides by what the HTTP port shows, so this must be everything."""
        if not self.catch_up(self.options.timeout_s):
            raise ConnectionFailed("the exchange does not show yet what was committed")

    def symbols(self) -> dict[str, Any]:
        """As the HTTP port shows them; see wait_for_all()."""
        pages = self.http.pages("/api/symbols", "next", "after")
        return {one["symbol"]: one for page in pages for one in page["symbols"]}

    def leaderboard(self, round_number: int | None = None) -> Any:
        more = "" if round_number is None else f"&round={round_number}"
        return self.http.json(f"/api/leaderboard?ids=true{more}")

    def has_day(self, day: str) -> bool:
        return any(one["day"] == day for one in self.http.json("/api/days")["days"])

    def _positions(self, member: Member) -> set[str] | None:
        """Symbols that the account has, or had today; None: the exchange has no such account."""
        path = f"/api/accounts/{member.account}"
        try:
            pages = list(self.http.pages(path, "next_position", "positions_after"))
        except Refused as error:
            if error.code == "unknown_account":
                return None
            raise
        return {one["symbol"] for page in pages for one in page["positions"]}

    # --- what a command changes ---

    @contextmanager
    def _change(self, what: str) -> Iterator[None]:
        """The text of an error of the client quotes the request, which has keys: its reason does
        not."""
        try:
            yield
        except Refused as error:
            raise Refused(f"{what}: {error}", error.code) from None
        except InDoubt as error:
            why = error.reason or str(error)
            raise InDoubt(f"no reply from {self.options.connect}: {why}") from None
        except ConnectionFailed as error:
            raise ConnectionFailed(error.reason or str(error)) from None

    def populate(self) -> None:
        """Creates the instruments and accounts that are missing, with their cash and shares."""
        self._create_instruments()
        members = [*self.bots, *self.students]
        pairs = [(one, self._positions(one)) for one in members]
        unknown = [one for one, held in pairs if held is None]
        known = [one for one, held in pairs if held is not None]
        if known:
            self._check_keys(known)
        with self._change(self._what):
            create_accounts(self._exchange, unknown)
        if unknown:
            print(f"{counted(len(unknown), 'account')} created")
        lacking = [one for one, held in pairs if _gifts_missing(one, held or set())]
        if lacking:
            self._give_shares(lacking, {one.account for one in known})

    def _create_instruments(self) -> None:
        """And the rules of those that were not traded: a refusal may have left them without."""
        self.wait_for_all()
        found = self.symbols()
        for one in self.scenario.instrument:
            if one.symbol not in found or found[one.symbol]["trades"] == 0:
                is_new = one.symbol not in found
                with self._change(self._what):
                    create_instrument(self._exchange, one, is_new)

    def _check_keys(self, known: list[Member]) -> None:
        """Checks keys of accounts that exist: several, since a student may have changed one."""
        for one in known[:KEYS_TRIED_MAX]:
            http = self._http(basic(one.account, one.key))
            try:
                http.json(f"/api/accounts/{one.account}")
                return
            except Refused as error:
                if error.code != "unknown_account":
                    raise
            finally:
                http.close()
        raise Refused(
            f"account {known[0].account} exists already, with a key that {self.folder.path} does "
            "not have: 'admin new-day' closes the day of another class, or 'first-account' in the "
            "scenario leaves its accounts alone"
        )

    def _give_shares(self, lacking: list[Member], known: set[str]) -> None:
        """Gives each share once, also if a killed command sent a gift that is executed only now.

        It reads positions after a request that the exchange executes after everything received
        before, and the gifts follow on the same connection.
        """
        first = self.scenario.instrument[0].symbol  # it exists
        with self._change(self._what):
            self._exchange.create_symbol(first)
        self.wait_for_all()
        gifts, late = list[Gift](), 0
        for one in lacking:
            missing = _gifts_missing(one, self._positions(one) or set())
            gifts += missing
            late += bool(missing) and one.account in known
        with self._change(self._what):
            give(self._exchange, gifts)
        if late:
            print(f"{counted(late, 'account')} of before got shares that were missing")

    def set_trading(self, wanted: str) -> None:
        """Changes each instrument whose trading differs."""
        self.wait_for_all()
        found = self.symbols()
        for one in self.scenario.instrument:
            now = found.get(one.symbol, {"trading": wanted}).get("trading", "open")
            if now == wanted:
                continue
            change = self._exchange.resume if wanted == "open" else self._exchange.halt
            what = f"symbol {one.symbol}"
            with self._change(what):
                auction = change(one.symbol)
            end = f"; the auction executed {auction.volume} @ {auction.price}" if auction else ""
            print(f"{what}: trading {wanted}{end}")

    def begin_round(self, name: str) -> None:
        """Unless the newest has this name, or no name is given and there is a round."""
        rounds = self.leaderboard()["rounds"]
        if rounds and name in ("", rounds[-1]["name"]):
            return
        name = name or "first"
        with self._change(f"round {name}"):
            self._exchange.begin_round(name)
        print(f"round {name}: begun")

    def close_day(self, day: str, was_closed: bool) -> None:
        with self._change(f"day {day}"):
            store = self._exchange.new_day(day)
        print(f"day {day}: {'was closed before, as' if was_closed else 'closed as'} {store}")

    # --- the bots ---

    def start_bots(self) -> None:
        if not self.bots:
            return
        self._exchange.close()
        self.http.close()
        process = self.folder.start_bots(self._trade)
        if process is None:
            print("the bots trade already")
        else:
            bots = counted(len(self.bots), "bot")
            print(f"{bots} trade, as process {process}: {self.folder.log}")

    def _trade(self) -> None:
        def log(line: str) -> None:
            sys.stdout.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
            sys.stdout.flush()

        bots = [_bot(one) for one in self.bots]
        Floor(bots, self.options.http, tls=self.options.tls, log=log).run(stop_on_signals())

    def stop_bots(self) -> None:
        is_running = self.folder.bots_process() is not None
        if not self.folder.stop_bots(BOTS_STOP_S):
            raise Refused(f"the bots have not ended yet: {self.folder.log}")
        if is_running:
            print("the bots have ended")

    def halt_and_stop_bots(self) -> None:
        """In this order: without the bots a few orders could set the prices that value shares.

        The bots also end if the exchange cannot be reached.
        """
        try:
            self.set_trading("halted")
        except ExchangeError:
            self.stop_bots()
            raise
        self.stop_bots()

    def bots_text(self) -> str:
        if not self.bots:
            return "none"
        process = self.folder.bots_process()
        if process is None:
            return "not running; 'class start' starts them"
        return counted(len(self.bots), "bot") + (f", process {process}" if process else "")


def create_instrument(exchange: Exchange, one: Values, is_new: bool) -> None:
    """A new one is halted until the class starts."""
    rules = attributes(one, RULES)
    if is_new:
        exchange.create_symbol(one.symbol)
        rules["trading"] = "halted"
    if rules:
        exchange.set_instrument(one.symbol, **rules)


def create_accounts(exchange: Exchange, members: Sequence[Member]) -> None:
    """Accounts that exist were created by a command that was interrupted."""
    for begin in range(0, len(members), ACCOUNTS_OF_A_REQUEST):
        _create_some(exchange, members[begin : begin + ACCOUNTS_OF_A_REQUEST])


def _create_some(exchange: Exchange, members: Sequence[Member]) -> None:
    with exchange.pipeline() as pipeline:
        made, named = [], []
        for one in members:
            made.append(pipeline.create_account(one.account, one.start.cash, one.key))
            named.append(pipeline.set_account(one.account, name=one.shown_as, **one.limits))
    for pending in made:
        try:
            pending.result()
        except Refused as error:
            if error.code != "account_exists":
                raise
    for pending in named:
        pending.result()


def give(exchange: Exchange, gifts: Sequence[Gift]) -> None:
    of_symbol: dict[str, dict[Any, Any]] = {}
    for symbol, account, shares in gifts:
        of_symbol.setdefault(symbol, {})[account] = shares
    for symbol, shares_of in of_symbol.items():
        exchange.create_symbol(symbol, shares_of)


def _gifts_missing(member: Member, positions: set[str]) -> list[Gift]:
    """An account that was given shares of a symbol has a position in it until the day ends."""
    return [
        (symbol, member.account, shares)
        for symbol, shares in member.start.shares.items()
        if symbol not in positions and shares > 0
    ]


def _bot(member: BotMember) -> Bot:
    of_scenario, kind = member.instrument, member.start
    usual = Instrument(of_scenario.symbol, float(of_scenario.price))
    rules = {
        name: value  # 0: there is no such rule
        for name in ("tick", "lot", "order_max")
        if (value := getattr(of_scenario, name)) and value > 0
    }
    return Bot(
        member.account,
        member.key,
        member.shown_as,
        kind.character,
        usual._replace(**rules),
        float(kind.order),
        float(kind.shares.get(usual.symbol, 0)),
        float(kind.pause),
    )
