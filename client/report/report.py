"""Writes a report as a page: a page model, whose format stands at the top of the template, in the
one template of all reports; and blocks of a model."""

import json
import os
import re
from pathlib import Path

from static_page import markup

TEMPLATE = Path(__file__).resolve().parents[2] / "client" / "report" / "page.html"
CHART_JS = Path(os.environ.get("CHART_JS", "/usr/share/javascript/chart.js/chart.min.js"))
WITHOUT_SCRIPT = re.compile(r"<noscript>.*?</noscript>", re.S)


def render(model):
    # JSON has "<" in strings alone: without it, no text can close the script element.
    data = json.dumps(model, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    head, rest = TEMPLATE.read_text().split("@CHART_JS@")
    middle, tail = rest.split("@MODEL@")
    plain = f"<noscript>\n{markup(model)}\n</noscript>"
    head, found = WITHOUT_SCRIPT.subn(lambda _: plain, head)
    assert found == 1, "the template has one <noscript>"
    return head + CHART_JS.read_text() + middle + data + tail


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
