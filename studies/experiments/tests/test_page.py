import json
import unittest
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from support import FILES, LOCKS, TEXTS, document, made_run
from markdown import page, table
from prose import parse

needs_matplotlib = unittest.skipUnless(
    find_spec("matplotlib"), "matplotlib is not installed: the plots cannot be drawn"
)


def made_page(run, missing=()):
    return page(run, {name: parse(name, text) for name, text in TEXTS.items()}, list(missing))


class Page(unittest.TestCase):
    def test_a_table_has_its_title_above(self):
        self.assertEqual(
            table(LOCKS["tables"][0])[:4],
            ["**Wall time**", "", "| lock | there | here |", "|---|---:|---:|"],
        )

    def test_the_opening_says_where_the_figures_come_from_and_how_to_repeat_them(self):
        opening = made_page(made_run()).split("## Questions")[0]
        source = (
            "a CPU|2 CPUs|Linux 6|commit abc|seed 7|5 repetitions|--docs docs|1 checks were made"
        )
        for part in source.split("|"):
            self.assertIn(part, opening)
        self.assertNotIn("--quick", opening)
        self.assertNotIn("Not part", opening)

    def test_the_contents_answer_each_question_in_a_line(self):
        contents = made_page(made_run()).split("answers\n\n")[1].split('\n\n<a id="files"')[0]
        self.assertEqual(
            contents,
            "- [3. Files](#files)<br>\n  In groups.\n- [5. Locks](#locks)<br>\n  A mutex will do.",
        )

    def test_placeholders_give_way_to_what_was_measured(self):
        text = made_page(made_run())
        self.assertNotIn("{{", text)
        for part in (
            "| none | 1.57 |",
            "![Where it turns: ns by threads](experiments/locks-turn.svg)",
            "```text\none\n  two\n```",
            "- SCHED_FIFO: Operation not permitted",
        ):
            self.assertIn(part, text)

    def test_a_check_that_fails_is_named_at_the_top_and_in_its_section(self):
        run = made_run()
        run["experiments"][1]["checks"].append(
            {"what": "FIFO order", "holds": False, "seen": "3 overtaken"}
        )
        text = made_page(run)
        self.assertIn("**1 of 2 checks did not hold:** see [locks](#locks).", text)
        self.assertIn("- **FIFO order**: 3 overtaken", text)
        self.assertIn("1 other checks hold", text)
        self.assertNotIn("all hold", text)

    def test_a_quick_or_partial_run_says_so(self):
        text = made_page(made_run(LOCKS, quick=True), ["3. Files"])
        self.assertIn("a run with `--quick`", text)
        self.assertIn("**Not part of this run:** 3. Files.", text)


class Document(unittest.TestCase):
    def setUp(self):
        temporary = TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.docs = self.folder / "docs"

    @needs_matplotlib
    def test_it_writes_page_plots_and_figures_and_leaves_nothing_of_before(self):
        (self.docs / "experiments").mkdir(parents=True)
        (self.docs / "experiments/old.svg").touch()
        run = made_run()
        done = document(self.folder, run)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(
            sorted(path.name for path in (self.docs / "experiments").iterdir()),
            ["locks-turn.svg", "results.json"],
        )
        self.assertEqual(json.loads((self.docs / "experiments/results.json").read_text()), run)
        self.assertIn("experiments/locks-turn.svg", (self.docs / "experiments.md").read_text())

    @needs_matplotlib
    def test_the_same_run_gives_the_same_bytes(self):
        written = []
        for _ in range(2):
            document(self.folder, made_run())
            written.append([path.read_bytes() for path in sorted(self.docs.rglob("*.*"))])
        self.assertEqual(*written)

    def test_an_incomplete_run_writes_nothing_and_says_what_is_missing(self):
        done = document(self.folder, made_run(LOCKS))
        self.assertEqual(done.returncode, 2)
        self.assertIn("this one lacks: 3. Files", done.stderr)
        self.assertEqual(list(self.docs.iterdir()), [])

    @needs_matplotlib
    def test_an_incomplete_run_makes_a_page_on_request(self):
        self.assertEqual(document(self.folder, made_run(LOCKS), "--partial").returncode, 0)
        self.assertIn(
            "**Not part of this run:** 3. Files.", (self.docs / "experiments.md").read_text()
        )

    def test_run_and_prose_that_do_not_fit_write_nothing(self):
        done = document(
            self.folder, made_run(), texts={**TEXTS, "files": "Answer: x\n{{table none}}\n"}
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("text/files.md: {{table none}}", done.stderr)
        self.assertEqual(list(self.docs.iterdir()), [])

    def test_what_is_no_run_is_refused(self):
        self.assertEqual(document(self.folder, {"format": "other"}).returncode, 2)


if __name__ == "__main__":
    unittest.main()
