"""Submissions as a course platform exports them: a zip of Moodle, Gradescope or Canvas, or of any
folder of submissions.

Everything in it is data of strangers: nothing is written outside of its folder, links are left
out, sizes, depths and times are limited. What cannot be unpacked is the problem of the one
submission that it belongs to."""

import calendar
import errno
import hashlib
import json
import mmap
import os
import re
import select
import shutil
import signal
import stat
import tarfile
import tempfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import apart
import sandbox
import student_files
from student_files import DEPTH_MAX, FILES_MAX, OWN_ERRORS, words_for

BYTES_MAX = 2 << 30  # of one submission, unpacked
UNPACK_S, UNPACK_MEMORY_BYTES = 120, 1 << 30  # of one submission
UNPACK_LOOK_S = 0.05  # between two looks at the memory
NESTED_MAX = 3  # archives that hold nothing but another archive
DISK_BYTES_LEFT = 256 << 20  # so much of the disk stays free
WRAPPERS_MAX = 3  # folders that hold nothing but another folder
LEFT_OUT_NAMED = 3  # files in a sentence
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
FOREIGN = (".rar", ".7z", ".tar.zst", ".tzst", ".tar.lz", ".arj", ".cab", ".lzh")
FOREIGN_STARTS = {b"Rar!": ".rar", b"7z\xbc\xaf": ".7z"}
ZIP_STARTS = (b"PK\3\4", b"PK\5\6")
NOISE = {"__MACOSX", ".DS_Store", "Thumbs.db"}
MARK = "export.json"  # beside the folder of what was unpacked: of which file, and of which students
FORM = 2  # of that folder: what an earlier version unpacked is not used
ONE_SUBMISSION = {"grade.toml", "run.sh", "docker-compose.yml"}
# Moodle: a folder such as Ada Lovelace_4711_assignsubmission_file_, or the names of files begin
# with that. A group may have no number. Moodle leaves no _ in names: the first match is its own,
# and what follows is the student's.
MOODLE_START = r"(?P<name>.+?)(?:_(?P<id>\d+))?_assignsubmission_file_?"
MOODLE_FOLDER = re.compile(MOODLE_START, re.S)
MOODLE_FILE = re.compile(MOODLE_START + "(?P<file>.+)", re.S)
ONLINE_TEXT = "_assignsubmission_onlinetext"
# Canvas: lovelaceada_LATE_4711_88123_server.zip, and anon_x7Kd2_88123_server.zip.
CANVAS = re.compile(r"(?P<name>.+?)(?:_LATE)?_(?P<id>\d+)_\d+_(?P<file>.+)", re.S)
CANVAS_ANONYMOUS = re.compile(r"(?:LATE_)?(?P<name>anon_[A-Za-z0-9]+)_\d+_(?P<file>.+)", re.S)
GRADESCOPE = re.compile(r"submission_\d+")
METADATA = "submission_metadata.yml"
METADATA_BYTES_MAX = 64 << 20


class BadArchive(Exception):
    """One sentence."""


def looks_like_archive(name):
    return name.lower().endswith(ARCHIVES + FOREIGN)


def unpacked(archive, parent):
    """([(folder, about)], [what belongs to no submission]), in parent/NAME. What was unpacked
    before of the same file stays, with what builds have made there. about: the name of the student
    or the group, words for each student that a class list may have, and maybe a problem."""
    try:
        about = archive.stat()
    except OSError as error:
        raise BadArchive(f"{archive} cannot be read: {error.strerror}") from None
    file = str(archive.resolve())
    folder = folder_for(archive.stem, file, parent)
    known = {"size": about.st_size, "mtime_ns": about.st_mtime_ns, "file": file, "form": FORM}
    saved = saved_in(folder)
    if saved.get("archive") != known:
        sandbox.remove(folder)  # with what builds have made there
        folder.mkdir(parents=True)
        try:
            problems = unpack_export(archive, folder / "all")
            found, left_out = arrange(folder, problems)
        except BaseException:
            sandbox.remove(folder)
            raise
        saved = {"archive": known, "submissions": found, "left_out": left_out}
        (folder / MARK).write_text(json.dumps(saved))
    return handed(folder, saved["submissions"]), saved["left_out"]


