"""Markdown pages that are written by hand, except what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`."""

import re

BLOCK = re.compile(r"(<!-- begin ([\w-]+) -->\n)(.*?)(<!-- end \2 -->)", re.S)


def names(text):
    return re.findall(r"<!-- begin ([\w-]+) -->", text)


def fill(text, blocks):
    """Replaces every block by the text of its name. A name without text, and a block without end, are errors: they would grow old unnoticed."""
    unknown = set(names(text)) - set(blocks)
    unclosed = set(names(text)) - {match[2] for match in BLOCK.finditer(text)}
    if unknown or unclosed:
        raise SystemExit(
            f"docs: unknown blocks: {', '.join(sorted(unknown)) or 'none'}; blocks without end: {', '.join(sorted(unclosed)) or 'none'}"
        )
    return BLOCK.sub(lambda match: f"{match[1]}{blocks[match[2]].rstrip()}\n{match[4]}", text)


def write_charts(folder, svgs):
    """Writes NAME.svg for each; no other chart stays in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for name, text in svgs.items():
        (folder / f"{name}.svg").write_text(text)
