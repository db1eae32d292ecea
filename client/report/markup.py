"""A page model as HTML, for the template page.html, whose script draws the charts.

"?" marks what may be missing or None; None in a list of numbers is a gap.

MODEL    {title: TEXT, about?: TEXT, notices?: [NOTICE], cards?: [CARD], sections?: [SECTION]}
NOTICE   {kind: "good" | "warn" | "bad", text: TEXT, details?: [TEXT]}
CARD     {title: TEXT, figure: TEXT, facts?: [[TEXT, TEXT]]}
SECTION  {id, title: TEXT, blocks: [BLOCK]}; a section without blocks is left out
TEXT     a string; a number, shown rounded: to three significant figures, or from 100 on to a whole
         number; None, shown as a dash; {text: TEXT, kind?: "strong" | "good" | "bad" | "code",
         section?: id of a section that it links to, page?: NAME.html beside this page that it links
         to}; or a list of these, shown one after another
BLOCK    {type: "text", text: TEXT}
         {type: "list", items: [TEXT]}
         {type: "pre", text: TEXT}
         {type: "table", rows: [[CELL]], columns?: [{name: TEXT, number?: bool}], title?: TEXT,
          note?: TEXT, wide?: bool}
             number: to the right. The last cell of a row that ends early spans the remaining
             columns. wide: folded.
         {type: "values", values: {key: any JSON}, title?: TEXT}
             A table of settings or facts, one a line. The end of a key is the unit: timeout_s,
             memory_bytes, rate_per_s.
         {type: "chart", x: AXIS, y: AXIS, positions: [number], lines: [LINE], title?, note?: TEXT,
          shade_to?: number}
             positions: on x, ascending. shade_to: on x, shaded up to here, the warm-up. Without
             scripts a table shows its figures.
         {type: "details", title: TEXT, blocks: [BLOCK]}, folded
         {type: "columns", blocks: [BLOCK]}, side by side where the window is wide enough
CELL     TEXT, or {bar: [from, to], text?: TEXT}: a bar over these shares of the cell's width, from
         0 to 1, with a text above it
AXIS     {name, unit?, scale?: "linear" | "log" | "percentile"}
         log: what is not above 0 is a gap. percentile: for x; shares from 0.5 to 0.99999, by the
         logarithm of 1 / (1 - share).
LINE     {name, values: [number], color: "blue" | "orange" | "red" | "green" | "violet" | "grey",
          look?: "line" | "dashed"}
"""

import json
import math
import re
from html import escape

PAGE = re.compile(r"[\w-]+\.html")
KINDS = {"strong", "good", "bad", "code", "warn"}
LONG = 34  # characters of a cell that gets a column of some width


def body(model):
    about = f'<p class="about">{text(model.get("about") or "")}</p>'
    notices = "".join(map(notice, model.get("notices", [])))
    cards = "".join(map(card, model.get("cards", [])))
    sections = "".join(section(one) for one in model.get("sections", []) if one["blocks"])
    return (
        f"<header><h1>{text(model['title'])}</h1>{about}</header>\n"
        f'<main>{notices}<div class="cards">{cards}</div>{sections}</main>'
    )


def classed(classes):
    return f' class="{classes}"' if classes else ""


def marked(one, inner):
    classes = classed(one["kind"] if one.get("kind") in KINDS else "")
    if one.get("section"):
        return f'<a{classes} href="#{escape(one["section"])}">{inner}</a>'
    if PAGE.fullmatch(one.get("page") or ""):
        return f'<a{classes} href="{one["page"]}">{inner}</a>'
    return f"<span{classes}>{inner}</span>"


def text(content, words=escape, marked=marked):
    """As HTML; or in another form, made by these functions."""
    if content is None:
        return "–"
    if isinstance(content, (list, tuple)):
        return "".join(text(one, words, marked) for one in content)
    if isinstance(content, (int, float)) and not isinstance(content, bool):
        return number(content)
    if isinstance(content, dict):
        return marked(content, text(content["text"], words, marked))
    return words(str(content))


def plain(content):
    return text(content, str, lambda _, inner: inner)


def number(value):
    """Three significant figures, or the whole number."""
    if float(value).is_integer() or abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"


def paragraph(content):
    return f"<p>{text(content)}</p>"


def listed(items):
    return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>"


def notice(one):
    more = one.get("details") or []
    rest = listed(more) if len(more) > 1 else "".join(map(paragraph, more))
    headline = f'<div class="strong">{text(one["text"])}</div>'
    return f'<div class="notice {escape(one["kind"])}">{headline}{rest}</div>'


