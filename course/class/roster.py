"""The roster of a class: who is a student, what tells students apart, and what to call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from table import ClassError, Table, folded, is_text, read_table, visible, without_guard

STUDENTS_MAX, NAME_BYTES_MAX = 5_000, 40
# Headings of course systems and spreadsheets, in English and German.
IDENTITIES = (
    "email,e-mail,email address,e-mail address,e-mail-adresse,mail,emailadresse,id,username,"
    "benutzername,anmeldename,student id,sis user id,id number,id-nummer,kennung,matrikelnummer,"
    "matrikelnr,matrikelnr.,matrikel-nr."
).split(",")
NAMES = (
    "name,full name,student,student name,vollständiger name,vor- und nachname,studierende,"
    "teilnehmer"
).split(",")
FIRST_NAMES = "first name,firstname,forename,given name,vorname,vorname(n)".split(",")
LAST_NAMES = "last name,lastname,surname,family name,nachname,familienname".split(",")


@dataclass
class Roster:
    table: Table  # each student once
    names: list[int]  # columns; none: the leaderboard may show no other column
    identity: list[int]  # columns

    def name(self, row: list[str]) -> str:
        return text_of(row, self.names)

    def key(self, row: list[str]) -> str:
        return folded(text_of(row, self.identity))


def text_of(row: list[str], columns: list[int]) -> str:
    return " ".join(without_guard(row[at]) for at in columns)


def listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def clipped(text: str) -> str:
    """A name for the leaderboard."""
    data = visible(text).encode(errors="surrogateescape")
    if len(data) <= NAME_BYTES_MAX or not is_text(text):
        return data.decode(errors="surrogateescape")
    return data[:NAME_BYTES_MAX].decode(errors="ignore").rstrip(" ")


def read_roster(
    file: str, names: Sequence[str], identity: str, with_names: bool, remarks: list[str]
) -> Roster:
    """names, identity: chosen columns; without them those with usual headings."""
    table = read_table(file)
    columns = ", ".join(table.heading)

    def chosen(name: str) -> int:
        at = table.column(name)
        if at is None:
            raise ClassError(f"{file} has no column '{name}'; its columns are {columns}")
        return at

    found = [chosen(name) for name in names]
    if not found:
        whole = table.column(*NAMES)
        both = [table.column(*FIRST_NAMES), table.column(*LAST_NAMES)]
        found = [at for at in ([whole] if whole is not None else both) if at is not None]
        if whole is None and len(found) < 2:
            found = []
    usual = chosen(identity) if identity else table.column(*IDENTITIES)
    roster = Roster(table, found, [usual] if usual is not None else found or [0])
    if with_names and not found:
        raise ClassError(
            f"{file} has no column 'name', and none of 'first name' and 'last name', for the "
            f"leaderboard; its columns are {columns}. --name-column COLUMN chooses one (twice: "
            "first and last name); 'anonymous = true' in the scenario needs none"
        )
    _keep_students(file, roster, with_names, remarks)
    return roster


def _is_student(row: list[str], is_canvas: bool) -> bool:
    """Not of Canvas's points, test student, and rows above both (as course/grader/gradebook.py)."""
    name = folded(row[0])
    return "points possible" not in name and not (is_canvas and name in ("", "student, test"))


def _keep_students(file: str, roster: Roster, with_names: bool, remarks: list[str]) -> None:
    table, called = roster.table, " and ".join(roster.table.heading[at] for at in roster.identity)
    canvas = ("student", "lastname", "firstname", "id", "sis user id")
    is_canvas = folded(table.heading[0]) in canvas and table.column("section") is not None
    seen: dict[str, tuple[list[str], int]] = {}  # rows and lines, by identity
    left_out, unidentified, repeated = [], [], []
    for row, line in zip(table.rows, table.lines, strict=True):
        key, name = roster.key(row), visible(roster.name(row))
        if not _is_student(row, is_canvas):
            first = visible(row[0])
            left_out.append(f"line {line}" + (f" ({first})" if first else ""))
        elif with_names and not is_text(name):
            raise ClassError(
                f"{file}, line {line}: the name '{name}' is not UTF-8: save the file as "
                '"CSV UTF-8"'
            )
        elif not key:
            unidentified.append(f"line {line}" + (f" ({name})" if name else ""))
        elif key in seen:
            before, at = seen[key]
            text, lines = visible(text_of(row, roster.identity)), f"lines {at} and {line}"
            # If only the name identifies them, they may be two students.
            is_named = roster.names and roster.identity != roster.names
            if not is_named or folded(roster.name(row)) != folded(roster.name(before)):
                raise ClassError(
                    f"{file}: two students have the {called} '{text}', in {lines}; --id-column "
                    "COLUMN chooses another column to tell them apart"
                )
            repeated.append(f"{text} ({lines})")
        else:
            seen[key] = row, line
    if unidentified:
        raise ClassError(
            f"{file}: students without {called}, which tells them apart: {listed(unidentified)}. "
            "Fill it in, or choose another column with --id-column COLUMN"
        )
    if len(seen) > STUDENTS_MAX:
        raise ClassError(f"{file}: more than {STUDENTS_MAX} students")
    table.rows, table.lines = [row for row, _ in seen.values()], []
    if left_out:
        remarks.append(f"{file}: left out, since it is not a student: {listed(left_out)}")
    if repeated:
        remarks.append(f"{file}: one account for a student who is there twice: {listed(repeated)}")
