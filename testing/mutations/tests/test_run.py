"""The runner on a tiny project of its own: what is caught, what survives, what is stale or hangs;
and the list, on the tree."""

import json
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import catalogue

HERE = Path(__file__).resolve().parent
RUN = HERE.parent / "run"
ROOT = HERE.parents[2]

PROJECT = {
    "CMakeLists.txt": """
        cmake_minimum_required(VERSION 3.16)
        project(tiny LANGUAGES C)
        set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
        add_executable(sum_test test.c sum.c)
        enable_testing()
        add_test(NAME sum COMMAND sum_test)
        """,
    "sum.c": """
        int sum(int a, int b) { return a + b; }
        int limit(int a) { return a > 9 ? 9 : a; }
        int unwatched(void) { return 1; }
        """,
    # Speaks as Catch2 does.
    "test.c": r"""
        #include <stdio.h>
        #include <string.h>
        int sum(int, int);
        int limit(int);
        int main(int count, char** words) {
          const char* name = count > 1 ? words[1] : "";
          if (!strcmp(name, "looks away")) { puts("All tests passed (1 assertion in 1 test case)"); return 0; }
          if (!strcmp(name, "fails anyway")) return 1;
          if (sum(2, 2) != 4) { puts("two and two are four: FAILED"); return 42; }
          for (int i = 0; limit(i) < 9; ++i) {}
          puts("All tests passed (2 assertions in 1 test case)");
          return 0;
        }
        """,
}
SUBTRACTS = dict(
    name="subtracts",
    promise="sums are sums",
    file="sum.c",
    old="a + b",
    new="a - b",
    tests=["sum_test"],
)
UNWATCHED = dict(SUBTRACTS, name="unwatched", old="return 1;", new="return 2;")


class TestRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="mutations-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.root = cls.folder / "project"
        cls.root.mkdir()
        for name, text in PROJECT.items():
            (cls.root / name).write_text(textwrap.dedent(text))

    def run_on(self, *entries):
        """Status of a run, and the states of its mutations."""
        toml = "".join(
            "[[mutation]]\n" + "".join(f"{key} = {json.dumps(entry[key])}\n" for key in entry)
            for entry in entries
        )
        (self.folder / "list").mkdir(exist_ok=True)
        (self.folder / "list/sums.toml").write_text(toml)
        before = {path.name: path.read_text() for path in self.root.iterdir()}
        command = [sys.executable, RUN, "--root", self.root, "--catalogue", self.folder / "list"]
        options = ["--work", self.folder / "work", "--limit", "1"]  # built once for all cases
        verdicts = self.folder / "verdicts.json"
        done = subprocess.run(
            [*command, *options, "--json", verdicts], capture_output=True, text=True, timeout=120
        )
        self.assertEqual(done.stderr, "")
        after = {path.name: path.read_text() for path in self.root.iterdir()}
        self.assertEqual(after, before, "the tree itself is never touched")
        return done.returncode, *(one["state"] for one in json.loads(verdicts.read_text()))

    def test_a_bug_that_a_test_notices_is_caught(self):
        by_ctest = dict(SUBTRACTS, name="by ctest", tests=["ctest: sum"], targets=["sum_test"])
        endless = dict(SUBTRACTS, name="endless", old="a>9 ? 9:a", new="a > 9 ? 8 : 0")
        self.assertEqual(
            self.run_on(SUBTRACTS, by_ctest, endless), (0, "caught", "caught", "caught by a hang")
        )

    def test_a_survivor_fails_the_run_also_after_a_bug_that_was_caught(self):
        by_one = dict(SUBTRACTS, name="by one", tests=["sum_test", "sum_test: looks away"])
        self.assertEqual(
            self.run_on(SUBTRACTS, UNWATCHED, by_one), (1, "caught", "survived", "survived")
        )

    def test_an_old_text_that_does_not_occur_once_is_stale(self):
        for old in ("a * b", "return "):
            self.assertEqual(self.run_on(dict(SUBTRACTS, old=old, new="x")), (1, "stale"))

    def test_a_test_that_fails_without_the_bug_judges_nothing(self):
        entry = dict(SUBTRACTS, tests=["sum_test: fails anyway"])
        self.assertEqual(self.run_on(entry), (1, "cannot be judged"))


class TestList(unittest.TestCase):
    def test_the_list_fits_the_tree(self):
        done = subprocess.run(
            [sys.executable, str(RUN), "--check"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_each_promise_has_a_bug_and_each_bug_a_promise_or_rule_that_exists(self):
        page = (ROOT / "docs/reliability.md").read_text()
        table = page.split("## Promises\n\n")[1].split("\n\n")[0]
        cells = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
        without_bug = [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", cell) for cell in cells if cell]
        self.assertGreater(len(without_bug), 10)
        promises = sorted(without_bug, key=len)
        rules = re.findall(r"^- \*\*(\w+)\*\* ", (ROOT / "docs/protocol.md").read_text(), re.M)
        for mutation in catalogue.load(HERE.parent / "list"):
            if not mutation.of or mutation.of in rules:
                continue
            broken = [promise for promise in promises if promise.startswith(mutation.of)][:1]
            self.assertTrue(broken, f"{mutation.name}: there is no rule or promise {mutation.of!r}")
            without_bug = [promise for promise in without_bug if promise not in broken]
        self.assertEqual(without_bug, [])
