"""The pages of what the load generator reports."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import loadgen_page
from exchange_server import LOADGEN, run_loadgen
from tree import ROOT

HOSTILE = "</script><script>throw 1</script><!--"


@unittest.skipUnless(LOADGEN.is_file(), f"{LOADGEN} is not built")
class LoadgenPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.report = cls.folder / "run.json"
        run = "-c 2 -n 200 --workload mix --audit --expect p50<30s"
        code, said = run_loadgen(f"{run} --store memory: --json {cls.report}")
        assert code == 0, said

    def setUp(self):
        self.run_report = json.loads(self.report.read_text())

    def notices(self, kind):
        shown = loadgen_page.run_page(self.run_report)["notices"]
        return [one["text"] for one in shown if one["kind"] == kind]

    def test_a_run(self):
        shown = loadgen_page.page([str(self.report)])
        self.assertEqual(shown["title"], "Load test: mix, 2 clients, closed loop")
        words = "No errors in 200 answers. The audit passed. 1 expectation met."
        self.assertEqual(self.notices("good"), [words])
        titles = {one["title"] for one in shown["sections"] if one["blocks"]}
        for title in ("Latency", "Expectations", "Audit", "Stages", "Resources", "Settings"):
            self.assertIn(title, titles)
        rate = self.run_report["result"]["requests_per_s"]
        self.assertIn(rate, [card["figure"] for card in shown["cards"]])

    def test_what_went_wrong(self):
        self.run_report["audit"] |= {"passed": False, "findings": [f"order {n}" for n in range(9)]}
        self.run_report["result"]["errors"]["timeout"] = 12
        self.run_report["expectations"][0]["met"] = False
        failed = ["Errors: 12 timeout.", loadgen_page.AUDIT_FAILED, "1 expectation missed."]
        self.assertEqual((self.notices("bad"), self.notices("good")), (failed, []))
        self.run_report["audit"]["findings"] = []
        self.assertIn("Nothing was audited.", self.notices("bad"))

    def test_percentiles_as_hdr_histogram_prints_them(self):
        lines = loadgen_page.hdr_text([[10_000, 2], [20_000, 1], [30_000, 1]]).splitlines()
        self.assertEqual(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)")
        rows = [[float(cell) for cell in line.split()] for line in lines[2:5]]
        self.assertEqual(rows, [[10, 0.5, 2, 2], [20, 0.75, 3, 4], [30, 1, 4]])
        self.assertEqual(lines[6], "#[Max     =       30.000, Total count    =            4]")

    def test_percentiles_are_those_of_the_buckets_and_end_with_them(self):
        found = loadgen_page.percentiles([[1000, 90], [2500, 9], [8000, 1]])
        points = dict(zip((round(share, 6) for share in loadgen_page.SHARES), found))
        self.assertEqual([points[share] for share in (0.5, 0.9, 0.99, 0.999)], [1, 1, 2.5, None])

    def test_several_runs_side_by_side(self):
        other = self.folder / "other.json"
        other.write_text(json.dumps(self.run_report | {"client_was_the_bottleneck": True}))
        shown = loadgen_page.page([str(self.report), f"{other},{other}"])
        figures, charts, _ = shown["sections"]
        self.assertEqual(len(figures["blocks"][0]["rows"]), 2)
        lines = [len(one["lines"]) for one in charts["blocks"][0]["blocks"]]
        self.assertEqual(lines, [2, 3, 3])
        self.assertIn([str(other), ": ", loadgen_page.BOTTLENECK], shown["notices"][0]["details"])

    def test_the_command_line(self):
        run = [sys.executable, ROOT / "client/report/loadgen_page.py"]
        self.run_report["result"]["first_wrong_answer"] = HOSTILE
        self.run_report["result"]["errors"]["wrong answer"] = 1
        hostile = self.folder / "hostile.json"
        hostile.write_text(json.dumps(self.run_report))
        made = subprocess.run([*run, hostile], check=True, capture_output=True, text=True).stdout
        self.assertTrue(made.startswith("<!DOCTYPE html>"))
        self.assertNotIn(HOSTILE, made)
        self.assertEqual(subprocess.run([*run, __file__], capture_output=True).returncode, 2)
