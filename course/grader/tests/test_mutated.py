"""Archives and settings that no author of a test wrote: the submissions beside them are listed and
graded, nothing is written outside, and nothing is left behind.

The seed is printed; EXCHANGE_SEED gives another, EXCHANGE_ROUNDS more rounds."""

import bz2
import gzip
import lzma
import os
import random
import shutil
import sys
from pathlib import Path

import exports
import submissions
import toys
from test_exports import RUN, tar_with, tarred, zipped

SEED = int(os.environ.get("EXCHANGE_SEED") or 1982)
ROUNDS = int(os.environ.get("EXCHANGE_ROUNDS") or 12)
AT_ONCE = 16  # mutated submissions of a class
FILES = {"run.sh": RUN, "src/main.c": "int main;" * 99, "src/a/b/c/data": bytes(range(256)) * 4}
# What programs that read numbers, names and texts get wrong.
BYTES = (b"\0", b"\xff", b"\xff" * 4, b"\x7f" * 8, b"9" * 40, b"../", b"/", b"\\", b"PK\1\2")
WORDS = ("[" * 300, "{a=" * 200, "9" * 5000, "1e999", "nan", "true", "'''", '"', "\\u0000", "\\")
WORDS += ("\\ud800", "=", "\n", "port = ", "compose = ", "'../..'", "a." * 500, "\ufeff", "\0")
WORDS += ("'/proc/kmsg'", "restart = ''", "command = '{port}{port}{'", "-1", "0x", "1979-05-27")
ODD_TIMES = ("1e30", "inf", "nan", "-1", "9" * 400, "", "0x10", "1_0")


def odd_names(choose):
    """Names that cannot be files, or lead out of the folder."""
    long = choose.choice(("n" * 300, "d/" * choose.randrange(1, 400) + "f", "x/" * 90))
    names = ("", "/", ".", "..", "a/../../evil", "/evil", "\\..\\..\\evil", "a\nb", "\x1b[2J")
    return choose.choice((*names, long, "run.sh/inside", "run.sh", "con:", "\udcff", "server.zip"))


def flipped(data, choose):
    """Some bytes changed, left out, doubled or replaced."""
    data = bytearray(data)
    for _ in range(choose.choice((1, 1, 2, 5, 30))):
        at = choose.randrange(len(data) + 1)
        size = choose.choice((0, 0, 1, 4, 64))
        new = choose.choice((*BYTES, bytes([choose.randrange(256)]), bytes(data[at : at + size])))
        data[at : at + (size or len(new))] = new
    return bytes(data[: choose.randrange(len(data) + 1)] if choose.random() < 0.1 else data)


def archive(choose):
    """(name, content)"""
    files = dict(FILES)
    if choose.random() < 0.4:
        files[odd_names(choose)] = choose.choice(("x", "", Path("/etc/passwd")))
    kind = choose.choice(("zip", "zip", "tar", "tar.gz", "tar.bz2", "tar.xz", "rar"))
    if kind == "zip":
        files = {name.encode("utf-8", "replace").decode(): data for name, data in files.items()}
        content = zipped(files, windows=choose.random() < 0.3)
    elif choose.random() < 0.3:
        keys = (
            "mtime",
            "size",
            "path",
            "uid",
            "GNU.sparse.map",
            "GNU.sparse.realsize",
            "hdrcharset",
        )
        content = tar_with(**{choose.choice(keys): choose.choice((*ODD_TIMES, "../evil"))})
    else:
        content = tarred(
            {
                name: str(data) if isinstance(data, Path) else data
                for name, data in files.items()
                if name
            }
        )
    if choose.random() < 0.7:
        content = flipped(content, choose)
    packers = {"tar.gz": gzip.compress, "tar.bz2": bz2.compress, "tar.xz": lzma.compress}
    content = packers.get(kind, bytes)(content)
    if choose.random() < 0.5:
        content = flipped(content, choose)
    if choose.random() < 0.2:
        content = zipped({f"server.{kind}": content})
        kind = "zip"
    return f"server.{kind}", content


def settings(choose):
    """A grade.toml, as bytes."""
    lines = ["command = './server {port} {data}'", "build = 'make'", "port = 8000", "compose = 'x'"]
    text = "\n".join(choose.sample(lines, choose.randrange(1, 4)))
    for _ in range(choose.choice((0, 1, 1, 3))):
        at = choose.randrange(len(text) + 1)
        text = text[:at] + choose.choice(WORDS) + text[at + choose.randrange(4) :]
    data = text.encode(choose.choice(("utf-8", "utf-8", "utf-16")), "surrogatepass")
    return flipped(data, choose) if choose.random() < 0.4 else data


class Mutated(toys.TestCase):
    def setUp(self):
        super().setUp()
        print(f"EXCHANGE_SEED={SEED} EXCHANGE_ROUNDS={ROUNDS}", file=sys.stderr)
        usual = exports.BYTES_MAX
        self.addCleanup(lambda: vars(exports).update(BYTES_MAX=usual))
        exports.BYTES_MAX = 4 << 20  # what claims to be long takes less time

    def check(self, found, note):
        """Whatever became of the others, the good ones are as ever."""
        self.assertEqual(("ada", "./run.sh {port}", ""), good(found[0]), note)
        self.assertEqual(("zoe", "./run.sh {port}", ""), good(found[-1]), note)
        for one in submissions.slugged(found):
            self.assertTrue(one.command or one.is_compose or one.problem, note)
            self.assertLess(len(one.problem), 1000, note)
            submissions.fingerprint(one)
            submissions.windows_scripts(one)

    def test_archives_in_an_export(self):
        for nth in range(ROUNDS):
            note, choose = f"EXCHANGE_SEED={SEED}, round {nth}", random.Random(f"{SEED} {nth}")
            every = {"all/ada/run.sh": RUN, "all/zoe/server.zip": zipped({"run.sh": RUN})}
            for bad in range(AT_ONCE):
                name, content = archive(choose)
                every[f"all/bob{bad}/{name}"] = content
            file = self.folder / "export.zip"
            file.write_bytes(zipped(every))
            found = submissions.from_export(file, self.folder / "out")
            self.assertEqual(AT_ONCE + 2, len(found), note)
            self.check(found, note)
            top = self.folder / "out/export/all/all"
            self.assertEqual({"evil"} & set(os.listdir(self.folder)), set(), note)
            self.assertEqual([], [path for path in top.iterdir() if path.name[:1] == "."], note)
            for one in found:
                if one.problem and "server." in one.problem:
                    self.assertEqual(1, len(os.listdir(top / one.name)), (note, one.problem))
                self.assertTrue(one.folder.is_relative_to(top / one.name), note)

    def test_settings_in_folders(self):
        for nth in range(ROUNDS * 4):
            note, choose = f"EXCHANGE_SEED={SEED}, round {nth}", random.Random(f"{SEED} s {nth}")
            top = self.folder / "all"
            shutil.rmtree(top, ignore_errors=True)
            for name in ("ada", "zoe"):
                self.write(f"all/{name}/run.sh", RUN, executable=True)
            for bad in range(AT_ONCE):
                self.write(f"all/bob{bad:02}/grade.toml", "").write_bytes(settings(choose))
            found = submissions.from_submissions(top)
            self.assertEqual(AT_ONCE + 2, len(found), note)
            self.check(found, note)


def good(one):
    return one.name, one.command, one.problem
