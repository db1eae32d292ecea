"""Starts a command that reaches no abstract UNIX socket of other programs, such as those of a
desktop: scope.py COMMAND...

These sockets belong to the network, which a build may share with the machine; Landlock holds them
back, from Linux 6.12 on."""

import ctypes
import os
import struct
import sys

CREATE_RULESET, RESTRICT_SELF = 444, 446  # on all architectures
VERSION_FLAG, SCOPED_VERSION = 1, 6
ABSTRACT_UNIX_SOCKET = 1
PR_SET_NO_NEW_PRIVS = 38


def version():
    """The version of Landlock; below 1 if the kernel has no Landlock."""
    return _call(CREATE_RULESET, None, 0, VERSION_FLAG)


def restrict():
    """Returns whether the kernel can."""
    if version() < SCOPED_VERSION:
        return False
    attributes = struct.pack("=QQQ", 0, 0, ABSTRACT_UNIX_SOCKET)
    ruleset = _call(CREATE_RULESET, ctypes.c_char_p(attributes), len(attributes), 0)
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return ruleset >= 0 and _call(RESTRICT_SELF, ctypes.c_long(ruleset), 0) == 0


def _call(number, *arguments):
    return ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments)


if __name__ == "__main__":
    restrict()
    os.execvp(sys.argv[1], sys.argv[1:])
