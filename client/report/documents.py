"""Markdown of tests and studies: tables, and how their numbers are written; and pages that are
written by hand, except what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`."""

import re
import textwrap
from dataclasses import dataclass
from importlib.util import find_spec

NONE = "–"
WIDTH = 120  # of the lines of pages


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

    def markdown(self):
        if not self.rows:
            return (self.note or "Nothing of it was run.") + "\n"
        heads = [f"{column.group} {column.head}".strip() for column in self.columns]
        edges = ("---" if column.left else "---:" for column in self.columns)
        lines = [line(heads), f"|{'|'.join(edges)}|"]
        lines += [line(row + [""] * (len(heads) - len(row))) for row in self.rows]
        return "\n".join(lines + (["", self.note] if self.note else [])) + "\n"


def line(cells):
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def plain(heads, rows, note=""):
    """A table of names and their figures: all columns but the first are aligned right."""
    columns = [Column(head, left=nth == 0) for nth, head in enumerate(heads)]
    return Table("", "", columns, rows, note)


def rows_of(columns, items):
    return [[column.cell(item) for column in columns] for item in items]


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


def can_draw():
    """Whether what charts imports is installed."""
    return all(map(find_spec, ("matplotlib", "scour")))


def names(text, owner=""):
    return re.findall(rf"<!-- begin {owner}([\w-]+) -->", text)


def wrapped(text):
    """Without lines that are too long, except in tables and code, where they must be."""
    lines, is_code = [], False
    for line in text.split("\n"):
        is_code ^= line.startswith("```")
        if is_code or line.startswith("|"):
            lines.append(line)
            continue
        indent = "  " if line.startswith("- ") else ""
        wrap = textwrap.TextWrapper(
            WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        lines += wrap.wrap(line) or [""]
    return "\n".join(lines)


def fill(text, blocks, owner=""):
    """Replaces every block by the text of its name, wrapped. A name without text, and a block
    without end, are errors: they would grow old unnoticed. On a page that two studies fill, the
    blocks of one have an `owner` before their names, as in `<!-- begin OWNER/NAME -->`; the other
    study does not see them.
    """
    block = re.compile(rf"(<!-- begin {owner}([\w-]+) -->\n)(.*?)(<!-- end {owner}\2 -->)", re.S)
    unknown = set(names(text, owner)) - set(blocks)
    unclosed = set(names(text, owner)) - {match[2] for match in block.finditer(text)}
    if unknown or unclosed:
        raise SystemExit(
            f"docs: unknown blocks: {', '.join(sorted(unknown)) or 'none'}; blocks without end:"
            f" {', '.join(sorted(unclosed)) or 'none'}"
        )
    return block.sub(
        lambda match: f"{match[1]}{wrapped(blocks[match[2]].rstrip())}\n{match[4]}", text
    )


def write_charts(folder, charts):
    """Draws NAME.svg for each; no other chart stays in the folder."""
    from charts import svg  # matplotlib is needed only here

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for name, chart in charts.items():
        (folder / f"{name}.svg").write_text(svg(chart))


def write_page(page, text, charts):
    """Writes the page, and those of the charts that it shows into the folder of its name."""
    folder = page.with_suffix("")
    shown = {name: one for name, one in charts.items() if f"({folder.name}/{name}.svg)" in text}
    page.write_text(text)
    write_charts(folder, shown)
