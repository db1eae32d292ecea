"""A server that is graded, as processes on loopback: start, limits, kill, end."""

import os
import re
import resource
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import processes
import sandbox
import syscalls
from watch import BYTES_OF_OTHERS, LOG_BYTES_MAX, Log, Watch, tail_of

ERROR_LINE = re.compile(
    r"(?i:\b(?:error|fatal|panic|exception|cannot|can't|denied|undefined|not found|no such)\b)"
    r"|(?:Error|Exception)\b"
)
CORE_BYTES = 1  # 0 would start the program that the machine may have for core dumps
END_S = 2  # from SIGTERM to SIGKILL
PORT_BUSY_S = 75  # how long the kernel may keep a port whose server closed its connections
PORT_SURELY_FREE_S = 5
BUILD_MEMORY_FACTOR = 4  # of a server's limit
BUSY = "after it had died it could not take its port for a while: it does not set SO_REUSEADDR"


class NotStarted(Exception):
    """One sentence; the end of the log is asked for separately."""


class PortTaken(NotStarted):
    """By a program that is not of the submission."""


@dataclass(frozen=True)
class Limits:
    start_s: float = 30  # until it listens
    build_s: float = 600
    part_s: float = 600
    memory_bytes: int = 2 << 30
    disk_bytes: int = 4 << 30
    threads: int = 4000
    cpus: int = 0  # 0: all
    sandbox: bool = False
    readable: tuple = ()  # folders and files that all submissions see in the sandbox
    build_network: bool = False  # a build in the sandbox has the network of the machine


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def cpu_list(cpus):
    return ",".join(map(str, cpus))


def environment(in_sandbox=False, has_network=False):
    """Without the settings of this project's own server, and without what leads a `cd` of a script
    astray."""
    kept = sandbox.environment(os.environ, has_network) if in_sandbox else os.environ
    return {
        name: value
        for name, value in kept.items()
        if not name.startswith("EXCHANGE_") and name != "CDPATH"
    }


def owner(limits):
    """The user that gets the files of a submission, and that what reads its replies runs as; None:
    that of the grader."""
    return sandbox.user() if limits.sandbox else None


def core_limit():
    """An option of prlimit. A grader that may not raise a limit of 0 leaves it."""
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    if limits[1] == 0:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (limits[0], CORE_BYTES))
    return processes.limit("core", CORE_BYTES)


def protected(command, submission, work, limits, is_build=False, is_pinned=False):
    """A shell command of a submission as a list of words: in a sandbox if there is one. It dies
    with the grader, leaves no core files, and is the first to go if the machine is out of memory.
    """
    file_limit = processes.limit("fsize", limits.disk_bytes + BYTES_OF_OTHERS)
    made = ["choom", "-n", "1000", "--", "prlimit", core_limit(), file_limit]
    made.append(f"--nofile={':'.join(map(str, processes.open_files()))}")
    made += ["setpriv", "--pdeathsig", "KILL", "--"]
    if not limits.sandbox:
        return [*made, "/bin/sh", "-c", command]
    readable = [Path(os.path.abspath(path)) for path in limits.readable]
    if not submission.top:  # from the command line of the grader
        named = sandbox.named_files(command, submission.folder)
        readable += [path for path in named if not path.is_relative_to(work)]  # its data
    has_network = limits.build_network or not is_build
    if is_build and has_network:
        made += [sys.executable, syscalls.__file__]
    return made + sandbox.wrapped(
        command,
        submission.top or submission.folder,
        work,
        is_own=bool(submission.top),
        readable=readable,
        threads=limits.threads,
        has_network=has_network,
        output=work.parent,
        is_build=is_build,
        is_pinned=is_pinned,
    )


