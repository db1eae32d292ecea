"""The servers of one exchange: one is active, the others are its standbys, which accept no
connections."""

from __future__ import annotations

import os
import re
import secrets
import socket
import ssl
from itertools import count
from typing import Protocol
from weakref import WeakSet

from .protocol import checked

Tls = bool | str | ssl.SSLContext
LOCAL = "unix:"
_ADDRESS = re.compile(r"([^\s/]+):([0-9]{1,5})")
PAUSE_MIN_S, PAUSE_MAX_S = 0.05, 1.0  # between attempts


def addresses(servers: str, may_be_local: bool = False) -> list[tuple[str, int]]:
    """Reads "HOST:PORT" or "HOST:PORT,HOST:PORT", also "unix:PATH" if it may be local: a host with
    port 0. Raises ValueError, TypeError."""
    found = []
    for server in checked(servers, str, "servers").split(","):
        if may_be_local and server.strip().startswith(LOCAL):
            found.append((server.strip(), 0))
            continue
        parts = _ADDRESS.fullmatch(server.strip())
        if not parts or int(parts[2]) > 65535:
            raise ValueError(f"{server!r} is not HOST:PORT")
        found.append((parts[1].strip("[]"), int(parts[2])))
    return found


def connect(host: str, port: int, timeout: float) -> socket.socket:
    """A connected socket. Raises OSError."""
    if not host.startswith(LOCAL):
        connected = socket.create_connection((host, port), timeout)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected
    local = socket.socket(socket.AF_UNIX)
    try:
        local.settimeout(timeout)
        local.connect(host.removeprefix(LOCAL))
    except BaseException:
        local.close()
        raise
    return local


def shown(host: str, port: int) -> str:
    return host if host.startswith(LOCAL) else f"{host}:{port}"


def host_in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def tls_context(tls: Tls) -> ssl.SSLContext | None:
    """True: the system's authorities; a text: a file of certificates to trust."""
    if isinstance(tls, ssl.SSLContext):
        return tls
    if tls is False:
        return None
    return ssl.create_default_context(cafile=None if tls is True else tls)


class Forked(Protocol):
    def after_fork(self) -> None:
        """Called in the child: gives up what the parent goes on to use."""


_forked: WeakSet[Forked] = WeakSet()


def at_fork(what: Forked) -> None:
    _forked.add(what)


def _after_fork() -> None:
    for what in _forked:
        what.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_after_fork)


class References:
    """References for orders that this program sends: no other program makes the same ones, and no
    child of it."""

    def __init__(self) -> None:
        self.after_fork()
        at_fork(self)

    def after_fork(self) -> None:
        self._program = secrets.token_hex(8)
        self._numbers = count(1)

    def make(self) -> str:
        return f"{self._program}-{next(self._numbers)}"
