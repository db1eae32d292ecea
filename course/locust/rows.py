"""The rows of the table: which program plays the users, over what, with how many load workers and
how long they wait."""

from dataclasses import dataclass

USERS, SPAWN_RATE = 50, 10  # as in the originals
WAIT = (1.0, 3.0)  # seconds, in the originals; 50 users then ask about 25 times a second


@dataclass(frozen=True)
class Row:
    key: str
    title: str
    user: str = ""  # class in locustfile.py; none: the C++ load generator
    workers: int = 1
    wait: tuple = (0, 0)

    @property
    def over_http(self):
        return self.user in ("PlainHttpUser", "FastUser", "GrowingFastUser")


ROWS = tuple(
    Row(*fields)
    for fields in (
        ("http-1", "HTTP, plain client, 1 worker", "PlainHttpUser"),
        ("http-4", "HTTP, plain client, 4 workers", "PlainHttpUser", 4),
        ("fast-1", "HTTP, fast client, 1 worker", "FastUser"),
        ("fast-4", "HTTP, fast client, 4 workers", "FastUser", 4),
        ("xml-1", "XML port, raw socket, 1 worker", "XmlUser"),
        ("xml-4", "XML port, raw socket, 4 workers", "XmlUser", 4),
        ("loadgen-1", "XML port, C++ load generator, 1 thread"),
        ("loadgen-4", "XML port, C++ load generator, 4 threads", "", 4),
        ("http-1-wait", "HTTP, plain client, 1 worker, users who wait", "PlainHttpUser", 1, WAIT),
        ("http-4-wait", "HTTP, plain client, 4 workers, users who wait", "PlainHttpUser", 4, WAIT),
        ("fast-1-wait", "HTTP, fast client, 1 worker, users who wait", "FastUser", 1, WAIT),
        ("xml-1-wait", "XML port, raw socket, 1 worker, users who wait", "XmlUser", 1, WAIT),
        ("control", "XML port, 1 worker, an order with one execution is read", "ControlUser"),
        (
            "grow",
            "XML port, 1 worker, an order that every write makes longer is read",
            "GrowingUser",
        ),
        ("grow-http", "HTTP, fast client, 1 worker, the same", "GrowingFastUser"),
    )
)

# Table D of the originals: set-up, requests/s, average ms, 99 % ms. They give no more.
ORIGINALS = (
    ("report 1: 1 worker", 21.9, 94.7, 3300),
    ("report 1: 4 workers", 32.4, 20.8, 110),
    ("report 1: fast client, 4 workers", 28.1, 247.1, 7200),
    ("report 2: 1 worker", 24.6, 386.9, 1900),
    ("report 2: 4 workers", 24.9, 419.8, 2300),
    ("report 2: fast client, 1 worker", 26.1, 457.4, 2600),
)
