"""docs/scaling.md: the tables between their markers, everything else left as it was written by hand."""

import re
import shutil

from tables import markdown

MARKER = re.compile(r"(<!-- begin ([\w-]+) -->\n)(.*?)(<!-- end \2 -->)", re.S)


def fill(text, blocks):
    """Replaces what stands between the markers; an unknown name is an error, since its text would silently grow old."""

    def replace(match):
        name = match.group(2)
        if name not in blocks:
            raise SystemExit(
                f"docs: no table or text named {name}; there are {', '.join(sorted(blocks))}"
            )
        return f"{match.group(1)}{blocks[name].rstrip()}\n{match.group(4)}"

    begun = re.findall(r"<!-- begin ([\w-]+) -->", text)
    closed = [name for _, name, _, _ in MARKER.findall(text)]
    if begun != closed:
        raise SystemExit(f"docs: a marker is not closed: {sorted(set(begun) - set(closed))}")
    return MARKER.sub(replace, text)


def blocks_of(tables, headline):
    blocks = {
        name: markdown(table) if table.rows else (table.note or "Nothing of it was run.")
        for name, table in tables.items()
    }
    return {**blocks, "headline": "\n\n".join(headline)}


def update(docs, out, tables, headline):
    page = docs / "scaling.md"
    text = fill(page.read_text(), blocks_of(tables, headline))
    page.write_text(text)
    folder = docs / "scaling"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for plot in (out / "plots").glob("*.svg"):
        if f"(scaling/{plot.name})" in text:
            shutil.copy(plot, folder / plot.name)
    shutil.copy(out / "results.json", folder / "results.json")
