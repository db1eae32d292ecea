"""The page of the reports, client/report/page.html, as a browser draws it."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import report
from exchange_server import BINARY
from support import browser

HOSTILE = "</script><script>throw 1</script><img src=http://127.0.0.1:9/>&amp;<!--"


def line(values, **more):
    return {"name": "achieved", "values": values, "color": "blue", **more}


def chart(positions, *lines, x="linear", y="linear", **more):
    return {
        "type": "chart",
        "title": "Rate",
        "x": {"name": "seconds", "unit": "s", "scale": x},
        "y": {"name": "requests/s", "unit": "requests/s", "scale": y},
        "positions": positions,
        "lines": list(lines),
        **more,
    }


class ReportPage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "report.html"

    def open(self, **more):
        page = browser().open(self.file.as_uri(), **more)
        self.addCleanup(page.close)
        self.assertEqual(page.complaints(), [])
        self.assertEqual(page.failed_requests(), [])
        self.assertEqual(
            [
                address
                for address in page.asked()
                if not address.startswith((self.file.as_uri(), "data:"))
            ],
            [],
        )
        return page

    def show(self, *blocks, **more):
        sections = [{"id": "one", "title": "One", "blocks": list(blocks)}]
        report.write_html({"title": "A report", "sections": sections, **more}, self.file)
        return self.open()

    def drawn(self, page, expression):
        return page.evaluate(f"(({{chart}}) => {expression})(charts[0])")

    def test_the_character_set_is_where_parsers_look_for_it(self):
        self.show(title="Ä report")
        self.assertIn(b'<meta charset="utf-8">', self.file.read_bytes()[:1024])

    def test_text_is_never_markup(self):
        text = [HOSTILE, {"text": HOSTILE, "kind": "code"}]
        page = self.show(
            {"type": "text", "text": text},
            {"type": "list", "items": [text]},
            {"type": "pre", "text": HOSTILE},
            {"type": "table", "title": HOSTILE, "columns": [{"name": HOSTILE}], "rows": [[text]]},
            {"type": "values", "values": {HOSTILE: HOSTILE}},
            {"type": "details", "title": HOSTILE, "blocks": []},
            chart([1], line([1], name=HOSTILE), title=HOSTILE, limit={"value": 1, "name": HOSTILE}),
            title=HOSTILE,
            about=HOSTILE,
            notices=[{"kind": "bad", "text": HOSTILE, "details": [HOSTILE]}],
            cards=[{"title": HOSTILE, "figure": HOSTILE, "facts": [[HOSTILE, HOSTILE]]}],
        )
        self.assertEqual(page.text("h1"), HOSTILE)
        self.assertEqual(page.text("pre"), HOSTILE)
        self.assertEqual(page.evaluate("document.title"), HOSTILE)
        self.assertEqual(page.evaluate("document.querySelectorAll('img').length"), 0)
        self.assertEqual(page.evaluate("document.querySelectorAll('script').length"), 3)

    def test_numbers_have_separators_and_three_figures(self):
        numbers = [0, 12, 0.012345, 3.2, 48.26, 999.6, 1234567.8, -1234, None]
        page = self.show({"type": "list", "items": numbers})
        self.assertEqual(
            page.texts("li"),
            ["0", "12", "0.0123", "3.20", "48.3", "1,000", "1,234,568", "-1,234", "–"],
        )

    def test_tables_have_bars_and_rows_that_end_early(self):
        columns = [
            {"name": "policy"},
            {"name": "20", "number": True},
            {"name": "200", "number": True},
            {"name": "share"},
        ]
        rows = [["loop", 1.5, 20000, {"bar": [0.25, 0.75]}], ["pool", "not measured"]]
        table = {"type": "table", "title": "Rates", "columns": columns, "rows": rows}
        page = self.show(table, {**table, "wide": True, "note": "A note."})
        self.assertEqual(
            page.texts("div > .scroll tr"),
            ["policy\t20\t200\tshare", "loop\t1.50\t20,000\t", "pool\tnot measured"],
        )
        self.assertEqual(page.evaluate("document.querySelector('.rest').colSpan"), 3)
        self.assertEqual(page.evaluate("document.querySelector('.bar div').style.width"), "50%")
        self.assertEqual(page.text("details:not([open]) summary"), "Rates (2 rows)")

    def test_bars_may_have_a_text_and_stand_in_several_columns(self):
        row = [
            {"text": "ada", "page": "ada.html"},
            {"bar": [0, 0.5], "text": ["20 of ", {"text": "40", "kind": "strong"}]},
            {"bar": [0, 1], "text": HOSTILE},
        ]
        columns = [{"name": "server"}, {"name": "rules"}, {"name": "audit"}]
        page = self.show({"type": "table", "columns": columns, "rows": [row]})
        self.assertEqual(page.texts("tbody .bar"), ["20 of 40", HOSTILE])
        widths = "[...document.querySelectorAll('.length')].map(({style}) => style.width)"
        self.assertEqual(page.evaluate(widths), ["50%", "100%"])
        self.assertEqual(page.evaluate("document.querySelectorAll('table.several').length"), 1)
        self.assertEqual(
            page.evaluate("document.querySelector('td a, th a').href").split("/")[-1], "ada.html"
        )

    def test_a_link_leads_to_a_page_beside_this_one_alone(self):
        places = ["javascript:alert(1)", "http://a/x.html", "../x.html", "x.html?", ""]
        page = self.show({"type": "list", "items": [{"text": "x", "page": one} for one in places]})
        self.assertEqual(page.evaluate("document.querySelectorAll('a').length"), 0)

    def test_settings_show_their_units(self):
        values = {
            "timeout_s": 30,
            "rate_per_s": None,
            "memory_bytes": 25_000_000,
            "reply_check": True,
            "cpus": [0, 1],
            "stages": [{"seconds": 10, "requests_per_s": 5}, {"seconds": 5, "requests_per_s": 7}],
            "none": [],
        }
        page = self.show({"type": "values", "title": "Load", "values": values})
        self.assertEqual(
            page.texts("tr"),
            [
                "timeout, s\t30",
                "rate/s\t–",
                "memory\t25 MB",
                "reply check\tyes",
                "cpus\t0, 1",
                "stages\tseconds 10, requests/s 5; seconds 5, requests/s 7",
                "none\tnone",
            ],
        )

    def test_a_line_breaks_at_a_gap_and_a_point_alone_is_a_dot(self):
        many = list(range(1, 61))
        values = [None if i in (2, 4, 9) else i for i in many]
        page = self.show(chart(many, line(values)))
        meta = "chart.getDatasetMeta(0).data"
        self.assertEqual(
            self.drawn(page, f"{meta}.flatMap(({{skip}}, i) => skip ? [i + 1] : [])"), [2, 4, 9]
        )
        self.assertEqual(
            self.drawn(page, f"{meta}.flatMap(({{options}}, i) => options.radius ? [i + 1] : [])"),
            [1, 3],
        )
        self.assertEqual(
            page.evaluate("document.querySelector('canvas').getAttribute('aria-label')"),
            "Rate: achieved from 1 to 60 requests/s",
        )

    def test_what_is_not_above_zero_is_a_gap_on_a_logarithmic_axis(self):
        page = self.show(chart([1, 2, 3], line([0, 1.2, 8]), y="log"))
        self.assertEqual(
            self.drawn(page, "chart.getDatasetMeta(0).data.map(({skip}) => skip)"),
            [True, False, False],
        )
        self.assertEqual(
            self.drawn(page, "chart.scales.y.ticks.map(({value}) => value)"), [1, 2, 5, 10]
        )
        for low, high, ticks in (
            (0.3, 60, [0.1, 1, 10, 100]),
            (3, 40, [2, 5, 10, 20, 50]),
            (1, 1, [1, 2]),
        ):
            self.assertEqual(page.evaluate(f"logTicks({low}, {high})"), ticks)

    def test_shares_are_drawn_by_their_nines(self):
        page = self.show(
            chart([0.5, 0.9, 0.99, 0.999], line([1, 2, 4, None]), x="percentile", y="log")
        )
        self.assertEqual(
            self.drawn(page, "chart.scales.x.ticks.map(({label}) => label)"),
            ["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"],
        )
        x = self.drawn(page, "chart.getDatasetMeta(0).data.map(({x}) => x)")
        self.assertAlmostEqual(x[2] - x[1], x[3] - x[2], delta=0.01)

    def test_charts_without_a_value_with_one_and_with_zeros_are_whole(self):
        page = self.show(
            chart([]),
            chart([], line([])),
            chart([1, 2], line([None, None]), y="log"),
            chart([3], line([0])),
            chart([3], line([5], look="crosses"), limit={"value": 4, "name": "p99<4ms"}, y="log"),
        )
        self.assertEqual(page.evaluate("charts.every(({chart}) => chart.width > 100)"), True)

    def test_a_legend_names_lines_and_the_warm_up(self):
        page = self.show(chart([1, 2], line([1, 1]), shade_to=1.5), chart([1, 2], line([1, 1])))
        self.assertEqual(page.texts(".legend li"), ["achieved", "warm-up"])

    def test_dark_and_printed_pages_are_drawn_in_their_colours(self):
        page = self.show(chart([1, 2], line([1, 1])))
        colour = "charts[0].chart.data.datasets[0].borderColor"
        light = page.evaluate(colour)
        page.prefer(dark=True)
        page.wait_for(f"{colour} !== '{light}'")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(page.evaluate(colour), light)

    def test_a_run_of_the_load_generator(self):
        loadgen = BINARY.with_name("loadgen")
        if not loadgen.is_file():
            self.skipTest(f"{loadgen} is not built")
        options = "-c 4 -d 1500ms --workload mix --store memory: --audit --expect p50<10s --html"
        subprocess.run([loadgen, *options.split(), self.file], check=True, capture_output=True)
        for width, dark in ((1400, False), (420, True)):
            page = self.open(width=width, dark=dark)
            self.assertEqual(page.text("h1"), "Load test: mix, 4 clients, closed loop")
            self.assertGreaterEqual(page.evaluate("charts.length"), 5)
            self.assertGreaterEqual(page.evaluate("document.querySelectorAll('table').length"), 9)
            self.assertIn("The audit passed. 1 expectation met.", page.text(".notice.good"))
            self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), width)
