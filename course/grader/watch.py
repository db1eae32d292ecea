"""Looks at a server, or at a build, while it runs: what it uses, and whether that exceeds a limit.
"""

import os
import select
import threading
from pathlib import Path

import processes

WATCH_S = 0.2
LOG_BYTES_MAX = 32 << 20  # then all but the end is dropped
PIPE_BYTES, PIPE_BYTES_MAX = 1 << 16, 1 << 20  # read at once; in a pipe at most
TAIL_BYTES, TAIL_LINES = 8192, 12
BYTES_OF_OTHERS = (
    1 << 30
)  # of the disk, or of files in memory, that other programs of the machine may write meanwhile
LOOK_AGAIN_BYTES = 16 << 20  # of files in memory
MEMORY_SHARE_LEFT = 20  # 1/20 of the machine's memory must be free

at_once = 1  # submissions that are graded on this machine


def tail_of(log):
    """The last lines of a log, for people."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    lines = [line[:400] for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-TAIL_LINES:])


class Log(threading.Thread):
    """Writes what comes through a pipe to the end of a file, which its sender thus can neither read
    nor change. `input`: the pipe's end for the sender; the caller closes it once the sender has
    it."""

    def __init__(self, file):
        super().__init__(daemon=True)
        self.file, self.over = file, threading.Event()
        self.reader, self.input = os.pipe()
        self.start()

    def end(self):
        """What the sender has written is in the file. A sender that still runs is not waited
        for."""
        self.over.set()
        self.join()

    def run(self):
        size, left = os.stat(self.file).st_size, PIPE_BYTES_MAX
        with open(self.reader, "rb", buffering=0) as pipe, open(self.file, "ab", 0) as log:
            while True:
                is_over = self.over.is_set()
                if not select.select([pipe], [], [], 0 if is_over else WATCH_S)[0]:
                    if is_over:
                        return
                    continue
                if not (data := pipe.read(PIPE_BYTES)) or left <= 0:
                    return
                left -= len(data) if is_over else 0
                try:
                    size = self._write(log, data, size)
                except OSError:
                    pass  # the disk is full: the sender must not wait for that

    def _write(self, log, data, size):
        """Returns how long the file is then."""
        log.write(data)
        if size + len(data) <= LOG_BYTES_MAX:
            return size + len(data)
        kept = tail_of(self.file).encode()
        os.truncate(self.file, 0)
        log.write(b"(the log was too long; its beginning is gone)\n" + kept + b"\n")
        return len(kept)


class Watch(threading.Thread):
    """Kills all processes of `first` when they exceed a limit. `may_kill(why)` is asked before, and
    gets the reason. `folders`: those that count for the limit of the disk. `has_network`: it has
    that of the machine."""

    def __init__(self, first, limits, folders, log, may_kill, has_network=False):
        super().__init__(daemon=True)
        self.first, self.limits, self.folders, self.log = first, limits, folders, log
        self.may_kill = may_kill
        self.peak_bytes = 0
        self.free_bytes = _free_bytes(log)
        self.kinds = ("ipc",) if has_network else ("ipc", "net")
        self.has_joined = False
        self.unnamed = (0, 0)  # bytes of memory and disk, as last seen
        self.in_sockets = 0
        self.memory_files = self.memory_files_then = machine_memory()[2]
        self.over = threading.Event()
        self.start()

    def end(self):
        """What starts afterwards below the grader, such as the removal of its data, is not killed
        as a part of the server."""
        self.over.set()
        self.join()

    def run(self):
        nth = 0
        while not self.over.wait(WATCH_S):
            nth += 1
            try:
                broken = self._broken_limit(nth)
            except processes.TooManyFiles:
                most = processes.OPEN_FILES_MAX
                broken = f"it had more than {most} files and connections open, which is the limit"
            except Exception as error:  # noqa: BLE001
                broken = f"what it uses could not be seen: {error!r}"
            if broken:
                if self.may_kill(f"killed: {broken}"):
                    processes.kill_all(self.first)
                return

    def _broken_limit(self, nth):
        pids, limits = processes.servers_processes(self.first), self.limits
        if (count := processes.threads(pids)) > limits.threads:
            return f"it had {count} threads and processes, the limit is {limits.threads}"
        _, left, memory_files = memory = machine_memory()
        if nth % 5 == 1 or memory_files > self.memory_files + LOOK_AGAIN_BYTES:
            self.memory_files = memory_files
            device = os.stat(self.log).st_dev
            self.unnamed = processes.unnamed_files_bytes(pids, device)
            if self.has_joined and "net" in self.kinds:
                self.in_sockets = processes.socket_bytes()
        used = self._memory_bytes(pids)
        self.peak_bytes = max(self.peak_bytes, used)
        if used > limits.memory_bytes:
            return f"it used {used >> 20} MB of memory, the limit is {limits.memory_bytes >> 20} MB"
        if left < memory[0] // MEMORY_SHARE_LEFT:
            return f"the machine had only {left >> 20} MB of memory left"
        # Also what is in no data, or where no look reaches, such as files on their way from a
        # process to another.
        if taken := _above(memory_files - self.memory_files_then, limits.memory_bytes):
            limit = limits.memory_bytes >> 20
            return f"files in the machine's memory grew by {taken} MB, the limit is {limit} MB"
        if taken := _above(self.free_bytes - _free_bytes(self.log), limits.disk_bytes):
            return f"the disk lost {taken} MB, the limit is {limits.disk_bytes >> 20} MB"
        if nth % 3 == 0:
            used = sum(map(processes.folder_bytes, self.folders)) + self.unnamed[1]
            if used > limits.disk_bytes:
                return f"its data took {used >> 20} MB, the limit is {limits.disk_bytes >> 20} MB"
        return ""

    def _memory_bytes(self, pids):
        """Shared memory counts as processes map it or as files have it, the larger of both: most is
        both."""
        own, mapped = processes.memory_bytes(pids)
        in_files = self.unnamed[0]
        if self.limits.sandbox:
            self.has_joined = self.has_joined or processes.join(self.first, self.kinds)
            in_files += processes.message_bytes() if self.has_joined else 0
            in_files += processes.shared_files_bytes(self.first)
        return own + max(mapped, in_files) + self.in_sockets


def _above(taken, limit):
    """In MB, if it is more than a server and others may take; others are programs of the machine,
    and submissions at once."""
    return taken >> 20 if taken > at_once * limit + BYTES_OF_OTHERS else 0


def _free_bytes(file):
    """Free bytes of its disk, as if each file that can still be made had at least one block."""
    disk = os.statvfs(file)
    return min(disk.f_bavail * disk.f_frsize, (disk.f_favail or 1 << 62) * processes.BLOCK_BYTES)


def machine_memory():
    """(all, available, in files without a disk), in bytes"""
    lines = Path("/proc/meminfo").read_text().splitlines()
    sizes = {line.split(":")[0]: 1024 * int(line.split()[1]) for line in lines if " kB" in line}
    total = sizes["MemTotal"]
    return total, sizes.get("MemAvailable", total), sizes.get("Shmem", 0)
