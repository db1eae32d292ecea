"""Processes as /proc shows them: what belongs to a server, what it uses, and its end.

The grader adopts orphans (PR_SET_CHILD_SUBREAPER). A server that forks into the background leaves
its process group, but stays below the grader, where it is found."""

import ctypes
import functools
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
BLOCK_BYTES = 4096  # an empty file, too, takes something of a disk
# The kernel's list of sockets.
NETLINK_SOCK_DIAG, BY_FAMILY, REQUEST_ALL, ANY_STATE = 4, 20, 0x301, 0xFFFFFFFF
SHOW_MEMORY, MEMORY, NLMSG_ERROR, NLMSG_DONE = 0x20, 5, 2, 3
# The limits of a server, all its processes together, and of one of them: they are looked at, and
# each may hold
# buffers of the kernel.
OPEN_FILES_MAX, OPEN_FILES_OF_ONE_MAX = 100_000, 20_000
LISTENING = "0A"  # a state in /proc/net/tcp

_tools = {}  # pid -> Popen: children of the grader that are not part of a server
_first = set()  # pids of servers' first processes: their Popen reaps them


class TooManyFiles(Exception):
    pass


def adopt_orphans():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Tool:
    """A program of the grader's own while the block lasts; it is killed at the end if it still
    runs."""

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


def limit(name, value):
    """An option of prlimit; no higher than what the grader itself is allowed."""
    highest = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
    return f"--{name}={value if highest == resource.RLIM_INFINITY else min(value, highest)}"


def open_files():
    """How many a process may have, as it is set and as it may set it: no more than the grader looks
    at."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES_OF_ONE_MAX
    return [most if one == resource.RLIM_INFINITY else min(one, most) for one in limits]


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _stat(pid):
    """(state, parent, process group) or None if it is gone. Read without detours: the watch does it
    often, beside a measurement."""
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
    """Pids of the server whose first process is `first`: below it, in its process group, or orphans
    that the grader has adopted. Zombies are left out. None: of any server."""
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


def send_signal(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def kill_all(first, patience_s=5.0):
    """SIGKILL to a whole server. Those that fork while they are killed are found in the next look.
    Returns what is left."""
    deadline = time.monotonic() + patience_s
    while True:
        if first:
            kill_group(first)
        left = servers_processes(first)
        send_signal(left, signal.SIGKILL)
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
    """(of their own, shared): without files and programs that are mapped; what a fork shares with
    its parent counts for each."""
    own = shared = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(("RssAnon:", "HugetlbPages:")):
                own += 1024 * int(line.split()[1])
            elif line.startswith("RssShmem:"):
                shared += 1024 * int(line.split()[1])
    return own, shared


def threads(pids):
    total = 0
    for pid in pids:
        try:
            total += len(os.listdir(f"/proc/{pid}/task"))
        except OSError:
            continue
    return total


def shared_files_bytes(first):
    """What its sandbox has in /dev/shm: it takes memory, whether or not a process uses it."""
    try:
        disk = os.statvfs(f"/proc/{_in_sandbox(first)}/root/dev/shm")
    except OSError:
        return 0
    return (disk.f_blocks - disk.f_bfree) * disk.f_frsize


def _in_sandbox(first):
    """A process in the sandbox whose first process is `first`. Raises OSError if there is none
    yet."""
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    if not children:
        raise FileNotFoundError
    return children[0]


def unnamed_files_bytes(pids, disk_device):
    """(memory, disk) that is taken by files without a name, such as those of memfd_create(), as far
    as processes have them open. Raises TooManyFiles."""
    memory, disk, count = {}, {}, 0
    for pid in pids:
        folder = f"/proc/{pid}/fd/"
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        count += len(names)
        if count > OPEN_FILES_MAX:
            raise TooManyFiles
        for name in names:
            try:
                found = os.stat(folder + name)
            except OSError:
                continue
            if found.st_nlink or not stat.S_ISREG(found.st_mode):
                continue
            if found.st_dev == _memory_device():
                memory[found.st_ino] = 512 * found.st_blocks
            elif found.st_dev == disk_device:
                disk[found.st_ino] = 512 * found.st_blocks
    return sum(memory.values()), sum(disk.values())


@functools.cache
def _memory_device():
    descriptor = os.memfd_create("device")
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)


def join(first, kinds):
    """The calling thread sees what namespaces hold of the sandbox whose first process is `first`,
    and no longer what the machine's do. Returns whether it does."""
    try:
        pid = _in_sandbox(first)
        for kind in kinds:
            place = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
            try:
                own = os.stat(f"/proc/thread-self/ns/{kind}").st_ino
                if os.fstat(place).st_ino != own and ctypes.CDLL(None).setns(place, 0):
                    return False
            finally:
                os.close(place)
    except OSError:
        return False
    return True


