"""What is graded: servers named on the command line, in a folder of submissions, or as a docker compose project."""

import codecs
import hashlib
import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import exports

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
SCRIPT_BYTES_MAX = 1 << 20
FILES_MAX = 20_000  # of a folder, for its fingerprint


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
        raise BadInput(f"--server {text!r} is no command: {error}") from None
    if not words:
        raise BadInput(f"--server {text!r} has no command")
    return Submission(name or Path(words[0]).name or "server", folder, command)


def from_folder(folder):
    """A submission by its files; one that has none of them has a problem."""
    made = Submission(folder.name, folder, top=folder)
    settings, script, projects = folder / "grade.toml", folder / "run.sh", compose_folders(folder)
    takes_port = script.is_file() and TAKES_ARGUMENT.search(text_of(script))
    if settings.is_file():
        made.problem = _read_settings(made, settings)
    elif projects and not takes_port:  # a run.sh that takes no port was not made for grading
        made.is_compose, made.folder = True, projects[0]
    elif script.is_file():
        made.command, made.port = "./run.sh {port}", 0 if takes_port else COURSE_PORT
        if not os.access(script, os.X_OK):
            made.problem = "run.sh is not executable (chmod +x run.sh)"
    else:
        made.problem = "there is no grade.toml, run.sh or docker-compose.yml"
    return made


def compose_folders(top):
    """Folders with a compose file, at the top or below: first those that name the course's port, then those nearest to the top."""
    found = []
    for path, folders, names in os.walk(top):
        depth = len(Path(path).relative_to(top).parts)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if depth == COMPOSE_DEPTH_MAX:
            folders.clear()
        if file := next((name for name in COMPOSE_FILES if name in names), None):
            names_port = str(COURSE_PORT) in text_of(Path(path) / file)
            found.append((not names_port, depth, path))
    return [Path(path) for _, _, path in sorted(found)]


def _without_waiting(path, flags):
    return os.open(path, flags | os.O_NONBLOCK)


def text_of(file):
    """Of a script; empty if it cannot be read, or is a pipe, which would be waited for."""
    try:
        with open(file, "rb", opener=_without_waiting) as opened:
            return (opened.read(SCRIPT_BYTES_MAX) or b"").decode(errors="replace")
    except OSError:
        return ""


def read_toml(file):
    """Editors on Windows put a byte order mark before UTF-8, or write UTF-16."""
    data = file.read_bytes()
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return tomllib.loads(data.decode("utf-16" if is_wide else "utf-8-sig").replace("\r\n", "\n"))


UNREADABLE = (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError)


def _read_settings(made, file):
    """Returns what is wrong with the file."""
    try:
        settings = read_toml(file)
    except UNREADABLE as error:
        return f"grade.toml cannot be read: {error}"
    for name, value in settings.items():
        if name not in SETTINGS:
            return f"grade.toml has an unknown setting {name!r}; it may have {', '.join(SETTINGS)}"
        if name == "port":
            if not isinstance(value, int) or not 0 < value < 1 << 16:
                return "grade.toml: port must be a number from 1 to 65535"
        elif not isinstance(value, str) or not value.strip():
            return f"grade.toml: {name} must be a text that is not empty"
        if name != "compose":
            setattr(made, name, value)
    if project := settings.get("compose"):
        made.folder = (made.top / project).resolve()
        made.is_compose = True
        if not any((made.folder / name).is_file() for name in COMPOSE_FILES):
            return f"grade.toml: compose = {project!r} is no folder with a {COMPOSE_FILES[0]}"
        if not made.folder.is_relative_to(made.top.resolve()):
            return f"grade.toml: compose = {project!r} is outside of the submission"
    elif not made.command:
        return 'grade.toml needs a command, such as command = "./server {port}"'
    return ""


def is_script(path):
    if SCRIPT_NAME.search(path.name):
        return True
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            return (file.read(5) or b"").removeprefix(codecs.BOM_UTF8).startswith(b"#!")
    except OSError:
        return False


def windows_scripts(submission):
    """A sentence that names scripts and makefiles that Windows editors made unusable; empty if there are none."""
    found = []
    for path in map(Path, _files_of(submission.top) if submission.top else []):
        text = text_of(path) if is_script(path) else ""
        if "\r\n" in text:
            found.append(f"{path.relative_to(submission.top)} has line ends of Windows (CRLF)")
        elif text.startswith("\ufeff"):
            found.append(f"{path.relative_to(submission.top)} begins with a byte order mark")
    if not found:
        return ""
    more = f", and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more + r": sed -i '1s/^\xEF\xBB\xBF//; s/\r$//' FILE mends it"


def from_export(file, parent):
    """Of the zip of a course platform, unpacked in a folder of parent."""
    try:
        every = exports.unpacked(file, parent)
    except exports.BadArchive as error:
        raise BadInput(f"--submissions {file}: {error}") from None
    if not every:
        raise BadInput(f"--submissions {file} has no folders: each of them is a submission")
    found = []
    for one in every:
        made = from_folder(one.folder.resolve())
        made.name, made.students = one.name, one.students
        made.problem = one.problem or made.problem
        found.append(made)
    return found


def from_submissions(folder):
    if not folder.is_dir():
        raise BadInput(f"--submissions {folder} is no folder and no zip")
    found = sorted(
        path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")
    )
    if not found:
        raise BadInput(f"--submissions {folder} has no subfolders: each of them is a submission")
    return [from_folder(path.resolve()) for path in found]


def from_compose(folder):
    if not any((folder / name).is_file() for name in COMPOSE_FILES):
        raise BadInput(f"--compose {folder} has no {COMPOSE_FILES[0]}")
    folder = folder.resolve()
    return Submission(folder.name, folder, is_compose=True, top=folder)


def slugged(submissions, reserved=("index", "reference", "submissions")):
    """Gives each a name for its files that no other has, and makes shown names unique."""
    taken, names = set(reserved), set()
    for one in submissions:
        one.name = one.name.encode("utf-8", "replace").decode()  # names of files are bytes
        wanted, nth = one.name, 1
        while one.name in names:
            nth += 1
            one.name = f"{wanted}-{nth}"
        names.add(one.name)
        base = re.sub(r"[^a-z0-9]+", "-", one.name.lower()).strip("-")[:40] or "server"
        one.slug, nth = base, 1
        while one.slug in taken:
            nth += 1
            one.slug = f"{base}-{nth}"
        taken.add(one.slug)
    return submissions


def fingerprint(submission):
    """Of the files that make the server, by their sizes and times: all of its folder, or those that its command names."""
    digest = hashlib.sha256()
    if submission.top:
        files = _files_of(submission.top)
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


def _files_of(folder):
    """Not by os.walk(), which fails where folders are deep."""
    found, todo = [], [folder]
    for _ in range(FILES_MAX):
        if not todo or len(found) > FILES_MAX:
            break
        try:
            entries = sorted(os.scandir(todo.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        found += [entry.path for entry in entries if not entry.is_dir(follow_symlinks=False)]
        todo += [entry.path for entry in reversed(folders)]
    return found[:FILES_MAX]
