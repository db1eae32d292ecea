"""What is graded: servers named on the command line, in a folder of submissions, or as a docker compose project."""

import hashlib
import os
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

COMPOSE_FILES = ("docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml")
SETTINGS = ("command", "build", "restart")
FILES_MAX = 20_000  # of a folder, for its fingerprint


class BadInput(Exception):
    """One sentence for the user."""


@dataclass
class Submission:
    name: str
    folder: Path  # working directory
    command: str = ""  # with {port}, maybe with {data}; empty for a compose project
    build: str = ""
    restart: str = ""  # starts it after a kill; empty: the command does
    is_compose: bool = False
    is_own_folder: bool = False  # all of the folder belongs to the submission
    problem: str = ""  # why it cannot be graded
    slug: str = ""  # its name in file names

    @property
    def shown_command(self):
        return "docker compose up -d" if self.is_compose else self.command

    @property
    def keeps_data(self):
        return bool(self.is_compose or self.restart or "{data}" in self.command)

    def described(self):
        """What decides what is run."""
        return {
            "command": self.shown_command,
            "build": self.build,
            "restart": self.restart,
            "folder": str(self.folder.resolve()),
        }


def from_command(text, folder):
    """NAME=COMMAND or COMMAND."""
    named = re.match(r"([A-Za-z0-9][\w.-]*)=(.*)", text, re.S)
    name, command = named.groups() if named else ("", text)
    if "{port}" not in command:
        raise BadInput(
            f"--server {text!r} has no {{port}}: it stands where the command takes its port"
        )
    if not name:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise BadInput(f"--server {text!r} is no command: {error}") from None
        name = Path(words[0]).name or "server"
    return Submission(name, folder, command)


def from_folder(folder):
    """A submission by its files; one that has none of them has a problem."""
    made = Submission(folder.name, folder, is_own_folder=True)
    settings, script = folder / "grade.toml", folder / "run.sh"
    if settings.is_file():
        made.problem = _read_settings(made, settings)
    elif script.is_file():
        made.command = "./run.sh {port}"
        if not os.access(script, os.X_OK):
            made.problem = "run.sh is not executable (chmod +x run.sh)"
    elif any((folder / name).is_file() for name in COMPOSE_FILES):
        made.is_compose = True
    else:
        made.problem = "there is no grade.toml, run.sh or docker-compose.yml"
    return made


def _read_settings(made, file):
    """Returns what is wrong with the file."""
    try:
        settings = tomllib.loads(file.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        return f"grade.toml cannot be read: {error}"
    for name, value in settings.items():
        if name not in SETTINGS:
            return f"grade.toml has an unknown setting {name!r}; it may have {', '.join(SETTINGS)}"
        if not isinstance(value, str) or not value.strip():
            return f"grade.toml: {name} must be a text that is not empty"
        setattr(made, name, value)
    if "{port}" not in made.command:
        return 'grade.toml needs a command with {port}, such as command = "./server {port}"'
    return ""


def from_submissions(folder):
    if not folder.is_dir():
        raise BadInput(f"--submissions {folder} is no folder")
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
    return Submission(folder.name, folder, is_compose=True, is_own_folder=True)


def slugged(submissions, reserved=("index", "reference")):
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
    if submission.is_own_folder:
        files = _files_of(submission.folder)
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
    found = []
    for path, folders, names in os.walk(folder):
        folders.sort()
        found += [os.path.join(path, name) for name in sorted(names)]
        if len(found) > FILES_MAX:
            break
    return found[:FILES_MAX]
