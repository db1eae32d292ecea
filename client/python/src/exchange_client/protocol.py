"""The protocol without sockets: requests as XML, replies as values (docs/protocol.md of the
exchange)."""

from __future__ import annotations

import operator
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Context, Decimal, InvalidOperation, localcontext
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, SupportsIndex, TypeAlias, TypeVar
from xml.sax.saxutils import quoteattr

from ._described import ELEMENTS, Number, Rules, Terms
from .errors import BadReply, ConnectionFailed, ExchangeError, InDoubt, Refused

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class Market(Enum):
    MARKET = "market"

    def __repr__(self) -> str:
        return self.name


MARKET: Final = Market.MARKET  # in place of a limit: the best prices there are, whatever they are
Limit: TypeAlias = Number | Market
Side: TypeAlias = Literal["buy", "sell"]
REPLY_BYTES_MAX = 1 << 30
LENGTH_LINE_BYTES_MAX = 20
ELEMENTS_MAX = 500  # of one request; the exchange takes 16,384
DIGITS_MAX = 64  # before and behind the point of a number; the exchange takes fewer
ANY_NUMBER = 0  # of reply elements
# The code; the sentence, of a server that knows no codes.
NO_OPEN_ORDERS = ("no_open_orders", "no open orders")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
EXACT = Context(prec=4 * DIGITS_MAX)  # whatever the program has chosen for its own numbers
_MARK = b"\xef\xbb\xbf"  # a byte order mark, which .NET writes before its first text
_BETWEEN = re.compile(rb"[ \t\r\n\0]*(%s)?" % _MARK)  # replies
_END = re.compile(rb"</results\s*>|<results\s*/>")


@dataclass(frozen=True)
class Execution:
    shares: Decimal
    price: Decimal
    time: datetime  # UTC, in whole seconds


@dataclass(frozen=True)
class Order:
    """An order that the exchange opened or replaced. It may have been executed at once: query()
    shows."""

    id: int
    symbol: str  # empty: of an order that was replaced by its id or reference
    amount: Decimal  # above 0: a buy; below: a sell
    limit: Decimal | None  # None: a market order
    ref: str | None = None


@dataclass(frozen=True)
class Status:
    """The state of an order. Shares are counted without a sign."""

    id: int
    open: Decimal
    canceled: Decimal
    executions: tuple[Execution, ...]  # oldest first
    ref: str | None = None

    @property
    def executed(self) -> Decimal:
        with localcontext(EXACT):
            return sum((execution.shares for execution in self.executions), Decimal(0))

    @property
    def cash(self) -> Decimal:
        """Paid or received for all executions."""
        with localcontext(EXACT):
            return sum((one.shares * one.price for one in self.executions), Decimal(0))


@dataclass(frozen=True)
class Auction:
    """What an auction executed, all at one price."""

    price: Decimal
    volume: Decimal


AccountId: TypeAlias = str | SupportsIndex
OrderId: TypeAlias = SupportsIndex | Order


@dataclass(frozen=True)
class Operation(Generic[T]):
    """One element of a request, and how to read its reply elements."""

    root: str  # the start tag of the request it belongs to
    element: str
    replies: int  # reply elements; with ANY_NUMBER it is alone in its request
    parse: Callable[[Sequence[ET.Element]], T]
    repeatable: bool  # sending it again changes nothing


Outcome: TypeAlias = T | ExchangeError


def decimal(value: Number, what: str) -> Decimal:
    """An exact number. Floats are refused, since 0.1 is none."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError(f"{what}: {value!r} is not a number")
    if not isinstance(value, (str, Decimal)):
        value = integer(value, what, "an int, a str or a Decimal")
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"{what}: {value!r} is out of range") from None
    if not number.is_finite():
        raise ValueError(f"{what}: {value!r} is not finite")
    if abs(number.adjusted()) > DIGITS_MAX:
        raise ValueError(f"{what}: {value!r} is out of range")
    return number


def integer(value: SupportsIndex, what: str, wanted: str = "an int") -> int:
    """An int, or what stands for one, as an int of numpy does; no bool."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{what}: {value!r} is a {type(value).__name__}; give {wanted}")


