"""The prose of the experiments: text/NAME.md, an answer in its first line, and placeholders for tables, plots and excerpts."""

import re
from dataclasses import dataclass
from pathlib import Path

KINDS = ("table", "plot", "excerpt")
PLACEHOLDER = re.compile(r"^\{\{(\w+) ([\w-]+)\}\}$")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


class ListError(Exception):
    """Run and prose do not fit together; the message names what."""


@dataclass
class Text:
    name: str  # of the experiment
    answer: str
    lines: list  # of the body

    def placeholders(self):
        return [match.groups() for match in map(PLACEHOLDER.match, self.lines) if match]


def parse(name, content):
    first, _, body = content.partition("\n")
    if not first.startswith("Answer: ") or not first[8:].strip():
        raise ListError(f"text/{name}.md does not begin with a line `Answer: ...`")
    text = Text(name, first[8:].strip(), [line.rstrip() for line in body.strip("\n").splitlines()])
    for line in text.lines:
        if "{{" in line and not PLACEHOLDER.match(line):
            raise ListError(
                f"text/{name}.md: a placeholder stands on a line of its own, as {{{{table KEY}}}}: {line}"
            )
    return text


def read_texts(folder, known, wanted):
    """{name: Text} of the experiments wanted; a text that belongs to no experiment is an error too."""
    found = {path.stem: path for path in sorted(Path(folder).glob("*.md"))}
    strangers = sorted(set(found) - set(known))
    if strangers:
        raise ListError(
            "no experiment is called as these texts are: "
            + ", ".join(f"text/{name}.md" for name in strangers)
        )
    lacking = [name for name in known if name in wanted and name not in found]
    if lacking:
        raise ListError("no prose: " + ", ".join(f"text/{name}.md" for name in lacking))
    return {name: parse(name, found[name].read_text()) for name in known if name in wanted}


def check_placeholders(experiment, text):
    """Each table, plot and excerpt of the run has its place in the prose, once, and each place has its table."""
    asked = text.placeholders()
    given = [(kind, item["key"]) for kind in KINDS for item in experiment.get(kind + "s", [])]
    wrong = [
        f"{{{{{kind} {key}}}}} stands for nothing that was measured"
        for kind, key in asked
        if (kind, key) not in given
    ]
    wrong += [f"the {kind} {key} has no place" for kind, key in given if (kind, key) not in asked]
    wrong += [
        f"{{{{{kind} {key}}}}} stands there twice"
        for kind, key in sorted(set(asked))
        if asked.count((kind, key)) > 1
    ]
    wrong += [
        f"two of the run are called {kind} {key}"
        for kind, key in sorted(set(given))
        if given.count((kind, key)) > 1
    ]
    if wrong:
        raise ListError(f"text/{text.name}.md: " + "; ".join(wrong))


def check_links(text, docs):
    """Relative links lead somewhere, seen from the page."""
    dead = [
        link
        for line in text.lines
        for link in LINK.findall(line)
        if "://" not in link and not (Path(docs) / link).exists()
    ]
    if dead:
        raise ListError(
            f"text/{text.name}.md: links that lead nowhere from {docs}: " + ", ".join(dead)
        )
