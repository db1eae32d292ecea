"""Pages: what a program writes into them."""

import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from documents import can_draw, fill, write_page


class Documents(unittest.TestCase):
    def test_only_what_stands_between_markers_is_replaced(self):
        text = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
        self.assertEqual(
            fill(text, {"x": "new\n"}), "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n"
        )
        self.assertEqual(fill(fill(text, {"x": "1"}), {"x": "2"}), fill(text, {"x": "2"}))

    def test_long_lines_are_wrapped_but_not_those_of_tables_and_code(self):
        words = " ".join(["word"] * 30)
        made = f"{words}\n\n- {words}\n\n| {words} |\n\n```text\n{words}\n```"
        text = fill("<!-- begin x -->\n<!-- end x -->\n", {"x": made})
        first, rest = " ".join(["word"] * 24), " ".join(["word"] * 6)
        item = f"- {' '.join(['word'] * 23)}\n  {' '.join(['word'] * 7)}"
        lines = f"{first}\n{rest}\n\n{item}\n\n| {words} |\n\n```text\n{words}\n```"
        self.assertEqual(text, f"<!-- begin x -->\n{lines}\n<!-- end x -->\n")

    def test_each_study_replaces_its_own_blocks(self):
        text = "<!-- begin x -->\n1\n<!-- end x -->\n<!-- begin a/x -->\n2\n<!-- end a/x -->\n"
        self.assertEqual(fill(text, {"x": "3"}), text.replace("1", "3"))
        self.assertEqual(fill(text, {"x": "3"}, "a/"), text.replace("2", "3"))

    def test_unknown_and_unclosed_blocks_are_errors(self):
        for text in ("<!-- begin y -->\n<!-- end y -->\n", "<!-- begin x -->\n"):
            with self.assertRaises(SystemExit):
                fill(text, {"x": ""})

    @unittest.skipUnless(can_draw(), "no plots: install-dependencies.sh --report")
    def test_the_charts_that_a_page_shows_are_drawn_and_no_other_stays(self):
        line = {"name": "a", "points": [[1, 2], [2, 3]]}
        chart = {"size": [4, 3], "panels": [[{"title": "t", "lines": [line]}]], "x": {}, "y": {}}
        with TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            for shown in ("old", "new"):
                text = f"![c](page/{shown}.svg)"
                write_page(page, text, {"old": chart, "new": chart})
                self.assertEqual(page.read_text(), text)
                drawn = [file.name for file in page.with_suffix("").iterdir()]
                self.assertEqual(drawn, [f"{shown}.svg"])