def card(one):
    facts = "".join(
        f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in one.get("facts", [])
    )
    figure = f'<div class="figure">{text(one["figure"])}</div>'
    return f'<div class="card"><h3>{text(one["title"])}</h3>{figure}<dl>{facts}</dl></div>'


def section(one):
    return f'<section id="{escape(one["id"])}"><h2>{text(one["title"])}</h2>{blocks(one)}</section>'


def heading(one):
    return f"<h3>{text(one['title'])}</h3>" if one.get("title") else ""


def note(one):
    return f'<p class="note">{text(one["note"])}</p>' if one.get("note") else ""


def folded(title, inner):
    return f"<details><summary>{title}</summary>{inner}</details>"


def has_bar(content):
    return isinstance(content, dict) and "bar" in content


def bar(one):
    """A text above it, and its length."""
    begin, end = (100 * share for share in one["bar"])
    style = f"margin-left:{begin:.6g}%;width:{end - begin:.6g}%"
    return text(one.get("text", "")) + f'<div class="length" style="{style}"></div>'


def cell(content, nth, columns, rest):
    """`rest`: how many columns it spans in addition."""
    name = "td" if nth or rest else "th"
    if rest:
        classes = "rest"
    elif has_bar(content):
        classes = "bar"
    elif nth < len(columns) and columns[nth].get("number"):
        classes = "number"
    else:
        classes = "long" if len(plain(content)) > LONG else ""
    more = classed(classes) + (f' colspan="{rest + 1}"' if rest else "")
    return f"<{name}{more}>{bar(content) if has_bar(content) else text(content)}</{name}>"


def table(one):
    columns, rows = one.get("columns", []), []
    head = "".join(
        f"<th{classed('number' if column.get('number') else '')}>{text(column['name'])}</th>"
        for column in columns
    )
    for row in one["rows"]:
        rest = max(0, len(columns) - len(row))
        cells = [
            cell(content, nth, columns, rest if nth == len(row) - 1 else 0)
            for nth, content in enumerate(row)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    bars = max([sum(map(has_bar, row)) for row in one["rows"]], default=0)
    classes = ("", "bars", "bars several")[min(bars, 2)] if columns else "plain"
    shown = (
        f'<div class="scroll"><table class="{classes}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    if one.get("wide"):
        return folded(f"{text(one.get('title'))} ({len(rows)} rows)", shown + note(one))
    return f"<div>{heading(one)}{shown}{note(one)}</div>"


def named(key):
    """The key "timeout_s" as "timeout, s", "rate_per_s" as "rate/s"."""
    return re.sub("_s$", ", s", re.sub("_per_s$", "/s", key)).replace("_", " ")


def value_text(value):
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return (
            ", ".join(f"{named(key)} {value_text(part)}" for key, part in value.items()) or "none"
        )
    if isinstance(value, (list, tuple)):
        between = "; " if value and isinstance(value[0], (dict, list)) else ", "
        return between.join(map(value_text, value)) or "none"
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def values(one):
    rows = [
        [named(key.removesuffix("_bytes")), [value / 1e6, " MB"]]
        if key.endswith("_bytes") and value is not None
        else [named(key), value_text(value)]
        for key, value in one["values"].items()
    ]
    return table({**one, "rows": rows})


def chart(one):
    """What the script draws, and a column of figures for each line."""
    names = [one["x"]["name"], *(line["name"] for line in one["lines"])]
    of_one = 100 if one["x"].get("scale") == "percentile" else 1
    rows = [
        [f"{of_one * position:g}", *(line["values"][nth] for line in one["lines"])]
        for nth, position in enumerate(one["positions"])
    ]
    figures = {
        "title": f"({one['y']['name']})",
        "columns": [{"name": name, "number": True} for name in names],
        "rows": rows,
    }
    drawn = escape(json.dumps(one, ensure_ascii=False, allow_nan=False))
    return (
        f'<figure>{heading(one)}{note(one)}<div data-chart="{drawn}"></div>'
        f"<noscript>{table(figures)}</noscript></figure>"
    )


def columns(one):
    is_level = all(inner["type"] == "chart" for inner in one["blocks"])
    return f'<div class="columns{" level" * is_level}">{blocks(one)}</div>'


BLOCKS = {
    "text": lambda one: paragraph(one["text"]),
    "list": lambda one: listed(one["items"]),
    "pre": lambda one: f"<pre>{text(one['text'])}</pre>",
    "columns": columns,
    "table": table,
    "values": values,
    "chart": chart,
    "details": lambda one: folded(text(one["title"]), blocks(one)),
}


def blocks(one):
    return "".join(BLOCKS[inner["type"]](inner) for inner in one["blocks"])
