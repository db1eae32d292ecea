"""Calls a server by the client that openapi-python-client made of its description:
generated_client.py ADDRESS

The package exchange_over_http_client is on PYTHONPATH. The server is new and without keys."""

import sys
import time
from http import HTTPStatus

from exchange_over_http_client import Client
from exchange_over_http_client.api.market import get_book, get_leaderboard, get_symbols, get_trades
from exchange_over_http_client.api.operation import get_liveness
from exchange_over_http_client.api.orders import (
    adjust_cash,
    begin_round,
    cancel_order,
    cancel_orders,
    create_account,
    create_symbol,
    get_account,
    get_order,
    place_orders,
    replace_order,
    set_account,
    set_instrument,
)
from exchange_over_http_client.models import (
    AccountRules,
    CashAdjustment,
    Instrument,
    LimitOrder,
    ListedLimitOrder,
    NewAccount,
    NewRound,
    NewSymbol,
    OrderList,
    Placed,
    Replacement,
    Side,
)

client = Client(base_url=sys.argv[1])


def call(operation, status, *arguments, **named):
    """What a response of this status has."""
    deadline = time.monotonic() + 30
    while True:
        answer = operation.sync_detailed(*arguments, client=client, **named)
        if answer.status_code != HTTPStatus.NOT_FOUND or time.monotonic() > deadline:
            break  # reads are a moment behind
    assert answer.status_code == status, (operation.__name__, answer)
    return answer.parsed


def holdings(**shares):
    return NewSymbol.from_dict({"symbol": "SPY", "holdings": {"1": "500", **shares}})


for account in "12":
    call(create_account, 201, body=NewAccount(account=account, balance="1000"))
assert call(create_symbol, 201, body=holdings()).symbol == "SPY"
some = call(create_symbol, 200, body=holdings(**{"9": "1"}))
assert [one.account for one in some.holdings] == ["1", "9"], some
call(set_instrument, 200, "SPY", body=Instrument(tick="0.5"))
call(set_account, 200, "2", body=AccountRules(name="Ada"))
call(adjust_cash, 200, body=CashAdjustment(account="2", cash="-1", reason="fee"))
call(begin_round, 200, body=NewRound(name="morning"))

sell = LimitOrder(account="1", symbol="SPY", side=Side.SELL, shares="10", limit="99.5", ref="mine")
assert call(place_orders, 201, body=sell) == Placed(order=1)
assert call(place_orders, 200, body=sell).repeated
buy = LimitOrder(account="2", symbol="SPY", side=Side.BUY, shares=2, limit=100)
assert call(place_orders, 201, body=buy) == Placed(order=2)
listed = ListedLimitOrder(symbol="SPY", side=Side.BUY, shares="1", limit="5", post=True)
placed = call(place_orders, 200, body=OrderList(account="2", orders=[listed]))
assert [one.order for one in placed.orders] == [3], placed
replacement = Replacement(account="1", side=Side.SELL, shares="8", limit="99")
assert call(replace_order, 200, "ref:mine", body=replacement).order == 1

assert call(get_order, 200, "2").executions[0].price == "99.5"
assert call(get_account, 200, "2").name == "Ada"
assert call(get_book, 200, "SPY", levels=1).asks[0][0] == "99"
assert call(get_trades, 200, sym="SPY").trades[0].shares == "2"
assert call(get_symbols, 200).symbols[0].tick == "0.5"
assert call(get_leaderboard, 200, round_="newest").standings
assert call(cancel_order, 200, "1", account="1").canceled == "6"
assert len(call(cancel_orders, 200, account="2", sym="SPY").orders) == 1
assert call(cancel_orders, 409, account="2").code == "no_open_orders"
call(get_liveness, 200)