def folder_for(name, file, parent):
    """In parent, for this export. Exports of the same name lie in different folders."""
    name = re.sub(r"[^\w.-]+", "-", name)
    name = name if name.strip(".") else "export"  # .. is not a folder of it
    digest = hashlib.sha256(os.fsencode(file)).hexdigest()[:8]
    other = parent / f"{name}-{digest}"
    holder = saved_in(parent / name).get("archive", {}).get("file", file)
    is_taken = holder != file and os.path.exists(holder)
    return other if is_taken or other.exists() else parent / name


def saved_in(folder):
    """What unpacked() wrote there; empty if it did not."""
    try:
        return json.loads((folder / MARK).read_text())
    except (OSError, ValueError):
        return {}


def arrange(folder, problems):
    """Moves what is one submission to a folder of its own, and unpacks what was handed in as an
    archive. problems: those of unpack_export(). Returns ({folder: about}, [what belongs to no
    submission])."""
    top, found, left_out = top_folder(folder / "all"), {}, []
    for path in visible(top):
        if path.is_dir():
            if match := MOODLE_FOLDER.fullmatch(path.name):
                found[path.name] = about_of(match)
        elif owner := owner_of(path.name):
            into = top / owner[0]
            about = found.setdefault(into.name, owner[1])
            try:
                move(path, into, owner[2])
            except (OSError, ValueError) as error:
                about["problem"] = f"{path.name!r}: {words_for(error)}"
        elif path.name != METADATA and ONLINE_TEXT not in path.name and path.name[:1] != ".":
            left_out.append(path.name)
    for name, students in submitters(top).items():
        shown = ", ".join(one[-1] for one in students)
        found[name] = {"name": shown or name, "students": students}
    for parts, why in problems:
        if name := submission_with(parts, top.relative_to(folder / "all").parts):
            (top / name).mkdir(exist_ok=True)
            about = found.setdefault(name, {"name": name, "students": []})
            about.setdefault("problem", why)
        else:
            left_out.append(f"{'/'.join(parts)}: {why}" if parts else why)
    for path in folders_in(top):
        about = found.setdefault(path.name, {"name": path.name, "students": []})
        try:
            prepare(path)
        except BadArchive as error:
            about["problem"] = about.get("problem") or str(error)
    return found, left_out


def students_of_folder(name):
    """The students of a folder that was unpacked from an export of Moodle by hand, else none."""
    match = MOODLE_FOLDER.fullmatch(name)
    return about_of(match)["students"] if match else []


def about_of(match):
    words = [word for word in (match.groupdict().get("id"), match["name"]) if word]
    return {"name": match["name"], "students": [words]}


def owner_of(name):
    """(folder, about, name of the file there) of a file beside those of other students; None if it
    is of no known form."""
    for form in (MOODLE_FILE, CANVAS_ANONYMOUS, CANVAS):
        if match := form.fullmatch(name):
            about = about_of(match)
            return "_".join(reversed(about["students"][0])), about, match["file"]
    return None


def move(path, into, name):
    into.mkdir(exist_ok=True)
    if os.path.lexists(into / name):
        raise FileExistsError("two files have this name")
    path.rename(into / name)


def submission_with(parts, top):
    """The folder of the submission that has this path; empty if none has. top: the parts of the
    path of the folder of all."""
    below = parts[len(top) :]
    if parts[: len(top)] != top or not below:
        return ""
    owner = owner_of(below[0]) if len(below) == 1 else None
    return owner[0] if owner else below[0] if len(below) > 1 else ""


def handed(folder, about):
    top, found = top_folder(folder / "all"), []
    for path in folders_in(top):
        if one := about.get(path.name):
            try:
                found.append((inner_folder(path), one))
            except OSError as error:
                found.append((path, {**one, "problem": words_for(error)}))
    return found


