"""The folder of a class: its members and all keys. The exchange has what they did and own.

keys.csv is the roster, and the account, name on the leaderboard, key and link of each student;
bots.csv is the same for bots; scenario.toml, timetable and operator.key. Other users of the
machine cannot read them.
"""

from __future__ import annotations

import fcntl
import os
import random
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roster import STUDENTS_MAX, Roster, clipped, listed, read_roster, text_of
from scenario import LIMITS, Values, attributes, parse_scenario
from table import ClassError, Table, folded, harmless, read, read_table, visible, without_guard

OWN_COLUMNS = ["account", "shown as", "key", "link"]  # after those of the roster
LOCK_WAIT_S = 5
BOT_COLUMNS = ["name", "account", "key"]
COLOURS = (
    "Amber Azure Black Blue Bronze Brown Copper Coral Cream Gold Green Grey Indigo Ivory Jade "
    "Lilac Lime Mint Orange Pearl Pink Plum Purple Red Ruby Rust Silver Teal Violet White "
    "Yellow Zinc"
).split()
ANIMALS = (
    "Badger Bear Beaver Bison Crane Crow Deer Dolphin Eagle Falcon Ferret Finch Fox Gecko "
    "Goose Hare Hawk Heron Horse Ibex Koala Lemur Lion Lynx Marten Moose Otter Owl Panda "
    "Raven Seal Stork Swan Tiger Turtle Walrus Whale Wolf Wren Zebra"
).split()


@dataclass
class Member:
    account: str
    key: str | None
    shown_as: str
    start: Values  # cash and shares, of the scenario
    limits: dict[str, Any] = field(default_factory=dict)  # keywords of set_account()


@dataclass
class BotMember(Member):
    instrument: Values = field(default_factory=Values)


@dataclass
class Student:
    """A row of keys.csv."""

    cells: list[str]  # in the columns of the new roster
    identity: str
    own: list[str]  # account, name, key
    is_in_roster: bool = False


