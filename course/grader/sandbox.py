"""What a submission sees of the machine: bubblewrap (bwrap) shows it its own folder, its data and
the system's programs, and the grader's process for it has a network of its own that consists of
loopback.

If root runs the grader, each submission runs as a user of its own, which owns its folder meanwhile.
That of others has the user of the grader, without privileges, in a user namespace."""

import ctypes
import fcntl
import functools
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import processes
import syscalls

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
# CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID, SETPCAP, SYS_PTRACE, SYS_ADMIN: to give files
# away, and to change, see and end what other users have.
CAPABILITIES = (0, 1, 3, 5, 6, 7, 8, 19, 21)
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "opt", "etc", "sys/devices/system/cpu")
OF_OTHERS = ("/etc", "/opt", "/usr/local")  # may have files that not every user may read
HIDDEN_IN_PROC = ("kallsyms", "key-users", "keys", "sysrq-trigger")
PRIVATE = ("data", "tmp", "home")  # folders in that of its results
FILES = ("filter", "users")  # of bwrap, beside them
KEPT_NAMES = "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ".split()
KEPT_ENDS, OF_NETWORK = ("_HOME",), ("_proxy", "_PROXY")  # a proxy may come with a password
MORE_THREADS = 100  # may exist before a fork fails: so the watch sees that the limit is exceeded
PROBE_S = 20
# User ids of submissions, if root runs the grader. The machine is expected to have no such users.
UIDS = range(62000, 63000)
USER = "submission"
ENTRIES_MAX = 500  # of a folder that are shown one by one
HIDDEN_MAX = 100  # files below one folder that are hidden one by one; beyond, all of the folder is
UNREADABLE = "-type d ! -perm -005 -print0 -prune -o ! -type d ! -type l ! -perm -004 -print0"

# bwrap ends when its command does. That of a server may start it in the background: then this waits
# until nothing else runs (the first two processes are bwrap's and its own). It stays on SIGTERM,
# for as long as the server needs for its end, and does not report what ended it.
WAIT_FOR_ALL = """trap : TERM; exec 3>&2 2>/dev/null; /bin/sh -c "$1" 2>&3 3>&-; status=$?
while set -- /proc/[0-9]*; [ $# -gt 2 ]; do sleep 0.1; done; exit $status"""


# bwrap reads each from its beginning, and closes it: opened anew each time.
FILTER, USERS = 8, 9  # descriptors


def user():
    """The user and group that submissions of this process get; None: that of the grader."""
    uid = UIDS[os.getpid() % len(UIDS)]
    return uid if _has_privileges() and _is_mapped(uid) else None


def _has_privileges():
    """Those that root has, but in many containers."""
    status = Path("/proc/self/status").read_text()
    found = int(re.search(r"^CapEff:\s*(\w+)", status, re.M)[1], 16)
    return os.geteuid() == 0 and all(found >> one & 1 for one in CAPABILITIES)


def _is_mapped(uid):
    """In the grader's user namespace, which in a container may have few users."""
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    return any(
        int(first) <= uid < int(first) + int(count) for first, _, count in map(str.split, lines)
    )


