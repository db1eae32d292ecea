"""Blocks of a page, as client/report/page.html wants them, from the tables and charts of a study."""

from report import write_html  # noqa: F401


def table(table):
    if not table.rows:
        return text({"text": table.title, "kind": "strong"}, ": ", table.empty_text())
    columns = [
        {"name": column.head, "group": column.group, "number": not column.left}
        for column in table.columns
    ]
    shown = {"title": table.title, "columns": columns, "rows": table.rows, "note": table.note}
    return {"type": "table", **shown, "wide": table.wide}


def text(*parts):
    return {"type": "text", "text": list(parts)}


def code(words):
    return {"text": words, "kind": "code"}


def image(title, note, svg):
    return {"type": "image", "svg": svg, "alt": title, "title": title, "note": note}


def section(id, title, *blocks):
    return {"id": id, "title": title, "blocks": list(blocks)}