def checked(value: T, kind: type, what: str) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{what}: {value!r} is a {type(value).__name__}; give a {kind.__name__}")
    return value


def attribute(name: str, value: str) -> str:
    if type(value) is str and value.isalnum():  # nothing to escape
        return f' {name}="{value}"'
    return f" {name}={quoteattr(checked(value, str, name))}"


def order_id(order: OrderId) -> int:
    return order.id if isinstance(order, Order) else integer(order, "order", "an int or an Order")


def account_id(account: str | SupportsIndex) -> str:
    if isinstance(account, str):
        return account
    return str(integer(account, "account", "a str or an int"))


def text(number: Decimal) -> str:
    """Plain decimal, without an exponent."""
    return format(number, "f")


def transactions_root(
    account: AccountId | None, key: str | None, cancel_on_disconnect: bool = False
) -> str:
    if account is None:
        raise ValueError("no account: give one as Exchange(..., account=)")
    more = "" if key is None else attribute("key", key)
    more += ' cancel-on-disconnect="true"' if cancel_on_disconnect else ""
    more += ' codes="true"'
    return f"<transactions{attribute('id', account_id(account))}{more}>"


_WRITERS: dict[str, Callable[[Any, str], str]] = {
    "account": lambda value, _: account_id(value),
    "text": lambda value, what: checked(value, str, what),
    "decimal": lambda value, what: text(decimal(value, what)),
    "count": lambda value, what: str(integer(value, what)),
    "truth": lambda value, what: "true" if checked(value, bool, what) else "false",
}


def element(message: str, /, **values: Any) -> str:
    """An element of a request, with attributes as ELEMENTS has them. An optional one that is None
    is left out."""
    name, attributes = ELEMENTS[message]
    written = f"<{name}"
    for keyword, value in values.items():
        if keyword not in attributes:
            raise TypeError(f"<{name}> has no {keyword!r}")
        one = attributes[keyword]
        if value is not None or one.is_required:
            value = _WRITERS[one.kind](value, keyword)
            if one.kind != "truth" or value != one.usual:
                written += attribute(one.name, value)
    return written + "/>"


def order(
    root: str, symbol: str, amount: Decimal, limit: Limit, ref: str | None, **terms: Unpack[Terms]
) -> Operation[Order]:
    price = None if limit is MARKET else decimal(limit, "limit")
    kind = "market" if price is None else None
    written = element(
        "place", symbol=symbol, shares=amount, limit=price, type=kind, ref=ref, **terms
    )

    def parse(replies: Sequence[ET.Element]) -> Order:
        return Order(_id(_accepted(replies[0], "opened")), symbol, amount, price, ref)

    return Operation(root, written, 1, parse, ref is not None)


def replace(
    root: str, order: OrderId | None, ref: str | None, amount: Decimal, limit: Number
) -> Operation[Order]:
    price = decimal(limit, "limit")
    written = element("replace", **_which(order, ref), shares=amount, limit=price)
    symbol, name = (order.symbol, order.ref) if isinstance(order, Order) else ("", ref)

    def parse(replies: Sequence[ET.Element]) -> Order:
        return Order(_id(_accepted(replies[0], "replaced")), symbol, amount, price, name)

    return Operation(root, written, 1, parse, False)


def query(root: str, order: OrderId | None, ref: str | None) -> Operation[Status]:
    written = element("query", **_which(order, ref))
    return Operation(root, written, 1, lambda replies: _status(replies[0], "status"), True)


def cancel(root: str, order: OrderId | None, ref: str | None) -> Operation[Status]:
    written = element("cancel", **_which(order, ref))
    return Operation(root, written, 1, lambda replies: _status(replies[0], "canceled"), False)


