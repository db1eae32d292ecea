"""The servers of one exchange: one is active, the others are its standbys, which accept no connections."""

from __future__ import annotations

import secrets
import ssl
from itertools import count

Tls = bool | str | ssl.SSLContext
PAUSE_MIN_S, PAUSE_MAX_S = 0.05, 1.0  # between attempts


def addresses(servers: str) -> list[tuple[str, int]]:
    """ "HOST:PORT" or "HOST:PORT,HOST:PORT". Raises ValueError."""
    found = []
    for server in servers.split(","):
        host, colon, port = server.strip().rpartition(":")
        if not colon or not host or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"{server!r} is not HOST:PORT")
        found.append((host.strip("[]"), int(port)))
    return found


def tls_context(tls: Tls) -> ssl.SSLContext | None:
    """True: the system's authorities; a text: a file of certificates to trust."""
    if isinstance(tls, ssl.SSLContext):
        return tls
    if tls is False:
        return None
    return ssl.create_default_context(cafile=None if tls is True else tls)


class References:
    """References for orders that this program sends: no other program makes the same ones."""

    def __init__(self) -> None:
        self._program = secrets.token_hex(8)
        self._numbers = count(1)

    def make(self) -> str:
        return f"{self._program}-{next(self._numbers)}"
