"""The points in the gradebook of a course: the list of the class as Canvas or Moodle exports it,
with the points filled in.

Canvas: the exported gradebook. Moodle: the exported grades, or the grading worksheet of an
assignment. Any other CSV file with a line of names at the top works too, and gets a column."""

import csv
import io
import math
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import student_files
from submissions import UNREADABLE, BadInput

POINTS_POSSIBLE = "points possible"  # of Canvas: a row of its own, not a student
CANVAS_STUDENT = {"student", "lastname", "firstname", "id", "sis user id", "sis login id"}
CANVAS_STUDENT |= {"integration id"}
CANVAS_COLUMNS = CANVAS_STUDENT | {"root account", "section"}
WORKSHEET_GRADE, WORKSHEET_MAXIMUM, WORKSHEET_STATUS = "grade", "maximum grade", "status"
# Around the name of an assignment: a number of Canvas, words of Moodle in the teacher's language.
AROUND = re.compile(r"^Assignment: ?| \((?:\d+|Real)\)$", re.I)
GRADES_OF_MOODLE = re.compile(r": |\)$")
PARTICIPANT = re.compile(r"\D+(\d+)")
SEPARATORS = ",;\t"
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?(?:\r\n?|\n)', re.I)  # for Excel; no platform reads it
csv.field_size_limit(1 << 30)  # a comment in a gradebook may be long
SHORTEST_NAME = 3  # letters of one that is compared with a part of another


@dataclass
class Roster:
    file: object
    head: list
    rows: list
    delimiter: str

    def __post_init__(self):
        self.names = [plain(name) for name in self.head]

    @property
    def is_canvas(self):
        return self.names[0] in CANVAS_COLUMNS and "section" in self.names

    @property
    def is_worksheet(self):
        return not self.is_canvas and WORKSHEET_GRADE in self.names

    def identifying(self, column):
        """Indexes of the columns that say which student a row is: as a rule those before the first
        of grades, at the latest this one. Points must not be taken for the number of a student."""
        if self.is_canvas:
            return [nth for nth, name in enumerate(self.names) if name in CANVAS_STUDENT]
        for nth, name in enumerate(self.names[1:], 1):
            is_grade = name in (WORKSHEET_GRADE, WORKSHEET_STATUS)
            if nth == column or is_grade or GRADES_OF_MOODLE.search(self.head[nth].strip()):
                return list(range(nth))
        return list(range(len(self.names)))

    def column_of(self, assignment):
        """The column of the grade; behind the last if it is to be added. Raises BadInput."""
        wanted = WORKSHEET_GRADE if self.is_worksheet else plain(assignment)
        given = [(name, plain(AROUND.sub("", name.strip()))) for name in self.head]
        found = [nth for nth, (name, inner) in enumerate(given) if wanted in (plain(name), inner)]
        if len(found) > 1:
            raise BadInput(f"--roster {self.file} has {len(found)} columns {self.head[found[0]]!r}")
        return found[0] if found else len(self.head)


def read(file, assignment):
    """Raises BadInput."""
    try:
        text = student_files.decoded(Path(file).read_bytes())
    except FileNotFoundError:
        raise BadInput(f"there is no {file}") from None
    except UnicodeDecodeError:
        how = "it is neither UTF-8 nor UTF-16: save it as CSV in UTF-8"
        raise BadInput(f"--roster {file} cannot be read: {how}") from None
    except UNREADABLE as error:
        raise BadInput(
            f"--roster {file} cannot be read: {student_files.words_for(error)}"
        ) from None
    first = SEPARATOR_LINE.match(text)
    text = text[first.end() :] if first else text
    delimiter = first[1] if first else max(SEPARATORS, key=lambda one: width_of(text, one))
    head, *rows = parsed(text, delimiter, file) or [[]]
    if len(head) < 2 or not rows:
        raise BadInput(
            f"--roster {file} is not a table: export the gradebook as CSV, or the worksheet"
        )
    rows = [row + [""] * (len(head) - len(row)) for row in rows if any(map(str.strip, row))]
    roster = Roster(file, head, rows, delimiter)
    roster.column_of(assignment)
    return roster


def width_of(text, delimiter):
    """Cells of the first line, which may have another separator inside quotes."""
    try:
        return len(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), []))
    except csv.Error:
        return 0


