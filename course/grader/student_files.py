"""Files of students, which may be anything: all of the grader reads them here.

No link leads out of the folder of a submission, only regular files are opened, and what is read
has limits of size, number and depth. What such a file makes fail is an exception of one
submission: words_for() has the sentence for it."""

import codecs
import errno
import os
import shutil
import stat
from pathlib import Path

TEXT_BYTES_MAX = 1 << 20  # of a script
SETTINGS_BYTES_MAX = 16 << 10  # of grade.toml: a name of many parts takes the parser n² steps
FILES_MAX = 20_000  # of a folder, with the folders in it
DEPTH_MAX = 64  # folders in each other
# Files of the machine, not of a submission.
OWN_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE}


class Refused(OSError):
    """One sentence, without the name of the file: it is not read."""


def words_for(error):
    """Never empty, unlike the text of many exceptions."""
    if isinstance(error, MemoryError):
        return "it takes more memory than the grader may use"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(said.split())[:400] or type(error).__name__


def shown(path):
    """The name of a file as text: it may be bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def opened(path, top):
    """A regular file in the folder `top`, for reading. Raises OSError.

    O_PATH opens nothing: no device notices it, no pipe waits. The descriptor then names the file
    that a link led to, whatever happens to the folder meanwhile."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        name = f"/proc/self/fd/{place}"
        if not stat.S_ISREG(os.fstat(place).st_mode):
            raise Refused("it is not a regular file")
        if not is_below(os.readlink(name), top):
            raise Refused("it is a link to a file outside of the submission")
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return open(descriptor, "rb")
    finally:
        os.close(place)


def is_below(path, top):
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(top))


def read(path, top, bytes_max):
    """All of it. Raises OSError, also if it is longer than bytes_max."""
    with opened(path, top) as file:
        size = os.fstat(file.fileno()).st_size
        if size > bytes_max:
            raise Refused(f"it has {size:,} bytes, more than {bytes_max:,}")
        return file.read(bytes_max)


def beginning(path, top, size):
    """At most `size` bytes; none of what cannot be read."""
    try:
        with opened(path, top) as file:
            return file.read(size) or b""
    except (OSError, ValueError):
        return b""


def text_of(path, top):
    """The text of a script; empty if it cannot be read."""
    return beginning(path, top, TEXT_BYTES_MAX).decode(errors="replace")


def decoded(data):
    """Editors and spreadsheets on Windows put a byte order mark before UTF-8, or write UTF-16.
    Raises UnicodeDecodeError."""
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_wide else "utf-8-sig")


def walk(top, depth_max=DEPTH_MAX, is_entered=lambda name: True, files_max=FILES_MAX):
    """(depth below top, entry) of files, links and folders, those of a folder in the order of
    their names, at most files_max. No link is followed. What cannot be read or is deeper than
    depth_max is left out."""
    todo, left = [(1, top)], files_max
    while todo:
        depth, folder = todo.pop()
        entries = []
        try:
            with os.scandir(folder) as every:
                for entry in every:
                    left -= 1
                    if left < 0:
                        return
                    entries.append(entry)
        except OSError:
            continue
        entries.sort(key=lambda entry: entry.name)
        folders = []
        for entry in entries:
            yield depth, entry
            if depth <= depth_max and is_entered(entry.name) and is_folder(entry):
                folders.append((depth + 1, entry.path))
        todo += reversed(folders)


def copy(top, target, left_out, files_max):
    """Files, links and folders to a new folder, without those of the names left_out; also without
    pipes, devices and what cannot be read. Raises OSError where it is the machine that fails."""
    target.mkdir(parents=True)
    is_entered = lambda name: name not in left_out
    for _, entry in walk(top, is_entered=is_entered, files_max=files_max):
        made = os.path.join(target, os.path.relpath(entry.path, top))
        try:
            if entry.name in left_out:
                continue
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), made)
            elif is_folder(entry):
                os.mkdir(made)
            elif entry.is_file(follow_symlinks=False):
                shutil.copy2(entry.path, made, follow_symlinks=False)
        except OSError as error:
            if error.errno in OWN_ERRORS:
                raise


def is_folder(entry):
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
