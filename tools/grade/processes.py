"""Processes as /proc shows them: what belongs to a server, what it uses, and its end.

The grader adopts orphans (PR_SET_CHILD_SUBREAPER). A server that forks into the background leaves its process group, but stays
below the grader, where it is found."""

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
LISTENING = "0A"  # a state in /proc/net/tcp

_tools = {}  # pid -> Popen: children of the grader that are no part of a server
_first = set()  # pids of servers' first processes: their Popen reaps them


def adopt_orphans():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Tool:
    """A program of the grader's own while the block lasts; it is killed at the end if it still runs."""

    def __init__(self, command, **options):
        self.command, self.options = command, options

    def __enter__(self):
        self.process = subprocess.Popen(self.command, start_new_session=True, **self.options)
        _tools[self.process.pid] = self.process
        return self.process

    def __exit__(self, *_):
        if self.process.poll() is None:
            kill_group(self.process.pid)
        self.process.wait()
        _tools.pop(self.process.pid, None)


def kill_group(pid, number=signal.SIGKILL):
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _stat(pid):
    """(state, parent, process group) or None if it is gone. Read without detours: the watch does it often, beside a measurement."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        fields = os.read(file, 4096).rpartition(b")")[2].split()
    except OSError:
        return None
    finally:
        os.close(file)
    return fields[0].decode(), int(fields[1]), int(fields[2])


def _all():
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (stat := _stat(entry)):
            found[int(entry)] = stat
    return found


def servers_processes(first):
    """Pids of the server whose first process is `first`: below it, in its process group, or orphans that the grader has adopted.
    Zombies are left out. None: of any server."""
    table, own = _all(), os.getpid()
    children = {}
    for pid, (_, parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    roots = [pid for pid in children.get(own, []) if pid not in _tools]
    roots += [pid for pid, (_, _, of) in table.items() if of == first]
    found, todo = set(), roots
    while todo:
        pid = todo.pop()
        if pid not in found and pid != own and pid not in _tools:
            found.add(pid)
            todo += children.get(pid, [])
    return {pid for pid in found if table[pid][0] not in "ZX"}


def kill_all(first, patience_s=5.0):
    """SIGKILL to a whole server. Those that fork while they are killed are found in the next look. Returns what is left."""
    deadline = time.monotonic() + patience_s
    while True:
        if first:
            kill_group(first)
        left = servers_processes(first)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        reap()
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.01)


def reap():
    """Takes the status of dead orphans; of children that are a Popen the Popen takes it."""
    for pid, (state, parent, _) in _all().items():
        if parent == os.getpid() and state == "Z" and pid not in _tools and pid not in _first:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def is_first(pid):
    _first.add(pid)


def is_reaped(pid):
    _first.discard(pid)


def memory_bytes(pids):
    """Memory of their own, without files and programs that are mapped; what a fork shares with its parent counts for each."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(("RssAnon:", "RssShmem:")):
                total += 1024 * int(line.split()[1])
    return total


def threads(pids):
    total = 0
    for pid in pids:
        try:
            total += len(os.listdir(f"/proc/{pid}/task"))
        except OSError:
            continue
    return total


def folder_bytes(folder):
    """What its files occupy on the disk."""
    total = 0
    for path, _, names in os.walk(folder, onerror=lambda _: None):
        for name in names:
            try:
                total += 512 * os.lstat(os.path.join(path, name)).st_blocks
            except OSError:
                continue
    return total


def _states(port):
    """Of all sockets whose own port it is."""
    wanted = f"{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[1].rpartition(":")[2] == wanted:
                yield fields[3]


def is_listening(port):
    """Without a connection: some servers take the first one for a client that says nothing, and wait for it."""
    return LISTENING in _states(port)


def is_held(port):
    """By the kernel, for connections that a server left: only with SO_REUSEADDR can another take it."""
    return any(state != LISTENING for state in _states(port))
