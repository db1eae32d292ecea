"""What can go wrong. All are an ExchangeError."""


class ExchangeError(Exception):
    """Base of all errors of this package, except those of wrong arguments (TypeError, ValueError)."""


class Refused(ExchangeError):
    """The exchange answered with an error; the text is its sentence. Nothing was changed."""


class ConnectionFailed(ExchangeError):
    """No server could be reached. Nothing was sent."""


class InDoubt(ExchangeError):
    """The connection ended before the reply. Whether the exchange executed the request is not known."""


class BadReply(ExchangeError):
    """What came is not a reply of the protocol."""