def enter():
    """From now on this process, which has no threads, has privileges over the sandboxes that it
    starts, though none over the machine: to count their memory and to cut_network()."""
    if _has_privileges():
        return
    uid, gid = os.getuid(), os.getgid()
    _unshare(CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def cut_network():
    """From now on this process, and those that it starts, see no network but a loopback of their
    own. Needs enter()."""
    _unshare(CLONE_NEWNET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _unshare(kind):
    if ctypes.CDLL(None, use_errno=True).unshare(kind):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def why_not():
    """Why there can be no sandbox on this machine; empty if there can. It cuts the network: call it
    in a process of its own."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    if why := syscalls.why_not():
        return why
    try:
        enter()
        cut_network()
    except OSError as error:
        return f"the kernel allows no network namespace ({error.strerror})"
    with tempfile.TemporaryDirectory(prefix="grade-") as work:
        make_private(Path(work), user())
        command = wrapped("exit 7", Path("/usr"), Path(work))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_S)
        except subprocess.TimeoutExpired:
            return "bwrap does not end"
        said = done.stderr.strip().splitlines()
    return "" if done.returncode == 7 else f"{said[-1] if said else 'bwrap failed'}"


def environment(kept, has_network=False):
    """The variables that a submission gets: none that may be a secret of the teacher."""
    ends = KEPT_ENDS + OF_NETWORK * has_network
    found = {
        name: value
        for name, value in kept.items()
        if name in KEPT_NAMES or name.startswith("LC_") or name.endswith(ends)
    }
    return found | ({"USER": USER, "LOGNAME": USER} if user() else {})


def make_private(work, owner=None):
    for name in PRIVATE:
        (work / name).mkdir(parents=True, exist_ok=True)
        (work / name).chmod(0o755)  # no set-group-id bit of a folder above
        if owner:
            os.chown(work / name, owner, owner)


def clear(work):
    """Nothing of make_private() and wrapped() is left."""
    for name in (*PRIVATE, *FILES):
        remove(work / name)


def remove(folder):
    """Also one with a depth or with rights that are meant to prevent it."""
    if os.path.lexists(folder):
        _all_below(folder, "chmod", "-R", "u+rwx")
        _all_below(folder, "rm", "-rf")


def _all_below(folder, *command):
    # A tool: whatever else runs below the grader may be killed as a part of the server.
    with processes.Tool([*command, "--", folder], stderr=subprocess.DEVNULL) as run:
        run.wait()


@contextmanager
def lent(folder):
    """While the block lasts, the submission may write to this folder, if it is one; nothing of the
    submission runs before or after. Afterwards all files belong to the owner of the folder, and
    none of them changes the user of those who start it."""
    if folder is None:
        yield
        return
    before, uid = os.stat(folder), user()
    if before.st_uid in UIDS:  # the grader was killed
        before = os.stat(Path(folder).resolve().parent)
    if uid:
        _all_below(folder, "chown", "-RhP", f"{uid}:{uid}")
    # Set-id bits of folders are inherited, and what copies them would fail.
    _all_below(folder, "chmod", "-R", "ug-s")
    try:
        yield
    finally:
        if uid:
            _all_below(folder, "chown", "-RhP", f"{before.st_uid}:{before.st_gid}")
        # Folders, too, become readable: others may reach what is in them although their owner does
        # not.
        _all_below(folder, "chmod", "-R", "u+rX,ug-s")


def named_files(command, folder):
    """Programs and files that a command of the grader's own command line names outside of its
    folder."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    paths = [Path(os.path.normpath(folder / word)) for word in words if "/" in word]
    return [path for path in paths if path.exists() and not path.is_relative_to(folder)]


def wrapped(
    command,
    folder,
    work,
    is_own=False,
    readable=(),
    threads=0,
    has_network=True,
    output=None,
    is_build=False,
    is_pinned=False,
):
    """A shell command in a sandbox, as a list of words. `is_own`: the folder belongs to the
    submission alone, so it may write there. `has_network`: that of the grader's process, whatever
    that is. `output`: not seen, but for what is private in `work`. `is_build`: what it starts in
    the background ends with it. `is_pinned`: it does not choose its CPUs."""
    uid = user()
    opened = f"{FILTER}<{_written(work / 'filter', syscalls.program(is_pinned))}"
    opened += f" {USERS}<{_written(work / 'users', _users(uid))}" if uid else ""
    made = ["/bin/sh", "-c", f'exec "$@" {opened}', "sh"]
    made += ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    made += ["--cap-drop", "ALL", "--die-with-parent", "--seccomp", str(FILTER)]
    if uid:
        for one in ("SETUID", "SETGID", "SETPCAP"):  # for setpriv
            made += ["--cap-add", f"CAP_{one}"]
    else:
        made += ["--unshare-user"] + ["--disable-userns"] * ("--disable-userns" in _help())
    made += [] if has_network else ["--unshare-net"]
    # A secret of the machine that is gone by now needs no hiding, and bwrap could not hide it.
    is_gone = lambda place: str(place).startswith(OF_OTHERS) and not os.path.lexists(place)
    mounts = [mount for mount in system() if not is_gone(mount[0])]
    around = _around(Path(folder)) if is_own else None
    if around:
        mounts = [mount for mount in mounts if not Path(mount[0]).is_relative_to(around)]
        mounts.append((around, ["--tmpfs", around]))
    mounts += _private(work)
    if uid:
        users = [*_mode("0644"), "--ro-bind-data", str(USERS), "/etc/passwd"]
        mounts.append(("/etc/passwd", users))
    for path in readable:
        mounts += _readable(path, uid)
    mounts += [(folder, ["--bind", folder, folder])] if is_own else _readable(folder, uid)
    if output:
        mounts.append((output, ["--tmpfs", output]))
    # What is mounted later hides what is below it.
    for place, words in sorted(mounts, key=lambda mount: len(Path(mount[0]).parts)):
        for parent in reversed(Path(place).parents):
            made += [
                "--dir",
                str(parent),
            ]  # bwrap makes those that are missing as closed as the place
        made += map(str, words)
    made += ["--remount-ro", str(output)] if output else []
    made += ["--remount-ro", str(around)] if around else []
    made += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(folder), "--"]
    made += _as(uid) if uid else []
    made += ["prlimit", processes.limit("nproc", threads + MORE_THREADS), "--"] if threads else []
    shell = ["/bin/sh", "-c"]
    return [*made, *shell, command] if is_build else [*made, *shell, WAIT_FOR_ALL, "sh", command]


def _around(folder):
    """The folder of all submissions, if it lies in what each of them sees of the system; else
    None."""
    shown = [Path("/", name) for name in SYSTEM]
    around = folder.parent
    is_system = around in shown or str(around) in OF_OTHERS
    return None if is_system or not any(map(around.is_relative_to, shown)) else around


def _as(uid):
    made = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]
    return [*made, "--inh-caps=-all", "--bounding-set=-all", "--"]


