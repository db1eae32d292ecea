"""How figures and charts are written."""

import json
import unittest
from xml.etree import ElementTree

import figures
import machine
from studies.report import svg

DRAWN = """<?xml version="1.0"?>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="10pt" height="10pt" viewBox="0 0 10 10" xmlns="http://www.w3.org/2000/svg">
 <metadata>by a program</metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style></defs>
 <g id="figure_1">
  <g id="a"><path id="unused" d="M 0.12 -0.001
L 1.26 2
L 3.04 4
z" style="fill: none; stroke: #111213"/></g>
  <g id="b"><path d="M 5 5
C 1 2 3 4 5.55 6" style="fill: none; stroke: #111213"/></g>
  <defs><path id="m0a1b" d="M 0 0"/></defs>
  <use xlink:href="#m0a1b" x="2.4999" y="3" clip-path="url(#p9)"/>
  <text style="fill: #111213" x="1" y="2" transform="rotate(-0 1 2)"> one  text</text>
 </g>
 <defs><clipPath id="p9"><rect x="0" y="0" width="9.96" height="1"/></clipPath></defs>
</svg>
"""


class Svg(unittest.TestCase):
    def setUp(self):
        self.text = svg.compact(DRAWN)
        self.root = ElementTree.fromstring(self.text)

    def all(self, tag):
        return list(self.root.iter(f"{{{svg.SVG}}}{tag}"))

    def test_coordinates_have_tenths(self):
        self.assertEqual(
            [path.get("d") for path in self.all("path")],
            ["M0.1 0L1.3 2 3 4z", "M5 5C1 2 3 4 5.5 6", "M0 0"],
        )
        self.assertEqual(
            (self.all("use")[0].get("x"), self.all("rect")[0].get("width")), ("2.5", "10")
        )

    def test_neighbours_of_one_style_share_it(self):
        self.assertEqual(
            [(group.get("style"), len(group)) for group in self.all("g")],
            [("fill:none;stroke:#111213", 2)],
        )

    def test_references_still_have_their_targets(self):
        self.assertEqual(self.all("use")[0].get(svg.HREF), "#" + self.all("defs")[0][0].get("id"))
        self.assertEqual(
            self.all("use")[0].get("clip-path"), f"url(#{self.all('clipPath')[0].get('id')})"
        )

    def test_texts_stay_and_metadata_goes(self):
        self.assertEqual(
            [(text.text, text.get("transform")) for text in self.all("text")],
            [(" one  text", None)],
        )
        for gone in ("metadata", "unused", "figure_1"):
            self.assertNotIn(gone, self.text)

    def test_again_changes_nothing(self):
        self.assertEqual(svg.compact(self.text), self.text)


class Figures(unittest.TestCase):
    def test_six_digits_of_what_is_not_a_count(self):
        self.assertEqual(
            figures.rounded({"a": [12345678, 1.23456789, 1234567.8], "b": None, "c": True}),
            {"a": [12345678, 1.23457, 1234570.0], "b": None, "c": True},
        )

    def test_what_fits_is_on_one_line_and_all_of_it_is_read_back(self):
        value = {"short": {"x": [1, 2]}, "long": [{"n": n, "text": "–" * 20} for n in range(12)]}
        written = figures.text(value)
        self.assertEqual(json.loads(written), value)
        self.assertIn('\n "short":{"x":[1,2]},\n', written)
        self.assertLessEqual(max(map(len, written.splitlines())), figures.COLUMNS_MAX)


class Machine(unittest.TestCase):
    def test_the_commit_is_that_of_this_tree(self):
        self.assertTrue((machine.ROOT / "tools/report/machine.py").samefile(machine.__file__))


if __name__ == "__main__":
    unittest.main()
