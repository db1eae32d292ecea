"""What can go wrong. All are an ExchangeError."""

from __future__ import annotations


class ExchangeError(Exception):
    """Base of all errors of this package, except those of wrong arguments (TypeError,
    ValueError)."""

    code: str | None = None  # a word for programs, which never changes; the text is for people
    reason: str | None = None  # the text without the request, which may have keys; None: the same


class Refused(ExchangeError):
    """The exchange answered with an error; the text is its sentence. Nothing was changed.

    The code is one of docs/protocol.md, such as "insufficient_funds"; None if the server does not
    know codes.
    """

    def __init__(self, sentence: str, code: str | None = None) -> None:
        super().__init__(sentence, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


class ConnectionFailed(ExchangeError):
    """No server could be reached. Nothing was sent."""

    code = "connection_failed"


class InDoubt(ExchangeError):
    """The connection ended before the reply. Whether the exchange executed the request is not
    known."""

    code = "in_doubt"


class BadReply(ExchangeError):
    """What came is not a reply of the protocol."""

    code = "bad_reply"
