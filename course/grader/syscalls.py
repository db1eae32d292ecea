"""What the kernel refuses to submissions: system calls, and abstract UNIX sockets.

The filter of system calls is a program of classic BPF for seccomp, as bwrap --seccomp takes it. It
closes what namespaces leave open: kinds of sockets that no network namespace holds (AF_VSOCK),
files that would change the user of those who start them, interfaces that have let submissions out
of other sandboxes, and memory that the grader cannot count.

As a program, syscalls.py COMMAND..., this starts a command that reaches no abstract UNIX socket of
other programs, such as those of a desktop. These sockets belong to the network, which a build may
share with the machine; Landlock holds them back, from Linux 6.12 on."""

import ctypes
import errno
import os
import platform
import struct
import sys

# The number of a system call on x86_64 and on aarch64; None: it is not there.
NUMBERS = {
    "open": (2, None),
    "creat": (85, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
    "clone": (56, 220),
    "clone3": (435, 435),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_secret": (447, 447),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "fanotify_init": (300, 262),
    "syslog": (103, 116),
    "sched_setaffinity": (203, 122),
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
}
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of NUMBERS, AUDIT_ARCH
X32_BIT = 0x40000000  # of system calls with 32-bit pointers, which have numbers of their own

REFUSED = """setns mount umount2 pivot_root open_tree open_tree_attr move_mount fsopen fsconfig
    fsmount fspick mount_setattr open_by_handle_at add_key request_key keyctl bpf perf_event_open
    userfaultfd kexec_load kexec_file_load init_module finit_module delete_module quotactl
    quotactl_fd fanotify_init syslog io_uring_setup io_uring_enter io_uring_register""".split()
# Their arguments are in memory, which a filter cannot read: programs then use the older calls.
NOT_THERE = ("clone3", "openat2", "memfd_secret")

SET_ID_BITS = 0o6000
CREATES = 0x40 | 0x400000  # O_CREAT, __O_TMPFILE
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS and the like
CLONE_NEWTIME = 0x80  # of unshare; the lowest byte of clone is a signal
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, NETLINK_ROUTE = 1, 2, 10, 16, 0
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
RLIMIT_CORE = 4

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER_AT, MACHINE_AT, ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data

CREATE_RULESET, RESTRICT_SELF = 444, 446  # of Landlock, on all architectures
VERSION_FLAG, SCOPED_VERSION = 1, 6
ABSTRACT_UNIX_SOCKET = 1
PR_SET_NO_NEW_PRIVS = 38


def why_not():
    """Empty if there is a filter for this machine."""
    name = platform.machine()
    return "" if name in MACHINES else f"there is no filter of system calls for {name}"


def program(is_pinned=False, machine=None):
    """The filter, as bytes. `is_pinned`: the CPUs of the submission are decided; its own choice has
    no effect, and no error."""
    column, architecture = MACHINES[machine or platform.machine()]
    made = [_step(LOAD, MACHINE_AT), _step(EQUAL, architecture, 1, 0), _fail(errno.ENOSYS)]
    made.append(_step(LOAD, NUMBER_AT))
    if column == 0:
        made += [_step(AT_LEAST, X32_BIT, 0, 1), _fail(errno.ENOSYS)]
    for name, body in _rules(is_pinned):
        number = NUMBERS[name][column]
        if number is not None:
            made += [_step(EQUAL, number, 0, len(body)), *body]
    return b"".join([*made, _step(RETURN, ALLOW)])


def _rules(is_pinned):
    """(system call, steps that end in a return)"""
    for name in REFUSED:
        yield name, [_fail(errno.EPERM)]
    for name in NOT_THERE:
        yield name, [_fail(errno.ENOSYS)]
    for name, nth in {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}.items():
        yield name, _unless_any(nth, SET_ID_BITS)
    for name, nth in {"creat": 1, "mknod": 1, "mknodat": 2}.items():
        yield name, _unless_any(nth, SET_ID_BITS)
    for name, nth in {"open": 1, "openat": 2}.items():  # without O_CREAT the mode has no meaning
        refused = _unless_any(nth + 1, SET_ID_BITS)
        creates = [_low(nth), _step(ANY_BIT, CREATES, 1, 0), _step(RETURN, ALLOW)]
        yield name, [*creates, *refused]
    yield "clone", _unless_any(0, NEW_NAMESPACES)
    yield "unshare", _unless_any(0, NEW_NAMESPACES | CLONE_NEWTIME)
    for name in ("socket", "socketpair"):
        yield name, _only_families()
    # The kernel, too, reads the lower half of the argument alone.
    forbidden = [_step(EQUAL, TIOCSTI, 1, 0), _step(EQUAL, TIOCLINUX, 0, 1), _fail(errno.EPERM)]
    yield "ioctl", [_low(1), *forbidden, _step(RETURN, ALLOW)]
    # 1 byte, as the grader sets it, ends a core dump; 0 would start the program that the machine
    # has for them.
    is_core = [_low(0), _step(EQUAL, RLIMIT_CORE, 1, 0), _step(RETURN, ALLOW), _fail(0)]
    yield "setrlimit", is_core
    reads = [_low(2), _step(EQUAL, 0, 0, 3), _high(2), _step(EQUAL, 0, 0, 1)]
    is_core = [_low(1), _step(EQUAL, RLIMIT_CORE, 1, 0), _step(RETURN, ALLOW)]
    yield "prlimit64", [*is_core, *reads, _step(RETURN, ALLOW), _fail(0)]
    if is_pinned:
        yield "sched_setaffinity", [_fail(0)]


def _only_families():
    allowed = [_low(0)]
    for nth, family in enumerate((AF_UNIX, AF_INET, AF_INET6)):
        allowed.append(_step(EQUAL, family, 6 - nth, 0))
    allowed += [_step(EQUAL, AF_NETLINK, 0, 2), _low(2), _step(EQUAL, NETLINK_ROUTE, 1, 0)]
    return [*allowed, _fail(errno.EAFNOSUPPORT), _step(RETURN, ALLOW)]


def _unless_any(nth, bits):
    """Refused if an argument has any of these bits."""
    return [_low(nth), _step(ANY_BIT, bits, 0, 1), _fail(errno.EPERM), _step(RETURN, ALLOW)]


def _step(code, value, if_so=0, if_not=0):
    """struct sock_filter; jumps count the steps that are left out."""
    return struct.pack("<HBBI", code, if_so, if_not, value)


def _low(nth):
    return _step(LOAD, ARGUMENTS_AT + 8 * nth)


def _high(nth):
    return _step(LOAD, ARGUMENTS_AT + 8 * nth + 4)


def _fail(number):
    """0: it does nothing, and reports success."""
    return _step(RETURN, ERRNO | number)


def landlock_version():
    """Below 1 if the kernel has no Landlock."""
    return _call(CREATE_RULESET, None, 0, VERSION_FLAG)


def restrict():
    """This process, and those that it starts, reach no abstract UNIX socket of others, if the
    kernel can prevent that."""
    if landlock_version() < SCOPED_VERSION:
        return
    attributes = struct.pack("=QQQ", 0, 0, ABSTRACT_UNIX_SOCKET)
    ruleset = _call(CREATE_RULESET, ctypes.c_char_p(attributes), len(attributes), 0)
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call(RESTRICT_SELF, ctypes.c_long(ruleset), 0)


def _call(number, *arguments):
    return ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments)


if __name__ == "__main__":
    restrict()
    os.execvp(sys.argv[1], sys.argv[1:])
