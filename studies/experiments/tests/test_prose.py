import copy
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from support import LOCKS, TEXTS
from prose import ListError, check_links, check_placeholders, parse, read_texts


class Prose(unittest.TestCase):
    def error(self, function, *arguments):
        with self.assertRaises(ListError) as caught:
            function(*arguments)
        return str(caught.exception)

    def test_the_first_line_is_the_answer_and_the_rest_the_body(self):
        text = parse("files", "Answer: In groups.\n\nOne.  \n\n{{plot x}}\n")
        self.assertEqual(
            (text.answer, text.lines, text.placeholders()),
            ("In groups.", ["One.", "", "{{plot x}}"], [("plot", "x")]),
        )

    def test_a_text_without_an_answer_is_an_error(self):
        for content in ("", "In groups.\n", "Answer: \nbody\n"):
            self.assertIn("text/files.md", self.error(parse, "files", content))

    def test_a_placeholder_within_a_line_is_an_error(self):
        self.assertIn(
            "see {{table wall}}", self.error(parse, "locks", "Answer: x\nsee {{table wall}}\n")
        )

    def test_a_run_and_its_text_fit(self):
        check_placeholders(LOCKS, parse("locks", TEXTS["locks"]))

    def test_a_placeholder_without_a_table_is_named(self):
        text = parse("locks", TEXTS["locks"] + "{{table speed}}\n{{sketch turn}}\n")
        self.assertEqual(
            self.error(check_placeholders, LOCKS, text),
            "text/locks.md: {{table speed}} stands for nothing that was measured; {{sketch turn}} stands for nothing that was measured",
        )

    def test_what_has_no_placeholder_is_named(self):
        text = parse("locks", "Answer: x\n{{table wall}}\n")
        self.assertEqual(
            self.error(check_placeholders, LOCKS, text),
            "text/locks.md: the plot turn has no place; the excerpt said has no place",
        )

    def test_nothing_may_stand_twice(self):
        self.assertIn(
            "{{table wall}} stands there twice",
            self.error(
                check_placeholders, LOCKS, parse("locks", TEXTS["locks"] + "{{table wall}}\n")
            ),
        )
        doubled = copy.deepcopy(LOCKS)
        doubled["tables"] *= 2
        self.assertIn(
            "two of the run are called table wall",
            self.error(check_placeholders, doubled, parse("locks", TEXTS["locks"])),
        )

    def test_texts_and_experiments_belong_together(self):
        with TemporaryDirectory() as folder:
            (Path(folder) / "locks.md").write_text(TEXTS["locks"])
            self.assertEqual(list(read_texts(folder, ["files", "locks"], {"locks"})), ["locks"])
            self.assertEqual(
                self.error(read_texts, folder, ["files", "locks"], {"files", "locks"}),
                "no prose: text/files.md",
            )
            self.assertIn("text/locks.md", self.error(read_texts, folder, ["files"], {"files"}))

    def test_a_link_must_lead_somewhere(self):
        with TemporaryDirectory() as folder:
            docs = Path(folder) / "docs"
            docs.mkdir()
            (Path(folder) / "here.cpp").touch()
            check_links(
                parse(
                    "a",
                    "Answer: x\n[a](../here.cpp) [b](https://example.org/x) [c](../here.cpp#L3) [d](#locks)\n",
                ),
                docs,
            )
            self.assertIn(
                "../there.cpp",
                self.error(check_links, parse("a", "Answer: x\n[a](../there.cpp#L3)\n"), docs),
            )


if __name__ == "__main__":
    unittest.main()
