"""Tables, figures and charts of reports."""

import json
import unittest
from importlib.util import find_spec
from xml.etree import ElementTree

import figures
import markup
from report import chart, line, section, table, values
from report_tables import Column, Table, rows_of


class Tables(unittest.TestCase):
    def test_markdown_escapes_bars_and_pads_short_rows(self):
        table = Table("x", "X", [Column("a", left=True), Column("b")], [["1", "2"], ["a|b"]], "")
        self.assertIn("| 1 | 2 |\n| a\\|b |  |\n", table.markdown())

    def test_columns_make_rows_of_items_and_a_text_may_span_them(self):
        columns = [Column("n", str), Column("square", lambda n: str(n * n))]
        rows = rows_of(columns, [2, 3], 1, lambda n: "odd" if n % 2 else None)
        self.assertEqual(rows, [["2", "4"], ["3", "odd"]])


class Figures(unittest.TestCase):
    def test_what_is_written_is_read_back(self):
        value = {"short": {"x": [1, 2]}, "long": [{"n": n, "text": "–" * 20} for n in range(12)]}
        self.assertEqual(json.loads(figures.text(value)), value)


class Markup(unittest.TestCase):
    def shown(self, *blocks):
        return markup.body({"title": "<b>", "sections": [section("one", "One", *blocks)]})

    def test_without_scripts_the_figures_of_a_chart_are_a_table(self):
        percentiles = {"name": "per cent", "scale": "percentile"}
        made = self.shown(
            chart("Latency", percentiles, "ms", [0.5, 0.99], [line("a", [1.5, None], "red")])
        )
        plain = made[made.index("<noscript>") :]
        for part in ("(ms)", ">per cent</th>", ">50</th>", ">1.50</td>", ">99</th>", ">–</td>"):
            self.assertIn(part, plain)

    def test_bars_have_their_length_and_settings_their_units(self):
        made = self.shown(
            table(["part", "share"], [["x", {"bar": [0.25, 0.5], "text": "<i>"}]]),
            values("", {"timeout_s": 5, "memory_bytes": 1_500_000, "rate_per_s": None}),
        )
        for part in (
            '<td class="bar">&lt;i&gt;<div class="length" style="margin-left:25%;width:25%">',
            "timeout, s</th><td>5<",
            "memory</th><td>1.50 MB<",
            "rate/s</th><td>–<",
        ):
            self.assertIn(part, made)


@unittest.skipUnless(
    find_spec("matplotlib") and find_spec("scour"),
    "no charts: install-dependencies.sh --report installs what they need",
)
class Charts(unittest.TestCase):
    def svg(self, lines):
        import charts

        axes = {name: {"label": name, "log": True} for name in ("x", "y")}
        panels = [[{"title": "Where it turns", "lines": lines}]]
        chart = {"size": [8, 4], "panels": panels, **axes, "legend": "right", "marks": True}
        return charts.svg(chart)

    def texts_of(self, lines):
        root = ElementTree.fromstring(self.svg(lines))
        return ["".join(node.itertext()).strip() for node in root.findall(".//{*}text")]

    def test_lines_are_named_more_than_there_are_colours_and_none_at_all(self):
        lines = [{"name": f"line {n} & co", "points": [[n, n + 1, n, n + 2]]} for n in range(11)]
        self.assertTrue({f"line {n} & co" for n in range(11)} <= set(self.texts_of(lines)))
        self.texts_of([{"name": "empty", "points": []}])

    def test_zero_has_a_place_on_a_logarithmic_axis(self):
        texts = self.texts_of([{"name": "", "points": [[0, 5], [10, 50], [1000, 500]]}])
        self.assertLessEqual({"0", "10", "1,000"}, set(texts))

    def test_the_same_chart_gives_the_same_bytes(self):
        lines = [{"name": "mutex", "points": [[1, 20, 15, 25], [64, 200, 150, 900]]}]
        self.assertEqual(self.svg(lines), self.svg(lines))
