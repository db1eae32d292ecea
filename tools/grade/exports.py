"""Submissions as a course platform exports them: a zip of Moodle, Gradescope or Canvas, or of any
folder of submissions.

Everything in it is data of strangers: nothing is written outside of its folder, links are left
out, sizes are limited."""

import calendar
import json
import lzma
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

BYTES_MAX = 2 << 30  # of one archive, unpacked
FILES_MAX = 20_000
DEPTH_MAX = 3  # folders that hold nothing but another folder
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
NOISE = {"__MACOSX", ".DS_Store", "Thumbs.db"}
MARK = "export.json"  # beside the folder of what was unpacked: of which file, and of which students
ONE_SUBMISSION = {"grade.toml", "run.sh", "docker-compose.yml"}
# Moodle, with folders or without: Ada Lovelace_4711_assignsubmission_file_/server.zip
MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_file_?(?P<file>.*)", re.S)
# Canvas: lovelaceada_LATE_4711_88123_server.zip
CANVAS = re.compile(r"(?P<name>[^_/]+)_(?:LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)", re.S)
GRADESCOPE = re.compile(r"submission_\d+")
METADATA = "submission_metadata.yml"


# RuntimeError: a password, or a method of packing that is not known.
DAMAGED = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError)
DAMAGED += (zipfile.BadZipFile, tarfile.TarError)


class BadArchive(Exception):
    """One sentence."""


@dataclass
class Handed:
    """What one student, or one group, handed in."""

    name: str
    folder: Path
    students: list = field(default_factory=list)  # for each, words that a class list may have
    problem: str = ""


def is_archive(path):
    return path.name.lower().endswith(ARCHIVES)


def unpacked(archive, parent):
    """[Handed], in parent/NAME. What was unpacked before of the same file stays, with what builds
    have made there."""
    try:
        about = archive.stat()
    except OSError as error:
        raise BadArchive(f"{archive} cannot be read: {error.strerror}") from None
    folder = parent / re.sub(r"[^\w.-]+", "-", archive.stem)
    known = {"size": about.st_size, "mtime_ns": about.st_mtime_ns, "file": str(archive.resolve())}
    mark = folder / MARK
    try:
        saved = json.loads(mark.read_text())
    except (OSError, ValueError):
        saved = {}
    if saved.get("archive") != known:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        unpack(archive, folder / "all")
        saved = {"archive": known, "submissions": arrange(folder)}
        mark.write_text(json.dumps(saved))
    return handed(folder, saved["submissions"])


def arrange(folder):
    """Moves what is one submission to a folder of its own, and unpacks what was handed in as an
    archive. Returns {folder: about}."""
    top, found = top_folder(folder / "all"), {}
    for path in visible(top):
        match = MOODLE.fullmatch(path.name) or (path.is_file() and CANVAS.fullmatch(path.name))
        if not match:
            continue
        name, number = match["name"], match["id"]
        into = path if path.is_dir() else top / f"{name}_{number}"
        found[into.name] = {"name": name, "students": [[number, name]]}
        if path.is_file():
            into.mkdir(exist_ok=True)
            path.rename(into / match["file"])
    for name, students in submitters(top / METADATA).items():
        shown = ", ".join(one[-1] for one in students)
        found[name] = {"name": shown or name, "students": students}
    for path in folders_in(top):
        about = found.setdefault(path.name, {"name": path.name, "students": []})
        try:
            prepare(path)
        except BadArchive as error:
            about["problem"] = str(error)
    return found


def handed(folder, about):
    top = top_folder(folder / "all")
    every = [(inner_folder(path), about.get(path.name, {})) for path in folders_in(top)]
    return [Handed(folder=path, **one) for path, one in every if one]