def submitters(top):
    """{submission: [[email, id, name]]} of the metadata of Gradescope. Only these lines are read:
    the rest has tags of Ruby."""
    text = student_files.beginning(top / METADATA, top, METADATA_BYTES_MAX)
    lines = text.decode(errors="replace").splitlines()
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
    drop that. In a process of its own: archives are built to take time and memory. Raises
    BadArchive, and OSError where it is the machine that fails."""
    scratch = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder.parent))
    begun, why = apart.start(lambda: _problem_of(folder, scratch)), "interrupted"
    try:
        try:
            why = _exceeded(*begun)
        finally:
            if why:
                os.kill(begun[0], signal.SIGKILL)
        problem = apart.finish(begun)
    except apart.Died:
        problem = BadArchive("its archive ended the process that unpacked it")
    finally:
        folder.mkdir(exist_ok=True)  # it was ended in the middle of a change
        shutil.rmtree(scratch, ignore_errors=True)
    if why or problem:
        raise BadArchive(why) if why else problem


def _exceeded(pid, reader):
    """What a process that prepares a submission takes too much of; empty once it has ended."""
    deadline = time.monotonic() + UNPACK_S
    most = resident_bytes(os.getpid()) + UNPACK_MEMORY_BYTES
    while not select.select([reader], [], [], UNPACK_LOOK_S)[0]:
        if time.monotonic() > deadline:
            return f"its archive takes more than {UNPACK_S} s to unpack"
        # A limit of the kernel would leave Python itself without memory to go on.
        if resident_bytes(pid) > most:
            return f"its archive takes more than {UNPACK_MEMORY_BYTES >> 20} MB of memory to unpack"
    return ""


def resident_bytes(pid):
    """0 if it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * mmap.PAGESIZE


def _problem_of(folder, scratch):
    """The exception that prepare() raises, or None."""
    try:
        _prepare(folder, scratch)
    except BadArchive as error:
        return error
    except Exception as error:  # noqa: BLE001
        is_own = isinstance(error, OSError) and error.errno in OWN_ERRORS
        return (OSError if is_own else BadArchive)(words_for(error))


def _prepare(folder, scratch):
    left = Allowance()
    for nth in range(NESTED_MAX + 1):
        top = inner_folder(folder)
        every = visible(top)
        if len(every) != 1 or every[0].is_dir() or not looks_like_archive(every[0].name):
            break
        if nth == NESTED_MAX:
            raise BadArchive(f"more than {NESTED_MAX} archives are in each other")
        into = scratch / str(nth)
        unpack(every[0], into, folder, left)
        top.rename(scratch / f"{nth}-packed")
        into.rename(top)
    for _, entry in student_files.walk(folder):
        if entry.is_file(follow_symlinks=False):
            start = student_files.beginning(entry.path, folder, 4)
            if start.startswith((b"#!", b"\x7fELF")):
                os.chmod(entry.path, entry.stat(follow_symlinks=False).st_mode & 0o777 | 0o111)


def visible(folder):
    return sorted(path for path in folder.iterdir() if path.name not in NOISE)


def folders_in(top):
    every = [path for path in visible(top) if path.is_dir() and not path.name.startswith(".")]
    return [path for path in every if ONLINE_TEXT not in path.name]


def inner_folder(folder, is_wanted=lambda path: False):
    """Below folders that hold one folder and nothing else: students pack the folder, not its
    content."""
    for _ in range(WRAPPERS_MAX):
        every = visible(folder)
        if len(every) != 1 or every != folders_in(folder) or is_wanted(every[0]):
            break
        folder = every[0]
    return folder


def top_folder(folder):
    """The folder of the submissions, also where there is only one of them."""
    return inner_folder(folder, names_a_submission)


def names_a_submission(path):
    is_named = MOODLE_FOLDER.fullmatch(path.name) or GRADESCOPE.fullmatch(path.name)
    names = {one.name for one in path.iterdir()}
    return bool(is_named or not names or ONE_SUBMISSION.intersection(names))


# Archives. The library would follow some of what they say: owners, links, devices.


@dataclass
class Allowance:
    """What one submission may still take."""

    bytes: int = field(default_factory=lambda: BYTES_MAX)
    files: int = field(default_factory=lambda: FILES_MAX)  # and folders

    def take(self, bytes=0, files=0):
        self.bytes -= bytes
        self.files -= files
        if self.files < 0:
            raise BadArchive(f"it has more than {FILES_MAX:,} files and folders")
        if self.bytes < 0:
            raise BadArchive(f"it has more than {BYTES_MAX / (1 << 30):g} GB")


