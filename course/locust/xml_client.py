"""Requests to the exchange's XML port, reported to Locust's statistics: one connection kept open,
by the Python client.

Imports nothing of Locust: a user passes the function that reports
(`environment.events.request.fire`).
One client belongs to one user and runs in its greenlet."""

import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client/python/src"))
from exchange_client import BadReply, Connection, Refused  # noqa: E402


def judge(reply, expected):
    """Raises Refused if an <error> is in the reply, BadReply if its first element is not
    `expected`."""
    error = re.search(rb"<error[^>]*>([^<]*)<", reply)
    if error:
        raise Refused(error[1].decode(errors="replace"))
    if not reply.startswith(b"<results><%s" % expected.encode()):
        raise BadReply(f"not <{expected}>: {reply[:60]!r}")


class TimedClient:
    def __init__(self, host, port, fire, connection=Connection):
        self.host, self.port, self.fire = host, port, fire
        self.make_connection, self.connection = connection, None

    def ask(self, name, document, expected):
        """One request under `name` in the statistics; the reply, or None if it failed. Connects if
        necessary; that time counts."""
        reply, failure = b"", None
        began = time.perf_counter()
        try:
            if self.connection is None:
                self.connection = self.make_connection(self.host, self.port)
            reply = self.connection.request(document)
        except (OSError, EOFError, BadReply) as error:
            failure = error
        except BaseException:  # of gevent, in mid-request: the reply is that of no later one
            self.close()
            raise
        took_ms = (time.perf_counter() - began) * 1000
        if failure is None:
            try:
                judge(reply, expected)
            except (Refused, BadReply) as error:
                failure = error
        if failure is not None and not isinstance(failure, Refused):
            self.close()
        self.fire(
            request_type="XML",
            name=name,
            response_time=took_ms,
            response_length=len(reply),
            exception=failure,
            context={},
        )
        return reply if failure is None else None

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None
