"""What the tests of histories and `run` start: a server that keeps its journal, on loopback, and
the judge."""

import subprocess

from exchange_server import BIN, ExchangeServer


def journaling_server(store, policy="loop", **more):
    return ExchangeServer(
        "--keep-journal", "--policy", policy, store=store, http_port="off", **more
    )


def check_history(store, *histories):
    """(exit code, output)"""
    done = subprocess.run(
        [str(BIN / "check-history"), "--store", store, *map(str, histories)],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr
