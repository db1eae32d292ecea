"""Tables, figures and charts of reports."""

import json
import unittest
from importlib.util import find_spec
from xml.etree import ElementTree

import figures
from report_tables import Column, Table, number, plain, ranged, rows_of

TABLE = Table(
    "x",
    "X",
    [Column("a", left=True), Column("b", group="g"), Column("c", group="g")],
    [["1", "2", "3"], ["a|b", "not run"]],
    "Note.",
)


class Tables(unittest.TestCase):
    def test_markdown_aligns_figures_right_escapes_bars_and_pads_short_rows(self):
        self.assertEqual(
            TABLE.markdown(),
            "| a | g b | g c |\n|---|---:|---:|\n| 1 | 2 | 3 |\n| a\\|b | not run |  |\n\nNote.\n",
        )

    def test_a_table_without_rows_is_its_note(self):
        self.assertEqual(plain(["a"], [], "Nothing.").markdown(), "Nothing.\n")

    def test_columns_make_rows_of_items_and_a_text_may_span_them(self):
        columns = [Column("n", str), Column("square", lambda n: str(n * n))]
        rows = rows_of(columns, [2, 3], 1, lambda n: "odd" if n % 2 else None)
        self.assertEqual(rows, [["2", "4"], ["3", "odd"]])

    def test_numbers_have_three_digits(self):
        self.assertEqual(
            [number(v) for v in (None, 0, 0.01234, 1.234, 12.34, 123.4, 1234.5)],
            ["–", "0", "0.01", "1.23", "12.3", "123", "1,234"],
        )
        self.assertEqual(ranged(2, 1, 3000), "2.00 (1.00 – 3,000)")


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

    def test_one_is_not_several(self):
        counts = [figures.counted(number, "server") for number in (0, 1, 1200)]
        self.assertEqual(["0 servers", "1 server", "1,200 servers"], counts)
        self.assertEqual("3 cores were", figures.counted(3, "core was", "cores were"))


@unittest.skipUnless(
    find_spec("matplotlib") and find_spec("scour"),
    "no charts: install-dependencies.sh --report installs what they need",
)
class Charts(unittest.TestCase):
    def texts_of(self, lines, legend="right", **axes):
        import charts

        x, y = ({"label": name, "log": True} | axes.get(name, {}) for name in ("x", "y"))
        chart = {
            "size": [8, 4],
            "panels": [[{"title": "Where it turns", "lines": lines}]],
            "x": x,
            "y": y,
            "legend": legend,
            "marks": True,
        }
        root = ElementTree.fromstring(charts.svg(chart))
        return ["".join(node.itertext()).strip() for node in root.findall(".//{*}text")]

    LINES = [
        {"name": "mutex", "points": [[1, 20, 15, 25], [64, 200, 150, 900]], "colour": "#111213"},
        {
            "name": "spinlock & co",
            "points": [[1, 10, 0, 12], [64, 9000, 8000, 9500]],
            "colour": "#0072b2",
        },
    ]

    def test_axes_lines_and_their_names(self):
        for legend in ("right", "panel"):
            texts = self.texts_of(self.LINES, legend)
            for part in ("Where it turns", "x", "y", "1", "64", "mutex", "spinlock & co"):
                self.assertIn(part, texts, legend)
        texts = self.texts_of(self.LINES)  # named as the lines end, from above
        self.assertLess(texts.index("spinlock & co"), texts.index("mutex"))

    def test_zero_has_a_place_on_a_logarithmic_axis(self):
        texts = self.texts_of([{"name": "", "points": [[0, 5], [10, 50], [1000, 500]]}])
        for part in ("0", "10", "1,000"):
            self.assertIn(part, texts)

    def test_more_lines_than_colours_and_none_at_all(self):
        lines = [{"name": f"line {n}", "points": [[1, n + 1, n + 1, n + 2]]} for n in range(11)]
        self.assertTrue({f"line {n}" for n in range(11)} <= set(self.texts_of(lines)))
        self.assertIn("nothing was measured", self.texts_of([{"name": "empty", "points": []}]))

    def test_ticks_are_short(self):
        import charts

        self.assertEqual(
            [charts.short(v) for v in (0, 0.5, 10, 1500, 20_000, 3e6, 1e-7, 2e10)],
            ["0", "0.5", "10", "1,500", "20k", "3M", "1e-7", "2e10"],
        )

    def test_the_same_chart_gives_the_same_bytes(self):
        import charts

        chart = {
            "size": [8, 4],
            "panels": [[{"title": "bars", "bars": [[0, {"a": 5, "b": 1}], [-1, {"b": 2}]]}]],
            "x": {"label": "ms"},
            "y": {"ticks": [[0, "first"], [-1, "second"]]},
            "legend": "top",
            "keys": [{"name": "a", "colour": "#0072b2"}, {"name": "b", "colour": "#d55e00"}],
            "decimals": 1,
        }
        self.assertEqual(charts.svg(chart), charts.svg(chart))