def message_bytes():
    """Memory of System V's segments, queues and semaphores that the calling thread sees, whether or
    not a process uses it."""
    return sum(
        int(row[column]) * unit
        for table, column, unit in (("shm", "rss", 1), ("msg", "cbytes", 1), ("sem", "nsems", 64))
        for row in _rows(f"/proc/sysvipc/{table}")
    )


def socket_bytes():
    """What is on its way through UNIX sockets, of all that the calling thread sees; 0 where the
    kernel has no list."""
    total = 0
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as kernel:
        wanted = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, ANY_STATE, 0, SHOW_MEMORY, 0, 0)
        head = struct.pack("=IHHII", 16 + len(wanted), BY_FAMILY, REQUEST_ALL, 1, 0)
        kernel.send(head + wanted)
        while True:
            data, at = kernel.recv(1 << 16), 0
            while at < len(data):
                length, kind = struct.unpack_from("=IH", data, at)
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    return total
                total += sum(_queued(data[at + 32 : at + length]))
                at += length + 3 & ~3


def _queued(attributes):
    at = 0
    while at < len(attributes):
        length, kind = struct.unpack_from("=HH", attributes, at)
        if kind == MEMORY:
            yield struct.unpack_from("=3I", attributes, at + 4)[2]
        at += max(4, length + 3 & ~3)


def _rows(file):
    try:
        heads, *lines = [line.split() for line in Path(file).read_text().splitlines()]
    except (OSError, ValueError):
        return []
    return [dict(zip(heads, line)) for line in lines]


def folder_bytes(folder):
    """What its files and folders occupy on the disk. A folder of any depth: none is entered that
    has no path, or that is replaced by a link meanwhile."""
    top = os.path.realpath(folder)
    total, todo = 0, [top]
    while todo:
        path = todo.pop()
        try:
            with _opened(path, top) as entries:
                for entry in entries:
                    total += max(512 * _blocks(entry), BLOCK_BYTES)
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(os.path.join(path, entry.name))
        except OSError:
            continue
    return total


@contextmanager
def _opened(folder, top):
    """Entries of a folder below `top`, also if its rights are meant to prevent it."""
    place = os.open(folder, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = f"/proc/self/fd/{place}"  # this folder, whatever has its path by now
        if not os.path.join(os.readlink(name), "").startswith(os.path.join(top, "")):
            raise PermissionError
        try:
            entries = os.scandir(name)
        except PermissionError:
            os.chmod(name, 0o700)
            entries = os.scandir(name)
        with entries:
            yield entries
    finally:
        os.close(place)


def _blocks(entry):
    try:
        return entry.stat(follow_symlinks=False).st_blocks
    except OSError:  # it is gone meanwhile
        return 0


def _states(port):
    """The states of all sockets that are bound to this port."""
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
    """Without a connection: some servers take the first one for a client that says nothing, and
    wait for it."""
    return LISTENING in _states(port)


def is_held(port):
    """By the kernel, for connections that a server left: only with SO_REUSEADDR can another take
    it."""
    return any(state != LISTENING for state in _states(port))
