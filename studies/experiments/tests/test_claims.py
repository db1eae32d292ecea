"""The prose says nothing that the tables of docs/experiments.md refute, and the page is what a student reads in ten minutes."""

import json
import unittest

import support
from claims import CLAIMS, Tables, problems_of, value, warnings
from markdown import ROWS_MAX, page, tables_page
from prose import parse, read_texts

DOCS = support.HERE.parents[2] / "docs"
TEXT = support.HERE.parent / "text"


class Claims(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.run_ = json.loads((DOCS / "experiments/results.json").read_text())
        names = [experiment["name"] for experiment in self.run_["experiments"]]
        self.texts = read_texts(TEXT, names, set(names))

    def experiment(self, name):
        return next(one for one in self.run_["experiments"] if one["name"] == name)

    def test_each_conclusion_is_borne_out_by_its_tables(self):
        self.assertEqual(set(self.texts), set(CLAIMS))
        for name, text in self.texts.items():
            self.assertEqual([], problems_of(self.experiment(name), text), name)

    def test_the_pages_are_those_of_the_run_and_the_prose(self):
        made = page(self.run_, self.texts, [])
        self.assertEqual(made, (DOCS / "experiments.md").read_text())
        self.assertEqual(tables_page(self.run_), (DOCS / "experiments/tables.md").read_text())

    def test_a_refuted_conclusion_and_one_without_a_claim_are_noticed(self):
        locks = self.experiment("exchange")
        wrong = self.texts["exchange"].answer.replace("far faster", "far slower")
        found = problems_of(
            locks, parse("exchange", f"Answer: {wrong} A pool is the fastest of all.\n")
        )
        self.assertTrue(any(words.startswith("no claim checks: A pool is") for words in found))
        first = locks["tables"][0]["rows"]
        first[0][1:], first[4][1:] = first[4][1:], first[0][1:]
        found = problems_of(locks, self.texts["exchange"])
        refuted = "the figures refute: Without a commit a mutex is far faster than the core thread."
        self.assertIn(refuted, found)

    def test_threads_that_hardly_overlap_are_named(self):
        one = self.experiment("collections")
        (words,) = warnings(one)
        self.assertIn("99:1 overlapping, std::shared_mutex: 0.9", words)
        self.assertNotIn("hash_map", words)
        self.assertIn(words, page(self.run_, self.texts, []))
        (cpu,) = (table for table in one["tables"] if table["key"] == "cpu")
        for row in cpu["rows"]:
            row[3] = "900 ns"
        self.assertEqual([], warnings(one))

    def test_a_page_is_read_in_ten_minutes(self):
        for experiment in self.run_["experiments"]:
            for table in experiment["tables"]:
                shown = f"**{table['title']}**" in page(self.run_, self.texts, [])
                self.assertEqual(len(table["rows"]) <= ROWS_MAX, shown, table["key"])

    def test_cells_are_read_in_seconds(self):
        self.assertAlmostEqual(1.5e-3, value("1.50 ms (1.1-1.8)"))
        self.assertEqual(1_631_800, value("1,631,800 (1-2)"))
        self.assertEqual(30, value("30 of 30"))
        self.assertEqual(
            "0 of 30",
            Tables(self.experiment("priority")).text("acquire", "nice 19, inheritance", 4),
        )


if __name__ == "__main__":
    unittest.main()