def write_private(file: Path, text: str) -> None:
    """Other users cannot read the file. Whatever happens, it has the old or the new content."""
    draft = file.with_name(file.name + ".new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        draft.unlink(missing_ok=True)  # of a killed command; its owner and mode could be others
        with open(os.open(draft, flags, 0o600), "wb") as out:
            out.write(text.encode(errors="surrogateescape"))
            out.flush()
            os.fsync(out.fileno())
        draft.replace(file)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise ClassError(f"cannot write {file}: {error.strerror}") from None


class Folder:
    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.keys, self.bots_table = self.path / "keys.csv", self.path / "bots.csv"
        self.scenario_file, self.timetable = self.path / "scenario.toml", self.path / "timetable"
        self.operator_key = self.path / "operator.key"
        self.log, self._bots_lock = self.path / "bots.log", self.path / "bots.lock"
        self._held: int | None = None

    def lock(self) -> None:
        """For a command that changes the class: two would make two keys of one account."""
        self._held = self._held or _lock(self.path / "class.lock")
        if self._held is None:
            raise ClassError(f"another command changes the class in {self.path} now")

    def unlock(self) -> None:
        if self._held is not None:
            fcntl.flock(self._held, fcntl.LOCK_UN)  # also of the bots, which were started with it
            os.close(self._held)
            self._held = None

    def check_exists(self) -> None:
        if not self.keys.exists():
            what = "'class init ROSTER SCENARIO' makes one"
            raise ClassError(f"there is no class in {self.path}: {what}")

    def scenario(self) -> Values:
        self.check_exists()
        return parse_scenario(read(self.scenario_file), str(self.scenario_file))

    def students(self, scenario: Values) -> list[Member]:
        table, student = read_table(self.keys), scenario.student
        account, name, key, _ = self._own_columns(table)
        limits = attributes(student, LIMITS)
        return [
            Member(row[account], row[key], without_guard(row[name]), student, limits)
            for row in table.rows
        ]

    def students_table(self) -> tuple[Table, int]:
        """keys.csv without keys and links, and the column of the accounts."""
        table = read_table(self.keys)
        account, _, *secret = self._own_columns(table)
        for row in (table.heading, *table.rows):
            row[:] = [harmless(cell) for at, cell in enumerate(row) if at not in secret]
        return table, account - sum(at < account for at in secret)

    def bots(self, scenario: Values) -> list[BotMember]:
        rows, found = self._bot_rows(), list[BotMember]()
        if len(rows) < sum(kind.count for kind in scenario.bots):
            files = f"{self.bots_table} has fewer bots than {self.scenario_file}"
            raise ClassError(f"{files}: 'class init' makes them")
        instruments = {one.symbol: one for one in scenario.instrument}
        for kind in scenario.bots:
            for nth in range(kind.count):
                name, account, key = rows[len(found)]
                in_turn = scenario.instrument[nth % len(instruments)]
                instrument = instruments.get(kind.symbol, in_turn)
                found.append(BotMember(account, key, name, kind, instrument=instrument))
        return found

    # --- class init ---

    def write(
        self,
        roster_file: str,
        scenario_file: str,
        page: str,
        names: list[str],
        identity: str,
        check: Callable[[Values, int], None],
    ) -> tuple[int, list[str]]:
        """Writes the folder; returns how many students are new, and sentences for the teacher.

        An existing class keeps its accounts, names and keys. All errors are found before. The
        class stays locked.
        """
        remarks: list[str] = []
        text = read(scenario_file)
        scenario = parse_scenario(text, scenario_file)
        roster = read_roster(roster_file, names, identity, not scenario.anonymous, remarks)
        check(scenario, len(roster.table.rows))
        try:
            self.path.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ClassError(f"cannot make {self.path}: {error.strerror}") from None
        self.lock()
        before = self._before(roster)
        bots = self._table_of_bots(scenario, {one.own[0] for one in before})
        taken = {row[1] for row in bots.rows}
        page = (scenario.page or page).rstrip("/")
        added = self._add_keys(roster, before, scenario, taken, page, remarks)
        if not self.operator_key.exists():
            write_private(self.operator_key, secrets.token_hex(24) + "\n")
        write_private(self.bots_table, bots.text())
        write_private(self.timetable, scenario.timetable)
        write_private(self.scenario_file, text)
        write_private(self.keys, roster.table.text())
        return added, remarks

    def _own_columns(self, table: Table) -> list[int]:
        """A teacher may have moved them. The last one of a name counts."""
        found = []
        for name in OWN_COLUMNS:
            if name not in table.heading:
                raise ClassError(f"{self.keys} has no column '{name}'")
            found.append(len(table.heading) - 1 - table.heading[::-1].index(name))
        return found

    def _before(self, roster: Roster) -> list[Student]:
        """The students that the class already has."""
        if not self.keys.exists():
            return []
        table = read_table(self.keys)
        own = self._own_columns(table)[:3]
        columns = [table.column(name) for name in roster.table.heading]
        identity = []
        for at in roster.identity:
            if (column := columns[at]) is None:
                raise ClassError(
                    f"{self.keys} has no column '{roster.table.heading[at]}', so its keys cannot "
                    "be found again: --id-column COLUMN chooses one that it has; another --folder "
                    "begins a new class"
                )
            identity.append(column)
        for row in table.rows:
            _number(row[own[0]], self.keys)
        return [
            Student(
                ["" if at is None else without_guard(row[at]) for at in columns],
                text_of(row, identity),
                [without_guard(row[at]) for at in own],
            )
            for row in table.rows
        ]

    def _add_keys(
        self,
        roster: Roster,
        before: list[Student],
        scenario: Values,
        taken: set[str],
        page: str,
        remarks: list[str],
    ) -> int:
        """Makes keys.csv of the roster; returns the number of new students."""
        rows, known = roster.table.rows, _known_students(roster, before)
        own = _own_cells(roster, known, before, scenario, taken)
        remarks += _same_names(own)
        gone = [one for one in before if not one.is_in_roster]
        if gone:
            names_of_gone = listed([visible(one.identity) for one in gone])
            remarks.append(f"not in the roster now, but with an account of before: {names_of_gone}")
        roster.table.heading = [harmless(name) for name in roster.table.heading + OWN_COLUMNS]
        roster.table.rows = [
            [harmless(cell) for cell in (*cells, *mine, f"{page}/#sign-in={mine[0]}:{mine[2]}")]
            for cells, mine in [
                *zip(rows, own, strict=True),
                *((one.cells, one.own) for one in gone),
            ]
        ]
        return known.count(None)

    def _bot_rows(self) -> list[list[str]]:
        table = read_table(self.bots_table)
        if table.heading != BOT_COLUMNS:
            raise ClassError(f"{self.bots_table} has not the columns name, account and key")
        return table.rows

    def _table_of_bots(self, scenario: Values, students: set[str]) -> Table:
        """students: their accounts."""
        before = {}
        if self.bots_table.exists():
            before = {row[0]: row for row in self._bot_rows()}
        numbers = [_number(row[1], self.bots_table) + 1 for row in before.values()]
        # Numbers between are for students who join later.
        account = max([scenario.first_account + STUDENTS_MAX, *numbers])
        table, counts = Table(BOT_COLUMNS), dict[str, int]()
        for kind in scenario.bots:
            for _ in range(kind.count):
                counts[kind.character] = counts.get(kind.character, 0) + 1
                name = f"{kind.character} {counts[kind.character]}"
                while str(account) in students:
                    account += 1
                made = [name, str(account), secrets.token_hex(24)]
                table.rows.append(before.pop(name, made))
                account += table.rows[-1] is made
        table.rows += before.values()  # a later scenario may use them again
        return table

    # --- the bots as a process ---

    def bots_process(self) -> int | None:
        """Its id; 0 if it has only just started; None if it does not run."""
        try:
            with open(self._bots_lock) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    return None
                except OSError:
                    return int(file.read() or 0)
        except FileNotFoundError:
            return None

    def start_bots(self, work: Callable[[], None]) -> int | None:
        """Forks: `work` runs in a session of its own, and its output goes to the log.

        Returns the id of the process; None if it runs already. Its end releases the lock.
        """
        end = time.monotonic() + LOCK_WAIT_S
        while (held := _lock(self._bots_lock)) is None:
            if self.bots_process() is not None:
                return None
            if time.monotonic() > end:  # a 'class status' has the lock for a moment
                raise ClassError(f"another command uses {self._bots_lock} now")
            time.sleep(0.01)
        os.ftruncate(held, 0)
        sys.stdout.flush()
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if process := os.fork():
            os.close(held)
            os.close(log)
            return process
        status = 1
        try:
            os.write(held, f"{os.getpid()}\n".encode())
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for descriptor in (1, 2):
                os.dup2(log, descriptor)
            os.dup2(held, 3)
            os.closerange(4, 65_536)  # pipes of a parent, which would wait for their end
            work()
            status = 0
        except BaseException as error:
            print(f"the bots end: {error!r}", flush=True)
        finally:
            os._exit(status)

    def stop_bots(self, timeout_s: float) -> bool:
        """Asks the process to end, and waits. Returns whether it has ended."""
        end, is_asked = time.monotonic() + timeout_s, False
        while (process := self.bots_process()) is not None:
            if process and not is_asked:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGTERM)
                is_asked = True
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True


