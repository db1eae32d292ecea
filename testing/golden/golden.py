"""The stores, replies and metrics that versions leave behind: how they are made, and how a server
is asked for them."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from exchange_server import Connection, ExchangeServer, read_metrics, wait_until  # noqa: E402

KEYS = {"1": "key of one", "2": "key of two", "3": "key of three"}
ORDERS_MAX = 20
QUERIES = "".join(f'<query id="{order}"/>' for order in range(1, ORDERS_MAX + 1))


def server_on(store, *options):
    # The audit replays a journal that is whole, from the first batch on.
    return ExchangeServer("--auth", "--keep-journal", *options, store=store)


def transactions(account, elements):
    return f'<transactions id="{account}" key="{KEYS[account]}">{elements}</transactions>'


def requests():
    lines = (HERE / "requests.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def converse(server, documents):
    """(request, reply) of each document, on one connection, whose orders are canceled when it
    returns."""
    with Connection(server.port) as connection:
        pairs = [(each, connection.ask(each)) for each in documents]
    canceled = 'exchange_canceled_orders_total{reason="disconnect"}'
    wait_until(lambda: read_metrics(server.http_port).get(canceled), "the cancel of the last order")
    return pairs


def answers(server):
    """What each account gets that asks for all orders."""
    return [(each, server.request(each)[0]) for each in (transactions(a, QUERIES) for a in KEYS)]


def without_times(pairs):
    return [(asked, re.sub(r'time="\d+"', 'time=""', reply)) for asked, reply in pairs]


def write_conversation(path, pairs):
    path.write_text("".join(f"> {asked}\n< {reply}\n" for asked, reply in pairs))


def read_conversation(path):
    lines = [line[2:] for line in path.read_text().splitlines()]
    return list(zip(lines[::2], lines[1::2], strict=True))


def series(server):
    """The names on /metrics with their labels, but for values that belong to a machine or a
    build."""
    names = set()
    for name in read_metrics(server.http_port):
        name = re.sub(r',?le=".*?"', "", name).replace("{}", "")
        names.add(re.sub(r'".*?"', '""', name) if name.startswith("exchange_info") else name)
    return sorted(names)
