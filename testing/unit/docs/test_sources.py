"""Rules that no compiler checks. Lines fit a window: those of pages have at most 120 characters,
those of Python 100. A library is compiled as one unit, where a function of an unnamed namespace
could become the better match of a call in another file: what decides about formats and outcomes
leaves no such call."""

import io
import re
import tokenize
import unittest

from tree import ROOT, tracked

PAGE_WIDTH, PYTHON_WIDTH = 120, 100
# A string is one token, of an f-string since Python 3.12 each part between the braces.
TEXTS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
STARTS = {None, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}  # what is before a docstring

LIBRARIES = ("server/engine", "server/core", "server/journal")
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def long_lines_of_page(text):
    """Numbers of lines, not of those in tables and code, nor of those that are one word."""
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        is_code ^= line.lstrip().startswith("```")
        words = re.sub(r"^ *([-*]|\d+\.) +", "", line).split()
        is_breakable = not is_code and len(words) > 1 and words[0] != "|"
        if is_breakable and len(line) > PAGE_WIDTH:
            yield number


def long_lines_of_python(text):
    """Numbers of lines, not of those in a string of several lines: it may be in another language.
    A docstring is not."""
    exempt, before = set(), None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        (first, _), (last, _) = token.start, token.end
        if token.type in TEXTS and first < last and before not in STARTS:
            exempt.update(range(first, last + 1))
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > PYTHON_WIDTH and number not in exempt:
            yield number


def lines_that_begin_with_a_mark(text):
    """Numbers of lines that are HTML for Markdown, so that `**` in them stays as it is."""
    lines = enumerate(text.split("\n"), 1)
    return [number for number, line in lines if line.lstrip().startswith("<!--=")]


def is_python(path):
    if path.suffix:
        return path.suffix == ".py"
    with path.open("rb") as file:
        return re.match(rb"#!.*python3$", file.readline().rstrip()) is not None


def block(text, begin):
    """The text from `begin`, after a brace, to the brace that closes it."""
    depth = 1
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin:at]
    raise AssertionError("a brace is not closed")


def hidden_functions(text):
    names = set()
    for unnamed in re.finditer(r"namespace\s*\{", text):
        outside, depth = "", 0
        for character in block(text, unnamed.end()):
            outside += character if depth == 0 and character != "}" else ""
            depth += {"{": 1, "}": -1}.get(character, 0)
        names.update(re.findall(r"\b([A-Za-z_]\w*)\s*\([^{};]*\{", outside))
    return names


def clashes(files):
    """File, name and other file of each call that a function of the file could take."""
    texts = {name: IGNORED.sub("", text) for name, text in files.items()}
    return [
        (name, function, other)
        for name, text in texts.items()
        for function in sorted(hidden_functions(text))
        for other, calls in texts.items()
        if other != name and re.search(rf"(?<![.\w])(?<!->)(?<!::){function}\(", calls)
    ]


class Lines(unittest.TestCase):
    maxDiff = None

    def check(self, paths, find, words="too long"):
        found = [
            f"{path.relative_to(ROOT)}:{number}: {words}"
            for path in paths
            for number in find(path.read_text())
        ]
        self.assertEqual([], found)

    def test_those_of_pages_have_at_most_120_characters(self):
        self.check(tracked("*.md"), long_lines_of_page)

    def test_those_of_python_have_at_most_100_characters(self):
        programs = list(filter(is_python, tracked("*")))
        self.assertIn(ROOT / "studies/figures", programs)
        self.check(programs, long_lines_of_python)

    def test_none_begins_with_the_mark_of_a_figure(self):
        self.check(tracked("*.md"), lines_that_begin_with_a_mark, "begins with a mark")

    def test_tables_code_words_and_texts_in_other_languages_may_be_longer(self):
        word, words = "w" * 130, "word " * 30
        page = f"| {words} |\n```\n{words}\n```\n- {word}\n{words}\n- {words}\n"
        self.assertEqual([6, 7], list(long_lines_of_page(page)))
        program = (
            f'"""Docstring.\n{words}"""\n'
            f'x = """\n{words}"""\n'
            f'y = f"""\n{words}{{x}}\n{{x}}{words}"""\n'
            f'def f():\n    """{words}"""\n    # {words}\n    return "{words}"\n'
        )
        self.assertEqual([2, 9, 10, 11], list(long_lines_of_python(program)))


class OneUnit(unittest.TestCase):
    def test_hidden_functions_of_a_library_are_called_in_their_file_alone(self):
        for library in LIBRARIES:
            with self.subTest(library):
                files = {path.name: path.read_text() for path in tracked(f"{library}/*.cpp")}
                self.assertGreater(len(files), 3)
                self.assertEqual([], clashes(files))

    def test_a_call_that_another_file_could_take_is_found(self):
        first = "namespace {\nint put(int) { return put_all(1); }\n}  // namespace\n"
        self.assertEqual(
            [("a", "put", "b")],
            clashes({"a": first, "b": "void f() { put(2); x.put(3); }  // put_all(4)"}),
        )
        self.assertEqual([], clashes({"a": first, "b": "void f() { std::put(2); put_all(3); }"}))
