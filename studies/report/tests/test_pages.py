"""Pages: what a program writes into them, and that their sentences fit the figures."""

import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from studies.report.claims import markdown_tables, number, problems, read, sentences
from studies.report.documents import fill, write_charts

PAGE = """# Title 1

We ran it 3 times. `a` is faster
than **b**. It was a nice day.

| x | y |
|---|---|
| 1 | 22 |

<!-- begin t -->
| name | rate |
|---|---:|
| a | 1,234 (1 – 2) |
<!-- end t -->

- One costs 5. Neither is here.
"""


class Claims(unittest.TestCase):
    def wrong(self, claims):
        only_done = {"We ran it 3 times.": None, "One costs 5.": None}
        return problems(PAGE, only_done | claims, {"f": {"a": 2, "b": 1}})

    def test_what_the_figures_bear_out_is_no_problem(self):
        holds = {"`a` is faster than b": "f['a'] > f['b']"}
        self.assertEqual([], self.wrong(holds))

    def test_what_they_refute_is_one(self):
        holds = {"a is faster than b": "f['a'] < f['b']"}
        self.assertEqual(["the figures refute: a is faster than b"], self.wrong(holds))

    def test_a_conclusion_without_a_claim_and_a_claim_without_a_sentence(self):
        self.assertEqual(["no claim checks: a is faster than b."], self.wrong({}))
        found = self.wrong({"a is slower": "True", "a is faster": "f['c']"})
        self.assertIn("no sentence says any more: a is slower", found)
        self.assertTrue(found[1].startswith("cannot be checked (KeyError('c')): a is faster"))

    def test_a_file_has_sections_of_sentences_and_their_conditions(self):
        with TemporaryDirectory() as folder:
            file = Path(folder) / "claims.txt"
            file.write_text("a is b.\n    f ==\n    1\n\n# locks\n\nWe ran it.\n")
            self.assertEqual(
                {None: {"a is b.": "f == 1"}, "locks": {"We ran it.": None}}, read(file)
            )

    def test_sentences_are_those_of_the_prose(self):
        found = list(sentences(PAGE))
        self.assertEqual("a is faster than b.", found[1])
        self.assertEqual("One costs 5.", found[3])
        self.assertNotIn("22", " ".join(found))

    def test_tables_are_read(self):
        tables = markdown_tables(PAGE)
        self.assertEqual([{"name": "a", "rate": "1,234 (1 – 2)"}], tables["t"])
        self.assertEqual([[{"x": "1", "y": "22"}]], tables[None])
        self.assertEqual(1234, number(tables["t"][0]["rate"]))


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
