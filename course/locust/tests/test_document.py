"""From samples and Locust's CSV files to figures, and from figures to the page."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import document
import trial
from trial import Sample, read_failures, read_marks, read_statistics, usage_between


def record(row, rate, **usage):
    figures = dict.fromkeys(trial.NUMBERS, 1.0)
    figures |= {"rate": rate, "requests": rate * 30, "failures": 0, "p99": 20.0}
    used = {"seconds": 30, "server": 0.3, "server_thread": 0.1, "server_thread_name": "core"}
    used |= {"locust": 1.0, "locust_process": 0.5, "machine": 0.7, "others": 0.0, "commits": 0.1}
    return {
        "row": row,
        "statistics": {"Aggregated": figures},
        "usage": used | usage,
        "failures": {},
    }


class Files(unittest.TestCase):
    def file(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name, "file")
        path.write_text(text)
        return path

    def test_statistics_are_read_by_name(self):
        head = "Type,Name," + ",".join(trial.NUMBERS.values())
        nothing = "XML,query,0,0,0,N/A,N/A,0,0,0"
        all_ = ",Aggregated,40,1,6,19,45,7.5,84.5,4183.4"
        found = read_statistics(self.file(f"{head}\n{nothing}\n{all_}\n"))
        values = (40, 1, 6, 19, 45, 7.5, 84.5, 4183.4)
        self.assertEqual(found["Aggregated"], dict(zip(trial.NUMBERS, values, strict=True)))
        self.assertIsNone(found["query"]["p99"])

    def test_the_first_mark_of_each_kind_counts_from_when_all_were_there(self):
        self.assertEqual(
            read_marks(self.file("stopping 1\nspawned 5.5\nstopping 9\nspawned 7\nstopping 10\n")),
            {"spawned": 5.5, "stopping": 9.0},
        )

    def test_failures_keep_their_sentence(self):
        self.assertEqual(
            read_failures(
                self.file("Method,Name,Error,Occurrences\nXML,order,\"Refused('no')\",3\n")
            ),
            {"order: Refused('no')": 3},
        )


class Usage(unittest.TestCase):
    def test_only_what_lies_between_the_marks_counts(self):
        def sample(at, server, core, locust, busy, commit_us):
            threads = {(1, "core"): core, (2, "loop"): server - core}
            return Sample(at, server, threads, locust, busy, at * 2, commit_us)

        samples = [
            sample(0, 9, 1, {10: 7}, 30, 0),
            sample(10, 10, 2, {10: 8, 11: 1}, 40, 1_000_000),
            sample(20, 14, 3, {10: 9, 11: 10, 12: 1}, 58, 6_000_000),
            sample(30, 99, 9, {}, 99, 9),
        ]
        usage = usage_between(samples, 5, 25)
        self.assertEqual(
            usage,
            {"seconds": 10, "server": 0.4, "server_thread": 0.3, "server_thread_name": "loop"}
            | {"locust": 1.1, "locust_process": 0.9, "machine": 0.9, "others": 0.3, "commits": 0.5},
        )

    def test_too_short_a_row_is_not_measured(self):
        with self.assertRaisesRegex(trial.NotMeasured, "too short"):
            usage_between([], 0, 1)

    def test_a_session_is_found_with_its_children(self):
        process = subprocess.Popen(
            [sys.executable, "-c", "import os; os.fork(); print(1, flush=True); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            for _ in range(2):
                process.stdout.readline()
            found = trial.session_processes(process.pid)
            self.assertEqual(len(found), 2)
            self.assertIn(process.pid, found)
            self.assertNotIn(os.getpid(), found)
        finally:
            os.killpg(process.pid, 9)
            process.wait()
            process.stdin.close()
            process.stdout.close()


class Page(unittest.TestCase):
    def test_the_page_has_blocks_that_a_run_makes(self):
        head = dict.fromkeys("processor kernel date python locust server".split(), "x")
        head |= dict.fromkeys("cpus memory_gib seconds trials load_average".split(), 2)
        results = {"head": {**head, "commit": "abc"}, "trials": [record("xml-1", 10)], "failed": []}
        page = Path(__file__).resolve().parents[3] / "course/docs" / document.PAGE
        with tempfile.TemporaryDirectory() as docs:
            written = Path(docs, document.PAGE)
            written.write_text(page.read_text())
            document.update(Path(docs), results)
            self.assertIn("commit abc:", written.read_text())
