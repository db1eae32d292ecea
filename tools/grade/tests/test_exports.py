"""Zips of course platforms: what is unpacked, under which names, and what is refused."""

import io
import stat
import tarfile
import zipfile
from pathlib import Path

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


class Exports(toys.TestCase):
    def export(self, files):
        file = self.folder / "export.zip"
        file.write_bytes(zipped(files))
        return submissions.from_export(file, self.folder / "out")

    def test_moodle_with_an_archive_in_each_folder(self):
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w:gz") as made:
            info = tarfile.TarInfo("work/run.sh")
            info.size = len(RUN)
            made.addfile(info, io.BytesIO(RUN.encode()))
            link = tarfile.TarInfo("work/link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            made.addfile(link)
        inner = zipped({"work/run.sh": RUN, "__MACOSX/x": "", "work/etc": Path("/etc")}, True)
        ada, bob, cyd = self.export(
            {
                "Ada Lovelace_4711_assignsubmission_file_/server.zip": inner,
                "Ada Lovelace_4711_assignsubmission_onlinetext_/onlinetext.html": "see the file",
                "Bob B._4712_assignsubmission_file_server.tar.gz": tar.getvalue(),
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

    def test_canvas_with_all_in_one_folder(self):
        files = {"lovelaceada_LATE_42_9001_server-1.zip": zipped({"run.sh": RUN})}
        files |= {"bob_43_9002_run.sh": RUN, "bob_43_9003_server.py": "pass"}
        bob, ada = self.export(files)
        self.assertEqual(([["42", "lovelaceada"]], ""), (ada.students, ada.problem))
        self.assertEqual(["run.sh", "server.py"], sorted(one.name for one in bob.folder.iterdir()))

    def test_a_plain_zip_of_one_submission(self):
        (ada,) = self.export({"handed-in/ada/run.sh": RUN, "handed-in/ada/src/main.c": ""})
        self.assertEqual(("ada", "", []), (ada.name, ada.problem, ada.students))

    def test_a_submission_of_a_hidden_folder_alone_is_none(self):
        ada, bob = self.export({"all/ada/.git/run.sh": RUN, "all/bob/run.sh": RUN})
        self.assertEqual(("ada", ""), (ada.folder.name, bob.problem))
        self.assertIn("there is no grade.toml", ada.problem)

    def test_the_same_file_is_unpacked_once_and_a_new_one_again(self):
        files = {"all/ada/run.sh": RUN, "all/bob/run.sh": RUN}
        ada, _ = self.export(files)
        before = submissions.fingerprint(ada)
        (ada.folder / "built").write_text("object")
        again = submissions.from_export(self.folder / "export.zip", self.folder / "out")[0]
        self.assertTrue((again.folder / "built").exists())
        ada, _ = self.export({**files, "all/bob/readme": ""})
        self.assertFalse((ada.folder / "built").exists())
        self.assertEqual(before, submissions.fingerprint(ada))

    def test_nothing_is_written_outside(self):
        for name in ("../evil", "/../evil", "a\\..\\..\\evil"):
            with self.assertRaisesRegex(BadInput, "outside of its folder", msg=name):
                self.export({"all/ada/run.sh": RUN, name: "evil"})
        self.assertFalse(list(self.folder.rglob("evil")))
        (ada,) = self.export({"/etc/all/ada/run.sh": RUN})
        self.assertTrue(ada.folder.is_relative_to(self.folder.resolve()))

    def test_what_is_too_large_is_refused(self):
        usual = exports.BYTES_MAX, exports.FILES_MAX
        self.addCleanup(lambda: vars(exports).update(BYTES_MAX=usual[0], FILES_MAX=usual[1]))
        exports.BYTES_MAX, files = 1 << 20, {"all/ada/zeros": b"\0" * (2 << 20)}
        with self.assertRaisesRegex(BadInput, "it has more than"):
            self.export(files)
        exports.BYTES_MAX, exports.FILES_MAX = usual[0], 3
        with self.assertRaisesRegex(BadInput, "more than 3 files"):
            self.export({f"all/ada/{nth}": "" for nth in range(4)})

    def test_what_is_no_zip(self):
        file = self.write("export.zip", "no zip")
        with self.assertRaisesRegex(BadInput, "cannot be unpacked"):
            submissions.from_export(file, self.folder / "out")
        with self.assertRaisesRegex(BadInput, "no folders"):
            self.export({"readme": "", "notes": ""})