def parsed(text, delimiter, file):
    """The rows, without empty cells behind the last column. Raises BadInput: a quote that does not
    end would take students with it, a row that is too long has its points elsewhere."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, begin = [], 1
    try:
        for row in reader:
            begin = reader.line_num + 1
            while rows and len(row) > len(rows[0]) and not row[-1].strip():
                row.pop()
            if rows and len(row) > len(rows[0]):
                columns = f"more cells than the {len(rows[0])} of the first line"
                raise BadInput(f"--roster {file}: line {reader.line_num} has {columns}")
            rows.append(row)
    except csv.Error as error:
        where = f"from line {begin} on a quote does not end, or text follows it"
        raise BadInput(f"--roster {file} is not a table: {where} ({error})") from None
    return rows


def plain(words):
    """As names are compared: macOS writes é as two characters, others as one."""
    composed = unicodedata.normalize("NFC", words).casefold()
    return " ".join(unicodedata.normalize("NFC", composed).split())


def squeezed(words):
    """Letters and digits alone, as platforms write names into names of files."""
    return "".join(filter(str.isalnum, plain(words)))


def keys_of(row, identifying):
    """All that a submission may call this student: cells, the name in both orders, what stands
    before the @ of an address."""
    cells = [plain(row[nth]) for nth in identifying]
    found = set(cells)
    if len(cells) > 1:
        found |= {f"{cells[0]} {cells[1]}", f"{cells[1]} {cells[0]}"}
    last, comma, name = cells[0].partition(", ")
    if comma:
        found.add(f"{name} {last}")
    found |= {cell.split("@")[0] for cell in found if "@" in cell}
    if participant := PARTICIPANT.fullmatch(row[0].strip()):  # of a worksheet: Participant 4711
        found.add(participant[1])
    return found - {""}


def rows_of(submission, by_key, keys):
    """(the rows of those who handed it in, sentences about the others)"""
    rows, unknown = [], []
    for words in submission.students or [[submission.known_as or submission.name]]:
        matches = (by_key.get(plain(word), ()) for word in words)
        row = next((found[0] for found in matches if len(found) == 1), None)
        shown = words[-1]
        if row is None:
            unknown.append(f"{shown} is not in the roster, or not alone")
        elif words[0].isdigit() and words[1:] and not may_be(shown, keys[row]):
            unknown.append(f"{shown} has the number {words[0]} of another name in the roster")
        elif row not in rows:
            rows.append(row)
    return rows, unknown


def may_be(name, keys):
    """Whether this name may be that of a row: platforms leave out characters, or write a login
    before it. A number may be that of a group, or one that a student chose. A roster may have no
    names, such as the worksheet of a blind marking."""
    wanted = squeezed(name)
    if not any(" " in key and not re.search(r"[\d@]", key) for key in keys):
        return True
    for key in map(squeezed, keys):
        short, long = sorted((wanted, key), key=len)
        if wanted == key or len(short) >= SHORTEST_NAME and short in long:
            return True
    return False


def filled(roster, grades, assignment):
    """(text of the file, sentences about what has no place in it). grades: [(submission, points
    or None, best points)]. Without points, a cell stays as it is, and so does one that two
    submissions would fill: the teacher decides."""
    column = roster.column_of(assignment)
    identifying = roster.identifying(column)
    head = [*roster.head] if column < len(roster.head) else [*roster.head, assignment]
    rows = [row + [""] * (len(head) - len(row)) for row in roster.rows]
    keys = [set() if is_points_row(roster, row) else keys_of(row, identifying) for row in rows]
    by_key, claims, unplaced, places = {}, {}, [], []
    for nth, own in enumerate(keys):
        for key in own:
            by_key.setdefault(key, []).append(nth)
    for submission, *_ in grades:
        found, unknown = rows_of(submission, by_key, keys)
        places.append(found)
        unplaced += unknown
        for nth in found:
            claims.setdefault(nth, []).append(submission.name)
    for nth, names in sorted(claims.items()):
        if len(names) > 1:
            who = " ".join(cell.strip() for cell in (rows[nth][at] for at in identifying[:2]))
            several = f"{' and '.join(names)} would fill the same row"
            unplaced.append(f"{several}, {who}: its cell stays as it was")
    best = max((of for _, _, of in grades), default=0)
    possible = points_possible(roster, rows, column) or best
    for (submission, points, of), found in zip(grades, places, strict=True):
        if points is None:
            unplaced.append(f"{submission.name} was not graded: its cell stays as it was")
            continue
        for nth in found:
            if len(claims[nth]) == 1:
                rows[nth][column] = f"{points / of * possible if of else 0:.2f}"
    if roster.is_canvas:
        head, rows = canvas(roster, head, rows, column, possible)
    out = io.StringIO()
    csv.writer(out, delimiter=roster.delimiter, lineterminator="\n").writerows([head, *rows])
    return out.getvalue(), unplaced


def is_points_row(roster, row):
    return roster.is_canvas and plain(row[0]) == POINTS_POSSIBLE


def points_possible(roster, rows, column):
    """As the platform has it: points are scaled to it."""
    cells = [row[column] for row in rows if is_points_row(roster, row)]
    if roster.is_worksheet and WORKSHEET_MAXIMUM in roster.names:
        cells = [row[roster.names.index(WORKSHEET_MAXIMUM)] for row in rows]
    for cell in cells:
        try:
            value = float(cell.replace(",", "."))
        except ValueError:
            continue
        if math.isfinite(value) and value > 0:
            return value
    return 0


def canvas(roster, head, rows, column, possible):
    """The students and this assignment alone: an import changes nothing else."""
    kept = [nth for nth, name in enumerate(roster.names) if name in CANVAS_COLUMNS]
    points = ["    Points Possible"] + [""] * (len(kept) - 1) + [f"{possible:g}"]
    students = [row for row in rows if row[0].strip() and not is_points_row(roster, row)]
    cut = [[row[nth] for nth in (*kept, column)] for row in students]
    return [head[nth] for nth in (*kept, column)], [points, *cut]
