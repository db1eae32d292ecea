"""Tables as spreadsheets and course systems write them: CSV with a heading, in any encoding."""

from __future__ import annotations

import csv
import io
import os
import unicodedata
from dataclasses import dataclass, field

MARK = "\ufeff"
SEPARATORS = ",;\t"
csv.field_size_limit(1 << 27)  # a quote that does not end is found at the end of the file
JOINERS = "\u200c\u200d"  # parts of words and of emoji
NOT_SHOWN = ("Cc", "Cf", "Cn", "Co", "Zl", "Zp")


class ClassError(Exception):
    """A file or a command of the class cannot be used; the text is a sentence for the teacher."""


@dataclass
class Table:
    heading: list[str]
    rows: list[list[str]] = field(default_factory=list)  # each as long as the heading
    lines: list[int] = field(default_factory=list)  # of the file, where the rows begin
    separator: str = ","
    has_mark: bool = False  # a byte order mark, by which spreadsheets know UTF-8

    def column(self, *names: str) -> int | None:
        """The first column that has one of these names."""
        known = [folded(without_guard(name)) for name in self.heading]
        return next((known.index(folded(name)) for name in names if folded(name) in known), None)

    def text(self) -> str:
        rows = [self.heading, *self.rows]
        lines = (self.separator.join(map(_quoted, row)) + "\n" for row in rows)
        return MARK * self.has_mark + "".join(lines)


def read(file: str | os.PathLike[str]) -> str:
    """Bytes that are not UTF-8 become surrogates, which write as the same bytes."""
    try:
        with open(file, "rb") as opened:
            data = opened.read()
    except OSError as error:
        raise ClassError(f"{file} cannot be read: {error.strerror}") from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return MARK + data.decode("utf-16", errors="replace")
    if b"\0" in data:
        raise ClassError(f'{file}: it is not text: save it as "CSV UTF-8"')
    return data.decode(errors="surrogateescape")


def read_table(file: str | os.PathLike[str]) -> Table:
    try:
        return parse(read(file))
    except ValueError as error:
        raise ClassError(f"{file}, {error}") from None


def parse(text: str) -> Table:
    """The separator is that of a first line "sep=;", else the one that the heading has most often.

    Raises ValueError, which names the line.
    """
    body = text.removeprefix(MARK)
    first = body.splitlines()[0] if body else ""
    named = first[4:] if first.startswith("sep=") else ""
    is_named = len(named) == 1 and named in SEPARATORS
    separator = named if is_named else max(SEPARATORS, key=first.count)
    table = Table([], separator=separator, has_mark=text != body)
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    if is_named:
        next(reader)
    line = reader.line_num + 1
    try:
        for row in reader:
            begin, line = line, reader.line_num + 1
            if not any(cell.strip(" ") for cell in row):
                continue
            if not table.heading:
                table.heading = [name.strip(" \t") for name in row]
                continue
            if len(row) > (columns := len(table.heading)):
                raise ValueError(f"line {begin}: {len(row)} cells, but the heading has {columns}")
            table.rows.append(row + [""] * (columns - len(row)))
            table.lines.append(begin)
    except csv.Error as error:
        is_open = "end of data" in str(error)
        what = "a quote that does not end" if is_open else "text behind a closing quote"
        raise ValueError(f"line {line}: {what}") from None
    if not table.heading:
        raise ValueError("line 1: a heading with the names of the columns is missing")
    return table


def _quoted(cell: str) -> str:
    if not any(one in cell for one in ',;"\t\r\n'):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def _begins_formula(cell: str) -> bool:
    return cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def harmless(cell: str) -> str:
    """Spreadsheets read such a cell as a formula, so an apostrophe is put before it."""
    return "'" + cell if _begins_formula(cell) else cell


def without_guard(cell: str) -> str:
    """The text of a cell that harmless() returned."""
    return cell[1:] if cell.startswith("'") and _begins_formula(cell[1:]) else cell


def is_text(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)


def folded(text: str) -> str:
    """The same for texts that readers take for the same.

    Case, blanks, invisible characters, and whether é is one character or two do not count.
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join("".join(one for one in text if unicodedata.category(one) != "Cf").split())


def visible(name: str) -> str:
    """What one line can show of a name: nothing that is invisible or that controls the line."""
    if not is_text(name):
        return name
    spaced = "".join(" " if one in "\t\n\r" or _category(one) == "Zs" else one for one in name)
    shown = "".join(one for one in spaced if one in JOINERS or _category(one) not in NOT_SHOWN)
    has_width = any(one not in JOINERS + " " and _category(one)[0] != "M" for one in shown)
    return " ".join(shown.split()) if has_width else ""


def printable(text: str) -> str:
    """A text of a file may not steer the terminal; sentences of the class have several lines."""
    return "".join(
        "?" if _category(one) in ("Cc", "Cf") and one not in JOINERS + "\n" else one for one in text
    )


_category = unicodedata.category
