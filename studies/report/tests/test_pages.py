"""Pages: what a program writes into them."""

import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from studies.report.documents import fill, write_charts


class Documents(unittest.TestCase):
    def test_only_what_stands_between_markers_is_replaced(self):
        text = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
        self.assertEqual(
            fill(text, {"x": "new\n"}), "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n"
        )
        self.assertEqual(fill(fill(text, {"x": "1"}), {"x": "2"}), fill(text, {"x": "2"}))

    def test_each_study_replaces_its_own_blocks(self):
        text = "<!-- begin x -->\n1\n<!-- end x -->\n<!-- begin a/x -->\n2\n<!-- end a/x -->\n"
        self.assertEqual(fill(text, {"x": "3"}), text.replace("1", "3"))
        self.assertEqual(fill(text, {"x": "3"}, "a/"), text.replace("2", "3"))

    def test_unknown_and_unclosed_blocks_are_errors(self):
        for text in ("<!-- begin y -->\n<!-- end y -->\n", "<!-- begin x -->\n"):
            with self.assertRaises(SystemExit):
                fill(text, {"x": ""})

    def test_no_chart_of_before_stays(self):
        with TemporaryDirectory() as folder:
            docs = Path(folder) / "docs"
            write_charts(docs, {"old": "<svg/>"})
            write_charts(docs, {"new": "<svg/>"})
            self.assertEqual([file.name for file in docs.iterdir()], ["new.svg"])