def first_error(log):
    """The first line of a log that reports an error, without the commands that the grader wrote
    there; empty if there is none."""
    try:
        with open(log, "rb") as file:
            text = file.read(LOG_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""
    lines = (line.strip()[:400] for line in text.splitlines() if not line.startswith("$ "))
    return next(filter(ERROR_LINE.search, lines), "")


class CommandServer:
    """A command line in a process group of its own. Use as a block: nothing of it runs afterwards,
    and its data is gone."""

    def __init__(self, submission, limits, work, cpus=()):
        self.submission, self.limits, self.cpus = submission, limits, tuple(cpus)
        self.work, self.data, self.log = work, work / "data", work / "server.log"
        self.port, self.process, self.watches, self.output = None, None, [], None
        self.events = []  # sentences: limits that it broke
        self.lock = threading.Lock()

    @property
    def peak_bytes(self):
        return max((watch.peak_bytes for watch in self.watches), default=0)

    def __enter__(self):
        self._discard()
        sandbox.make_private(self.work, owner(self.limits))
        try:
            self.start()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        self._discard()

    def _discard(self):
        for folder in (self.data, self.work / "tmp"):
            sandbox.remove(folder)

    # What starts, ends and looks at it.

    def start(self, port=None, again=False):
        """Until it listens. On a port that the kernel still holds for the server that was killed,
        it is tried until that is free."""
        began = time.monotonic()
        self.port = port or self.submission.fixed_port or free_port()
        if processes.is_listening(self.port):
            raise PortTaken(f"another program of this machine listens on its port {self.port}")
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
        is_pinned = bool(self.cpus)
        wrapped += protected(command, self.submission, self.work, self.limits, is_pinned=is_pinned)
        self.output = begun_log(self.log, command)
        try:
            self.process = subprocess.Popen(
                wrapped,
                cwd=self.submission.folder,
                stdin=subprocess.DEVNULL,
                stdout=self.output.input,
                stderr=self.output.input,
                env=environment(self.limits.sandbox),
                start_new_session=True,
            )
        except OSError as error:
            raise NotStarted(f"it cannot be started: {error}") from None
        finally:
            os.close(self.output.input)
        processes.is_first(self.process.pid)
        process, folders = self.process, [self.data, self.work / "tmp", self.work / "home"]
        may_kill = lambda why: self._may_kill(process, why)
        self.watches.append(Watch(process.pid, self.limits, folders, self.log, may_kill))

    def _may_kill(self, process, why):
        with self.lock:
            if self.process is not process:
                return False
            self.events.append(why)
            return True

    def _await_listening(self, before):
        deadline = time.monotonic() + self.limits.start_s
        while not processes.is_listening(self.port):
            if not self.alive():
                if self.events[before:]:
                    raise NotStarted(self.events[-1])
                status = self.process.poll()
                how = f"signal {signal_of(status)}" if signal_of(status) else f"status {status}"
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
        self.watches[-1].end()
        left = processes.kill_all(first.pid)
        self.output.end()
        if left:
            self.events.append(f"{len(left)} of its processes could not be killed")
        first.wait()
        processes.is_reaped(first.pid)
        processes.reap()

    def stop(self):
        """SIGTERM, and a kill if that does not end it."""
        if self.process is not None:
            pids = processes.servers_processes(self.process.pid)
            # bwrap itself would end at once, and the server with it.
            pids -= {self.process.pid} if self.limits.sandbox else set()
            processes.send_signal(pids, signal.SIGTERM)
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
        """After a kill, on a port of its own: not every server may take its old port at once.
        Raises NotStarted."""
        self.start(again=True)

    def tail(self):
        if self.output and not self.alive():
            self.output.end()
        return tail_of(self.log)


def begun_log(file, command):
    """A log that begins with this command."""
    with open(file, "ab") as log:
        log.write(f"$ {command}\n".encode())
    return Log(file)


def signal_of(status):
    """The signal that ended a process; a shell and bwrap give it as a status. 0: none."""
    return -status if status < 0 else status - 128 if 128 < status <= 128 + signal.NSIG else 0


def run_build(submission, work, log, limits):
    """To its end. Returns how it failed; empty if it did not."""
    killed = []
    sandbox.make_private(work, owner(limits))
    limits = replace(limits, memory_bytes=BUILD_MEMORY_FACTOR * limits.memory_bytes)
    words = protected(submission.build, submission, work, limits, is_build=True)
    output = begun_log(log, submission.build)
    options = {"stdin": subprocess.DEVNULL, "stdout": output.input, "stderr": output.input}
    options |= {"cwd": submission.folder}
    options |= {"env": environment(limits.sandbox, limits.build_network)}
    with processes.Tool(words, **options) as run:
        os.close(output.input)
        folders, may_kill = [work / "tmp", work / "home"], lambda why: not killed.append(why)
        watch = Watch(run.pid, limits, folders, log, may_kill, limits.build_network)
        try:
            status = run.wait(limits.build_s)
        except subprocess.TimeoutExpired:
            killed.append(f"took more than {limits.build_s:g} s")
        watch.end()
        processes.kill_all(run.pid)  # what it left in the background too
    output.end()
    if killed:
        return killed[0].replace("killed:", "was killed:")
    return f"ended with {status}" if status else ""
