"""Pages, tables, figures and charts of reports."""

import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import figures
import markup
from documents import Column, Table, can_draw, fill, write_page
from report import chart, line, section, table, values


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


class Tables(unittest.TestCase):
    def test_markdown_escapes_bars_and_pads_short_rows(self):
        table = Table("x", "X", [Column("a", left=True), Column("b")], [["1", "2"], ["a|b"]], "")
        self.assertIn("| 1 | 2 |\n| a\\|b |  |\n", table.markdown())


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


@unittest.skipUnless(can_draw(), "no charts: install-dependencies.sh --report")
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
