"""Sentences of a page that conclude something, each with what must hold of the figures of that page.

A list of claims is {words: holds}: the words stand on the page, and `holds` takes the figures and returns whether the sentence is true. A sentence with a
figure or a comparison that no claim covers is a problem too, unless it only says what was done (`not_conclusions`)."""

import re

CONCLUDES = re.compile(
    r"\d|[⅓½]|\b(?:\w+er than|fastest|slowest|best|worst|most|least|fewest|more|less|fewer|faster|slower|ahead|behind|leads?|wins?|beats?|loses?|"
    r"dearest|cheapest|cheaper|dearer|falls?|rises?|grows?|gains?|half|third|quarter|fifth|tenth|twentieth|twice|times|nearly|"
    r"always|never|none|nothing|same|alike|equal|differ|enough|costs?|far)\b",
    re.I,
)
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
            ("#", "|", "![", "{{", "<a ", "<details", "<summary", "</")
        ):
            yield part


def sentences(text):
    for part in paragraphs(text):
        part = re.sub(r"\s+", " ", re.sub(r"^[-*] ", "", part))
        yield from filter(None, map(plain, END.split(part)))


def problems(text, claims, figures, not_conclusions=()):
    """What is wrong with the page, one sentence each."""
    found, whole = [], plain(text)
    for words, holds in claims.items():
        if plain(words) not in whole:
            found.append(f"no sentence says any more: {words}")
            continue
        try:
            if not holds(figures):
                found.append(f"the figures refute: {words}")
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            found.append(f"cannot be checked ({error!r}): {words}")
    covered = [plain(words) for words in (*claims, *not_conclusions)]
    for sentence in sentences(text):
        if CONCLUDES.search(sentence) and not any(
            words in sentence or sentence in words for words in covered
        ):
            found.append(f"no claim checks: {sentence}")
    return found


def number(cell):
    """The first number of a cell: 1,234 of `1,234 (1,000 – 2,000)`. NaN if there is none."""
    match = re.search(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", str(cell))
    return float(match[0].replace(",", "")) if match else float("nan")


def markdown_tables(text):
    """{name: [{head: cell}]} of the tables between `begin` and `end`, and under None those that are written by hand."""
    found = {}
    for name, body in re.findall(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->", text, re.S):
        found[name] = rows(body)
    by_hand = re.sub(r"<!-- begin (\S+) -->.*?<!-- end \1 -->", "", text, flags=re.S)
    found[None] = [rows(part) for part in re.split(r"\n\s*\n", by_hand) if part.startswith("|")]
    return found


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    if len(lines) < 3:
        return []
    heads, _, *cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(heads, row)) for row in cells]
