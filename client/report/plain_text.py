"""Blocks of a page model as plain text: for programs that show text alone, such as graders of
others. Charts are left out."""

import markup


def printable(text, kept=""):
    """Without what a terminal would obey, and what XML 1.0 cannot hold."""
    return "".join(char if char.isprintable() or char in kept else "?" for char in text)


def text(content):
    return markup.text(content, lambda words: printable(words, "\n\t"), lambda _, inner: inner)


def plain(blocks):
    return "\n\n".join(filter(None, map(block, blocks)))


def listed(one):
    return "\n".join(f"- {text(item)}" for item in one["items"])


def table(one):
    """Cells of a column below each other. A short row ends with one cell for all that follow."""
    head = [text(column["name"]) for column in one["columns"]]
    rows = [head, *([text(cell) for cell in row] for row in one["rows"])]
    full = [row for row in rows if len(row) == len(head)]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    lines = []
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        if len(row) < len(head):
            padded[-1:] = row[-1:]
        lines.append("  ".join(padded).rstrip())
    title = [text(one["title"])] if one.get("title") else []
    note = [text(one["note"])] if one.get("note") else []
    return "\n".join([*title, *lines, *note])


def details(one):
    return f"{text(one['title'])}\n{plain(one['blocks'])}"


BLOCKS = {
    "text": lambda one: text(one["text"]),
    "list": listed,
    "pre": lambda one: text(one["text"]),
    "columns": lambda one: plain(one["blocks"]),
    "table": table,
    "details": details,
    "chart": lambda one: "",
}


def block(one):
    return BLOCKS[one["type"]](one)
