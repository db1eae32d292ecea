"""Sentences of a page that conclude something, each with what must hold of the figures of that page.

A file of claims has entries with an empty line between: a sentence, or its beginning or end, as it stands on the page, and, indented, a condition in
Python on the figures. A sentence with a figure or a comparison that no claim covers is a problem too, unless it stands in the file without a
condition: it only says what was done, or what a figure means. A line `# NAME` begins the claims of a section."""

import re

CONCLUDES = re.compile(
    r"\d|[⅓½]|\b(?:\w+er than|fastest|slowest|best|worst|most|least|fewest|more|less|fewer|faster|slower|ahead|behind|leads?|wins?|beats?|loses?|"
    r"dearest|cheapest|cheaper|dearer|falls?|rises?|grows?|gains?|half|third|quarter|fifth|tenth|twentieth|twice|times|nearly|"
    r"always|never|none|nothing|same|alike|equal|differ|enough|costs?|far)\b",
    re.I,
)
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}
END = re.compile(r"(?<=[.!?])[*_\"')]*\s+(?=[*_\"'`(\[]*[A-Z0-9`])")


def plain(text):
    """Without marks of emphasis, links and folded lines."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"[*`]", "", text)).strip()


def paragraphs(text):
    """Of prose: no headings, tables, code, pictures, comments, nor what a program writes between begin and end."""
    text = re.sub(r"<!-- begin (\S+) -->.*?<!-- end \1 -->", "\n\n", text, flags=re.S)
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^(?=[-*] )", "\n", text, flags=re.M)
    for part in re.split(r"\n\s*\n", text):
        part = part.strip()
        if part and not part.startswith(
            ("#", "|", "![", "[Table", "<a ", "<details", "<summary", "</")
        ):
            yield part


def sentences(text):
    for part in paragraphs(text):
        part = re.sub(r"\s+", " ", re.sub(r"^[-*] ", "", part))
        yield from filter(None, map(plain, END.split(part)))


def read(path):
    """{section: {sentence: condition, or None}}"""
    sections = {None: (claims := {})}
    for entry in path.read_text().split("\n\n"):
        first, *condition = entry.strip("\n").splitlines()
        if first.startswith("# "):
            claims = sections.setdefault(first[2:], {})
        else:
            claims[first] = " ".join(map(str.strip, condition)) or None
    return sections


def problems(text, claims, names):
    """What is wrong with the page, one sentence each. `names`: what the conditions use."""
    found, whole = [], plain(text)
    for words, condition in claims.items():
        if condition is None:
            continue
        if plain(words) not in whole:
            found.append(f"no sentence says any more: {words}")
            continue
        try:
            if not eval(condition, dict(names)):
                found.append(f"the figures refute: {words}")
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            found.append(f"cannot be checked ({error!r}): {words}")
    covered = list(map(plain, claims))
    for sentence in sentences(text):
        if CONCLUDES.search(sentence) and not any(
            words in sentence or sentence in words for words in covered
        ):
            found.append(f"no claim checks: {sentence}")
    return found


def number(cell):
    """The first number of a cell, times in seconds: 1,234 of `1,234 (1,000 – 2,000)`, 1.5e-3 of `1.50 ms`. NaN if there is none."""
    match = re.search(r"(-?\d[\d,]*(?:\.\d+)?)(?: (ns|us|ms|s)\b)?", str(cell))
    if match is None:
        return float("nan")
    return float(match[1].replace(",", "")) * SECONDS.get(match[2], 1)


def markdown_tables(text):
    """{name: [{head: cell}]} of the tables between `begin` and `end`, and under None those that are written by hand."""
    found = {}
    for name, body in re.findall(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->", text, re.S):
        found[name] = rows(body)
    by_hand = re.sub(r"<!-- begin (\S+) -->.*?<!-- end \1 -->", "", text, flags=re.S)
    found[None] = [rows(part) for part in re.split(r"\n\s*\n", by_hand) if part.startswith("|")]
    return found


def table_lines(text):
    """The lines of the table in a text, as lists of cells: the heads, and the rows."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    return [[cell.strip().replace("\\|", "|") for cell in line] for line in cells[:1] + cells[2:]]


def rows(text):
    heads, *lines = table_lines(text) or [[]]
    return [dict(zip(heads, line, strict=True)) for line in lines]