def submitters(file):
    """{submission: [[email, id, name]]} of the metadata of Gradescope. Only these lines are read:
    the rest has tags of Ruby."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found, at, is_list = {}, None, False
    for line in lines:
        if match := re.match(r"(submission_\d+):\s*$", line):
            at, is_list = found.setdefault(match[1], []), False
        elif match := re.match(r"  (:\w+):", line):
            is_list = match[1] == ":submitters"
        elif at is not None and is_list:
            if match := re.match(r"\s*(- )?\s*:(name|sid|email):\s*(.*)$", line):
                if match[1] or not at:
                    at.append({})
                at[-1][match[2]] = match[3].strip().strip("'\"")
    order = ("email", "sid", "name")
    return {
        name: [[one[key] for key in order if one.get(key)] for one in every if any(one.values())]
        for name, every in found.items()
    }


def prepare(folder):
    """Unpacks a single archive where it lies, and makes scripts executable: browsers and Windows
    drop that. Raises BadArchive."""
    top = inner_folder(folder)
    every = visible(top)
    if len(every) == 1 and every[0].is_file() and is_archive(every[0]):
        unpack(every[0], top)
        every[0].unlink()
    for path, _, names in os.walk(folder):
        for name in names:
            file = Path(path) / name
            if file.is_file() and not file.is_symlink() and is_program(file):
                file.chmod(file.stat().st_mode | 0o111)


def is_program(file):
    with open(file, "rb") as opened:
        return opened.read(4).startswith((b"#!", b"\x7fELF"))


def visible(folder):
    return sorted(path for path in folder.iterdir() if path.name not in NOISE)


def folders_in(top):
    every = [path for path in visible(top) if path.is_dir() and not path.name.startswith(".")]
    return [path for path in every if "_assignsubmission_onlinetext" not in path.name]


def inner_folder(folder, is_wanted=lambda path: False):
    """Below folders that hold one folder and nothing else: students pack the folder, not its
    content."""
    for _ in range(DEPTH_MAX):
        every = visible(folder)
        if len(every) != 1 or every != folders_in(folder) or is_wanted(every[0]):
            break
        folder = every[0]
    return folder


def top_folder(folder):
    """The folder of the submissions, also where there is only one of them."""
    return inner_folder(folder, names_a_submission)


def names_a_submission(path):
    is_named = MOODLE.fullmatch(path.name) or GRADESCOPE.fullmatch(path.name)
    return bool(is_named or ONE_SUBMISSION.intersection(one.name for one in path.iterdir()))


# Archives. The library would follow some of what they say: owners, links, devices.


def unpack(archive, into):
    """Regular files and folders. Raises BadArchive."""
    into.mkdir(parents=True, exist_ok=True)
    try:
        if archive.name.lower().endswith(".zip"):
            with zipfile.ZipFile(archive) as opened:
                write_all(zip_entries(opened), into)
        else:
            with tarfile.open(archive) as opened:
                write_all(tar_entries(opened), into)
    except DAMAGED as error:
        raise BadArchive(f"{archive.name} cannot be unpacked: {error}") from None


def zip_entries(opened):
    """(path, mode, time, reader)"""
    for info in opened.infolist():
        mode = info.external_attr >> 16  # 0 if Windows packed it
        if not info.is_dir() and (not mode or stat.S_ISREG(mode) or not stat.S_IFMT(mode)):
            yield info.filename, mode, zip_time(info), lambda info=info: opened.open(info)


def zip_time(info):
    """As if in UTC: it is compared with itself alone."""
    try:
        return calendar.timegm((*info.date_time, 0, 0, 0))
    except (ValueError, OverflowError):
        return 0


def tar_entries(opened):
    for info in opened:
        if info.isreg():
            yield info.name, info.mode, info.mtime, lambda info=info: opened.extractfile(info)


def write_all(entries, into):
    left, files = BYTES_MAX, 0
    for name, mode, time, reader in entries:
        parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part != "/"]
        if not parts or ".." in parts or "\0" in name:
            raise BadArchive(f"it names a file outside of its folder: {name!r}")
        if NOISE.intersection(parts):
            continue
        files += 1
        if files > FILES_MAX:
            raise BadArchive(f"it has more than {FILES_MAX:,} files")
        target = into.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with reader() as source, open(target, "wb") as out:
            while data := source.read(1 << 20):
                left -= len(data)
                if left < 0:
                    raise BadArchive(f"it has more than {BYTES_MAX >> 30} GB")
                out.write(data)
        target.chmod(0o755 if mode & 0o100 else 0o644)
        os.utime(target, (time, time))
