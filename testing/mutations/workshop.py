"""A copy of the tree in which bugs are planted, built and tried; the tree itself is never touched.

Owned by ./run, one at a time. What tests leave running is ended with them: this process takes in
their orphans.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tree import tracked

PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Attempt:
    """What became of one command."""

    code: int | None  # None: it did not end in time
    seconds: float
    output: str

    @property
    def hung(self):
        return self.code is None

    @property
    def passed(self):
        return self.code == 0

    def cases_run(self):
        """Test cases that Catch2 or ctest say to have passed."""
        passed = (
            r"All tests passed \(.* in (\d+) test case|100% tests passed, 0 tests failed out of"
            r" (\d+)"
        )
        match = re.search(passed, self.output)
        return int(match[1] or match[2]) if match else 0

    def skipped(self):
        match = re.search(r"\bskipped: *(.*)", self.output)
        return match[1].strip() if match else ""


class InUse(Exception):
    """Another run works in this folder."""


class Workshop:
    def __init__(self, root, folder, jobs):
        self.root, self.folder = Path(root), Path(folder)
        self.jobs, self.tree = jobs, self.folder / "tree"
        # Where a build usually is: a compiler cache then knows the objects.
        self.build_folder = self.tree / "build"
        self.scratch = self.folder / "t"  # short: sockets of databases lie in it
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.environment = {
            **os.environ,
            "CCACHE_BASEDIR": str(self.tree),
            "CCACHE_NOHASHDIR": "1",
            "TMPDIR": str(self.scratch),
        }

    def prepare(self):
        """Brings the copy to the state of the tree, and configures it. Only what differs is
        written, so that a kept folder builds little."""
        self.tree.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.folder / "lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InUse(f"another run works in {self.folder}") from None
        self.folder.chmod(0o755)  # databases run as a user of their own
        wanted = {source.relative_to(self.root) for source in tracked("*", root=self.root)}
        for name in wanted:
            source, target = self.root / name, self.tree / name
            if target.exists() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
        for path in [path for path in self.tree.rglob("*") if path.is_file()]:
            name = path.relative_to(self.tree)
            if name.parts[0] != "build" and name not in wanted:
                path.unlink()
        if (self.build_folder / "build.ninja").exists():
            return Attempt(0, 0, "")  # Ninja configures again where that is needed
        command = ["cmake", "-S", self.tree, "-B", self.build_folder, "-G", "Ninja"]
        command += "-DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=OFF -DEXCHANGE_TESTS=ON".split()
        return self.run(command, limit_s=600)

    def build(self, targets, limit_s=3600):
        return self.run(["ninja", "-C", self.build_folder, f"-j{self.jobs}", *targets], limit_s)

    def try_out(self, test, limit_s):
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        self.scratch.chmod(0o1777)
        return self.run(test.command(self.build_folder), limit_s)

    def plant(self, mutation):
        """Returns the texts to undo() with."""
        before = {edit.file: (self.tree / edit.file).read_text() for edit in mutation.edits}
        for edit in mutation.edits:
            file = self.tree / edit.file
            file.write_text(edit.apply(file.read_text()))
        return before

    def undo(self, before):
        for name, text in before.items():
            # As of now: what was built from the bug must be built again.
            (self.tree / name).write_text(text)

    def run(self, command, limit_s):
        begin = time.monotonic()
        log_file = self.folder / "log"
        with open(log_file, "wb") as log:
            output = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": subprocess.STDOUT}
            place = {"cwd": self.folder, "env": self.environment, "start_new_session": True}
            process = subprocess.Popen(command, **output, **place)
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                end_descendants(process)
        return Attempt(code, time.monotonic() - begin, log_file.read_text(errors="replace"))


def end_descendants(process):
    """The process and all that it has started, whatever session that is in."""
    while True:
        pids = descendants(os.getpid())
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.poll()
        while True:  # the orphans are our children now
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                return
        time.sleep(0.005)


def descendants(pid):
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, file.read_text().split()):
                found += [child, *descendants(child)]
    return found