def cancel_all(root: str, symbol: str | None) -> Operation[list[Status]]:
    """Some of the open orders, oldest first; none: no order was open."""
    written = element("cancel_all", all=True if symbol is None else None, symbol=symbol)

    def parse(replies: Sequence[ET.Element]) -> list[Status]:
        if not replies:
            raise BadReply("an empty reply to a cancel")
        try:
            return [_status(reply, "canceled") for reply in replies]
        except Refused as error:
            if len(replies) == 1 and (error.code or str(error)) in NO_OPEN_ORDERS:
                return []
            raise

    return Operation(root, written, ANY_NUMBER, parse, False)


def create_root(
    operator_key: str | None, account: AccountId | None = None, key: str | None = None
) -> str:
    """Begins a request of the operator, or of an account that may act as one with its own key."""
    by = "" if operator_key is None else attribute("key", operator_key)
    if operator_key is None and account is not None and key is not None:
        by = attribute("id", account_id(account)) + attribute("key", key)
    return f'<create{by} codes="true">'


def change(root: str, message: str, /, **values: Any) -> Operation[None]:
    """What the exchange confirms without a result."""
    return Operation(root, element(message, **values), 1, _created, False)


def create_symbol(root: str, symbol: str, shares: Mapping[AccountId, Number]) -> Operation[None]:
    placements = "".join(
        f"<account{attribute('id', account_id(account))}>{text(decimal(count, 'shares'))}</account>"
        for account, count in shares.items()
    )
    sym = attribute("sym", checked(symbol, str, "symbol"))
    written = f"<symbol{sym}>{placements}</symbol>"
    return Operation(root, written, max(1, len(shares)), _created, False)


def set_instrument(root: str, symbol: str | None, *rules: Rules) -> Operation[Auction | None]:
    """An element for each of `rules`."""
    elements = [element("set_instrument", symbol=symbol, **some) for some in rules]
    return Operation(root, "".join(elements), len(elements), _auction, False)


def document(operations: Sequence[Operation[T]]) -> str:
    """One request; all operations have the same root."""
    root = operations[0].root
    name = root[1:].split(" ")[0].rstrip(">")
    return f"{root}{''.join(operation.element for operation in operations)}</{name}>"


def groups(operations: Sequence[Operation[T]]) -> list[list[Operation[T]]]:
    """Neighbours that may share a request."""
    found: list[list[Operation[T]]] = []
    for operation in operations:
        last = found[-1][0] if found else None
        if (
            last is None
            or last.root != operation.root
            or len(found[-1]) == ELEMENTS_MAX
            or ANY_NUMBER in (last.replies, operation.replies)
        ):
            found.append([])
        found[-1].append(operation)
    return found


def outcomes(operations: Sequence[Operation[T]], reply: bytes) -> list[Outcome[T]]:
    """A value or an error for each operation. Raises BadReply."""
    try:
        root = ET.fromstring(reply)
    except ET.ParseError as error:
        raise BadReply(f"not XML ({error}): {reply[:200]!r}") from None
    elements = list(root)
    counts = [operation.replies or len(elements) for operation in operations]
    wanted = sum(counts)
    if root.tag != "results":
        raise BadReply(f"<{root.tag}> instead of <results>")
    if len(elements) != wanted:
        if len(elements) == 1 and elements[0].tag == "error":  # of the request as a whole
            refusal = _refusal(elements[0])
            return [refusal for _ in operations]
        raise BadReply(f"{len(elements)} reply elements for {wanted} asked: {reply[:200]!r}")
    found: list[Outcome[T]] = []
    at = 0
    for operation, count in zip(operations, counts, strict=True):
        mine = elements[at : at + count]
        at += count
        try:
            found.append(operation.parse(mine))
        except Refused as error:
            found.append(error)
    return found


def frame(request: str) -> bytes:
    body = request.encode()
    return b"%d\n%s" % (len(body), body)


