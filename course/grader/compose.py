"""A docker compose project that is graded. Its limits of memory and processes are those of its
compose file, and it is in no sandbox."""

import os
import re
import subprocess
import time

import processes
from dialogue import FIRST_REPLY_S, Dialogue, NoReply, Style, an_account
from server import CommandServer, NotStarted, cpu_list, environment, tail_of
from submissions import COURSE_PORT

CONTAINER_PORT = COURSE_PORT
QUICK_S = 60
ENGINE = ["docker", "version", "--format", "{{.Server.Version}}"]


REFUSED = (
    "it is a compose project, which runs outside of the sandbox with the rights of the Docker "
    "engine: --compose-projects allow grades it"
)


def refuse(every, named):
    """Those that chose this themselves; the folders in `named` are on the command line of the
    grader."""
    named = {folder.resolve() for folder in named}
    for one in every:
        if one.is_compose and one.folder not in named:
            one.problem = one.problem or REFUSED


def why_no_engine():
    """Empty if there is a docker engine with compose."""
    for command in (ENGINE, ["docker", "compose", "version"]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=QUICK_S)
        except OSError:
            return "there is no docker on this machine"
        except subprocess.TimeoutExpired:
            return f"{' '.join(command)} gave no answer"
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            return f"docker cannot be used: {said[-1] if said else 'it gave no reason'}"
    return ""


class ComposeServer:
    """As server.CommandServer."""

    def __init__(self, submission, limits, work, cpus=()):
        self.submission, self.limits, self.cpus = submission, limits, tuple(cpus)
        self.log, self.events, self.peak_bytes = work / "server.log", [], 0
        self.project = f"grade-{submission.slug}-{os.getpid()}"
        self.port = self.began = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def _docker(self, *arguments, limit_s=QUICK_S):
        """(status, stdout)"""
        with open(self.log, "ab") as log, processes.Tool(
            ["docker", *arguments],
            cwd=self.submission.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            errors="replace",
        ) as run:
            try:
                output, _ = run.communicate(timeout=limit_s)
                return run.returncode, output
            except subprocess.TimeoutExpired:
                return None, ""

    def _compose(self, *arguments, limit_s=QUICK_S):
        return self._docker("compose", "-p", self.project, *arguments, limit_s=limit_s)

    def start(self):
        try:
            status, _ = self._compose("up", "-d", limit_s=self.limits.build_s)
            if status != 0:
                raise NotStarted("docker compose up -d failed")
            self.port = self._published_port()
            self._pin()
            self._await_reply()
        except BaseException:
            self.stop()
            raise

    def _published_port(self):
        _, services = self._compose("config", "--services")
        for service in services.split():
            status, place = self._compose("port", service, str(CONTAINER_PORT))
            if status == 0 and (found := re.search(r":(\d+)\s*$", place)) and int(found[1]):
                return int(found[1])
        if "network_mode: host" in self._compose("config")[1]:
            return CONTAINER_PORT  # of the machine too
        raise NotStarted(f"no service of the compose file publishes its port {CONTAINER_PORT}")

    def _pin(self):
        if self.cpus:
            _, containers = self._compose("ps", "-q")
            if containers.split():
                places = ["--cpuset-cpus", cpu_list(self.cpus)]
                self._docker("update", *places, *containers.split())

    def _await_reply(self):
        """Docker itself listens on the port before the server does."""
        deadline = time.monotonic() + self.limits.start_s
        while True:
            try:
                with Dialogue(self.port, Style(newline=True), FIRST_REPLY_S) as dialogue:
                    dialogue.ask(an_account())
                return
            except NoReply as error:
                if time.monotonic() > deadline:
                    reason = f"no reply within {self.limits.start_s:g} s: {error}"
                    raise NotStarted(reason) from None
                time.sleep(0.2)

    def alive(self):
        return bool(self._compose("ps", "-q", "--status", "running")[1].split())

    def kill(self):
        """kill -9 of all containers, those of a database too; volumes stay."""
        self._compose("kill")

    def restart(self):
        self.kill()
        try:
            self.start_again()
            return True
        except NotStarted:
            return False

    def start_again(self):
        status, _ = self._compose("up", "-d", limit_s=self.limits.build_s)
        if status != 0:
            raise NotStarted("docker compose up -d failed after the kill")
        self.port = self._published_port()

    def stop(self):
        with open(self.log, "a") as log:
            log.write(self._compose("logs", "--no-color", "--tail", "50")[1])
        self._compose("down", "-v", "--remove-orphans", "-t", "2", limit_s=120)

    def tail(self):
        with open(self.log, "a") as log:
            log.write(self._compose("logs", "--no-color", "--tail", "12")[1])
        return tail_of(self.log)


def server_for(submission, *arguments):
    kind = ComposeServer if submission.is_compose else CommandServer
    return kind(submission, *arguments)
