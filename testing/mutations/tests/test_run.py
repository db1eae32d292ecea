"""The runner on a tiny project of its own: what is caught, what survives, what is stale, broken or hangs."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
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
    # Speaks as Catch2 does. "orphan" leaves a process behind that lives in a session of its own.
    "test.c": r"""
        #include <stdio.h>
        #include <string.h>
        #include <unistd.h>
        int sum(int, int);
        int limit(int);
        int main(int count, char** words) {
          const char* name = count > 1 ? words[1] : "";
          if (!strcmp(name, "orphan") && fork() == 0) { setsid(); execlp("sleep", "sleep", "4321", (char*)0); }
          if (!strcmp(name, "nobody")) { puts("No tests ran"); return 0; }
          if (!strcmp(name, "without a database")) { puts("skipped: there is no database\nAll tests passed (1 assertion in 1 test case)"); return 0; }
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


def toml(entry):
    return "[[mutation]]\n" + "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in entry.items()
    )


class TestRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mutations-test-")
        cls.root = Path(cls.folder.name) / "project"
        cls.root.mkdir()
        for name, text in PROJECT.items():
            (cls.root / name).write_text(textwrap.dedent(text))
        cls.work = Path(cls.folder.name) / "work"  # kept between the cases, as --work is for

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def command(self, entries, *arguments):
        catalogue = Path(tempfile.mkdtemp(dir=self.folder.name))
        for area in entries:
            (catalogue / f"{area}.toml").write_text("".join(toml(entry) for entry in entries[area]))
        return [
            sys.executable,
            str(RUN),
            "--root",
            str(self.root),
            "--catalogue",
            str(catalogue),
            "--work",
            str(self.work),
            "--limit",
            "1",
            *arguments,
        ]

    def run_on(self, entries, *arguments):
        if isinstance(entries, list):
            entries = {"sums": entries}
        before = {path.name: path.read_text() for path in self.root.iterdir()}
        done = subprocess.run(
            self.command(entries, *arguments), capture_output=True, text=True, timeout=120
        )
        self.assertEqual(done.stderr, "")
        self.assertEqual(
            {path.name: path.read_text() for path in self.root.iterdir()},
            before,
            "the user's tree is never touched",
        )
        return done.returncode, done.stdout

    def verdict(self, *entries):
        """Status of the run, and state and reason of its last mutation."""
        file = Path(self.folder.name) / "verdicts.json"
        code, output = self.run_on(list(entries), "--json", str(file))
        last = json.loads(file.read_text())["verdicts"][-1]
        return code, last["state"], last["why"], output

    def test_a_bug_that_a_test_notices_is_caught(self):
        code, state, _, output = self.verdict(SUBTRACTS)
        self.assertEqual((code, state), (0, "caught"))
        self.assertIn("1 mutations: 1 caught", output)

    def test_a_bug_is_undone_before_the_next_is_planted(self):
        survivor = dict(SUBTRACTS, name="unwatched", old="return 1;", new="return 2;")
        self.assertEqual(self.verdict(SUBTRACTS, survivor)[:2], (1, "survived"))

    def test_a_survivor_fails_the_run_and_is_named(self):
        code, state, why, output = self.verdict(
            dict(SUBTRACTS, name="unwatched", old="return 1;", new="return 2;")
        )
        self.assertEqual((code, state, why), (1, "survived", "sum_test passes"))
        self.assertIn("sums: unwatched: survived", output)

    def test_each_test_that_is_named_must_fail(self):
        code, state, why, _ = self.verdict(
            dict(SUBTRACTS, tests=["sum_test", "sum_test: looks away"])
        )
        self.assertEqual((code, state, why), (1, "survived", "sum_test: looks away passes"))

    def test_a_test_that_is_skipped_here_is_told_with_its_reason(self):
        code, state, why, _ = self.verdict(dict(SUBTRACTS, tests=["sum_test: without a database"]))
        self.assertEqual((code, state), (0, "skipped"))
        self.assertIn("there is no database", why)

    def test_what_no_longer_fits_is_stale(self):
        for old in ("a * b", "return "):  # nowhere; more than once
            code, state, why, output = self.verdict(dict(SUBTRACTS, old=old, new="x"))
            self.assertEqual((code, state), (1, "stale"))
            self.assertIn("sums: subtracts: stale: its old text occurs", output)

    def test_white_space_and_line_breaks_do_not_matter(self):
        for old in ("a+b", "int sum( int a,\n  int b ) {\n  return a + b;\n}"):
            code, state, _, _ = self.verdict(dict(SUBTRACTS, old=old, new=old.replace("+", "-")))
            self.assertEqual((code, state), (0, "caught"))

    def test_what_does_not_compile_fails_the_run(self):
        code, state, why, _ = self.verdict(dict(SUBTRACTS, new="a +"))
        self.assertEqual((code, state), (1, "does not compile"))
        self.assertIn("error", why)

    def test_a_hang_is_caught_and_said(self):
        code, state, why, _ = self.verdict(
            dict(SUBTRACTS, name="endless", old="a > 9 ? 9 : a", new="a > 9 ? 8 : 0")
        )
        self.assertEqual((code, state, why), (0, "caught by a hang", "sum_test does not end"))

    def test_a_failure_must_say_what_is_expected_of_it(self):
        self.assertEqual(
            self.verdict(dict(SUBTRACTS, says="two and two are four"))[:2], (0, "caught")
        )
        self.assertEqual(
            self.verdict(dict(SUBTRACTS, says="three"))[:2], (1, "failed, but not as it should")
        )

    def test_a_test_that_fails_or_runs_nothing_anyway_judges_nothing(self):
        for case in ("fails anyway", "nobody"):
            code, state, why, _ = self.verdict(dict(SUBTRACTS, tests=[f"sum_test: {case}"]))
            self.assertEqual((code, state), (1, "cannot be judged"))
            self.assertIn(case, why)

    def test_ctest_can_be_asked_too(self):
        self.assertEqual(
            self.verdict(dict(SUBTRACTS, tests=["ctest: sum"], targets=["sum_test"]))[:2],
            (0, "caught"),
        )

    def test_several_edits_make_one_mutation(self):
        halves = dict(SUBTRACTS, old="int a, int b", new="int a, int c")
        self.assertEqual(self.verdict(halves)[:2], (1, "does not compile"))
        text = toml(halves) + 'also = [{file = "sum.c", old = "a + b", new = "a - c"}]\n'
        command = self.command({})
        (Path(command[command.index("--catalogue") + 1]) / "sums.toml").write_text(text)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        self.assertIn("1 mutations: 1 caught", done.stdout)

    def test_what_tests_leave_running_is_ended(self):
        self.run_on([dict(SUBTRACTS, tests=["sum_test: orphan"])])
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                self.assertNotIn(b"sleep\x004321", process.read_bytes())
            except OSError:
                pass  # ended just now

    def test_names_areas_and_shards_choose(self):
        entries = {
            "one": [dict(SUBTRACTS, name="a"), dict(SUBTRACTS, name="b")],
            "two": [dict(SUBTRACTS, name="c")],
        }
        listed = lambda *arguments: [
            line.split(": ")[1]
            for line in self.run_on(entries, "--list", *arguments)[1].splitlines()
        ]
        self.assertEqual(listed(), ["a", "b", "c"])
        self.assertEqual(listed("one"), ["a", "b"])
        self.assertEqual(listed("b", "two"), ["b", "c"])
        self.assertEqual(listed("--shard", "1/2"), ["a", "c"])
        self.assertEqual(listed("--shard", "2/2"), ["b"])

    def test_mistakes_in_the_list_are_named(self):
        for entry, error in (
            (dict(SUBTRACTS, promise=""), "'promise'"),
            (dict(SUBTRACTS, tets=[]), "'tets'"),
            (dict(SUBTRACTS, new="a + b"), "the same"),
            (dict(SUBTRACTS, tests=["ctest: sum"]), "'targets'"),
        ):
            code, output = self.run_on([entry], "--list")
            self.assertEqual(code, 2)
            self.assertIn(error, output)
        code, output = self.run_on([SUBTRACTS, SUBTRACTS], "--list")
        self.assertEqual((code, "two mutations are called 'subtracts'" in output), (2, True))
        self.assertEqual(self.run_on([SUBTRACTS], "nothing")[0], 2)
        self.assertEqual(self.run_on([SUBTRACTS], "--shard", "3/2")[0], 2)

    def test_the_table_has_a_row_for_each(self):
        file = Path(self.folder.name) / "table.md"
        self.run_on(
            [SUBTRACTS, dict(SUBTRACTS, name="stale one", old="a | b")], "--markdown", str(file)
        )
        text = file.read_text()
        self.assertIn("2 mutations: 1 caught, 1 stale.", text)
        self.assertIn("| subtracts | sums are sums | sum_test |", text)
        self.assertIn("| stale one | sums are sums | **stale** |", text)

    def test_verdicts_of_several_runs_make_one_table_below_its_mark(self):
        one, two, table = (
            Path(self.folder.name) / name for name in ("one.json", "two.json", "page.md")
        )
        stale = dict(SUBTRACTS, name="stale one", old="a | b")
        self.run_on([SUBTRACTS, stale], "--json", str(one))
        self.run_on([dict(SUBTRACTS, name="stale one")], "--json", str(two))
        table.write_text("prose\n<!-- verdicts -->\n\nold\n")
        code, output = self.run_on(
            [SUBTRACTS, dict(SUBTRACTS, name="stale one"), dict(SUBTRACTS, name="not run")],
            "--merge",
            str(one),
            str(two),
            "--markdown",
            str(table),
        )
        self.assertEqual((code, "2 mutations: 2 caught" in output), (0, True))
        self.assertTrue(
            table.read_text().startswith("prose\n<!-- verdicts -->\n\n2 mutations: 2 caught.")
        )
        self.assertNotIn("old", table.read_text())

    def test_two_runs_do_not_share_a_folder(self):
        self.work.mkdir(exist_ok=True)
        with open(self.work / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            code, output = self.run_on([SUBTRACTS])
        self.assertEqual((code, f"another run works in {self.work}" in output), (2, True))

    def test_an_interrupted_run_leaves_nothing_behind(self):
        temporary = Path(tempfile.mkdtemp(dir=self.folder.name))
        endless = dict(SUBTRACTS, name="endless", old="a > 9 ? 9 : a", new="a > 9 ? 8 : 0")
        verdicts = Path(self.folder.name) / "interrupted.json"
        command = self.command(
            {"sums": [SUBTRACTS, endless]}, "--limit", "600", "--json", str(verdicts)
        )
        work = command.index("--work")
        del command[work : work + 2]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)}
        )
        deadline = time.monotonic() + 60
        while (
            not list(temporary.glob("*/tree/sum.c"))
            or "? 8 : 0" not in next(temporary.glob("*/tree/sum.c")).read_text()
        ):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted after 1 of 2", output)
        self.assertEqual(
            [one["state"] for one in json.loads(verdicts.read_text())["verdicts"]], ["caught"]
        )
        self.assertEqual(list(temporary.iterdir()), [])


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
