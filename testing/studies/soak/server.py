"""A server on a store that outlives it: started, measured until ready, ended in order or at once."""

import re
import signal
import subprocess
import tempfile
import time

from sampling import Ready, metrics

READY_S, STOP_S = 1800, 60


class ServerError(Exception):
    pass


class Server:
    def __init__(self, binary, url, *arguments):
        self.log = tempfile.TemporaryFile("w+")
        command = [
            str(binary),
            "--port",
            "0",
            "--http-port",
            "0",
            "--store",
            url,
            *map(str, arguments),
        ]
        began = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        try:
            ready = Ready(self.process, READY_S)
        except RuntimeError:
            self.kill()
            raise ServerError(f"the server did not start: {self.messages()[-1000:]}") from None
        self.ready_s = time.monotonic() - began
        self.port, self.http_port = ready.port, ready.http_port

    @property
    def pid(self):
        return self.process.pid

    def messages(self):
        self.log.seek(0)
        return self.log.read()

    def replayed(self):
        """Batches that it replayed from the journal at its start."""
        match = re.search(r"\((\d+) replayed from the journal\)", self.messages())
        return int(match[1]) if match else None

    def catch_up(self, seconds=600):
        """Until the tables have all that is in the journal."""
        deadline = time.monotonic() + seconds
        while metrics(self.http_port)["exchange_projection_lag_batches"] > 0:
            if time.monotonic() > deadline:
                raise ServerError(f"the tables did not catch up in {seconds} s")
            time.sleep(0.05)

    def stop(self):
        """As an operator would; how long it took. Raises ServerError where it does not end with 0."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServerError(f"the server did not stop in {STOP_S} s") from None
        self.process.stdout.close()
        if code != 0:
            raise ServerError(f"the server ended with {code}: {self.messages()[-1000:]}")
        return time.monotonic() - began

    def kill(self):
        """As a power cut would end it."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.log.close()
