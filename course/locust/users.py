"""What users ask, over any port: three reads to a write, orders around a price so that about half
of them trade; and the client of the XML port, which reports each request to Locust's statistics. It
keeps one connection of the Python client open.

Imports nothing of Locust: a user passes the function that reports
(`environment.events.request.fire`). All objects belong to one user and run in its greenlet."""

import collections
import random
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client/python/src"))
from exchange_client import BadReply, Connection, Refused  # noqa: E402

SYMBOL = "LOAD"
# HTTP reads a replica of the tables, a fraction of a second behind; more on a busy machine.
READABLE_AFTER_S = 3.0


class Trader:
    def __init__(self, state):
        self.account, prepared = random.choice(list(state["accounts"].items()))
        self.prepared, self.orders = prepared, collections.deque(maxlen=500)  # time placed, id

    def order_document(self):
        amount = random.choice(("1", "-1"))
        return (
            f'<transactions id="{self.account}"><order sym="{SYMBOL}" amount="{amount}"'
            f' limit="{random.randint(95, 105)}"/></transactions>'
        )

    def placed(self, reply):
        self.orders.append((time.monotonic(), order_id(reply)))

    def query_document(self):
        return (
            f'<transactions id="{self.account}"><query id="{self.newest_order()}"/></transactions>'
        )

    def newest_order(self):
        return self.orders[-1][1] if self.orders else self.prepared

    def readable_order(self):
        """The newest of its orders that has had time to reach the tables. Not for use with
        `newest_order`: it forgets older ones."""
        last_time = time.monotonic() - READABLE_AFTER_S
        while self.orders and self.orders[0][0] <= last_time:
            self.prepared = self.orders.popleft()[1]
        return self.prepared


class Growing:
    """One order that trades with every write and that all users read: its reply grows. `control`
    reads one that does not grow."""

    def __init__(self, state, control=False):
        growing = state["growing"]
        self.buyer, self.order = growing["buyer"], growing["quiet_order" if control else "order"]
        self.seller = random.choice(growing["sellers"])

    def order_document(self):
        return (
            f'<transactions id="{self.seller}"><order sym="GROW" amount="-1"'
            ' limit="1"/></transactions>'
        )

    def query_document(self):
        return f'<transactions id="{self.buyer}"><query id="{self.order}"/></transactions>'


def order_id(reply):
    match = re.search(rb'<opened [^>]*\bid="(\d+)"', reply)
    return int(match[1]) if match else None


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
