"""Finds what an exchange would refuse of a scenario: it is carried out on a private server."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from exchange_client import Exchange, Refused
from exchange_client.errors import ExchangeError

from folder import Member
from scenario import LIMITS, Values, attributes
from session import create_accounts, create_instrument, give
from table import ClassError

START_TIMEOUT_S, STOP_TIMEOUT_S = 60, 10
BUYER = "9" * 20  # an account without cash


def server_program() -> Path | None:
    """The server of the tree, or of the package, beside this program."""
    folder = Path(sys.argv[0]).resolve().parent
    found = (folder / name for name in ("server", "exchange-server"))
    return next((one for one in found if os.access(one, os.X_OK)), None)


def check_scenario(program: Path | None, scenario: Values, students: int, file: str) -> None:
    """For this number of students. Raises ClassError with the first refusal, which names the
    table."""
    _check_symbols_of_timetable(scenario, file)
    if program is None:
        print("the scenario was not checked on an exchange: there is no server beside this program")
        return
    with _private_server(program, scenario.timetable, file) as port:
        with Exchange(f"127.0.0.1:{port}", BUYER) as exchange:
            _carry_out(exchange, scenario, students, file)


@contextmanager
def _private_server(program: Path, timetable: str, file: str) -> Iterator[int]:
    """Its XML port. The server and its folder go with this process, unless that is killed."""

    def end(number: int, _: Any) -> NoReturn:
        sys.exit(128 + number)

    signals = (signal.SIGTERM, signal.SIGHUP)
    usual = [one for one in signals if signal.getsignal(one) == signal.SIG_DFL]  # nohup ignores one
    for one in usual:
        signal.signal(one, end)
    try:
        with tempfile.TemporaryDirectory(prefix="exchange-class-") as folder:
            command = [program, "--port", "0", "--http-port", "off", "--log-level", "error"]
            command += ["--store", f"sqlite:{folder}/exchange.db"]
            if timetable:
                Path(folder, "timetable").write_text(timetable, encoding="utf-8")
                command += ["--timetable", f"{folder}/timetable"]
            environment = {k: v for k, v in os.environ.items() if not k.startswith("EXCHANGE_")}
            with open(f"{folder}/errors", "w+", encoding="utf-8") as errors, subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            ) as server:
                try:
                    assert server.stdout
                    is_there = select.select([server.stdout], [], [], START_TIMEOUT_S)[0]
                    ready = re.search(r" port=(\d+)", server.stdout.readline() if is_there else "")
                    if not ready:
                        errors.seek(0)
                        late = "" if is_there else f"no ready line within {START_TIMEOUT_S} s"
                        _explain(errors.read() or late, f"{folder}/timetable", file)
                    yield int(ready[1])
                finally:
                    server.terminate()
                    try:
                        server.wait(STOP_TIMEOUT_S)
                    except subprocess.TimeoutExpired:
                        server.kill()
    finally:
        for one in usual:
            signal.signal(one, signal.SIG_DFL)


def _explain(messages: str, timetable: str, file: str) -> NoReturn:
    """Raises why the server did not start."""
    _, is_of_timetable, problem = messages.strip().partition(timetable)
    if is_of_timetable:
        raise ClassError(f"{file}, timetable{problem}")
    raise ClassError(f"the server that checks {file} does not start: {messages.strip()}")


def _carry_out(exchange: Exchange, scenario: Values, students: int, file: str) -> None:
    @contextmanager
    def reported(where: str) -> Iterator[None]:
        try:
            yield
        except ExchangeError as error:
            raise ClassError(f"{file}, {where}: {error.reason or error}") from None
        except (ValueError, TypeError) as error:
            raise ClassError(f"{file}, {where}: {error}") from None

    exchange.create_account(BUYER, 0)
    for one in scenario.instrument:
        with reported(f"[[instrument]] {one.symbol}"):
            create_instrument(exchange, one, is_new=True)
            exchange.resume(one.symbol)
            try:  # bots begin at this price, so an order must be allowed to have it as its limit
                exchange.buy(one.symbol, one.lot or 1, one.price)
            except Refused as error:
                if error.code != "insufficient_funds":
                    raise Refused(f"'price' is {one.price:f}, but {error}") from None
    kinds = [(f"[[bots]] {kind.character}", kind.count, kind, {}) for kind in scenario.bots]
    # At least one student, so that the first roster may be empty.
    limits = attributes(scenario.student, LIMITS)
    kinds.append(("[student]", max(students, 1), scenario.student, limits))
    accounts = count(1)
    for where, number, start, limits in kinds:
        members = [Member(str(next(accounts)), None, "name", start, limits) for _ in range(number)]
        gifts = [
            (symbol, one.account, shares)
            for one in members
            for symbol, shares in start.shares.items()
        ]
        with reported(where):
            create_accounts(exchange, members)
            give(exchange, gifts)


def _check_symbols_of_timetable(scenario: Values, file: str) -> None:
    symbols = {one.symbol for one in scenario.instrument}
    for line in scenario.timetable.splitlines():
        time, action, *named = [*line.partition("#")[0].split(), "", ""]
        if time[:1].isdigit():
            for symbol in named:
                if symbol and symbol not in symbols:
                    step = f"which the step {time} {action} names"
                    where = f"{file}, timetable: no [[instrument]] has the symbol '{symbol}'"
                    raise ClassError(f"{where}, {step}")
