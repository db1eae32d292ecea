"""A server that keeps its journal: what the tests of histories and `run` start. On loopback."""

from exchange_server import ExchangeServer


def journaling_server(store, policy="loop", **more):
    return ExchangeServer(
        "--keep-journal", "--policy", policy, store=store, http_port="off", **more
    )