def unpack(archive, into, top, left):
    """Regular files and folders. Raises BadArchive, and OSError where it is the machine that
    fails. top: the folder of the submission."""
    name = student_files.shown(archive.name)
    try:
        start = student_files.beginning(archive, top, 4)
        is_zip = start in ZIP_STARTS or name.lower().endswith(".zip")
        ends = [end for end in FOREIGN if name.lower().endswith(end) and not is_zip]
        if foreign := FOREIGN_STARTS.get(start) or next(iter(ends), ""):
            raise BadArchive(f"the grader cannot unpack {foreign}, only zip and tar")
        with student_files.opened(archive, top) as file:
            if is_zip:
                with zipfile.ZipFile(file) as opened:
                    write_all(zip_entries(opened), into, left)
            else:
                with tarfile.open(fileobj=file) as opened:
                    write_all(tar_entries(opened), into, left)
    except Exception as error:  # noqa: BLE001
        if isinstance(error, OSError) and error.errno in OWN_ERRORS:
            raise
        is_none = isinstance(error, tarfile.ReadError) and "method" in str(error)  # of each format
        why = "it is damaged, or not an archive" if is_none else words_for(error)
        raise BadArchive(f"{name} cannot be unpacked: {why}") from None


def unpack_export(archive, into):
    """All submissions. Returns [(parts of a path, why it is missing)]: a file that cannot be
    written must not keep other submissions from being written. Raises BadArchive, and OSError
    where it is the machine that fails."""
    into.mkdir(parents=True)
    problems, allowances = {}, {}
    try:
        with zipfile.ZipFile(archive) as opened:
            every = list(zip_entries(opened))
            around = parts_around([parts_of(name) for name, *_ in every])
            for entry in every:
                parts = parts_of(entry[0])
                left = allowances.setdefault(parts[: around + 1], Allowance())
                try:
                    write(entry, into, left)
                except Exception as error:  # noqa: BLE001
                    if isinstance(error, OSError) and error.errno in OWN_ERRORS:
                        raise
                    known = parts[: parts.index("..")] if ".." in parts else parts
                    with_folder(into, known)
                    why = f"{entry[0][:200]!r} cannot be unpacked: {words_for(error)}"
                    problems.setdefault(known, why)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001
        raise BadArchive(f"it cannot be unpacked: {words_for(error)}") from None
    return list(problems.items())


def parts_around(paths):
    """How many folders are around all of these, but for files that are in no folder."""
    folders = [parts[:-1] for parts in paths if len(parts) > 1 and ".." not in parts]
    first, last = min(folders, default=()), max(folders, default=())
    return len(os.path.commonprefix([first, last])[:WRAPPERS_MAX])


def with_folder(into, parts):
    """Makes the folder of a missing file, so that its submission is there."""
    try:
        into.joinpath(*parts[:-1]).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError):
        pass  # then it is reported as a file that belongs to no submission


def zip_entries(opened):
    """(path, mode, time, reader)"""
    for info in opened.infolist():
        mode = info.external_attr >> 16  # 0 if Windows packed it
        is_file = not mode or stat.S_ISREG(mode) or not stat.S_IFMT(mode)
        if is_file and not info.filename.endswith("/"):
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


def write_all(entries, into, left):
    into.mkdir()
    for entry in entries:
        write(entry, into, left)
    if not any(into.iterdir()):
        raise BadArchive("it has no files")


def parts_of(name):
    # Two slashes at the beginning are a root of their own.
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return tuple(part for part in parts if part.strip("/"))


def write(entry, into, left):
    """Raises BadArchive, and what the library raises."""
    name, mode, at, reader = entry
    parts = parts_of(name)
    if not parts:
        raise BadArchive("it has a file without a name")
    if ".." in parts or "\0" in name:
        raise BadArchive(f"it names a file outside of its folder: {name[:200]!r}")
    if NOISE.intersection(parts):
        return
    if len(parts) > DEPTH_MAX:
        raise BadArchive(f"it has more than {DEPTH_MAX} folders in each other")
    target = into.joinpath(*parts)
    if not target.is_relative_to(into):
        raise BadArchive(f"it names a file outside of its folder: {name[:200]!r}")
    new = [path for path in target.parents if path.is_relative_to(into) and not path.exists()]
    left.take(files=1 + len(new))
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with reader() as source, open(target, "wb") as out:
            while data := source.read(1 << 20):
                left.take(bytes=len(data))
                if shutil.disk_usage(into).free < DISK_BYTES_LEFT + len(data):
                    raise OSError(errno.ENOSPC, f"the disk of {into} is full")
                out.write(data)
    except Exception:
        if target.is_file():
            target.unlink()
        raise
    target.chmod(0o755 if mode & 0o100 else 0o644)
    os.utime(target, (clamped(at),) * 2)


def clamped(at):
    """A time that every file system can hold; archives may say anything."""
    try:
        return min(max(int(at), 0), 1 << 32)
    except (ValueError, OverflowError):
        return 0
