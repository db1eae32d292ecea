"""exchange-replay: the command line."""

from __future__ import annotations

import argparse
import heapq
import re
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from datetime import time as datetime_time
from itertools import chain, repeat
from pathlib import Path

from exchange_client.errors import ExchangeError
from exchange_client.servers import addresses, host_in_url

from . import binance, itch, journal, lobster, sample
from .connection import Connection, Printer
from .mapping import Settings
from .player import Player
from .report import Report
from .tape import DAY, SECOND, BadTape, Event, Place, Unusable, symbol_name

READERS: dict[str, Callable[[Place, frozenset[str]], Iterator[Event]]] = {
    "itch": itch.read,
    "lobster": lobster.read,
    "binance": binance.read,
    "journal": journal.read,
}
FAILURES = (BadTape, Unusable, ExchangeError, OSError, EOFError)
OF_ONE_DAY = ("itch", "lobster")  # their times are those since midnight
NAMED_DATES = ("%Y-%m-%d", "%Y%m%d", "%m%d%Y", "%m%d%y")  # in names of files
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
INTERRUPTED = 130
MARKET_OPENS = 34_200 * SECOND  # 09:30
SAMPLE_DAY = 20_000 * DAY  # since the epoch
ABOUT = """\
Plays recorded order flow into an exchange, as background accounts, at N times its speed.

  itch     NASDAQ TotalView-ITCH 5.0, also .gz
  lobster  SYMBOL_DATE_..._message_N.csv, one file of each symbol, all of one day
  binance  SYMBOL-trades-DATE, SYMBOL-aggTrades-DATE and SYMBOL-bookTicker-DATE, .csv or .zip; trades first
  journal  the SQLite store of an exchange that ran with --keep-journal, such as exchange.db

  exchange-replay generate lobster AAPL_2026-11-26_message.csv     writes a sample
  exchange-replay lobster AAPL_2026-11-26_message.csv --dry-run --limit 20
  exchange-replay lobster AAPL_2026-11-26_message.csv --speed 10

At the end it cancels what it left open, and reports how its trades differ from those of the tape. docs/replay.md
of the exchange says what the report means."""


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "exchange-replay", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("format", choices=list(READERS))
    add("files", nargs="+", type=Path, metavar="FILE", help="merged by the times in them")
    add(
        "--connect",
        type=address,
        default="127.0.0.1:12345",
        metavar="HOST:PORT|unix:PATH",
        help="default: %(default)s",
    )
    add(
        "--http",
        metavar="HOST:PORT",
        help=(
            "the HTTP port, which says what other accounts traded; default: the host of --connect,"
            " port 8080"
        ),
    )
    add(
        "--speed",
        type=speed,
        default=1,
        metavar="N",
        help="times as fast as the tape; 0: as fast as possible, default: 1",
    )
    add("--symbols", default="", metavar="A,B", help="default: all")
    add(
        "--connections",
        type=positive,
        default=4,
        metavar="N",
        help="each symbol has one of them; default: 4",
    )
    add(
        "--from",
        dest="begin",
        metavar="TIME",
        help=(
            "HH:MM[:SS] of the first day; of binance and journal also YYYY-MM-DDTHH:MM[:SS], in UTC"
            " if it has no offset. What is open then is placed first"
        ),
    )
    add("--until", dest="end", metavar="TIME", help="likewise; the end of the tape")
    add("--limit", type=positive, default=-1, metavar="N", help="messages; default: all")
    add(
        "--accounts",
        type=digits,
        metavar="DIGITS",
        help="what the ids of the new accounts begin with; default: of each run another",
    )
    add(
        "--cash",
        type=positive,
        default=10**13,
        metavar="N",
        help="of each account; default: 10^13",
    )
    add(
        "--shares",
        type=positive,
        default=10**8,
        metavar="N",
        help="of each account and symbol; default: 10^8",
    )
    add(
        "--batch",
        type=positive,
        default=64,
        metavar="N",
        help="orders, cancels and so on in one request at most; default: 64",
    )
    add("--operator-key", metavar="KEY", help="of a server with --auth")
    add(
        "--progress",
        type=positive,
        default=10,
        metavar="S",
        help="seconds between two lines; default: 10",
    )
    add(
        "--dry-run",
        action="store_true",
        help="prints the requests instead of sending them, without waiting",
    )
    return parser


