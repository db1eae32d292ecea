"""A server that is graded, as processes on loopback: start, limits, kill, end."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import processes

WATCH_S = 0.2
LOG_BYTES_MAX = 32 << 20  # then all but the end is dropped
ERROR_LINE = re.compile(
    r"(?i:\b(?:error|fatal|panic|exception|cannot|can't|denied|undefined|not found|no such)\b)"
    r"|(?:Error|Exception)\b"
)
TAIL_BYTES, TAIL_LINES = 8192, 12
END_S = 2  # from SIGTERM to SIGKILL
PORT_BUSY_S = 75  # how long the kernel may keep a port whose server closed its connections
PORT_SURELY_FREE_S = 5
BUSY = "after it had died it could not take its port for a while: it does not set SO_REUSEADDR"


class NotStarted(Exception):
    """One sentence; the end of the log is asked for separately."""


@dataclass(frozen=True)
class Limits:
    start_s: float = 30  # until it listens
    build_s: float = 600
    part_s: float = 600
    memory_bytes: int = 2 << 30
    disk_bytes: int = 4 << 30
    threads: int = 4000
    cpus: int = 0  # 0: all


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def cpu_list(cpus):
    return ",".join(map(str, cpus))


def environment():
    """Without the settings of this project's own server, and without what leads a `cd` of a script astray."""
    kept = os.environ.items()
    return {
        name: value for name, value in kept if not name.startswith("EXCHANGE_") and name != "CDPATH"
    }


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


