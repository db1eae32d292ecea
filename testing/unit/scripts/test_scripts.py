"""Scripts of the tree: no CDPATH leads them astray, and their --help builds and installs nothing.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tree import ROOT, tracked

BUILDERS = "apt-get apt-cache cmake ninja make ctest dpkg-query dpkg sudo docker g++".split()
# Not run by people: entry points of a package, of a container, of a cluster and of course
# platforms, and a stand-in.
CALLED = re.compile(r"^\.ci/|^ops/|^course/grader/platforms/|/entrypoint$|package/proof$|/tests/")
FIRST_STEP = "install-dependencies.sh"


def is_shell(path):
    first = path.read_bytes().partition(b"\n")[0]
    return path.suffix == ".sh" or (first.startswith(b"#!") and first.rstrip().endswith(b"sh"))


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.calls = self.folder / "calls"

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def stand_ins(self, *programs):
        """An environment in which these only note that they were called, and fail."""
        for name in programs:
            self.write(f"bin/{name}", f'echo {name} "$@" >> "{self.calls}"; exit 9')
        return {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def called(self):
        return self.calls.read_text() if self.calls.exists() else ""

    def run_it(self, *command, **options):
        options = {"stdin": subprocess.DEVNULL, "timeout": 60, **options}
        return subprocess.run(command, capture_output=True, text=True, **options)

    def test_every_script_with_a_cd_unsets_cdpath_before_it(self):
        seen = []
        for path in filter(is_shell, tracked("*")):
            cd = re.search(r"(?:^|[;&|(])\s*cd\s", text := path.read_text(), re.M)
            if cd:
                seen.append(path.name)
                before = re.search(r"^unset CDPATH\b", text[: cd.start()], re.M)
                self.assertTrue(before, f"{path.relative_to(ROOT)} has no `unset CDPATH`")
        self.assertIn("run.sh", seen)

    def test_a_hostile_cdpath_does_not_choose_the_tree(self):
        environment = self.stand_ins(*BUILDERS)
        for tree in ("tree", "elsewhere/tree"):
            self.write(f"{tree}/{FIRST_STEP}", f'echo "$0" >> "{self.calls}"; exit 9')
        environment["CDPATH"] = str(self.folder / "elsewhere")
        for name in ("run.sh", "test.sh", "grade.sh"):
            shutil.copy(ROOT / name, self.folder / "tree" / name)
            self.calls.unlink(missing_ok=True)
            done = self.run_it(f"tree/{name}", cwd=self.folder, env=environment)
            self.assertEqual((9, ""), (done.returncode, done.stdout), name + done.stderr)
            self.assertEqual(f"{self.folder}/tree/{FIRST_STEP}\n", self.called(), name)

    def test_help_builds_and_installs_nothing(self):
        environment = self.stand_ins(*BUILDERS)
        every = [path for path in tracked("*") if os.access(path, os.X_OK)]
        names = [str(path.relative_to(ROOT)) for path in every if path.read_bytes()[:2] == b"#!"]
        names = [name for name in names if not CALLED.search(name)]
        self.assertIn("test.sh", names)
        for words in [(name, "--help") for name in names] + [
            ("grade.sh", "--server", "x {port}", "--list"),
            ("course/experiments/run", "--list"),
        ]:
            done = self.run_it(ROOT / words[0], *words[1:], cwd=self.folder, env=environment)
            self.assertEqual(0, done.returncode, f"{words}: {done.stdout}{done.stderr}")
            self.assertTrue(done.stdout.strip(), words)
            self.assertEqual("", self.called(), words)

    def test_the_report_needs_no_other_boost(self):
        # Where python3-fonttools may choose, apt takes scipy, which needs a Boost that conflicts
        # with ours.
        environment = self.stand_ins("dpkg-query", "sudo", "apt-get", "apt-cache")
        self.write("bin/apt-get", f'echo "$@" >> "{self.calls}"')
        self.write("bin/sudo", 'exec "$@"')
        done = self.run_it(ROOT / FIRST_STEP, "--report", env=environment)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(self.called(), "install .*python3-matplotlib .*python3-munkres")
