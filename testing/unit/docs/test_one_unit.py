"""A library is compiled as one unit, where a function of an unnamed namespace could become the
better match of a call in another file. What decides about formats and outcomes leaves no such
call."""

import re
import unittest

from tree import tracked

LIBRARIES = ("server/engine", "server/core", "server/journal")
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


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
