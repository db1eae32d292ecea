"""The points in the gradebook of a course: the list of the class as Canvas or Moodle exports it,
with the points filled in.

Canvas: the exported gradebook. Moodle: the exported grades, or the grading worksheet of an
assignment. Any other CSV file with a line of names at the top works too, and gets a column."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from submissions import UNREADABLE, BadInput

POINTS_POSSIBLE = "Points Possible"  # of Canvas: a row of its own, not a student
CANVAS_COLUMNS = {"Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID"}
CANVAS_COLUMNS |= {"Integration ID", "Root Account", "Section"}
WORKSHEET_GRADE, WORKSHEET_MAXIMUM = "Grade", "Maximum Grade"
AROUND = re.compile(r"^Assignment: ?| \((?:\d+|Real)\)$")
PARTICIPANT = re.compile(r"\D+(\d+)")


@dataclass
class Roster:
    head: list
    rows: list
    delimiter: str
    is_canvas: bool

    @property
    def is_worksheet(self):
        return not self.is_canvas and WORKSHEET_GRADE in self.head


def read(file):
    """Raises BadInput."""
    try:
        text = Path(file).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise BadInput(f"there is no {file}") from None
    except UNREADABLE as error:
        raise BadInput(f"--roster {file} cannot be read: {error}") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    head, *rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)) or [[]]
    if len(head) < 2 or not rows:
        raise BadInput(
            f"--roster {file} is no table: export the gradebook as CSV, or the worksheet"
        )
    rows = [row + [""] * (len(head) - len(row)) for row in rows if any(row)]
    is_canvas = head[0] in CANVAS_COLUMNS and "Section" in head
    return Roster(head, rows, delimiter, is_canvas)


def plain(words):
    return " ".join(words.casefold().split())


def keys_of(row):
    """All that a submission may call this student: cells, the name in both orders, what stands
    before the @ of an address."""
    found = {plain(cell) for cell in row}
    first, second = (plain(cell) for cell in row[:2])
    found |= {f"{first} {second}", f"{second} {first}"}
    last, comma, name = first.partition(", ")
    if comma:
        found.add(f"{name} {last}")
    found |= {cell.split("@")[0] for cell in found if "@" in cell}
    if participant := PARTICIPANT.fullmatch(row[0]):  # of a worksheet: Participant 4711
        found.add(participant[1])
    return found - {""}


def rows_of(submission, by_key):
    """The rows of those who handed it in, and the names that match no row, or several."""
    students = submission.students or [[submission.name]]
    rows, unknown = [], []
    for words in students:
        matches = (by_key.get(plain(word), ()) for word in words)
        row = next((found[0] for found in matches if len(found) == 1), None)
        rows += [] if row is None else [row]
        unknown += [words[-1]] if row is None else []
    return rows, unknown


def filled(roster, grades, assignment):
    """(text of the file, sentences about what has no place in it). grades: [(submission, points
    or None, best points)]. Without points, a cell stays as it is: the teacher decides."""
    column = column_of(roster, assignment)
    head = [*roster.head] if column < len(roster.head) else [*roster.head, assignment]
    rows = [row + [""] * (len(head) - len(row)) for row in roster.rows]
    by_key, unplaced = {}, []
    for nth, row in enumerate(rows):
        for key in keys_of(row) if not is_points_row(row) else ():
            by_key.setdefault(key, []).append(nth)
    best = max((of for _, _, of in grades), default=0)
    possible = points_possible(roster, rows, column) or best
    for submission, points, of in grades:
        places, unknown = rows_of(submission, by_key)
        unplaced += [f"{name} is not in the roster, or not alone" for name in unknown]
        if points is None:
            unplaced.append(f"{submission.name} was not graded: its cell stays as it was")
            continue
        for nth in places:
            rows[nth][column] = f"{points / of * possible if of else 0:.2f}"
    if roster.is_canvas:
        head, rows = canvas(head, rows, column, possible)
    out = io.StringIO()
    csv.writer(out, delimiter=roster.delimiter, lineterminator="\n").writerows([head, *rows])
    return out.getvalue(), unplaced


def column_of(roster, assignment):
    """Of the grade. Canvas writes a number behind the name of the assignment, Moodle words around
    it."""
    wanted = WORKSHEET_GRADE if roster.is_worksheet else assignment
    for nth, name in enumerate(roster.head):
        if plain(wanted) in (plain(name), plain(AROUND.sub("", name))):
            return nth
    return len(roster.head)


def is_points_row(row):
    return POINTS_POSSIBLE.casefold() in row[0].casefold()


def points_possible(roster, rows, column):
    """As the platform has it: points are scaled to it."""
    cells = [row[column] for row in rows if is_points_row(row)]
    if roster.is_worksheet and WORKSHEET_MAXIMUM in roster.head:
        cells = [row[roster.head.index(WORKSHEET_MAXIMUM)] for row in rows]
    for cell in cells:
        try:
            return float(cell.replace(",", "."))
        except ValueError:
            continue
    return 0


def canvas(head, rows, column, possible):
    """The students and this assignment alone: an import changes nothing else."""
    kept = [nth for nth, name in enumerate(head) if name in CANVAS_COLUMNS]
    points = [f"    {POINTS_POSSIBLE}"] + [""] * (len(kept) - 1) + [f"{possible:g}"]
    students = [row for row in rows if row[0].strip() and not is_points_row(row)]
    cut = [[row[nth] for nth in (*kept, column)] for row in students]
    return [head[nth] for nth in (*kept, column)], [points, *cut]
