"""Hooks of schemathesis: what a schema cannot say. EXCHANGE_KEYS, if set: accounts have the keys of
interfaces.py."""

import os
import re

import schemathesis
from interfaces import basic, bearer, is_judged, key_of

WITH_KEYS = bool(os.environ.get("EXCHANGE_KEYS"))


def is_account(value):
    return isinstance(value, str) and re.fullmatch("[0-9]{1,64}", value)


def fits(case):
    return not (case.meta and case.meta.generation.mode.is_negative)


@schemathesis.hook
def map_case(context, case):
    """A request names its account, or Authorization does. With keys, an account needs one."""
    path, method = case.operation.path, case.operation.method.lower()
    if WITH_KEYS:
        operates = method in ("post", "patch") and not path.startswith("/api/orders")
        case.headers = {**(case.headers or {}), "Authorization": bearer() if operates else basic()}
        if path == "/api/accounts" and isinstance(case.body, dict):
            case.body.setdefault("key", key_of("1"))
    if path.endswith("/fills") and fits(case) and "after" in (case.query or {}):
        case.query.pop("before", None)  # the one is in place of the other
    if not path.startswith("/api/orders"):
        return case
    body = case.body if isinstance(case.body, dict) else None
    place = case.query if body is None and method not in ("post", "patch") else body
    if hasattr(place, "setdefault"):
        place.setdefault("account", "1")
        if WITH_KEYS and is_account(place["account"]):
            place["account"] = "1"
    if body and is_account((case.query or {}).get("account")):
        case.query["account"] = body["account"]  # two would contradict each other
    return case


@schemathesis.hook
def filter_case(context, case):
    return is_judged("", case.body, fits(case))
