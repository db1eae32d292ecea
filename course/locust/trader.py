"""The requests of one user, over any port: three reads to a write, orders around a price so that
about half of them trade."""

import collections
import random
import re
import time

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
