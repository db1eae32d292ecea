"""Writes a report as a page: what markup.py makes of a page model, in the one template of all
reports; and blocks of a model."""

import os
import re
from html import escape
from pathlib import Path

import markup

TEMPLATE = Path(__file__).resolve().parents[2] / "client" / "report" / "page.html"
CHART_JS = Path(os.environ.get("CHART_JS", "/usr/share/javascript/chart.js/chart.min.js"))


def render(model):
    body = markup.body(model)
    parts = {
        "TITLE": escape(markup.plain(model["title"])),
        "BODY": body,
        "CHART_JS": CHART_JS.read_text() if ' data-chart="' in body else "",
    }
    return re.sub(f"@({'|'.join(parts)})@", lambda match: parts[match[1]], TEMPLATE.read_text())


def write_html(model, path):
    Path(path).write_text(render(model))


def text(*parts):
    return {"type": "text", "text": list(parts)}


def pre(words):
    return {"type": "pre", "text": words}


def code(words):
    return {"text": words, "kind": "code"}


def section(id, title, *blocks):
    return {"id": id, "title": title, "blocks": list(blocks)}


def listed(items):
    return {"type": "list", "items": list(map(str, items))}


def columns(*blocks):
    return {"type": "columns", "blocks": list(blocks)}


def values(title, shown):
    return {"type": "values", "title": title, "values": shown}


def details(title, *blocks):
    return {"type": "details", "title": title, "blocks": list(blocks)}


def table(columns, rows, **more):
    """Columns that begin with # hold numbers."""
    heads = [{"name": name.lstrip("#"), "number": name.startswith("#")} for name in columns]
    return {"type": "table", "columns": heads, "rows": rows, **more}


def line(name, values, color, look="line"):
    return {"name": name, "values": values, "color": color, "look": look}


def chart(title, x, y, positions, lines, **more):
    """Axes are as the template has them, or a unit, which is then their name too."""
    x, y = (axis if isinstance(axis, dict) else {"name": axis, "unit": axis} for axis in (x, y))
    return {
        "type": "chart",
        "title": title,
        "x": x,
        "y": y,
        "positions": positions,
        "lines": lines,
        **more,
    }
