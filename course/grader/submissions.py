"""What is graded: servers named on the command line, in a folder of submissions, or as a docker
compose project."""

import codecs
import hashlib
import os
import re
import shlex
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path

import exports
import student_files
from plain_text import printable
from student_files import text_of, words_for

try:
    import tomllib
except ImportError:  # before Python 3.11: Ubuntu 22.04's package python3-tomli
    import tomli as tomllib

COMPOSE_FILES = ("docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml")
COMPOSE_DEPTH_MAX = 3  # folders below the submission's in which a compose file is looked for
SETTINGS = ("command", "build", "restart", "compose", "port")
COURSE_PORT = 12345  # of servers that take none
# A script that uses its first argument, or all.
TAKES_ARGUMENT = re.compile(r"\$(?:\{?1\b|\{?[@*])")
SCRIPT_NAME = re.compile(r"\.(?:sh|bash)$|^(?:GNU)?[Mm]akefile$|^gradlew$|^mvnw$|^configure$")
ARCHIVES_NAMED, NAME_SHOWN = 3, 60  # in a sentence


class BadInput(Exception):
    """One sentence for the user."""


@dataclass
class Submission:
    name: str
    folder: Path  # working directory
    command: str = ""  # maybe with {port} and {data}; empty for a compose project
    build: str = ""
    restart: str = ""  # starts it after a kill; empty: the command does
    is_compose: bool = False
    port: int = 0  # it listens there and nowhere else; 0: where {port} says, or on the course's
    top: Path = None  # all of this folder belongs to the submission
    problem: str = ""  # why it cannot be graded
    slug: str = ""  # its name in file names
    students: list = field(default_factory=list)  # for each, words that a class list may have
    known_as: str = ""  # that word if there are no students: the name may get a number

    @property
    def shown_command(self):
        if not self.is_compose:
            return self.command
        inside = self.top and self.top != self.folder
        return "docker compose up -d" + (f" in {self.folder.relative_to(self.top)}" * bool(inside))

    @property
    def fixed_port(self):
        """The port that it listens on whatever the grader may wish; 0 if it takes any."""
        return self.port or (0 if "{port}" in self.command else COURSE_PORT)

    @property
    def keeps_data(self):
        return bool(self.is_compose or self.restart or "{data}" in self.command)

    def described(self):
        """What decides what is run."""
        return {
            "command": self.shown_command,
            "build": self.build,
            "restart": self.restart,
            "port": self.port,
            "folder": str(self.folder.resolve()),
        }


def from_command(text, folder):
    """NAME=COMMAND or COMMAND."""
    named = re.match(r"([A-Za-z0-9][\w.-]*)=(.*)", text, re.S)
    name, command = named.groups() if named else ("", text)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(f"--server {text!r} is not a command: {error}") from None
    if not words:
        raise BadInput(f"--server {text!r} has no command")
    return Submission(name or Path(words[0]).name or "server", folder, command)


def from_folder(folder):
    """A submission by its files; one that has none of them has a problem, and so has one whose
    files cannot be read: no exception of one may keep the others from their grades."""
    made = Submission(folder.name, folder, top=folder)
    made.known_as = student_files.shown(folder.name)
    try:
        _look_at(made, folder)
    except Exception as error:  # noqa: BLE001
        made.problem = f"its files cannot be read: {words_for(error)}"
    return made


def _look_at(made, folder):
    settings, script, projects = folder / "grade.toml", folder / "run.sh", compose_folders(folder)
    takes_port = script.is_file() and TAKES_ARGUMENT.search(text_of(script, folder))
    if os.path.lexists(settings):
        made.problem = _read_settings(made, settings)
    elif projects and not takes_port:  # a run.sh that takes no port was not made for grading
        made.is_compose, made.folder = True, projects[0]
    elif script.is_file():
        made.command, made.port = "./run.sh {port}", 0 if takes_port else COURSE_PORT
        if not os.access(script, os.X_OK):
            made.problem = "run.sh is not executable (chmod +x run.sh)"
    else:
        made.problem = "there is no grade.toml, run.sh or docker-compose.yml" + _archives_in(folder)


def _archives_in(folder):
    """Words about archives, which are what else was handed in; empty if there are none."""
    every = (student_files.shown(path.name) for path in exports.visible(folder))
    names = [name for name in every if exports.looks_like_archive(name)]
    more = f" and {len(names) - ARCHIVES_NAMED} more" * (len(names) > ARCHIVES_NAMED)
    listed = f"{', '.join(names[:ARCHIVES_NAMED])}{more}"
    return f"; an archive in it was not unpacked: {listed}" if names else ""


def compose_folders(top):
    """Folders with a compose file, at the top or below: first those that name the course's port,
    then those nearest to the top."""
    files = {}
    is_entered = lambda name: not name.startswith(".")
    for depth, entry in student_files.walk(top, COMPOSE_DEPTH_MAX, is_entered):
        if entry.name in COMPOSE_FILES and os.path.isfile(entry.path):
            files.setdefault((depth, os.path.dirname(entry.path)), []).append(entry.name)
    found = []
    for (depth, path), names in files.items():
        file = min(names, key=COMPOSE_FILES.index)
        names_port = str(COURSE_PORT) in text_of(Path(path) / file, top)
        found.append((not names_port, depth, path))
    return [Path(path) for _, _, path in sorted(found)]


def read_toml(file):
    """A file of the teacher. Raises one of UNREADABLE."""
    return toml_in(file.read_bytes())


def toml_in(data):
    return tomllib.loads(student_files.decoded(data).replace("\r\n", "\n"))