def _lock(file: Path) -> int | None:
    """Locks a file until it is closed; None if another process holds the lock."""
    try:
        opened = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ClassError(f"{file}: {error.strerror}") from None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return opened
    except BlockingIOError:
        os.close(opened)
        return None


def _number(account: str, file: Path) -> int:
    if not (account.isascii() and account.isdecimal()):
        raise ClassError(f"{file}: '{account}' is not the number of an account")
    return int(account)


def _own_cells(
    roster: Roster,
    known: list[Student | None],
    before: list[Student],
    scenario: Values,
    taken: set[str],
) -> list[list[str]]:
    """Account, name and key of each student of the roster; new ones of those that are not known."""
    # In random order if the number of an account must not show who the student is.
    fresh = [nth for nth, one in enumerate(known) if one is None]
    if scenario.anonymous:
        random.SystemRandom().shuffle(fresh)
    own = [[] if one is None else one.own for one in known]
    numbers = (int(one.own[0]) + 1 for one in before)
    account, names = max([scenario.first_account, *numbers]), {one.own[1] for one in before}
    for nth in fresh:
        while str(account) in taken:
            account += 1
        row = roster.table.rows[nth]
        name = _new_pseudonym(names) if scenario.anonymous else clipped(roster.name(row))
        own[nth] = [str(account), name or str(account), secrets.token_hex(24)]
        account += 1
    return own


def _same_names(own: list[list[str]]) -> Iterator[str]:
    same: dict[str, list[list[str]]] = {}
    for one in own:
        same.setdefault(folded(one[1]), []).append(one)
    for members in same.values():
        if len(members) > 1:
            accounts = listed([one[0] for one in members])
            yield (
                f"the leaderboard shows accounts {accounts} as '{members[0][1]}': "
                "'exchange-cli admin name ACCOUNT NAME' gives one another name"
            )


def _new_pseudonym(taken: set[str]) -> str:
    """Adds a number once more than half of the names are taken."""
    while True:
        name = f"{secrets.choice(COLOURS)} {secrets.choice(ANIMALS)}"
        if len(taken) > len(COLOURS) * len(ANIMALS) / 2:
            name += f" {secrets.randbelow(4 * len(taken))}"
        if name not in taken:
            taken.add(name)
            return name


def _without_zeros(key: str) -> str:
    return (key.lstrip("0") or "0") if key.isascii() and key.isdecimal() else ""


def _known_students(roster: Roster, before: list[Student]) -> list[Student | None]:
    """The row of keys.csv of each student of the roster; None for new students."""
    rows = roster.table.rows
    keys = [roster.key(row) for row in rows]
    numbers = [_without_zeros(key) for key in keys]
    counts = Counter(numbers)
    by_key: dict[str, list[Student]] = {}
    by_number: dict[str, list[Student]] = {}
    for one in before:
        key = folded(one.identity)
        by_key.setdefault(key, []).append(one)
        by_number.setdefault(_without_zeros(key), []).append(one)

    def note(found: list[Student]) -> Student | None:
        if found:
            found[0].is_in_roster = True
        return found[0] if found else None

    known = []
    for row, key in zip(rows, keys, strict=True):
        # An edited file may have several of one identity: that of the same spelling comes first.
        text = text_of(row, roster.identity)
        found = [one for one in by_key.get(key, []) if not one.is_in_roster]
        known.append(note(sorted(found, key=lambda one: one.identity != text)))
    for nth, number in enumerate(numbers):
        # A spreadsheet that saved one of the files has changed the id 00123 to 123. Two ids may
        # differ in these zeros alone, so the name must be the same, and of one student.
        if known[nth] is None and number and counts[number] == 1:
            name = folded(roster.name(rows[nth]))
            found = [
                one
                for one in by_number.get(number, [])
                if not one.is_in_roster and folded(roster.name(one.cells)) == name
            ]
            known[nth] = note(found) if len(found) == 1 else None
    return known
