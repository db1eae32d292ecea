"""The elements of requests, as the exchange describes them. Written by its program describe."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple, SupportsIndex, TypeAlias, TypedDict

Number: TypeAlias = SupportsIndex | str | Decimal  # int, or as an int of numpy

Tif: TypeAlias = Literal["gtc", "ioc", "fok"]
Type: TypeAlias = Literal["limit", "market"]
Stp: TypeAlias = Literal["none", "cancel-resting", "cancel-taking"]
AtBand: TypeAlias = Literal["refuse", "auction"]
Trading: TypeAlias = Literal["open", "halted", "auction", "volatility"]
Role: TypeAlias = Literal["trader", "operator"]
Access: TypeAlias = Literal["active", "frozen"]


class Terms(TypedDict, total=False):
    """What an order may ask for: further keywords of buy() and sell().

    tif: what is not executed at once: gtc rests, ioc is canceled; fok: all, or refused.
    post: refused if it would execute at once; not with the tif ioc or fok.
    stp: what is canceled where it would execute against an order of its account.
    """

    tif: Tif | None
    post: bool | None
    stp: Stp | None


class Rules(TypedDict, total=False):
    """Rules for the orders of a symbol: keywords of set_instrument().

    tick: limits are multiples of it.
    price_min: the lowest limit.
    price_max: the highest limit.
    band: a limit may be so far above the last price, of a sell below.
    at_band: what a limit beyond the band does: refuse: the order is refused; auction: it starts an
        auction.
    lot: the shares of orders are multiples of it.
    order_max: shares of one order.
    """

    tick: Number | None
    price_min: Number | None
    price_max: Number | None
    band: Number | None
    at_band: AtBand | None
    lot: Number | None
    order_max: Number | None
    trading: Trading | None


class AccountSettings(TypedDict, total=False):
    """What the operator sets of an account: keywords of set_account().

    cancel_orders: cancels all orders that are open.
    orders_max: orders that are open.
    orders_per_second_max: orders and replaces in one second.
    position_max: shares of one symbol, with what open buys may add.
    name: what leaderboards show of an account in place of its id.
    """

    role: Role | None
    access: Access | None
    cancel_orders: bool | None
    orders_max: SupportsIndex | None
    orders_per_second_max: SupportsIndex | None
    position_max: Number | None
    name: str | None


class Attribute(NamedTuple):
    name: str  # in XML
    kind: Literal["account", "text", "decimal", "count", "truth"]
    is_required: bool
    usual: str  # what it is if it is left out


# By the name of the message in JSON: the name in XML, and the attributes by their keywords.
ELEMENTS: dict[str, tuple[str, dict[str, Attribute]]] = {
    "create_account": (
        "account",
        {
            "account": Attribute("id", "account", True, ""),
            "balance": Attribute("balance", "decimal", True, ""),
            "key": Attribute("key", "text", False, ""),
        },
    ),
    "create_symbol": (
        "symbol",
        {
            "symbol": Attribute("sym", "text", True, ""),
        },
    ),
    "place": (
        "order",
        {
            "symbol": Attribute("sym", "text", True, ""),
            "shares": Attribute("amount", "decimal", True, ""),
            "limit": Attribute("limit", "decimal", False, ""),
            "ref": Attribute("ref", "text", False, ""),
            "tif": Attribute("tif", "text", False, "gtc"),
            "post": Attribute("post", "truth", False, "false"),
            "type": Attribute("type", "text", False, "limit"),
            "stp": Attribute("stp", "text", False, "none"),
        },
    ),
    "cancel": (
        "cancel",
        {
            "id": Attribute("id", "count", False, ""),
            "ref": Attribute("ref", "text", False, ""),
        },
    ),
    "query": (
        "query",
        {
            "id": Attribute("id", "count", False, ""),
            "ref": Attribute("ref", "text", False, ""),
            "from": Attribute("from", "count", False, "1"),
        },
    ),
    "cancel_all": (
        "cancel",
        {
            "all": Attribute("all", "truth", False, ""),
            "symbol": Attribute("sym", "text", False, ""),
        },
    ),
    "replace": (
        "replace",
        {
            "id": Attribute("id", "count", False, ""),
            "ref": Attribute("ref", "text", False, ""),
            "shares": Attribute("amount", "decimal", True, ""),
            "limit": Attribute("limit", "decimal", True, ""),
        },
    ),
    "set_instrument": (
        "instrument",
        {
            "symbol": Attribute("sym", "text", False, ""),
            "tick": Attribute("tick", "decimal", False, ""),
            "price_min": Attribute("price-min", "decimal", False, ""),
            "price_max": Attribute("price-max", "decimal", False, ""),
            "band": Attribute("band", "decimal", False, ""),
            "at_band": Attribute("at-band", "text", False, ""),
            "lot": Attribute("lot", "decimal", False, ""),
            "order_max": Attribute("order-max", "decimal", False, ""),
            "trading": Attribute("trading", "text", False, ""),
        },
    ),
    "set_key": (
        "set-key",
        {
            "account": Attribute("id", "account", False, ""),
            "key": Attribute("key", "text", False, ""),
            "revoke": Attribute("revoke", "truth", False, "false"),
        },
    ),
    "set_account": (
        "set-account",
        {
            "account": Attribute("id", "account", True, ""),
            "role": Attribute("role", "text", False, ""),
            "access": Attribute("access", "text", False, ""),
            "cancel_orders": Attribute("cancel-orders", "truth", False, "false"),
            "orders_max": Attribute("orders-max", "count", False, ""),
            "orders_per_second_max": Attribute("orders-per-second-max", "count", False, ""),
            "position_max": Attribute("position-max", "decimal", False, ""),
            "name": Attribute("name", "text", False, ""),
        },
    ),
    "adjust_cash": (
        "adjust-cash",
        {
            "account": Attribute("id", "account", True, ""),
            "cash": Attribute("amount", "decimal", True, ""),
            "reason": Attribute("reason", "text", False, ""),
        },
    ),
    "adjust_shares": (
        "adjust-shares",
        {
            "symbol": Attribute("sym", "text", True, ""),
            "account": Attribute("id", "account", True, ""),
            "shares": Attribute("amount", "decimal", True, ""),
            "reason": Attribute("reason", "text", False, ""),
        },
    ),
    "begin_round": (
        "begin-round",
        {
            "name": Attribute("name", "text", True, ""),
        },
    ),
}
