"""The page of the reports, client/report/page.html, as a browser draws it."""

import tempfile
import unittest
from pathlib import Path

import report
from support import browser

HOSTILE = "</script><script>throw 1</script><img src=http://127.0.0.1:9/>&amp;<!--"


def line(values, **more):
    return {"name": "achieved", "values": values, "color": "blue", **more}


def chart(positions, *lines, y="linear", **more):
    return {
        "type": "chart",
        "title": "Rate",
        "x": {"name": "seconds", "unit": "s", "scale": "linear"},
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

    def show(self, *blocks, **more):
        sections = [{"id": "one", "title": "One", "blocks": list(blocks)}]
        report.write_html({"title": "A report", "sections": sections, **more}, self.file)
        page = browser().open(self.file.as_uri())
        self.addCleanup(page.close)
        self.assertEqual(page.complaints(), [])
        self.assertEqual(page.failed_requests(), [])
        own = (self.file.as_uri(), "data:")
        self.assertEqual([one for one in page.asked() if not one.startswith(own)], [])
        return page

    def test_text_is_never_markup(self):
        text = [HOSTILE, {"text": HOSTILE, "kind": "code"}]
        page = self.show(
            {"type": "text", "text": text},
            {"type": "list", "items": [text]},
            {"type": "pre", "text": HOSTILE},
            {"type": "table", "title": HOSTILE, "columns": [{"name": HOSTILE}], "rows": [[text]]},
            {"type": "values", "values": {HOSTILE: HOSTILE}},
            {"type": "details", "title": HOSTILE, "blocks": []},
            chart([1], line([1], name=HOSTILE), title=HOSTILE),
            title=HOSTILE,
            about=HOSTILE,
            notices=[{"kind": "bad", "text": HOSTILE, "details": [HOSTILE]}],
            cards=[{"title": HOSTILE, "figure": HOSTILE, "facts": [[HOSTILE, HOSTILE]]}],
        )
        self.assertEqual(page.text("h1"), HOSTILE)
        self.assertEqual(page.text("pre"), HOSTILE)
        self.assertEqual(page.evaluate("document.title"), HOSTILE)
        self.assertEqual(page.evaluate("document.querySelectorAll('img').length"), 0)
        self.assertEqual(page.evaluate("document.querySelectorAll('script').length"), 2)

    def test_a_link_leads_to_a_page_beside_this_one_alone(self):
        places = ["javascript:alert(1)", "http://a/x.html", "../x.html", "ada.html"]
        page = self.show({"type": "list", "items": [{"text": "x", "page": one} for one in places]})
        links = page.evaluate("[...document.querySelectorAll('a')].map(({href}) => href)")
        self.assertEqual(links, [self.file.with_name("ada.html").as_uri()])

    def test_what_is_missing_or_not_above_zero_on_a_logarithmic_axis_is_a_gap(self):
        page = self.show(chart([1, 2, 3, 4], line([0, 1.2, None, 8]), y="log"))
        skipped = page.evaluate("charts[0].chart.getDatasetMeta(0).data.map(({skip}) => skip)")
        self.assertEqual(skipped, [True, False, True, False])

    def test_charts_without_a_value_with_one_and_with_zeros_are_whole(self):
        page = self.show(
            chart([]),
            chart([1, 2], line([None, None]), y="log"),
            chart([3], line([0])),
            chart([3], line([5], look="dashed"), y="log"),
        )
        self.assertEqual(page.evaluate("charts.every(({chart}) => chart.width > 100)"), True)
