"""What a submission sees of the machine: bubblewrap (bwrap) shows it its own folder, its data and the system's programs, and the
grader's process for it has a network of its own that consists of loopback."""

import ctypes
import fcntl
import functools
import os
import shlex
import shutil
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import processes

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "opt", "sys/devices/system/cpu")
PRIVATE = ("data", "tmp", "home")  # folders in that of its results
KEPT_NAMES = "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ".split()
KEPT_ENDS = ("_HOME", "_proxy", "_PROXY")
MORE_THREADS = 100  # may exist before a fork fails: so the watch sees that the limit is exceeded
PROBE_S = 20

# bwrap ends when its command does. That of a server may start it in the background: then this waits until nothing else runs (the
# first two processes are bwrap's and its own). It stays on SIGTERM, for as long as the server needs for its end, and does not
# report what ended it.
WAIT_FOR_ALL = """trap : TERM; exec 3>&2 2>/dev/null; /bin/sh -c "$1" 2>&3 3>&-; status=$?
while set -- /proc/[0-9]*; [ $# -gt 2 ]; do sleep 0.1; done; exit $status"""


def cut_network():
    """From now on this process, which has no threads, and those that it starts see no network but a loopback of their own."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET):  # needs root
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def why_not():
    """Why there can be no sandbox on this machine; empty if there can. It cuts the network: call it in a process of its own."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    try:
        cut_network()
    except OSError as error:
        return f"the kernel allows no network namespace ({error.strerror})"
    with tempfile.TemporaryDirectory(prefix="grade-") as work:
        make_private(Path(work))
        command = wrapped("exit 7", Path(work), Path(work))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_S)
        except subprocess.TimeoutExpired:
            return "bwrap does not end"
        said = done.stderr.strip().splitlines()
    return "" if done.returncode == 7 else f"{said[-1] if said else 'bwrap failed'}"


def environment(kept):
    """Of a submission: nothing that may be a secret of the teacher."""
    return {
        name: value
        for name, value in kept.items()
        if name in KEPT_NAMES or name.startswith("LC_") or name.endswith(KEPT_ENDS)
    }


def make_private(work):
    for name in PRIVATE:
        (work / name).mkdir(parents=True, exist_ok=True)


def remove(folder):
    """Also one with a depth or with rights that are meant to prevent it."""
    for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]) if os.path.lexists(folder) else ():
        # A tool: whatever else runs below the grader may be killed as a part of the server.
        with processes.Tool([*command, "--", folder], stderr=subprocess.DEVNULL) as run:
            run.wait()


def named_files(command, folder):
    """Programs and files that a command of the grader's own command line names outside of its folder."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    paths = [Path(os.path.normpath(folder / word)) for word in words if "/" in word]
    return [path for path in paths if path.exists() and not path.is_relative_to(folder)]


def wrapped(
    command, folder, work, is_own=False, readable=(), threads=0, has_network=True, output=None
):
    """A shell command in a sandbox, as a list of words. `is_own`: the folder belongs to the submission alone, so it may write there.
    `has_network`: that of the grader's process, whatever that is. `output`: not seen, but for what is private in `work`.
    """
    made = ["bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"]
    made += ["--unshare-cgroup-try", "--cap-drop", "ALL", "--die-with-parent"]
    made += ["--disable-userns"] * ("--disable-userns" in _help())
    made += [] if has_network else ["--unshare-net"]
    mounts = _system() + _private(work)
    mounts += [(path, ["--ro-bind", path, path]) for path in readable]
    mounts.append((folder, ["--bind" if is_own else "--ro-bind", folder, folder]))
    if output:
        mounts.append((output, ["--tmpfs", output]))
    # What is mounted later hides what is below it.
    for _, words in sorted(mounts, key=lambda mount: len(Path(mount[0]).parts)):
        made += map(str, words)
    made += ["--remount-ro", str(output)] if output else []
    made += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(folder)]
    limits = ["prlimit", processes.limit("nproc", threads + MORE_THREADS), "--"] if threads else []
    return [*made, "--", *limits, "/bin/sh", "-c", WAIT_FOR_ALL, "sh", command]


@functools.cache
def _help():
    return subprocess.run(["bwrap", "--help"], capture_output=True, text=True).stdout


@functools.cache
def _system():
    """[(place, words)]"""
    found = [("/proc", ["--proc", "/proc"]), ("/dev", ["--dev", "/dev"])]
    found.append(("/dev/shm", ["--tmpfs", "/dev/shm"]))
    for path in [Path("/", name) for name in SYSTEM]:
        if path.is_symlink():
            found.append((path, ["--symlink", os.readlink(path), path]))
        elif path.exists():
            found.append((path, ["--ro-bind", path, path]))
    found.append(("/etc", ["--ro-bind", "/etc", "/etc"]))
    resolver = os.path.realpath("/etc/resolv.conf")
    if not resolver.startswith("/etc/"):
        found.append((resolver, ["--ro-bind-try", resolver, resolver]))
    for path in _secrets("/etc"):
        hidden = ["--tmpfs", path, "--remount-ro", path]
        found.append((path, hidden if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]))
    return found


def _secrets(top):
    """What not every user may read, such as keys: a grader that root runs could."""
    for path, folders, names in os.walk(top):
        for name in [*folders, *names]:
            one = os.path.join(path, name)
            needed = 0o5 if name in folders else 0o4
            if not os.path.islink(one) and os.lstat(one).st_mode & needed != needed:
                yield one
                if name in folders:
                    folders.remove(name)


def _private(work):
    home = os.environ.get("HOME", "")
    places = {"tmp": "/tmp", "data": work / "data"}
    if os.path.isabs(home) and os.path.normpath(home) not in ("/", "/tmp"):
        places["home"] = home
    return [(place, ["--bind", work / name, place]) for name, place in places.items()]
