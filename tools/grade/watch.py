"""Looks at a server, or at a build, while it runs: what it uses, and whether that exceeds a limit."""

import os
import threading
from pathlib import Path

import processes

WATCH_S = 0.2
LOG_BYTES_MAX = 32 << 20  # then all but the end is dropped
TAIL_BYTES, TAIL_LINES = 8192, 12
DISK_BYTES_OF_OTHERS = 1 << 30  # that other programs of the machine may write meanwhile
MEMORY_SHARE_LEFT = 20  # one in so many bytes of the machine's memory must be free


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


class Watch(threading.Thread):
    """Kills all processes of `first` when they exceed a limit. `may_kill(why)` is asked before, and is told the reason.
    `folders`: those that count for the limit of the disk."""

    def __init__(self, first, limits, folders, log, may_kill):
        super().__init__(daemon=True)
        self.first, self.limits, self.folders, self.log = first, limits, folders, log
        self.may_kill = may_kill
        self.peak_bytes = 0
        self.free_bytes = _free_bytes(log)
        self.over = threading.Event()
        self.start()

    def end(self):
        """What starts afterwards below the grader, such as the removal of its data, is not killed as a part of the server."""
        self.over.set()
        self.join()

    def run(self):
        nth = 0
        while not self.over.wait(WATCH_S):
            nth += 1
            try:
                broken = self._broken_limit(nth)
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
        used = processes.memory_bytes(pids)
        if limits.sandbox:
            used += processes.shared_files_bytes(self.first)
        self.peak_bytes = max(self.peak_bytes, used)
        if used > limits.memory_bytes:
            return f"it used {used >> 20} MB of memory, the limit is {limits.memory_bytes >> 20} MB"
        total, left = _machine_memory()
        if left < total // MEMORY_SHARE_LEFT:
            return f"the machine had only {left >> 20} MB of memory left"
        # Also what is not in its data, or where no look reaches.
        taken = self.free_bytes - _free_bytes(self.log)
        if taken > limits.disk_bytes + DISK_BYTES_OF_OTHERS:
            return f"the disk lost {taken >> 20} MB, the limit is {limits.disk_bytes >> 20} MB"
        if nth % 3 == 0:
            self._shorten_log()
            used = sum(map(processes.folder_bytes, self.folders))
            if used > limits.disk_bytes:
                return f"its data took {used >> 20} MB, the limit is {limits.disk_bytes >> 20} MB"
        return ""

    def _shorten_log(self):
        """The server appends, so its next line stands behind what is left."""
        try:
            if self.log.stat().st_size > LOG_BYTES_MAX:
                kept = tail_of(self.log).encode()
                os.truncate(self.log, 0)
                with open(self.log, "ab") as log:
                    log.write(b"(the log was too long; its beginning is gone)\n" + kept + b"\n")
        except OSError:
            pass


def _free_bytes(file):
    """Of its disk, as if each file that can still be made had at least one block."""
    disk = os.statvfs(file)
    return min(disk.f_bavail * disk.f_frsize, (disk.f_favail or 1 << 62) * processes.BLOCK_BYTES)


def _machine_memory():
    """(all, available), in bytes"""
    lines = Path("/proc/meminfo").read_text().splitlines()
    sizes = {line.split(":")[0]: 1024 * int(line.split()[1]) for line in lines[:8]}
    return sizes["MemTotal"], sizes.get("MemAvailable", sizes["MemTotal"])
