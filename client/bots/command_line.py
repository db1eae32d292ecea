"""What the programs in Python share: options, signals, and an end with a status."""

from __future__ import annotations

import argparse
import math
import os
import re
import signal
import ssl
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from exchange_client import servers
from exchange_client.servers import addresses, host_in_url

try:
    from ._version import VERSION  # written by the build
except ImportError:
    VERSION = "of the source"

XML_PORT, HTTP_PORT = 12345, 8080
T = TypeVar("T")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "": 1, "m": 60, "h": 3600}


class Parser(argparse.ArgumentParser):
    """program: what messages begin with."""

    def __init__(self, program: str, **options: object) -> None:
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]
        self.program = program

    def _print_message(self, message: str, file: Any = None) -> None:
        (file or sys.stderr).write(message)  # argparse ignores an error here

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.program}: {message}\n{self.format_usage()}")


def checked(parse: Callable[[str], T]) -> Callable[[str], T]:
    """A `type` of an option: a ValueError becomes the message."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


def _servers(text: str) -> str:
    addresses(text)
    return text


def _duration(text: str) -> float:
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)(us|ms|s|m|h)?", text)
    seconds = float(found[1]) * _UNITS[found[2] or ""] if found else 0
    if not 0.001 <= seconds <= 1e6:
        raise ValueError(f"'{text}' is not a duration, such as 10, 500ms or 2m")
    return seconds


SERVERS, DURATION = checked(_servers), checked(_duration)


def number(least: float, most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = float(text) if re.fullmatch(r"[0-9]*\.?[0-9]+", text) else math.nan
        if not least <= value <= most:
            raise ValueError(f"'{text}' is not a number from {least:g} to {most:g}")
        return value

    return checked(parse)


def variable(name: str) -> str | None:
    """An environment variable as the default of an option; empty is unset."""
    return os.environ.get(name) or None


def is_set(name: str) -> bool:
    """Whether a variable sets a flag: by the words that the programs in C++ take. Raises
    ValueError, since a flag such as that of TLS must not be left out."""
    value = (variable(name) or "no").lower()
    if re.fullmatch("[+-]?[0-9]+", value):
        return int(value) > 0
    if value in ("true", "on", "yes", "enable", "t", "y", "+"):
        return True
    if value in ("false", "off", "no", "disable", "f", "n", "-"):
        return False
    raise ValueError(f"{name}: '{value}' is not true or false")


def http_of(connect: str, http: str | None) -> str:
    """The HTTP ports: those given, or HTTP_PORT of the hosts of the XML ports."""
    hosts = (host_in_url(host) for host, _ in addresses(connect))
    return http or ",".join(f"{host}:{HTTP_PORT}" for host in hosts)


def tls_context(tls: bool, ca: str | None, insecure: bool) -> ssl.SSLContext | None:
    if not (tls or ca or insecure):
        return None
    context = servers.tls_context(ca or True)
    if context and insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def read_key(path: str) -> str:
    """The key in a file of one line. Raises ValueError, which names the file."""
    try:
        with open(path, "rb") as file:
            key = file.read(1_003).decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise ValueError(f"the key file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"the key file {path} is not UTF-8") from None
    if not key or key != key.strip(" ") or re.search(r"[\x00-\x1f\x7f]", key) or len(key) > 1_000:
        raise ValueError(
            f"the key file {path} is not a key: one line of text, without blanks around it"
        )
    return key


def stop_on_signals() -> Callable[[], bool]:
    """Returns whether SIGTERM, SIGINT or SIGHUP has come since."""
    received: list[int] = []
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, lambda number, _: received.append(number))
    return lambda: bool(received)


def run(program: str, main: Callable[[], int]) -> NoReturn:
    """Ends the process with the status of main(), or with 1 if its output cannot be written."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        try:
            status: object = main()
        except SystemExit as error:
            status = error.code
        except KeyboardInterrupt:
            status = 128 + signal.SIGINT
        sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:  # not of a write
            raise
        print(f"{program}: cannot write to the standard output: {error.strerror}", file=sys.stderr)
        status = 1
    sys.stderr.flush()
    os._exit(int(status or 0))  # type: ignore[call-overload]
