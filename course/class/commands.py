"""The program exchange-class: what 'exchange-cli class' does for a teacher.

The program exchange-cli executes it with its own options, which this one therefore knows.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from functools import partial
from pathlib import Path
from typing import Any

from bots.command_line import (
    HTTP_PORT,
    SERVERS,
    VERSION,
    XML_PORT,
    Parser,
    http_of,
    is_set,
    number,
    run,
    tls_context,
    variable,
)
from exchange_client.errors import BadReply, ConnectionFailed, ExchangeError, InDoubt

from check import check_scenario, server_program
from folder import Folder, write_private
from session import Options, Session, counted
from table import ClassError, harmless, printable

PROGRAM = "exchange-cli"
CONNECT = f"127.0.0.1:{XML_PORT}"
ROUNDS_KEPT = 100  # by the server, of those that have ended
REFUSED, USAGE, UNREACHABLE = 1, 2, 3  # exit statuses
AGAIN = "Run the command again: it goes on where it stopped."
ADVICE = (
    "Is a server running there? exchange-server, or build/bin/server, starts one; --connect "
    "HOST:PORT names another, and --http its HTTP port."
)


def say(text: str) -> None:
    print(printable(text))


def init(words: Any, folder: Folder, options: Options) -> None:
    scheme, first = "https" if options.tls else "http", options.http.split(",")[0]
    added, remarks = folder.write(
        words.roster,
        words.scenario,
        f"{scheme}://{first}",
        words.name_column,
        words.id_column,
        lambda *found: check_scenario(server_program(), *found, words.scenario),
    )
    session = Session(folder, options)
    new = counted(added, "student")
    say(
        f"class {session.scenario.name}: {session.size}; {new} new; keys and links in {folder.keys}"
    )
    for remark in remarks:
        say(remark)
    try:
        session.populate()
        say("the exchange is ready: 'exchange-cli class start' opens it")
    except ConnectionFailed as error:
        say(
            f"{error}\nIf the server does not run yet, start it:\n  {session.start_of_server()}\n"
            "then 'exchange-cli class start' creates the accounts, and opens trading"
        )


def start(words: Any, session: Session) -> None:
    session.populate()
    session.begin_round(words.round)
    if session.scenario.timetable:
        say(f"trading follows {session.folder.timetable}, if the server was started with it")
    else:
        session.set_trading("open")
    session.start_bots()


def pause(words: Any, session: Session) -> None:
    session.set_trading("halted")


def stop(words: Any, session: Session) -> None:
    session.halt_and_stop_bots()


def new_day(words: Any, session: Session) -> None:
    was_closed = session.has_day(words.name)
    if was_closed and session.leaderboard()["rounds"]:
        raise ExchangeError(
            f"day {words.name} was closed before, and the next one has begun: 'exchange-cli class "
            "start' creates what it lacks"
        )
    session.halt_and_stop_bots()
    session.close_day(words.name, was_closed)
    session.populate()
    say("the next day is ready: 'exchange-cli class start' opens it")


def status(words: Any, session: Session) -> None:
    is_complete = session.catch_up()
    symbols, board = session.symbols(), session.leaderboard()
    accounts = {one.account for one in session.students}
    traded = sum(one.get("account") in accounts for one in board["standings"])
    say(f"class {session.scenario.name}: {session.size}")
    if not is_complete:
        say("the exchange does not show all that was committed yet")
    say(f"round: {board['rounds'][-1]['name'] if board['rounds'] else 'none yet'}")
    say(f"bots: {session.bots_text()}")
    say(f"students who have traded: {traded} of {len(session.students)}")
    rows = [["SYMBOL", "TRADING", "BID", "ASK", "LAST", "TRADES", "ORDERS"]]
    for one in symbols.values():
        row = [one["symbol"], one.get("trading", "open")]
        row += [one[name] or "-" for name in ("bid", "ask", "last")]
        rows.append([*row, str(one["trades"]), str(one["open_orders"])])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if nth < 2 else cell.rjust(width)
            for nth, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells))


def export(words: Any, session: Session) -> None:
    """A row for each student, as in the roster, with results of all rounds and of each one."""
    session.wait_for_all()
    table, account = session.folder.students_table()

    def add(board: Any, name: str, *fields: str) -> None:
        of = {one.get("account"): one for one in board["standings"]}
        table.heading += [harmless(name + field) for field in fields]
        for row in table.rows:
            found = of.get(row[account])
            row += [str(found[one]) if found else "" if one == "rank" else "0" for one in fields]

    board = session.leaderboard()
    add(board, "", "rank", "profit", "volume", "trades", "largest_position")
    for one in board["rounds"][-ROUNDS_KEPT:]:
        add(session.leaderboard(one["round"]), f"round {one['name']} ", "profit")
    try:
        Path(words.to).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ClassError(f"cannot make {words.to}: {error.strerror}") from None
    file = Path(words.to, "students.csv")
    write_private(file, table.text())
    say(f"{counted(len(table.rows), 'student')}: {file}")


CHANGING = {"start": start, "pause": pause, "stop": stop, "new-day": new_day}
LOOKING = {"status": status, "export": export}


def _parser() -> Parser:
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    add = common.add_argument
    add(
        "--folder",
        help="what you keep of the class: keys, scenario, log of the bots (default: class)",
    )
    add(
        "--connect",
        type=SERVERS,
        metavar="HOST:PORT",
        help="XML port of the server, or of several with a comma between: the active one is used "
        f"(default: {CONNECT}, or $EXCHANGE_CONNECT)",
    )
    add(
        "--http",
        type=SERVERS,
        metavar="HOST:PORT",
        help=f"its HTTP port (default: port {HTTP_PORT} of that host, or $EXCHANGE_HTTP)",
    )
    add(
        "--operator-key-file",
        metavar="FILE",
        help="the operator's key; '-' asks for it (default: $EXCHANGE_OPERATOR_KEY_FILE, else that "
        "of the folder)",
    )
    add(
        "--tls",
        action="store_true",
        help="speak TLS, and check the server's certificate (or $EXCHANGE_TLS)",
    )
    add(
        "--tls-ca",
        metavar="FILE",
        help="the same against these authorities (PEM; or $EXCHANGE_TLS_CA)",
    )
    add(
        "--tls-insecure",
        action="store_true",
        help="speak TLS without checking the certificate",
    )
    add(
        "--timeout",
        type=number(0.1, 86_400),
        metavar="SECONDS",
        help="to wait for a reply (default: 30)",
    )
    for option in ("-a", "--account", "--key"):  # of other commands of exchange-cli
        add(option, help=argparse.SUPPRESS)
    for option in ("--xml", "--retry", "--new-symbol", "--keep-going"):
        add(option, action="store_true", help=argparse.SUPPRESS)
    parser = Parser(
        PROGRAM,
        prog="exchange-cli class",
        parents=[common],
        description="A class of students and bots: accounts, keys and instruments of a roster and "
        "a scenario (course/docs/class.md).",
        epilog="Exit status: 0 fine, 1 the exchange refused, 2 usage, 3 the server cannot be "
        "reached, 130 Ctrl-C.",
    )
    parser.add_argument("--version", action="version", version=f"exchange-class {VERSION}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=partial(Parser, PROGRAM)
    )

    def command(name: str, text: str) -> Any:
        return commands.add_parser(name, parents=[common], help=text, description=text)

    made = command("init", "accounts, keys and instruments of a class")
    made.add_argument(
        "--name-column",
        action="append",
        default=[],
        metavar="COLUMN",
        help="column of the roster with the names for the leaderboard; twice: first and last name",
    )
    made.add_argument(
        "--id-column",
        default="",
        metavar="COLUMN",
        help="column that tells students apart, each time that the class gets another roster",
    )
    made.add_argument(
        "roster",
        metavar="ROSTER",
        help="CSV of the students, one on a line below the names of the columns",
    )
    made.add_argument(
        "scenario", metavar="SCENARIO", help="TOML: course/docs/class.md#the-scenario"
    )
    command("start", "open trading, and let the bots trade").add_argument(
        "--round",
        default="",
        metavar="NAME",
        help="begin a round of the leaderboard (without: the first one)",
    )
    command("pause", "halt trading, until 'class start'")
    command("stop", "halt trading, then end the bots")
    command("new-day", "close the day under this name, and begin with the scenario").add_argument(
        "name",
        metavar="NAME",
        help="of the day that ends: lower-case letters, digits, and hyphens between them",
    )
    command("status", "how the class trades")
    command("export", "results of all students and rounds, as CSV").add_argument(
        "--to", default="results", metavar="FOLDER", help="where the file goes"
    )
    return parser


def _options(parser: Parser, words: argparse.Namespace) -> Options:
    given = vars(words)

    def servers(option: str, name: str) -> str | None:
        try:
            return given.get(option) or ((value := variable(name)) and SERVERS(value))
        except argparse.ArgumentTypeError as error:
            parser.error(f"{name}: {error}")

    connect = servers("connect", "EXCHANGE_CONNECT") or CONNECT
    http = http_of(connect, servers("http", "EXCHANGE_HTTP"))
    key_file = given.get("operator_key_file") or variable("EXCHANGE_OPERATOR_KEY_FILE")
    ca = given.get("tls_ca") or variable("EXCHANGE_TLS_CA")
    try:
        tls = given.get("tls") or is_set("EXCHANGE_TLS")
        context = tls_context(bool(tls), ca, "tls_insecure" in given)
    except OSError as error:
        parser.error(f"--tls-ca {ca}: {error}")
    except ValueError as error:
        parser.error(str(error))
    options = Options(connect, http, context, given.get("timeout", 30), key_file)
    if key_file == "-":
        options.operator_key_file, options.operator_key = None, getpass.getpass("operator's key: ")
    return options


def _main() -> int:
    parser = _parser()
    words = parser.parse_args()
    options, folder = _options(parser, words), Folder(getattr(words, "folder", "class"))
    try:
        if words.command == "init":
            init(words, folder, options)
        elif words.command in LOOKING:
            LOOKING[words.command](words, Session(folder, options))
        else:
            folder.check_exists()
            folder.lock()  # before it is read
            CHANGING[words.command](words, Session(folder, options))
        return 0
    except ClassError as error:
        problem, code = str(error), USAGE
    except ConnectionFailed as error:
        advice = ADVICE if "cannot connect" in str(error) else AGAIN
        problem, code = f"{error}\n{advice}", UNREACHABLE
    except InDoubt as error:
        problem, code = f"{error}\n{AGAIN}", UNREACHABLE
    except (BadReply, KeyError, TypeError) as error:
        problem, code = f"the server's reply is not understood: {error}", UNREACHABLE
    except ExchangeError as error:
        problem, code = str(error), REFUSED
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        problem, code = f"{file}{error.strerror}", USAGE
    except ValueError as error:  # of a number that no exchange takes
        problem, code = str(error), USAGE
    finally:
        folder.unlock()
    sys.stdout.flush()
    print(printable(f"{PROGRAM}: {problem}"), file=sys.stderr)
    return code


def main() -> None:
    run("exchange-class", _main)


if __name__ == "__main__":
    main()
