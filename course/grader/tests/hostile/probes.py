"""Tries the doors of a sandbox, one after another: probes.py SOCKET FILE... It prints a line for
each probe, as JSON.

SOCKET is an abstract one that listens outside, a FILE one that only its owner may read. With
PROBES=NAME,NAME it tries these alone."""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import pty
import resource
import signal
import socket
import stat
import sys
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
IS_X86 = platform.machine() == "x86_64"
NUMBERS = {  # on x86_64, and on aarch64
    "mount": (165, 40),
    "fsopen": (430, 430),
    "open_tree": (428, 428),
    "mount_setattr": (442, 442),
    "setns": (308, 268),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "memfd_secret": (447, 447),
    "openat2": (437, 437),
    "fchmodat2": (452, 452),
    "clone": (56, 220),
    "clone3": (435, 435),
}
OF_KERNEL = """mount fsopen open_tree mount_setattr keyctl add_key bpf perf_event_open
    userfaultfd io_uring_setup memfd_secret clone3""".split()
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
TIOCSTI, TIOCLINUX, TIOCSCTTY = 0x5412, 0x541C, 0x540E


def name_of(number):
    return errno.errorcode.get(number, str(number))


def number_of(name):
    return ctypes.c_long(NUMBERS[name][0 if IS_X86 else 1])


def error_of(result):
    """The name of the error of a call that returned this, or ok."""
    return "ok" if result >= 0 else name_of(ctypes.get_errno())


def called(number, *arguments):
    """A system call, without arguments that are not given."""
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return error_of(LIBC.syscall(number, *words, *[ctypes.c_long(0)] * (6 - len(words))))


def tried(work):
    """What work() returns, or the name of its error."""
    try:
        return work()
    except OSError as error:
        return name_of(error.errno)


def in_child(work):
    """What work() returns as a text, in a process that may not come back."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, str(tried(work)).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader) as file:
        return file.read()


def kernel_files_that_can_be_written():
    found = []
    for top in ("/proc", "/sys"):
        for path, folders, names in os.walk(top):
            if path == "/proc":
                folders[:] = [name for name in folders if not name.isdigit()]
            for name in names:
                file = os.path.join(path, name)
                try:
                    os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))
                    found.append(file)
                except OSError:
                    pass
    return found


def core_pattern():
    """Writes what is there."""
    with open("/proc/sys/kernel/core_pattern") as file:
        text = file.read()
    with open("/proc/sys/kernel/core_pattern", "w") as file:
        file.write(text)
    return "written"


def places_that_can_be_written():
    """Outside of what is the submission's own."""
    own = {os.getcwd(), "/tmp", "/proc", "/dev/shm", "/dev/pts", os.environ["HOME"]}
    found = []
    for path, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(path, name) not in own]
        for one in [path, *(os.path.join(path, name) for name in names)]:
            if os.access(one, os.W_OK, follow_symlinks=False) and not is_device(one):
                found.append(one)
    return found


def is_device(path):
    """A link is not looked at, nor what is gone meanwhile."""
    mode = os.lstat(path).st_mode if os.path.lexists(path) else stat.S_IFLNK
    return stat.S_ISCHR(mode) or stat.S_ISLNK(mode)


def identity():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    names = ("CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
    found = {name: int(lines[name], 16) for name in names}
    return {**found, "uid": os.getuid(), "gid": os.getgid(), "groups": len(os.getgroups())}


def first_process():
    """It is started by the grader, before anything is hidden."""
    lines = dict(line.split(":", 1) for line in open("/proc/1/status"))
    files = tried(lambda: [os.readlink(f"/proc/1/fd/{name}") for name in os.listdir("/proc/1/fd")])
    return {"Seccomp": int(lines["Seccomp"]), "files": files}


def set_id_bits():
    """Each way to a file that changes the user of those who start it."""
    with open("plain", "w") as file:
        file.write("#!/bin/sh\n")
    descriptor, other = os.open("plain", os.O_RDWR), os.open("other", os.O_RDWR | os.O_CREAT, 0o644)

    def mode_after(name, work):
        how = tried(work)
        mode = os.stat(name).st_mode if os.path.exists(name) else 0
        return f"{how}, bits left" if mode & 0o6000 else str(how)

    path = os.fsencode("plain\0")
    return {
        "chmod": mode_after("plain", lambda: os.chmod("plain", 0o4755)),
        "chmod of the group": mode_after("plain", lambda: os.chmod("plain", 0o2755)),
        "fchmod": mode_after("other", lambda: os.fchmod(other, 0o6755)),
        "fchmod of the log": tried(lambda: os.fchmod(1, 0o4777)),
        "fchmodat2": called(number_of("fchmodat2"), -100, ctypes.c_char_p(path), 0o4755, 0),
        "open": mode_after("opened", lambda: os.open("opened", os.O_CREAT | os.O_WRONLY, 0o4755)),
        "mknod": mode_after("made", lambda: os.mknod("made", 0o104755)),
        "openat2": called(
            number_of("openat2"), -100, ctypes.c_char_p(path), ctypes.c_char_p(b"\0" * 24), 24
        ),
        "a plain mode": tried(lambda: os.fchmod(descriptor, 0o755)),
    }


def log():
    return "pipe" if stat.S_ISFIFO(os.fstat(1).st_mode) else "other"


def descriptors():
    """Those that were inherited."""
    names = os.listdir("/proc/self/fd")
    return [name for name in names if int(name) > 2 and os.path.exists(f"/proc/self/fd/{name}")]


def sockets():
    """Families and protocols of sockets that can be made."""
    found = []
    for family in range(64):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            if tried(lambda: socket.socket(family, kind).close()) is None and family not in found:
                found.append(family)
    for protocol in range(1, 32):
        if (
            tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close())
            is None
        ):
            found.append(f"netlink {protocol}")
    return found