def first_error(log):
    """The first line of a log that reports an error, without the commands that the grader wrote there; empty if there is none."""
    try:
        with open(log, "rb") as file:
            text = file.read(LOG_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""
    lines = (line.strip()[:400] for line in text.splitlines() if not line.startswith("$ "))
    return next(filter(ERROR_LINE.search, lines), "")


class CommandServer:
    """A command line in a process group of its own. Use as a block: nothing of it runs afterwards, and its data is gone."""

    def __init__(self, submission, limits, work, cpus=()):
        self.submission, self.limits, self.cpus = submission, limits, tuple(cpus)
        self.data, self.log = work / "data", work / "server.log"
        self.port, self.process, self.watch = None, None, None
        self.events = []  # sentences: limits that it broke
        self.peak_bytes = 0
        self.lock = threading.Lock()

    def __enter__(self):
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)

    # What starts, ends and looks at it.

    def start(self, port=None, again=False):
        """Until it listens. On a port that the kernel still holds for the server that was killed, it is tried until that is free."""
        began = time.monotonic()
        self.port = port or self.submission.fixed_port or free_port()
        if processes.is_listening(self.port):
            raise NotStarted(f"another program of this machine listens on its port {self.port}")
        tries = 0
        while True:
            before = len(self.events)  # a limit may be broken at once
            is_held = processes.is_held(self.port)
            try:
                self._launch(again)
                self._await_listening(before)
                if time.monotonic() - began > PORT_SURELY_FREE_S and tries:
                    self.events.append(BUSY)
                return
            except NotStarted:
                ended = self.process is None or not self.alive()
                self.kill()
                if not (ended and is_held and time.monotonic() - began < PORT_BUSY_S):
                    raise
                tries += 1
                time.sleep(0.5)
            except BaseException:
                self.kill()
                raise

    def _launch(self, again):
        template = self.submission.restart if again else ""
        command = (template or self.submission.command).replace("{port}", str(self.port))
        command = command.replace("{data}", shlex.quote(str(self.data)))
        wrapped = ["taskset", "-c", cpu_list(self.cpus)] if self.cpus else []
        # It dies with the grader, and leaves no core files.
        wrapped += ["prlimit", "--core=0", "setpriv", "--pdeathsig", "KILL", "--"]
        with open(self.log, "ab") as log:
            log.write(f"$ {command}\n".encode())
            log.flush()
            try:
                self.process = subprocess.Popen(
                    [*wrapped, "/bin/sh", "-c", command],
                    cwd=self.submission.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment(),
                    start_new_session=True,
                )
            except OSError as error:
                raise NotStarted(f"it cannot be started: {error}") from None
        processes.is_first(self.process.pid)
        self.watch = threading.Thread(target=self._watch, args=[self.process], daemon=True)
        self.watch.start()

    def _await_listening(self, before):
        deadline = time.monotonic() + self.limits.start_s
        while not processes.is_listening(self.port):
            if not self.alive():
                if self.events[before:]:
                    raise NotStarted(self.events[-1])
                status = self.process.poll()
                how = f"signal {-status}" if status and status < 0 else f"status {status}"
                raise NotStarted(f"it ended with {how} before it listened on its port")
            if time.monotonic() > deadline:
                raise NotStarted(
                    f"it did not listen on port {self.port} within {self.limits.start_s:g} s"
                )
            time.sleep(0.01)

    def alive(self):
        if self.process is None:
            return False
        self.process.poll()
        return bool(processes.servers_processes(self.process.pid))

    def kill(self):
        """kill -9 of all its processes."""
        with self.lock:
            if self.process is None:
                return
            first, self.process = self.process, None
        left = processes.kill_all(first.pid)
        if left:
            self.events.append(f"{len(left)} of its processes could not be killed")
        first.wait()
        processes.is_reaped(first.pid)
        processes.reap()

    def stop(self):
        """SIGTERM, and a kill if that does not end it."""
        if self.process is not None:
            processes.kill_group(self.process.pid, signal.SIGTERM)
            deadline = time.monotonic() + END_S
            while self.alive() and time.monotonic() < deadline:
                time.sleep(0.02)
        self.kill()

    def restart(self):
        """On the same port and the same data. Returns whether it listens."""
        self.kill()
        try:
            self.start(self.port, again=True)
            return True
        except NotStarted:
            return False

    def start_again(self):
        """After a kill, on a port of its own: not every server may take its old port at once. Raises NotStarted."""
        self.start(again=True)

    def tail(self):
        return tail_of(self.log)

    # Limits.

    def _watch(self, process):
        nth = 0
        while True:
            time.sleep(WATCH_S)
            with self.lock:
                if self.process is not process:
                    return
            nth += 1
            broken = self._broken_limit(process.pid, nth)
            if not broken:
                continue
            with self.lock:
                if self.process is not process:
                    return
                self.events.append(f"killed: {broken}")
            processes.kill_all(process.pid)
            return

    def _broken_limit(self, first, nth):
        pids, limits = processes.servers_processes(first), self.limits
        used = processes.memory_bytes(pids)
        self.peak_bytes = max(self.peak_bytes, used)
        if used > limits.memory_bytes:
            return f"it used {used >> 20} MB of memory, the limit is {limits.memory_bytes >> 20} MB"
        if (count := processes.threads(pids)) > limits.threads:
            return f"it had {count} threads and processes, the limit is {limits.threads}"
        if nth % 3 == 0:
            self._shorten_log()
            used = processes.folder_bytes(self.data)
            if used > limits.disk_bytes:
                return f"its data took {used >> 20} MB, the limit is {limits.disk_bytes >> 20} MB"
        return ""

    def _shorten_log(self):
        """The server appends, so its next line stands behind what is left."""
        try:
            if self.log.stat().st_size > LOG_BYTES_MAX:
                kept = self.tail().encode()
                os.truncate(self.log, 0)
                with open(self.log, "ab") as log:
                    log.write(b"(the log was too long; its beginning is gone)\n" + kept + b"\n")
        except OSError:
            pass


def run_command(command, folder, log, limit_s):
    """A shell command to its end, such as a build. Returns its status, or None if it ran out of time."""
    with open(log, "ab") as file:
        file.write(f"$ {command}\n".encode())
        file.flush()
        options = {"cwd": folder, "stdout": file, "stderr": file, "env": environment()}
        with processes.Tool(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, **options) as run:
            try:
                status = run.wait(limit_s)
            except subprocess.TimeoutExpired:
                status = None
            processes.kill_all(run.pid)  # what it left in the background too
    return status


def work_folder(path):
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    return path
