"""The load generator against a server that runs already, and programs that are watched while they
load one."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from exchange_server import LOADGEN


class LoadError(RuntimeError):
    pass


def under_load(port, server_pid, options, during=lambda load_pid: None, after_s=0):
    """The report of the load generator, and what during(its pid) returned, which is called after_s
    after its start."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [LOADGEN, "--connect", f"127.0.0.1:{port}", "--server-pid", server_pid]
        command += ["--json", report, *options]
        load = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            time.sleep(after_s)
            seen = during(load.pid)
        finally:
            errors = load.communicate()[1]
        if load.returncode != 0:
            raise LoadError(f"the load generator ended with {load.returncode}: {errors.strip()}")
        return json.loads(report.read_text()), seen


class Watch(threading.Thread):
    """Samples while a program runs: take() returns a sample, or None if there is none."""

    def __init__(self, interval_s):
        super().__init__(daemon=True)
        self.interval_s, self.samples = interval_s, []
        self.ended, self.failure = threading.Event(), None

    def run(self):
        try:
            while not self.ended.wait(self.interval_s):
                sample = self.take()
                if sample is not None:
                    self.samples.append(sample)
        except Exception as error:  # for those who read the samples
            self.failure = error

    def finish(self):
        self.ended.set()
        self.join()


def run_session(command, log, limit_s, watch_of, environment=None):
    """Runs the command in a session of its own (Ctrl-C reaches only this program, which then ends
    the session in order), its stderr in the file `log`. Returns its exit code, None if it did not
    end in time, and the watch that watch_of(its pid) made.
    """
    with open(log, "w") as file:
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.DEVNULL,
            stderr=file,
            env=environment,
            start_new_session=True,
        )
        watch = watch_of(process.pid)
        watch.start()
        try:
            return process.wait(limit_s), watch
        except subprocess.TimeoutExpired:
            return None, watch
        finally:
            watch.finish()
            end(process)


def end(process):
    """The whole session: workers and private servers too. SIGINT lets them end in order."""
    for number, patience_s in ((signal.SIGINT, 15), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
            process.wait(patience_s)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def thread_cpu(pid):
    """{(thread id, name): CPU seconds} of a process."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            found[int(task.name), name] = int((task / "schedstat").read_text().split()[0]) / 1e9
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
    return found