@functools.cache
def as_user(uid, *programs):
    """Words that start programs of the grader as this user, for they read what a submission sends.
    None if it may not start one of these, as in a home folder of root."""
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    for program in programs:
        command = [*_as(uid), "env", program, "--help"]  # setpriv itself still has its rights
        if subprocess.run(command, stderr=subprocess.DEVNULL, **silent).returncode:
            return []
    return _as(uid)


def may_write(uid, path):
    """Whether this user may: also the folders above may keep it out."""
    return subprocess.run([*_as(uid), "env", "test", "-w", path]).returncode == 0


def _readable(folder, uid):
    """Also a folder that only its owner may enter, if that is root and the submission is another
    user: what is in it has rights of its own."""
    is_closed = os.path.isdir(folder) and os.stat(folder).st_mode & 0o5 != 0o5
    if not uid or not is_closed or len(os.listdir(folder)) > ENTRIES_MAX:
        return [(folder, ["--ro-bind", folder, folder])]
    mounts = [(folder, ["--dir", folder])]
    for entry in os.scandir(folder):
        if entry.is_symlink():
            mounts.append((entry.path, ["--symlink", os.readlink(entry.path), entry.path]))
        else:
            mounts.append((entry.path, ["--ro-bind", entry.path, entry.path]))
    return mounts


@functools.cache
def _help():
    return subprocess.run(["bwrap", "--help"], capture_output=True, text=True).stdout


def _mode(bits):
    """The option that sets the mode of what bwrap makes next, if bwrap has it."""
    return ["--perms", bits] if "--perms" in _help() else []


def _written(file, content):
    """A word of a shell."""
    file.write_bytes(content)
    return shlex.quote(str(file))


def _users(uid):
    """/etc/passwd with the user of submissions, for programs that ask who they are."""
    try:
        text = Path("/etc/passwd").read_bytes()
    except OSError:
        text = b""
    home = os.environ.get("HOME", "/tmp")
    return text + os.fsencode(f"{USER}:x:{uid}:{uid}::{home}:/bin/sh\n")


@functools.cache
def system():
    """[(place, words)], what all submissions see. Slow, but for the first time."""
    found = [("/proc", ["--proc", "/proc"]), ("/dev", ["--dev", "/dev"])]
    found.append(("/dev/shm", [*_mode("1777"), "--tmpfs", "/dev/shm"]))
    for path in [Path("/", name) for name in SYSTEM]:
        if path.is_symlink():
            found.append((path, ["--symlink", os.readlink(path), path]))
        elif path.exists():
            found.append((path, ["--ro-bind", path, path]))
    resolver = os.path.realpath("/etc/resolv.conf")
    if not resolver.startswith("/etc/"):
        found.append((resolver, ["--ro-bind-try", resolver, resolver]))
    for path in [path for top in OF_OTHERS for path in secrets(top)]:
        found.append((path, _hidden(path)))
    return found + list(_proc())


def _hidden(path):
    if os.path.isdir(path):
        return ["--tmpfs", path, "--remount-ro", path]
    return ["--ro-bind", "/dev/null", path]


def _proc():
    """Options that make /proc read-only and hide the kernel's files: their owner is root, whom
    bwrap does not hold back if root starts it. Folders of processes stay as they are."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() or entry.is_symlink():
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        if not mode & 0o4 or entry.name in HIDDEN_IN_PROC:
            yield entry.path, _hidden(entry.path)
        elif entry.is_dir() or mode & 0o222:
            yield entry.path, ["--ro-bind-try", entry.path, entry.path]


def secrets(top):
    """What not every user may read, such as keys: the user of the grader could."""
    command = ["find", top, *UNREADABLE.split()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    below = {}
    for path in filter(None, os.fsdecode(done.stdout).split("\0")):
        below.setdefault(Path(top, *Path(path).relative_to(top).parts[:1]), []).append(path)
    for folder, paths in below.items():
        yield from [str(folder)] if len(paths) > HIDDEN_MAX else paths


def _private(work):
    home = os.environ.get("HOME", "")
    places = {"tmp": "/tmp", "data": work / "data"}
    if os.path.isabs(home) and os.path.normpath(home) not in ("/", "/tmp"):
        places["home"] = home
    return [(place, ["--bind", work / name, place]) for name, place in places.items()]
