"""Zips of course platforms: what is unpacked, under which names, and what is refused. Also archives
and settings that no author of a test wrote.

Of these the seed is printed; EXCHANGE_SEED gives another, EXCHANGE_ROUNDS more rounds."""

import bz2
import gzip
import io
import lzma
import os
import random
import shutil
import stat
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path
from unittest import mock

import exports
import submissions
import toys
from submissions import BadInput

RUN = "#!/bin/sh\nexec ./server $1\n"
METADATA = """\
submission_31:
  :submitters:
  - :name: Ada Lovelace
    :sid: '100'
    :email: ada@uni.example
  :created_at: 2026-11-01 10:00:00.000000000 Z
  :results: !ruby/hash:Results
    :name: none of hers
submission_32:
  :submitters:
  - :name: Bob
    :sid: '101'
    :email: bob@uni.example
  - :name: Cyd
    :sid:
    :email: cyd@uni.example
"""


def zipped(files, windows=False):
    """files: {name: text, bytes or a link}"""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2026, 11, 1, 10, 0, 0))
            info.create_system = 0 if windows else 3
            info.external_attr = 0 if windows else 0o100644 << 16
            if isinstance(content, Path):
                info.external_attr, content = (stat.S_IFLNK | 0o777) << 16, str(content)
            made.writestr(info, content)
    return out.getvalue()


