"""The scenario of a class: what students begin with, the instruments, and the bots."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from types import SimpleNamespace as Values
from typing import Any

from bots.characters import CHARACTERS
from table import MARK, ClassError, is_text

BOTS_MAX, ACCOUNT_MAX = 200, 10**12
# Students click such a link, and another scheme could run a script.
ADDRESS = re.compile(r"https?://(?!/)[!$-&(-;=?-\[\]-_a-~]+")


# Kinds of values. Each returns the value, or raises ValueError with what is expected.


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def amount(value: Any) -> Decimal:
    try:
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            number = Decimal(value if isinstance(value, str) else repr(value))
            if number.is_finite() and abs(number) < 10**30 and number.as_tuple().exponent > -30:
                return number
    except InvalidOperation:
        pass
    raise ValueError("must be a number")


def amounts(value: Any) -> dict[str, Decimal]:
    if not isinstance(value, dict):
        raise ValueError("must be a table, such as { ABC = 100 }")
    return {name: amount(one) for name, one in value.items()}


def positive(value: Any) -> Decimal:
    number = amount(value)
    if not 0 < number <= 10**9:
        raise ValueError("must be a number above 0")
    return number


def count(most: int) -> Callable[[Any], int]:
    def whole(value: Any) -> int:
        number = amount(value)
        if number != int(number) or not 0 <= number <= most:
            raise ValueError(f"must be a whole number from 0 to {most}")
        return int(number)

    return whole


def table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be a table: write [student]")
    return value


def tables(value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError("must be a list: write it as [[…]], once for each")
    return value


NEEDED, UNSET = object(), None
Keys = dict[str, tuple[Callable[[Any], Any], Any]]  # kinds and default values
RULES: Keys = {
    name: (amount, UNSET) for name in ("tick", "lot", "order-max", "price-min", "price-max", "band")
} | {"at-band": (text, UNSET)}
LIMITS: Keys = {
    name: (count(10**9), UNSET) for name in ("orders-max", "orders-per-second-max")
} | {"position-max": (amount, UNSET)}
START: Keys = {"cash": (amount, Decimal(0)), "shares": (amounts, {})}
FILE: Keys = {
    "name": (text, "class"),
    "page": (text, ""),
    "anonymous": (truth, False),
    "timetable": (text, ""),
    "first-account": (count(ACCOUNT_MAX), 1001),
    "student": (table, NEEDED),
    "instrument": (tables, NEEDED),
    "bots": (tables, []),
}
INSTRUMENT: Keys = {"symbol": (text, NEEDED), "price": (positive, Decimal(100)), **RULES}
BOTS: Keys = {
    "character": (text, NEEDED),
    "count": (count(BOTS_MAX), 1),
    "symbol": (text, ""),  # without: the symbols of the class in turn
    "order": (positive, Decimal(10)),
    "pause": (positive, Decimal(2)),
    **START,
}


def _read(where: str, values: dict[str, Any], keys: Keys) -> Values:
    """A table of the file, which has no other keys. Names get underscores."""
    for name in values:
        if name not in keys:
            known = ", ".join(sorted(keys))
            raise ClassError(f"{where}: '{name}' is not known there; there may be: {known}")
    found = Values()
    for name, (kind, usual) in keys.items():
        if name not in values and usual is NEEDED:
            raise ClassError(f"{where}: '{name}' is missing")
        try:
            value = kind(values[name]) if name in values else usual
        except ValueError as error:
            raise ClassError(f"{where}: '{name}' {error}") from None
        setattr(found, name.replace("-", "_"), value)
    return found


def attributes(found: Values, keys: Keys) -> dict[str, Any]:
    """Those that are set, as keywords of the Python client."""
    names = (name.replace("-", "_") for name in keys)
    return {name: value for name in names if (value := getattr(found, name)) is not UNSET}


def parse_scenario(toml: str, file: str) -> Values:
    """FILE above, with values in place of tables. Raises ClassError with file and table."""
    if not is_text(toml):
        raise ClassError(f"{file}: it is not UTF-8: save it as UTF-8")
    try:
        found = _read(file, tomllib.loads(toml.removeprefix(MARK)), FILE)
    except tomllib.TOMLDecodeError as error:
        raise ClassError(f"{file}: {error}") from None
    if found.page and not ADDRESS.fullmatch(found.page):
        example = '"http://exchange.example:8080"'
        raise ClassError(f"{file}: 'page' must be an address, such as {example}")

    symbols: list[str] = []

    def check_symbols(where: str, named: Any) -> None:
        for symbol in named:
            if symbol not in symbols:
                raise ClassError(f"{where}: no [[instrument]] has the symbol '{symbol}'")

    for nth, values in enumerate(found.instrument):
        where = f"{file}, [[instrument]] {values.get('symbol') or nth + 1}"
        one = found.instrument[nth] = _read(where, values, INSTRUMENT)
        if one.symbol in symbols:
            raise ClassError(f"{where}: there is one already")
        symbols.append(one.symbol)
    if not symbols:
        raise ClassError(f"{file}: an [[instrument]] is missing: what is to be traded?")
    where = f"{file}, [student]"
    found.student = _read(where, found.student, START | LIMITS)
    check_symbols(where, found.student.shares)
    for nth, values in enumerate(found.bots):
        where = f"{file}, [[bots]] {nth + 1}"
        one = found.bots[nth] = _read(where, values, BOTS)
        if one.character not in CHARACTERS:
            known = ", ".join(CHARACTERS)
            raise ClassError(f"{where}: '{one.character}' is not a character; there are: {known}")
        check_symbols(where, [*([one.symbol] if one.symbol else []), *one.shares])
    if sum(one.count for one in found.bots) > BOTS_MAX:
        raise ClassError(f"{file}: more than {BOTS_MAX} bots")
    return found
