"""Tables of tests and studies, and how their numbers are written."""

from dataclasses import dataclass

NONE = "–"


@dataclass
class Column:
    head: str
    cell: object = None  # item -> text, for rows_of
    group: str = ""  # head of neighbouring columns
    left: bool = False  # aligned left, as text is


@dataclass
class Table:
    name: str
    title: str
    columns: list
    rows: list  # of lists of texts; in a row shorter than the columns the last text spans the rest
    note: str = ""

    def empty_text(self):
        return self.note or "Nothing of it was run."

    def markdown(self):
        if not self.rows:
            return self.empty_text() + "\n"
        heads = [f"{column.group} {column.head}".strip() for column in self.columns]
        lines = [
            line(heads),
            "|" + "|".join("---" if c.left else "---:" for c in self.columns) + "|",
        ]
        lines += [line(row + [""] * (len(heads) - len(row))) for row in self.rows]
        return "\n".join(lines + (["", self.note] if self.note else [])) + "\n"


def line(cells):
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def plain(heads, rows, note=""):
    """A table of names and their figures: all columns but the first are aligned right."""
    return Table(
        "", "", [Column(head, left=nth == 0) for nth, head in enumerate(heads)], rows, note
    )


def rows_of(columns, items, lead=0, instead=lambda item: None):
    """A row for each item. A text from `instead` takes the place of all columns after the first
    `lead`."""
    rows = []
    for item in items:
        spanning = instead(item)
        if spanning is None:
            rows.append([column.cell(item) for column in columns])
        else:
            rows.append([column.cell(item) for column in columns[:lead]] + [spanning])
    return rows


def number(value, digits=3):
    """So many significant digits, and all before the point."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    whole = len(str(int(abs(value))))
    return f"{value:,.{max(0, digits - whole)}f}"


def fixed(value, decimals=0):
    return NONE if value is None else f"{value:,.{decimals}f}"


def percent(value):
    return NONE if value is None else f"{value:.0%}"


def ranged(middle, low, high, form=number):
    return f"{form(middle)} ({form(low)} – {form(high)})"