def tarred(files, **headers):
    """files: as zipped(); headers: records of pax, for each of them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.pax_headers = headers
            if isinstance(content, Path):
                info.type, info.linkname, content = tarfile.SYMTYPE, str(content), b""
            content = content.encode() if isinstance(content, str) else content
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return out.getvalue()


def limit(test, **values):
    """Other limits of the module exports until the test ends."""
    patch = mock.patch.multiple(exports, **values)
    patch.start()
    test.addCleanup(patch.stop)


class Exports(toys.TestCase):
    def export(self, files, said=None):
        file = self.folder / "export.zip"
        file.write_bytes(zipped(files))
        said = [] if said is None else said
        return submissions.from_export(file, self.folder / "out", said.append)

    def test_a_file_is_of_the_student_whose_number_the_platform_wrote(self):
        """And not of one whose number stands in the name of the file."""
        in_moodle, in_canvas = "_assignsubmission_file_", "_LATE_4711_1_"
        said = []
        team, eve, fay, gus = self.export(
            {
                f"Eve Mallory_4712{in_moodle}x_4711{in_moodle}run.sh": RUN,
                f"Fay_4713{in_moodle}x{in_canvas}run.sh": RUN,
                f"Gus_4714{in_moodle}/run.sh": RUN,
                f"Default group{in_moodle}x_4711{in_moodle}run.sh": RUN,
            },
            said,
        )
        self.assertEqual([], said)
        self.assertEqual([["4712", "Eve Mallory"]], eve.students)
        self.assertEqual([["4713", "Fay"]], fay.students)
        self.assertEqual([["4714", "Gus"]], gus.students)
        self.assertEqual([["Default group"]], team.students)

    def test_names_of_canvas(self):
        said = []
        files = {"hopper_grace_4714_88_server.zip": zipped({"run.sh": RUN})}
        files |= {"eve_4715_89_x_4711_1_run.sh": RUN, "eve_LATE_4716_90_run.sh": RUN}
        files |= {"eve_4715_92_server.py": "pass"}
        files |= {"LATE_anon_x7Kd2_91_run.sh": RUN, "notes.txt": "", "ada_4711_text.html": ""}
        anon, eve, late, grace = self.export(files, said)
        self.assertEqual(([["4714", "hopper_grace"]], ""), (grace.students, grace.problem))
        self.assertEqual([["4715", "eve"]], eve.students)
        self.assertTrue((eve.folder / "server.py").exists())
        self.assertEqual([["4716", "eve"]], late.students)
        self.assertEqual([["anon_x7Kd2"]], anon.students)
        self.assertIn("notes.txt", said[0])

    def test_two_files_of_one_name_or_one_without_a_name_are_the_problem_of_one(self):
        for names in (("ada_1_10_run.sh", "ada_1_11_run.sh"), ("ada_1_10_..",)):
            ada, bob = self.export({name: RUN for name in (*names, "bob_2_12_run.sh")})
            self.assertEqual([["1", "ada"]], ada.students)
            self.assertTrue(ada.problem)
            self.assertEqual("", bob.problem)

    def test_an_archive_may_hold_a_file_of_its_own_name_or_another_archive(self):
        same = zipped({"server.zip": "old" * 99_999, "run.sh": RUN})
        nested = zipped({"run.sh": RUN})
        for _ in range(4):
            nested = zipped({"a.zip": nested})
        ada, bob, dan = self.export(
            {
                "all/ada/server.zip": zipped({"server.zip": same, "__MACOSX/x": ""}),
                "all/bob/server.tar": tarred({"server.tar": tarred({"run.sh": RUN})}),
                "all/dan/a.zip": nested,
            }
        )
        for one, names in ((ada, {"run.sh", "server.zip"}), (bob, {"run.sh"})):
            self.assertEqual(("", names), (one.problem, {x.name for x in one.folder.iterdir()}))
        self.assertTrue(dan.problem)

    def test_archives_that_stop_the_library_are_the_problem_of_one(self):
        nameless = io.BytesIO()
        with zipfile.ZipFile(nameless, "w") as made:
            made.writestr("x", "")
            made.filelist[0].filename = ""
        run = {"run.sh": RUN}
        times = {time: tarred(run, mtime=time) for time in ("1e30", "inf", "nan", "-9e9")}
        large = tarred(run, **{"GNU.sparse.size": "9" * 5000})
        every = {f"all/{name}/server.tar": content for name, content in times.items()}
        every |= {"all/nameless/server.zip": nameless.getvalue(), "all/zoe/run.sh": RUN}
        every |= {"all/large/server.tar": large, "all/cut/server.tar": tarred(run)[:700]}
        found = {one.name: one for one in self.export(every)}
        self.assertEqual(sorted({name.split("/")[1] for name in every}), sorted(found))
        for name in (*times, "zoe"):
            self.assertEqual("", found[name].problem, name)
        self.assertTrue(found["nameless"].problem and found["cut"].problem)

    def test_what_cannot_be_unpacked_is_named(self):
        ada, bob, dan, eve, fay = self.export(
            {
                "all/ada/server.rar": b"Rar!\x1a\7\1",
                "all/bob/server.zip": b"7z\xbc\xaf\x27\x1c",
                "all/dan/a.zip": zipped({"run.sh": RUN}),
                "all/dan/readme": "",
                "all/eve/server.rar": zipped({"run.sh": RUN}),  # not what its name says
                "all/fay/a.tar": bytes(10240),
            }
        )
        for one, name in ((ada, ".rar"), (bob, ".7z"), (dan, "a.zip"), (fay, "a.tar")):
            self.assertIn(name, one.problem)
        self.assertEqual("", eve.problem)

    def test_moodle_with_an_archive_in_each_folder(self):
        tar = gzip.compress(tarred({"work/run.sh": RUN, "work/link": Path("/etc/passwd")}))
        inner = zipped({"work/run.sh": RUN, "__MACOSX/x": "", "work/etc": Path("/etc")}, True)
        ada, bob, cyd = self.export(
            {
                "Ada Lovelace_4711_assignsubmission_file_/server.zip": inner,
                "Ada Lovelace_4711_assignsubmission_onlinetext_/onlinetext.html": "see the file",
                "Bob B._4712_assignsubmission_file_server.tar.gz": tar,
                "Cyd_4713_assignsubmission_file_/server.zip": b"PK no zip",
            }
        )
        self.assertEqual(("Ada Lovelace", "", "work"), (ada.name, ada.problem, ada.folder.name))
        self.assertEqual([["4711", "Ada Lovelace"]], ada.students)
        self.assertEqual(["run.sh"], [path.name for path in ada.folder.iterdir()])
        self.assertEqual(("Bob B.", "", 0), (bob.name, bob.problem, bob.port))
        self.assertEqual(["run.sh"], [path.name for path in bob.folder.iterdir()])
        self.assertIn("server.zip cannot be unpacked", cyd.problem)

    def test_gradescope_with_its_metadata(self):
        top = "assignment_7_export"
        ada, group = self.export(
            {
                f"{top}/submission_metadata.yml": METADATA,
                f"{top}/submission_31/run.sh": RUN,
                f"{top}/submission_32/server/run.sh": RUN,
            }
        )
        self.assertEqual(("Ada Lovelace", ""), (ada.name, ada.problem))
        self.assertEqual([["ada@uni.example", "100", "Ada Lovelace"]], ada.students)
        self.assertEqual(("Bob, Cyd", "server", ""), (group.name, group.folder.name, group.problem))
        self.assertEqual(["cyd@uni.example", "Cyd"], group.students[1])

    def test_a_plain_zip_of_one_submission(self):
        (ada,) = self.export({"handed-in/ada/run.sh": RUN, "handed-in/ada/src/main.c": ""})
        self.assertEqual(("ada", "", []), (ada.name, ada.problem, ada.students))

    def test_the_same_file_is_unpacked_once_and_a_new_one_again(self):
        files = {"all/ada/run.sh": RUN, "all/bob/run.sh": RUN}
        ada, _ = self.export(files)
        before = submissions.fingerprint(ada)
        (ada.folder / "built").write_text("object")
        deep = ["mkdir", "-p", "/".join(["d"] * 1500)]  # by its build
        subprocess.run(deep, cwd=ada.folder, check=True)
        again = submissions.from_export(self.folder / "export.zip", self.folder / "out")[0]
        self.assertTrue((again.folder / "built").exists())
        ada, _ = self.export({**files, "all/bob/readme": ""})
        self.assertFalse((ada.folder / "built").exists())
        self.assertEqual(before, submissions.fingerprint(ada))

    def test_nothing_is_written_outside_and_the_others_are_there(self):
        for name in ("../evil", "/../evil", "a\\..\\..\\evil"):
            said = []
            ada, bob = self.export({"all/ada/run.sh": RUN, "all/bob/run.sh": RUN, name: "x"}, said)
            self.assertEqual(("ada", ""), (ada.name, ada.problem), name)
            self.assertIn("outside", "".join(said), name)
        self.assertFalse(list(self.folder.rglob("evil")))
        (ada,) = self.export({"/etc/all/ada/run.sh": RUN})
        self.assertTrue(ada.folder.is_relative_to(self.folder.resolve()))
        ada, bob = self.export({"all/ada/run.sh": RUN, "all/bob/a\\..\\..\\evil": "x"})
        self.assertEqual(("", "bob"), (ada.problem, bob.name))
        self.assertTrue(bob.problem)

    def test_a_name_that_begins_with_two_slashes_is_below_the_folder(self):
        outside = self.folder / "outside"
        outside.mkdir()
        names = ("/" + str(outside / "a"), "//" + str(outside / "b"))
        names += (str(outside / "c").replace("/", "\\\\"), "\\" + str(outside / "d"))
        archives = {f"zip{nth}/a.zip": zipped({one: "x"}) for nth, one in enumerate(names)}
        archives |= {f"tar{nth}/a.tar": tarred({one: "x"}) for nth, one in enumerate(names)}
        every = {f"all/{name}": content for name, content in archives.items()}
        every |= {f"all/ada{nth}/run.sh": RUN for nth in range(2)}
        self.export(every)
        self.assertEqual([], sorted(outside.iterdir()))
        for name in names:
            said = []
            self.export({"all/ada/run.sh": RUN, name: "x", "all/bob/run.sh": RUN}, said)
            self.assertEqual([], sorted(outside.iterdir()), name)
        every = [path for path in self.folder.rglob("[abcd]") if path.is_file()]
        self.assertTrue(all(path.is_relative_to(self.folder / "out") for path in every))

    def test_two_exports_of_one_name_are_both_there(self):
        found = []
        for name in ("ada", "bob"):
            file = self.write(f"{name}/export.zip", "")
            file.write_bytes(zipped({f"all/{name}/run.sh": RUN}))
            found += submissions.from_export(file, self.folder / "out")
        self.assertTrue(all((one.folder / "run.sh").exists() for one in found))

    def test_an_export_whose_name_is_dots_has_a_folder_of_its_own(self):
        kept = self.write("out/kept", "")
        for dots in ("..", "."):
            file = self.write(f"{dots}.zip", "")
            file.write_bytes(zipped({"all/ada/run.sh": RUN}))
            (ada,) = submissions.from_export(file, self.folder / "out")
            self.assertTrue((ada.folder / "run.sh").exists())
            self.assertTrue(kept.exists())
            self.assertTrue(ada.folder.is_relative_to((self.folder / "out").resolve()))

    def test_what_is_too_large_is_the_problem_of_one(self):
        limit(self, BYTES_MAX=1 << 20)
        large = {"run.sh": RUN, "zeros": b"\0" * (2 << 20)}
        files = {f"all/ada/{name}": content for name, content in large.items()}
        ada, bob, cyd = self.export(
            {**files, "all/bob/server.zip": zipped(large), "all/cyd/run.sh": RUN}
        )
        self.assertTrue(ada.problem and bob.problem)
        self.assertEqual("", cyd.problem)
        self.assertFalse(list(self.folder.rglob("zeros")))

    def test_many_files_and_deep_folders_are_the_problem_of_one(self):
        limit(self, FILES_MAX=4)
        ada, bob, cyd, dan = self.export(
            {f"all/ada/{nth}": "" for nth in range(5)}
            | {"all/bob/run.sh": RUN}
            | {"all/cyd/server.zip": zipped({"a/b/c/d/run.sh": RUN})}  # folders count
            | {"all/dan/server.zip": zipped({"a/" * 99 + "run.sh": RUN})}
        )
        self.assertTrue(ada.problem and cyd.problem and dan.problem)
        self.assertEqual("", bob.problem)
        inside = [path.name for path in cyd.folder.iterdir()]
        self.assertEqual(["server.zip"], inside)  # nothing of it was left
        self.assertEqual([], [*self.folder.rglob(".unpacking*")])

    def test_what_takes_too_long_is_the_problem_of_one(self):
        endless = lambda *_: threading.Event().wait()
        limit(self, UNPACK_S=0, _prepare=endless)
        (ada,) = self.export({"all/ada/grade.toml": "command = './x {port}'"})
        self.assertIn("0 s", ada.problem)

    def test_what_takes_too_much_memory_is_the_problem_of_one(self):
        limit(self, UNPACK_MEMORY_BYTES=20 << 20, UNPACK_LOOK_S=0.001)
        many = zipped({f"{nth}": "" for nth in range(100_000)})
        ada, bob = self.export({"all/ada/server.zip": many, "all/bob/run.sh": RUN})
        self.assertIn("20 MB", ada.problem)
        self.assertEqual("", bob.problem)

    def test_what_is_no_zip(self):
        file = self.write("export.zip", "no zip")
        with self.assertRaises(BadInput):
            submissions.from_export(file, self.folder / "out")
        with self.assertRaises(BadInput):
            self.export({"readme": "", "notes": ""})


# Archives and settings that no author of a test wrote.

SEED = int(os.environ.get("EXCHANGE_SEED") or 1982)
ROUNDS = int(os.environ.get("EXCHANGE_ROUNDS") or 12)
AT_ONCE = 16  # mutated submissions of a class
FILES = {"run.sh": RUN, "src/main.c": "int main;" * 99, "src/a/b/c/data": bytes(range(256)) * 4}
# What programs that read numbers, names and texts get wrong.
BYTES = (b"\0", b"\xff", b"\xff" * 4, b"\x7f" * 8, b"9" * 40, b"../", b"/", b"\\", b"PK\1\2")
WORDS = ("[" * 300, "{a=" * 200, "9" * 5000, "1e999", "nan", "true", "'''", '"', "\\u0000", "\\")
WORDS += ("\\ud800", "=", "\n", "port = ", "compose = ", "'../..'", "a." * 500, "\ufeff", "\0")
WORDS += ("'/proc/kmsg'", "restart = ''", "command = '{port}{port}{'", "-1", "0x", "1979-05-27")
HEADERS = "mtime size path uid GNU.sparse.map GNU.sparse.realsize hdrcharset".split()
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
        header = {choose.choice(HEADERS): choose.choice((*ODD_TIMES, "../evil"))}
        content = tarred({"run.sh": RUN}, **header)
    else:
        content = tarred({name: data for name, data in files.items() if name})
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
        limit(self, BYTES_MAX=4 << 20)  # what claims to be long takes less time

    def check(self, found, note):
        """Whatever became of the others, the good ones are as ever."""
        good = [(one.name, one.command, one.problem) for one in (found[0], found[-1])]
        wanted = [(name, "./run.sh {port}", "") for name in ("ada", "zoe")]
        self.assertEqual(wanted, good, note)
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
