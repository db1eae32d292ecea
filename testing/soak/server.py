"""A server on a store that outlives it, measured until it is ready."""

import re

from exchange_server import MESSAGES, ExchangeServer, wait_until
from sampling import metrics


class Server(ExchangeServer):
    start_s, stop_s, log_level = 1800, 60, "info"

    def __init__(self, binary, url, *arguments):
        super().__init__(*arguments, store=url, binary=binary, errors=MESSAGES)

    def replayed(self):
        """Batches that it replayed from the journal at its start."""
        match = re.search(r"\((\d+) replayed from the journal\)", self.messages())
        return int(match[1]) if match else None

    def catch_up(self, seconds=600):
        """Waits until the tables contain the whole journal."""
        lag = lambda: metrics(self.http_port)["exchange_projection_lag_batches"]
        wait_until(lambda: lag() == 0, "the tables to catch up", seconds)
