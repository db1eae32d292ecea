"""A first trade, between two accounts. It may be run again."""

from exchange_client import Exchange, Refused

SERVER = "127.0.0.1:12345"

with Exchange(SERVER, account=1001) as alice, Exchange(SERVER, account=1002) as bob:
    for account, cash in ((1001, 100_000_000), (1002, 0)):
        try:
            alice.create_account(account, balance=cash)
        except Refused as refusal:
            if refusal.code != "account_exists":  # since the last run
                raise
    alice.create_symbol("ABC", {1002: 500})  # bob gets 500 shares

    bid = alice.buy("ABC", 100, limit="145.67")
    bob.sell("ABC", 40, limit=140)

    status = alice.query(bid)
    for execution in status.executions:
        print(execution.shares, "at", execution.price)
    print(status.open, "open")

    print(alice.cancel(bid).canceled, "canceled")
    try:
        bob.sell("ABC", 10_000_000, limit=1)
    except Refused as refusal:
        print("refused:", refusal)