class ReplyReader:
    """Cuts what a server sends into replies, with or without length lines. Feed it, then take
    replies until None."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._scanned = 0

    def feed(self, data: bytes) -> None:
        self._received += data

    def take(self) -> bytes | None:
        """The next whole reply. Raises BadReply."""
        between = _BETWEEN.match(self._received)
        if between and between.end():
            del self._received[: between.end()]
            self._scanned = 0
        if _MARK.startswith(self._received[: len(_MARK)]):  # empty, or a part of one
            return None
        first = self._received[:1]
        if first.isdigit():
            line, newline, _ = self._received.partition(b"\n")
            if not newline and len(line) < LENGTH_LINE_BYTES_MAX:
                return None
            if not newline or not line.strip().isdigit() or int(line) > REPLY_BYTES_MAX:
                raise BadReply(f"not a length line: {bytes(line[:40])!r}")
            begin = len(line) + 1
            end = begin + int(line)
            if len(self._received) < end:
                return None
        elif first == b"<":
            found = _END.search(self._received, max(0, self._scanned - 20))
            self._scanned = len(self._received)
            if not found:
                if self._scanned > REPLY_BYTES_MAX:
                    raise BadReply("a reply without an end")
                return None
            begin, end = 0, found.end()
        else:
            raise BadReply(f"not a reply: {bytes(self._received[:40])!r}")
        reply = bytes(self._received[begin:end])
        del self._received[:end]
        self._scanned = 0
        return reply


def in_doubt(operation: Operation[T], why: str) -> InDoubt:
    error = InDoubt(f"{why}; whether the exchange executed {operation.element} is not known")
    error.reason = why
    return error


def not_sent(operation: Operation[T], why: str) -> ConnectionFailed:
    error = ConnectionFailed(f"{why}; {operation.element} was not sent")
    error.reason = why
    return error


def _which(order: OrderId | None, ref: str | None) -> dict[str, Any]:
    if (order is None) == (ref is None):
        raise ValueError("give either the order or its ref")
    return {"ref": ref} if order is None else {"id": order_id(order)}


def _refusal(element: ET.Element) -> Refused:
    return Refused(" ".join("".join(element.itertext()).split()), element.get("code"))


def _accepted(element: ET.Element, name: str) -> ET.Element:
    if element.tag == "error":
        raise _refusal(element)
    if element.tag != name:
        raise BadReply(f"<{element.tag}> instead of <{name}>")
    return element


def _created(replies: Sequence[ET.Element]) -> None:
    for reply in replies:
        _accepted(reply, "created")


def _auction(replies: Sequence[ET.Element]) -> Auction | None:
    _created(replies)
    found = None
    for reply in replies:
        try:
            if "price" in reply.attrib:
                found = Auction(Decimal(reply.attrib["price"]), Decimal(reply.attrib["volume"]))
        except (KeyError, ArithmeticError) as error:
            raise BadReply(f"{error!r} in {ET.tostring(reply)!r}") from None
    return found


def _id(element: ET.Element) -> int:
    try:
        return int(element.get("id", ""))
    except ValueError:
        raise BadReply(f"no id in {ET.tostring(element)!r}") from None


def _status(element: ET.Element, name: str) -> Status:
    identity = _id(_accepted(element, name))
    shares = {"open": Decimal(0), "canceled": Decimal(0)}
    executions = []
    try:
        for child in element:
            count = Decimal(child.attrib["shares"])
            if child.tag == "executed":
                time = datetime.fromtimestamp(int(child.attrib["time"]), timezone.utc)
                executions.append(Execution(count, Decimal(child.attrib["price"]), time))
            else:
                shares[child.tag] = count
    except (KeyError, ValueError, ArithmeticError, OSError) as error:
        raise BadReply(f"{error!r} in {ET.tostring(element)!r}") from None
    return Status(
        identity, shares["open"], shares["canceled"], tuple(executions), element.get("ref")
    )
