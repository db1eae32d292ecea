"""A server on a store that outlives it, measured until it is ready."""

import re
import tempfile

from exchange_server import ExchangeServer, ServerError, wait_until
from sampling import metrics


class Server(ExchangeServer):
    start_s, stop_s, log_level = 1800, 60, "info"

    def __init__(self, binary, url, *arguments):
        self.log = tempfile.TemporaryFile("w+")
        super().__init__(*arguments, store=url, binary=binary, errors=self.log)

    def start(self):
        try:
            return super().start()
        except ServerError as error:
            raise ServerError(f"{error}: {self.messages()[-1000:]}") from None

    def stop(self):
        try:
            return super().stop()
        except ServerError as error:
            raise ServerError(f"{error}: {self.messages()[-1000:]}") from None

    def __exit__(self, *_):
        self.close()
        self.log.close()

    def messages(self):
        self.log.seek(0)
        return self.log.read()

    def replayed(self):
        """Batches that it replayed from the journal at its start."""
        match = re.search(r"\((\d+) replayed from the journal\)", self.messages())
        return int(match[1]) if match else None

    def catch_up(self, seconds=600):
        """Waits until the tables contain the whole journal."""
        lag = lambda: metrics(self.http_port)["exchange_projection_lag_batches"]
        wait_until(lambda: lag() == 0, "the tables to catch up", seconds)