# ValueError: no UTF-8, no TOML, a number of too many digits.
UNREADABLE = (OSError, ValueError, RecursionError, MemoryError)


def _read_settings(made, file):
    """Returns what is wrong with the file."""
    try:
        data = student_files.read(file, made.top, student_files.SETTINGS_BYTES_MAX)
        settings = toml_in(data)
    except UNREADABLE as error:
        return f"grade.toml cannot be read: {words_for(error)}"
    for name, value in settings.items():
        if name not in SETTINGS:
            known = ", ".join(SETTINGS)
            return f"grade.toml has an unknown setting {name[:NAME_SHOWN]!r}; it may have {known}"
        if name == "port":
            if type(value) is not int or not 0 < value < 1 << 16:  # true is not a port
                return "grade.toml: port must be a number from 1 to 65535"
        elif not isinstance(value, str) or not value.strip():
            return f"grade.toml: {name} must be a text that is not empty"
        elif "\0" in value:
            return f"grade.toml: {name} has a NUL character"
        if name != "compose":
            setattr(made, name, value)
    if project := settings.get("compose"):
        shown = project[:NAME_SHOWN]
        made.folder = (made.top / project).resolve()
        made.is_compose = True
        if not any((made.folder / name).is_file() for name in COMPOSE_FILES):
            return f"grade.toml: compose = {shown!r} is not a folder with a {COMPOSE_FILES[0]}"
        if not made.folder.is_relative_to(made.top.resolve()):
            return f"grade.toml: compose = {shown!r} is outside of the submission"
    elif not made.command:
        return 'grade.toml needs a command, such as command = "./server {port}"'
    return ""


def is_script(path, top):
    if SCRIPT_NAME.search(path.name):
        return True
    start = student_files.beginning(path, top, 5)
    return start.removeprefix(codecs.BOM_UTF8).startswith(b"#!")


def windows_scripts(submission):
    """A sentence that names scripts and makefiles that Windows editors made unusable; empty if
    there are none."""
    found = []
    top = submission.top
    for path in map(Path, files_of(top) if top else []):
        text = text_of(path, top) if is_script(path, top) else ""
        name = student_files.shown(path.relative_to(top))
        if "\r\n" in text:
            found.append(f"{name} has line ends of Windows (CRLF)")
        elif text.startswith("\ufeff"):
            found.append(f"{name} begins with a byte order mark")
    if not found:
        return ""
    more = f", and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more + r": sed -i '1s/^\xEF\xBB\xBF//; s/\r$//' FILE mends it"


def from_export(file, parent, say=lambda sentence: None):
    """The submissions in the zip of a course platform, which is unpacked in a folder of parent.
    say: gets a sentence for each file that belongs to no submission."""
    try:
        every, left_out = exports.unpacked(file, parent)
    except exports.BadArchive as error:
        raise BadInput(f"--submissions {file}: {error}") from None
    if not every:
        raise BadInput(f"--submissions {file} has no folders: each of them is a submission")
    if left_out:
        names = ", ".join(left_out[: exports.LEFT_OUT_NAMED])
        more = len(left_out) - exports.LEFT_OUT_NAMED
        names += f", and {more} more" if more > 0 else ""
        say(f"{file}: left out, since it belongs to no submission: {names}")
    found = []
    for folder, about in every:
        made = from_folder(folder.resolve())
        made.name, made.known_as, made.students = about["name"], about["name"], about["students"]
        made.problem = about.get("problem") or made.problem
        found.append(made)
    return found


def from_submissions(folder):
    if not folder.is_dir():
        raise BadInput(f"--submissions {folder} is neither a folder nor a zip")
    every = exports.visible(folder)
    found = [path for path in every if path.is_dir() and not path.name.startswith(".")]
    if not found:
        raise BadInput(f"--submissions {folder} has no subfolders: each of them is a submission")
    every = [from_folder(path.resolve()) for path in found]
    for path, made in zip(found, every, strict=True):
        made.students = exports.students_of_folder(path.name)
    return every


def from_compose(folder):
    if not any((folder / name).is_file() for name in COMPOSE_FILES):
        raise BadInput(f"--compose {folder} has no {COMPOSE_FILES[0]}")
    folder = folder.resolve()
    return Submission(folder.name, folder, is_compose=True, top=folder)


def slugged(submissions, reserved=("index", "reference", "submissions")):
    """Gives each a name for its files that no other has, and makes shown names unique."""
    slugs, names = set(reserved), set()
    for one in submissions:
        # Names of files are bytes, and may be commands of a terminal.
        one.name = _unique(printable(one.name), names)
        slug = re.sub(r"[^a-z0-9]+", "-", one.name.lower()).strip("-")[:40] or "server"
        one.slug = _unique(slug, slugs)
    return submissions


def _unique(name, taken):
    """The name, with a number if it is taken; then that is taken too."""
    numbered = (f"{name}-{nth}" for nth in count(2))
    found = next(one for one in chain([name], numbered) if one not in taken)
    taken.add(found)
    return found


def fingerprint(submission):
    """A digest of the files that make the server, by their sizes and times: all of its folder, or
    those that its command names."""
    digest = hashlib.sha256()
    if submission.top:
        files = files_of(submission.top)
    else:
        files = [submission.folder / word for word in _words(submission.command)]
    for path in files:
        try:
            stat = os.stat(path)
        except (OSError, ValueError):
            continue
        if os.path.isfile(path):
            digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode(errors="replace"))
    return digest.hexdigest()[:16]


def _words(command):
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def files_of(folder):
    """Paths of its files and links."""
    entries = (entry for _, entry in student_files.walk(folder))
    return [entry.path for entry in entries if not student_files.is_folder(entry)]