def generate_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "exchange-replay generate",
        description=(
            "Writes a sample of a random market. A journal is written by a server with"
            " --keep-journal."
        ),
    )
    add = parser.add_argument
    add("format", choices=["itch", "lobster", "binance"])
    add(
        "file",
        type=Path,
        metavar="FILE",
        help="named as the format asks; of binance trades or bookTicker, by its name",
    )
    add(
        "--symbols",
        metavar="A,B",
        help="of itch; default: AAPL,MSFT. Else the name of the file has it",
    )
    add(
        "--messages",
        type=positive,
        default=10_000,
        metavar="N",
        help="of the market; default: 10000",
    )
    add("--rate", type=positive, default=100, metavar="N", help="messages a second; default: 100")
    add(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="the same seed gives the same market; default: 1",
    )
    return parser


def positive(word: str) -> int:
    if not word.isdecimal() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number above 0")
    return int(word)


def speed(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = -1
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of at least 0")
    return number


def digits(word: str) -> str:
    if not re.fullmatch("[0-9]{1,50}", word):
        raise argparse.ArgumentTypeError(f"{word!r} is not 1 to 50 digits")
    return word


def address(word: str) -> tuple[str, int]:
    try:
        (found,) = addresses(word, may_be_local=True)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not HOST:PORT or unix:PATH") from None
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["generate"]:
            return generate(generate_options().parse_args(words[1:]))
        return replay(options().parse_args(words))
    except FAILURES as error:
        print(f"exchange-replay: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before anything was sent
        return INTERRUPTED


def generate(chosen: argparse.Namespace) -> int:
    path: Path = chosen.file
    if path.suffix.lower() in (".gz", ".zip"):
        raise Unusable(f"{path}: a sample is not packed; pack it afterwards")
    start = MARKET_OPENS
    if chosen.format == "itch":
        symbols = symbols_of(chosen.symbols or "AAPL,MSFT")
    elif chosen.format == "lobster":
        symbols = [lobster.symbol_of(path)]
    else:
        symbols = [binance.symbol_of(path)]
        start += SAMPLE_DAY
    market = sample.Market(symbols, chosen.seed, start, chosen.rate)
    if chosen.format == "itch":
        itch.write(path, market.events(chosen.messages))
    elif chosen.format == "lobster":
        lobster.write(path, market.events(chosen.messages))
    elif binance.kind_of(path) == "bookTicker":
        binance.write_quotes(path, sample.quotes(market, chosen.messages))
    else:
        binance.write_trades(path, sample.trades(market, chosen.messages))
    return 0


def replay(chosen: argparse.Namespace) -> int:
    wanted = frozenset(symbols_of(chosen.symbols)) if chosen.symbols else frozenset()
    check_files(chosen.format, chosen.files)
    read = READERS[chosen.format]
    places = [Place(path) for path in chosen.files]
    tapes = [zip(read(place, wanted), repeat(place)) for place in places]
    events = heapq.merge(*tapes, key=lambda pair: pair[0].time)
    first = next(events, None)
    if first is None:
        raise BadTape(f"{', '.join(map(str, chosen.files))}: nothing to play")
    begin, end = (time_of(word, first[0].time) for word in (chosen.begin, chosen.end))
    settings = Settings(
        Report(),
        chosen.accounts or f"9{time.time():.0f}",
        chosen.cash,
        chosen.shares,
        chosen.batch,
        chosen.operator_key,
        secrets.token_hex(16) if chosen.operator_key else None,
    )
    if chosen.dry_run:
        connections: list[Connection] = [Printer(settings.report)]
    else:
        connections = [
            Connection(settings.report, chosen.connect) for _ in range(chosen.connections)
        ]
    player = Player(connections, settings, 0 if chosen.dry_run else chosen.speed, chosen.progress)

    def stop(*_: object) -> None:
        player.stopping = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the next one ends it at once

    before = signal.signal(signal.SIGINT, stop)
    failure: Exception | None = None
    try:
        try:
            player.play(chain([first], events), begin, end, chosen.limit)
        except BadTape as error:
            failure = error  # what came before it was played
        player.finish()
    except FAILURES as error:
        failure = error
    finally:
        signal.signal(signal.SIGINT, before)
        for connection in connections:
            connection.close()
    if not chosen.dry_run:
        host, port = chosen.connect
        address = chosen.http or f"{host_in_url(host) if port else 'localhost'}:8080"
        try:
            settings.report.read_others(address, settings, player.markets.values())
        except (ExchangeError, Unusable, ValueError) as error:
            settings.report.others_unknown = str(error)
        except KeyboardInterrupt:  # of a read of many fills: the report does not depend on it
            settings.report.others_unknown = "interrupted"
        ended = "interrupted" if player.stopping else "failed" if failure else "played"
        print("\n".join(settings.report.lines(player.seconds, bool(chosen.speed), ended)))
    if failure:
        raise failure
    return 0


def symbols_of(words: str) -> list[str]:
    try:
        return [symbol_name(word) for word in words.split(",")]
    except ValueError as error:
        raise Unusable(f"--symbols: {error}") from None


def check_files(kind: str, paths: Sequence[Path]) -> None:
    """Raises Unusable for files that cannot be merged by the times in them."""
    known: dict[tuple[str, str], Path] = {}  # by what identifies the messages
    dates: dict[str, Path] = {}
    for path in paths:
        same = ("file", str(path.resolve()))
        if kind == "binance" and binance.kind_of(path) in binance.TRADES:
            same = (binance.symbol_of(path), path.name.split("-", 2)[-1].partition(".")[0])
        if same in known:
            raise Unusable(f"{known[same]} and {path} have the same messages")
        known[same] = path
        date = date_in(path.name)
        if kind in OF_ONE_DAY and date:
            dates.setdefault(date, path)
    if len(dates) > 1:
        (one, path), (another, other) = list(dates.items())[:2]
        raise Unusable(
            f"{path} is of {one} and {other} of {another}: their times are those of a day, "
            "so play one day after the other"
        )


def date_in(name: str) -> str | None:
    """YYYY-MM-DD of the first date in the name of a file."""
    for word in re.findall(
        r"(?<![0-9])(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8}|[0-9]{6})(?![0-9])", name
    ):
        for form in NAMED_DATES:
            try:
                found = datetime.strptime(word, form)
            except ValueError:
                continue
            if 1990 <= found.year < 2100:
                return f"{found:%Y-%m-%d}"
    return None


def time_of(word: str | None, first: int) -> int | None:
    """A time of the tape, as its events have them: since midnight, or since the epoch."""
    if word is None:
        return None
    try:
        if "T" in word:
            return since_epoch(word, first)
        of_day = datetime_time.fromisoformat(word)
    except (ValueError, OverflowError):
        raise Unusable(f"{word!r} is not HH:MM[:SS] or YYYY-MM-DDTHH:MM[:SS]") from None
    if of_day.tzinfo:
        raise Unusable(f"{word!r}: a time with an offset needs its date")
    seconds = (of_day.hour * 60 + of_day.minute) * 60 + of_day.second
    return first // DAY * DAY + seconds * SECOND + of_day.microsecond * 1000


def since_epoch(word: str, first: int) -> int:
    if first < DAY:
        raise Unusable(f"{word!r}: this tape has times of a day alone: HH:MM[:SS]")
    moment = datetime.fromisoformat(word)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return (moment - EPOCH) // timedelta(microseconds=1) * 1000