def vsock():
    return tried(lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close() or "made")


def abstract_socket(name):
    with socket.socket(socket.AF_UNIX) as one:
        return tried(lambda: one.connect("\0" + name) or "connected")


def namespaces():
    def unshared(kind):
        return in_child(lambda: error_of(LIBC.unshare(kind)))

    def cloned():
        child = LIBC.syscall(
            number_of("clone"), ctypes.c_long(CLONE_NEWUSER | signal.SIGCHLD), *[None] * 4
        )
        if child == 0:
            os._exit(0)
        return error_of(child)

    return {
        "user": unshared(CLONE_NEWUSER),
        "mount": unshared(CLONE_NEWNS),
        "user and network": unshared(CLONE_NEWUSER | CLONE_NEWNET),
        "clone": in_child(cloned),
    }


def own_namespaces():
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")}


def setns():
    return called(number_of("setns"), os.open("/proc/self/ns/net", os.O_RDONLY), 0)


def interfaces():
    """Where there is no argument, one that is let through complains of that."""
    return {name: called(number_of(name)) for name in OF_KERNEL}


def other_numbers():
    """System calls of 32 bits, whose numbers are others."""
    if not IS_X86:
        return {}
    code = b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3"  # getpid of i386, by int 0x80
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    return {
        "i386": in_child(lambda: name_of(-call())),
        "x32": called(ctypes.c_long(0x40000000 | 39)),
    }


def terminal():
    _, slave = pty.openpty()

    def pushed(request):
        return error_of(LIBC.ioctl(slave, ctypes.c_ulong(request), ctypes.c_char_p(b"x")))

    def own():
        os.setsid()
        fcntl.ioctl(slave, TIOCSCTTY, 0)
        # The kernel leaves out the upper half of a request.
        return json.dumps([pushed(one) for one in (TIOCSTI, TIOCSTI | 1 << 32, TIOCLINUX)])

    grader = tried(lambda: os.open("/dev/tty", os.O_RDWR))
    return {"of the grader": grader, "own": json.loads(in_child(own))}


def other_processes():
    """Names of all that are seen, after an attack on the first."""
    if Path("/proc/1/comm").read_text() == "bwrap\n":
        tried(lambda: os.kill(1, signal.SIGKILL))
    numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    return sorted({Path("/proc", number, "comm").read_text().strip() for number in numbers})


def links():
    """To files of others: a name in the own folder, for a file that is elsewhere."""
    return tried(lambda: os.link("/etc/passwd", "passwd") or "linked")


def core_dump():
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    tried(lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    child = os.fork()
    if child == 0:
        os.abort()
    status = os.waitpid(child, 0)[1]
    kept = resource.getrlimit(resource.RLIMIT_CORE) == limits
    return {
        "limit": limits[0],
        "kept": kept,
        "dumped": os.WCOREDUMP(status),
        "files": [name for name in os.listdir(".") if name.startswith("core")],
    }


def results():
    """What is seen of the folder of results, beside the own data."""
    home, found = os.path.dirname(os.environ["RESULTS"]), []
    for path, folders, names in os.walk(home):
        found += [os.path.relpath(os.path.join(path, name), home) for name in (*folders, *names)]
    planted = tried(
        lambda: os.symlink("/etc/passwd", os.path.join(os.environ["RESULTS"], "server.log"))
        or "planted"
    )
    return {"seen": sorted(found), "planted": planted}


def secrets(*files):
    return [tried(lambda: open(file).read() and "read") for file in files]


PROBES = """descriptors identity first_process log set_id_bits sockets vsock namespaces
    own_namespaces setns interfaces other_numbers terminal other_processes links core_dump
    kernel_files_that_can_be_written core_pattern places_that_can_be_written results""".split()


def main():
    outside, *files = sys.argv[1:]
    wanted = os.environ.get("PROBES")
    for name in wanted.split(",") if wanted else PROBES:
        print(json.dumps({name: tried(globals()[name])}), flush=True)
    print(json.dumps({"abstract_socket": tried(lambda: abstract_socket(outside))}), flush=True)
    print(json.dumps({"secrets": secrets(*files)}), flush=True)


if __name__ == "__main__":
    main()
