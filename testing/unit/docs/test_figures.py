"""The figures that pages quote are those of docs/figures.json, which `studies/figures` measures,
and `studies/figures --fill` writes into the pages."""

import json
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from tree import ROOT, tracked

loader = SourceFileLoader("figures_of_pages", str(ROOT / "studies/figures"))
figures = module_from_spec(spec_from_loader(loader.name, loader))
loader.exec_module(figures)


class Figures(unittest.TestCase):
    maxDiff = None

    def test_pages_quote_what_was_measured(self):
        pages = {path.relative_to(ROOT): path.read_text() for path in tracked("*.md")}
        known = json.loads(figures.FILE.read_text())
        self.assertEqual([], list(figures.problems(pages, known)))

    def test_another_value_an_unknown_name_a_mark_without_end_and_an_unused_figure_are_named(self):
        known = {
            "rate": {"value": 91_700, "unit": "requests/s"},
            "cpu": {"value": 9.4, "unit": "us"},
        }
        page = (
            "It does\n<!--= rate -->103,100<!--=-->/s.\n<!--= p99 -->3<!--=-->\n<!--= rate -->9\n"
        )
        self.assertEqual(
            [
                "a.md:2: rate is 103,100 here, 91,700 in docs/figures.json",
                "a.md:3: p99 is not in docs/figures.json",
                "a.md:4: a mark has no name, or no end in its line",
                "docs/figures.json: no page uses cpu",
            ],
            list(figures.problems({"a.md": page}, known)),
        )
