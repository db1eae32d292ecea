"""Hooks of schemathesis: what a schema cannot say. EXCHANGE_KEYS, if set: accounts have the keys of interfaces.py."""

import os
import re

import schemathesis
from interfaces import basic, bearer, key_of

WITH_KEYS = bool(os.environ.get("EXCHANGE_KEYS"))


def is_account(value):
    return isinstance(value, str) and re.fullmatch("[0-9]{1,64}", value)


@schemathesis.hook
def map_case(context, case):
    """A request names its account, or Authorization does. With keys, an account needs one."""
    path, method = case.operation.path, case.operation.method.lower()
    if WITH_KEYS:
        creates = method == "post" and path in ("/api/accounts", "/api/symbols")
        case.headers = {**(case.headers or {}), "Authorization": bearer() if creates else basic()}
        if path == "/api/accounts" and isinstance(case.body, dict):
            case.body.setdefault("key", key_of("1"))
    if not path.startswith("/api/orders"):
        return case
    places = [] if method in ("post", "patch") else [case.query]
    if isinstance(case.body, dict):
        orders = case.body.get("orders")
        places += [case.body, *(orders if isinstance(orders, list) else [])]
    for place in places:
        if hasattr(place, "setdefault"):
            place.setdefault("account", "1")
            if WITH_KEYS and is_account(place["account"]):
                place["account"] = "1"
    return case


@schemathesis.hook
def filter_case(context, case):
    """Not what does not fit the description, and yet is accepted."""
    if not (isinstance(case.body, dict) and case.meta and case.meta.generation.mode.is_negative):
        return True
    # of several orders, one that is wrong is an error in the list
    is_list = isinstance(case.body.get("orders"), list)
    # a schema counts no bytes
    key = case.body.get("key")
    is_key = isinstance(key, str) and 8 <= len(key.encode(errors="replace")) <= 128
    return not is_list and (not is_key or key.isascii())
