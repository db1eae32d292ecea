"""The planted bugs as they are written down: one TOML file an area, under list/."""

import fnmatch
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path


class ListError(Exception):
    """The list cannot be used as it is; the message names what is wrong."""


@dataclass(frozen=True)
class Test:
    """A program of build/bin, with the name of a test case where only one is to run; or a test of
    ctest."""

    program: str
    case: str = ""

    @classmethod
    def parse(cls, text):
        program, _, case = text.partition(":")
        return cls(program.strip(), case.strip())

    @property
    def of_ctest(self):
        return self.program == "ctest"

    def command(self, build):
        if self.of_ctest:
            options = ["--no-tests=error", "--output-on-failure", "-R", f"^{re.escape(self.case)}$"]
            return ["ctest", "--test-dir", str(build), *options]
        # A comma would begin another name, a bracket a tag.
        case = [re.sub(r'([\\,\["])', r"\\\1", self.case)] if self.case else []
        return [str(build / "bin" / self.program), *case]

    def __str__(self):
        return f"{self.program}: {self.case}" if self.case else self.program


@dataclass(frozen=True)
class Edit:
    """One replacement. `old` is found whatever the white space and line breaks in the file are, so
    that formatting the sources leaves the list valid."""

    file: str
    old: str
    new: str

    def spans(self, text):
        """Where `old` occurs in this text, as (begin, end)."""
        places = [place for place, character in enumerate(text) if not character.isspace()]
        dense, wanted = "".join(text.split()), "".join(self.old.split())
        begins = [match.start() for match in re.finditer(f"(?={re.escape(wanted)})", dense)]
        return [(places[begin], places[begin + len(wanted) - 1] + 1) for begin in begins]

    def apply(self, text):
        """The text with `new` in place of `old`, which must occur once."""
        [(begin, end)] = self.spans(text)
        return text[:begin] + self.new.strip() + text[end:]


@dataclass(frozen=True)
class Mutation:
    name: str
    area: str
    promise: str  # what it breaks, in one sentence
    edits: tuple
    tests: tuple  # each of them must fail
    targets: tuple  # what is built
    of: str = ""  # a rule of docs/protocol.md, or how a promise of docs/reliability.md begins


def load(folder):
    """All mutations, in order of their files and within them. Raises ListError."""
    mutations = []
    for file in sorted(Path(folder).glob("*.toml")):
        try:
            table = tomllib.loads(file.read_text())
        except tomllib.TOMLDecodeError as error:
            raise ListError(f"{file.name}: {error}") from error
        mutations += [_mutation(file, entry) for entry in table.pop("mutation", [])]
        if table:
            raise ListError(
                f"{file.name}: unknown key {next(iter(table))!r}; an entry begins with [[mutation]]"
            )
    names = [mutation.name for mutation in mutations]
    for name in names:
        if names.count(name) > 1:
            raise ListError(f"two mutations are called {name!r}")
    if not mutations:
        raise ListError(f"{folder} has no mutation")
    return mutations


NEEDED = {"name", "promise", "file", "old", "new", "tests"}
OPTIONAL = {"of", "targets", "also"}


def _mutation(file, entry):
    where = f"{file.name}: {entry.get('name', 'an entry without a name')}"
    if missing := NEEDED - {key for key, value in entry.items() if value or key == "new"}:
        raise ListError(f"{where}: missing or empty: {', '.join(sorted(missing))}")
    if unknown := set(entry) - NEEDED - OPTIONAL:
        raise ListError(f"{where}: unknown: {', '.join(sorted(unknown))}")
    edits = [Edit(entry["file"], entry["old"], entry["new"])]
    edits += [Edit(**further) for further in entry.get("also", [])]
    if any(edit.old == edit.new for edit in edits):
        raise ListError(f"{where}: old and new are the same")
    tests = tuple(Test.parse(text) for text in entry["tests"])
    programs = [test.program for test in tests if test.program != "ctest"]
    targets = tuple(dict.fromkeys([*programs, *entry.get("targets", [])]))
    if len(programs) < len(tests) and "targets" not in entry:
        raise ListError(f"{where}: a test of ctest needs 'targets': what is to be built for it")
    texts = {key: entry.get(key, "") for key in ("name", "promise", "of")}
    return Mutation(area=file.stem, edits=tuple(edits), tests=tests, targets=targets, **texts)


def choose(mutations, wanted):
    """Those whose name or area is among `wanted`; all where it is empty. Raises ListError for what
    is neither."""
    known = {mutation.name for mutation in mutations} | {mutation.area for mutation in mutations}
    for word in wanted:
        if word not in known:
            raise ListError(f"there is no mutation and no area {word!r} in list/")
    return [one for one in mutations if not wanted or {one.name, one.area} & set(wanted)]


def problem(mutation, root):
    """Why it does not fit the tree; empty where it does."""
    for edit in mutation.edits:
        try:
            count = len(edit.spans((Path(root) / edit.file).read_text()))
        except OSError:
            return f"stale: {edit.file} cannot be read"
        if count != 1:
            return f"stale: its old text occurs {count} times in {edit.file}, not once"
    return ""


def unknown_cases(mutations, sources):
    """Tests of Catch2 that no source has, as sentences."""
    text = "\n".join(file.read_text() for file in sorted(Path(sources).rglob("*.cpp")))
    found = set(re.findall(r'TEST_CASE(?:_METHOD)?\(\s*(?:\w+,\s*)?"((?:[^"\\]|\\.)*)"', text))
    return [
        f"{mutation.name}: no test case is called {test.case!r}"
        for mutation in mutations
        for test in mutation.tests
        if test.case and not test.of_ctest and not fnmatch.filter(found, test.case)
    ]
