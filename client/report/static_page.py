"""A page model, whose format stands at the top of client/report/page.html, as plain HTML: for
readers whose browser runs no script."""

import re
from html import escape

PAGE = re.compile(r"[\w-]+\.html")
KINDS = {"strong", "good", "bad", "code", "warn"}


def markup(model):
    parts = [f"<h1>{text(model['title'])}</h1>"]
    if model.get("about"):
        parts.append(f'<p class="about">{text(model["about"])}</p>')
    parts += map(notice, model.get("notices", []))
    cards = "".join(map(card, model.get("cards", [])))
    parts.append(f'<div class="cards">{cards}</div>' if cards else "")
    parts += [section(one) for one in model.get("sections", []) if one["blocks"]]
    return "\n".join(filter(None, parts))


def text(content):
    if content is None:
        return "–"
    if isinstance(content, (list, tuple)):
        return "".join(map(text, content))
    if isinstance(content, (int, float)) and not isinstance(content, bool):
        return number(content)
    if not isinstance(content, dict):
        return escape(str(content))
    kind = content.get("kind")
    classes = f' class="{kind}"' if kind in KINDS else ""
    link = ""
    if content.get("section"):
        link = "#" + content["section"]
    elif PAGE.fullmatch(content.get("page") or ""):
        link = content["page"]
    inner = text(content["text"])
    return (
        f'<a{classes} href="{escape(link)}">{inner}</a>'
        if link
        else f"<span{classes}>{inner}</span>"
    )


def number(value):
    """Three significant figures, or the whole number."""
    if float(value).is_integer() or abs(value) >= 99.95:
        return f"{value:,.0f}"
    digits = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:.{3 - digits}f}" if digits else f"{value:.3g}"


def listed(items):
    return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>"


def notice(one):
    more = listed(one["details"]) if one.get("details") else ""
    return (
        f'<div class="notice {escape(one["kind"])}"><div'
        f' class="strong">{text(one["text"])}</div>{more}</div>'
    )


def card(one):
    facts = "".join(
        f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in one.get("facts", [])
    )
    figure = f'<div class="figure">{text(one["figure"])}</div>'
    return f'<div class="card"><h3>{text(one["title"])}</h3>{figure}<dl>{facts}</dl></div>'


def section(one):
    blocks = "".join(map(block, one["blocks"]))
    return f'<section id="{escape(one["id"])}"><h2>{text(one["title"])}</h2>{blocks}</section>'


def heading(one):
    return f"<h3>{text(one['title'])}</h3>" if one.get("title") else ""


def note(one):
    return f'<p class="note">{text(one["note"])}</p>' if one.get("note") else ""


def cell(content, spans, is_number):
    if isinstance(content, dict) and "bar" in content:
        content = content.get("text", f"{content['bar'][1] - content['bar'][0]:.0%}")
    more = (' class="number"' if is_number else "") + (f' colspan="{spans}"' if spans > 1 else "")
    return f"<td{more}>{text(content)}</td>"


def table(one):
    columns, rows = one.get("columns", []), []
    head = "".join(f"<th>{text(column['name'])}</th>" for column in columns)
    for row in one["rows"]:
        rest = max(0, len(columns) - len(row))
        cells = [
            cell(content, rest + 1 if nth == len(row) - 1 else 1, number_at(columns, nth))
            for nth, content in enumerate(row)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    shown = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    if one.get("wide"):
        title = f"{text(one.get('title'))} ({len(rows)} rows)"
        return f"<details><summary>{title}</summary>{shown}{note(one)}</details>"
    return f"<div>{heading(one)}{shown}{note(one)}</div>"


def number_at(columns, nth):
    return nth < len(columns) and bool(columns[nth].get("number"))


def value_text(value):
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {value_text(part)}" for key, part in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_text, value)) or "none"
    return str(value)


def values(one):
    rows = [[key.replace("_", " "), value_text(value)] for key, value in one["values"].items()]
    return table({**one, "rows": rows})


def chart(one):
    """Its figures: a column for each line."""
    names = [one["x"]["name"], *(line["name"] for line in one["lines"])]
    rows = [
        [f"{position:g}", *(line["values"][nth] for line in one["lines"])]
        for nth, position in enumerate(one["positions"])
    ]
    title = [one.get("title") or "", " ", {"text": f"({one['y']['name']})"}]
    columns = [{"name": name, "number": True} for name in names]
    return table({"title": title, "columns": columns, "rows": rows, "note": one.get("note")})


def details(one):
    blocks = "".join(map(block, one["blocks"]))
    return f"<details><summary>{text(one['title'])}</summary>{blocks}</details>"


BLOCKS = {
    "text": lambda one: f"<p>{text(one['text'])}</p>",
    "list": lambda one: listed(one["items"]),
    "pre": lambda one: f"<pre>{text(one['text'])}</pre>",
    "columns": lambda one: "".join(map(block, one["blocks"])),
    "table": table,
    "values": values,
    "chart": chart,
    "details": details,
}


def block(one):
    return BLOCKS[one["type"]](one)
