"""The parts of a grading. Each starts the server with empty data, does its work, and returns what
it found as JSON."""

import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import compose
import durability as durability_part
import figures
import plan
import processes
import sandbox
from dialogue import FIRST_REPLY_S, Dialogue, NoReply, Style, an_account
from durability import HOPELESS, is_hopeless
from server import NotStarted, owner, tail_of

# The conformance test runs this: it asks the grader to start the server again, and waits until it
# is there.
RESTART = """
import socket, sys
with socket.socket(socket.AF_UNIX) as grader:
    grader.connect(sys.argv[1])
    grader.settimeout(600)
    sys.exit(0 if grader.recv(16) == b"ok" else 1)
"""
AUDIT_CASH = "1000000000"  # of an account, whole: also a server with 32 bits for it can pass
GRACE_S = 30  # for a program that was asked to end, or that has still to audit
# Until the conformance test has noticed in each of its clients that the server is gone.
WITHOUT_SERVER_S = 90
TOOL_BYTES_MAX = 4 << 30
TEXT_MAX = 4000  # of a quoted message
FINDINGS_MAX = 10
RESTARTS_MAX = 60


@dataclass
class Context:
    """What all parts of one submission share."""

    submission: object
    settings: object
    limits: object
    bin: Path
    folder: Path  # for logs and data
    clients: tuple  # of the audit
    style: Style = Style()
    say: object = lambda what: None
    deadline: float = 0.0

    def server(self, cpus=()):
        cpus = cpus or (plan.usable_cpus(self.limits.cpus) if self.limits.cpus else ())
        return compose.server_for(self.submission, self.limits, self.folder, cpus)

    @contextmanager
    def warm_server(self, cpus=()):
        """A server that has had the time for its first reply. Raises NotStarted if none came."""
        with self.server(cpus) as server:
            try:
                with Dialogue(server.port, self.style, FIRST_REPLY_S) as dialogue:
                    dialogue.ask(an_account())
            except NoReply as error:
                if not error.came:  # what came may be a reply all the same to the load generator
                    how = f"it gave no reply to a first request ({error})"
                    raise NotStarted(how) from None
            yield server

    def seconds_left(self):
        return self.deadline - time.monotonic()


def run(part, context):
    """Raises NotStarted if the server does not start even once."""
    began = time.monotonic()
    context.deadline = began + context.limits.part_s
    result = PARTS[part](context)
    result["seconds"] = round(time.monotonic() - began, 1)
    return result


def clipped(value):
    """Texts of a server are as long as it likes, and may be no valid Unicode."""
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode()
        return value if len(value) <= TEXT_MAX else value[:TEXT_MAX] + " …"
    if isinstance(value, list):
        return [clipped(one) for one in value]
    if isinstance(value, dict):
        return {clipped(key): clipped(one) for key, one in value.items()}
    return value


def read_json(file):
    try:
        return clipped(json.loads(Path(file).read_text(errors="replace")))
    except (OSError, ValueError):
        return None


def about(server):
    """What became of a server, for its page."""
    found = {"events": list(server.events), "peak_bytes": server.peak_bytes}
    if not server.alive():
        found["last_lines"] = server.tail()
    return found


def conformance(context):
    chosen = context.settings
    with folder_of_tools(context) as folder, context.server() as server:
        report, path = Path(folder) / "report.json", f"{folder}/restart"
        restart = shlex.join([sys.executable, "-c", RESTART, path])
        command = [str(context.bin / "conformance"), f"127.0.0.1:{server.port}"]
        command += ["--json", str(report), "--restart", restart, "--seed", str(chosen.seed)]
        command += ["--timeout", f"{chosen.conformance_timeout_s:g}"]
        command += ["--rounds", str(chosen.conformance_rounds)]
        context.say("rules")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            command = bounded(context, command, [folder, path], [sys.executable])
            status, log = _serve_restarts(command, listener, server, context)
        found = read_json(report)
        late = context.seconds_left() <= 0
        if not isinstance(found, dict) or not isinstance(found.get("rules"), list):
            reason = "it ran out of time" if late else f"it ended with {status}: {tail_of(log)}"
            return {"problem": f"the conformance test gave no result: {reason}", **about(server)}
        names = ("program", "style", "stopped", "restarts", "points", "points_max", "score")
        result = {name: found.get(name) for name in names} | about(server)
        result["problem"] = "out of time: the rules behind are not tested" if late else ""
        if errors := found.get("test_errors"):  # its own: they cost no points
            result["problem"] = f"the conformance test failed in a case: {errors[0]}"
        result["score"] = float(result["score"] or 0)
        return {**result, "rules": found["rules"], "form": found.get("form", [])}


def _serve_restarts(command, listener, server, context):
    """Runs the conformance test, and starts the server again when it asks for it. Out of time, the
    server is ended: the test then finds nothing there and writes what it has."""
    log, restarts, gone_since = context.folder / "conformance.log", 0, None
    with open(log, "wb") as output, processes.Tool(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
    ) as test:
        while test.poll() is None:
            if context.seconds_left() <= 0 and gone_since is None:
                server.stop()
                gone_since = time.monotonic()
            if gone_since and time.monotonic() - gone_since > WITHOUT_SERVER_S:
                break
            if select.select([listener], [], [], 0.05)[0]:
                asking = listener.accept()[0]
                with asking:
                    restarts += 1
                    allowed = gone_since is None and restarts <= RESTARTS_MAX
                    answer = b"ok" if allowed and server.restart() else b"no"
                    try:
                        asking.sendall(answer)
                    except OSError:
                        pass  # the test was ended
    return test.returncode, log


@contextmanager
def folder_of_tools(context):
    """A temporary folder for bounded(). That of TMPDIR may be in a folder that only root may
    enter."""
    uid = owner(context.limits)
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        if not uid or _is_lent(uid, folder):
            yield folder
            return
    with tempfile.TemporaryDirectory(prefix="grade-", dir="/tmp") as folder:
        yield folder


def _is_lent(uid, file):
    """Makes it that user's. Returns whether that user can write to it."""
    os.chown(file, uid, uid)
    return sandbox.may_write(uid, file)


def bounded(context, command, files, programs=()):
    """A program that reads what a server sends: replies without end must not take the memory of the
    machine, and the program has no more rights than the server. `files`: what it writes to;
    `programs`: that it starts."""
    uid = owner(context.limits)
    words = sandbox.as_user(uid, command[0], *programs) if uid else []
    if words and not all(_is_lent(uid, file) for file in files):
        words = []
    return [*words, "prlimit", processes.limit("data", TOOL_BYTES_MAX), "--", *command]


def loadgen(context, server, arguments):
    """(status, report or None, last words)"""
    command = [str(context.bin / "loadgen"), "--connect", f"127.0.0.1:{server.port}"]
    command += ["--seed", str(context.settings.seed), *arguments]
    command += ["--timeout", f"{context.settings.reply_timeout_s:g}"]
    command += ["--reply-check", "lenient"]
    if context.style.per_request:
        command += ["--connection", "per-request"]
    with folder_of_tools(context) as folder:
        report = Path(folder) / "report.json"
        log = context.folder / "loadgen.log"
        command = bounded(context, [*command, "--json", str(report)], [folder])
        with open(log, "wb") as output, processes.Tool(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        ) as process:
            status = _wait(process, max(1.0, context.seconds_left()))
        words = "".join(tail_of(log).splitlines()[-1:])
        if status and "bad_alloc" in words:
            words = f"its replies took more than {TOOL_BYTES_MAX >> 30} GB in the load generator"
        return status, read_json(report), words


def _wait(process, limit_s):
    """Out of time it is interrupted: it then reports what it has."""
    for number, patience_s in ((signal.SIGINT, limit_s), (signal.SIGKILL, GRACE_S)):
        try:
            return process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
    return process.wait()


def measured(report):
    """What is kept of a report of the load generator."""
    result = report["result"]
    return {
        "answered": result["answered"],
        "rate": round(result["requests_per_s"], 1),
        "ms": {name: result["response_ms"].get(name) for name in PERCENTILES},
        "errors": {name: count for name, count in result["errors"].items() if count},
        "wrong": result.get("first_wrong_answer") or result.get("first_connect_error") or "",
        "deviations": result.get("deviations", [])[:FINDINGS_MAX],
        "client_was_the_bottleneck": bool(report.get("client_was_the_bottleneck")),
    }


PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "p99_9", "max")
NOT_DRIVEN = "the load generator cannot drive it: it waits for more than a request has (F1)"


def audit(context):
    runs = []
    for clients in context.clients:
        one = {"clients": clients}
        runs.append(one)
        if not context.style.fits_loadgen:
            one["problem"] = NOT_DRIVEN
        elif context.seconds_left() <= 0:
            one["problem"] = "out of time"
        elif is_hopeless(runs[:-1], "answered"):
            one["problem"] = NO_ANSWERS
        else:
            context.say(f"{figures.counted(clients, 'client')}")
            one |= _audit_run(context, clients)
    return {"runs": runs, "problem": ""}


NO_ANSWERS = f"not run: in the {HOPELESS} runs before, not one request was answered"


def load(context, arguments, cpus=(), more=lambda report: {}):
    """A run of the load generator against a fresh server: what was measured and more(report), or
    the problem."""
    try:
        with context.warm_server(cpus) as server:
            status, report, words = loadgen(context, server, arguments)
            if not report:
                return {"problem": words or f"loadgen ended with {status}", **about(server)}
            return {**measured(report), **more(report), **about(server)}
    except NotStarted as error:
        return {"problem": f"it did not start: {error}"}


def _audit_run(context, clients):
    arguments = ["-c", str(clients), "--duration", f"{context.settings.audit_s:g}"]
    arguments += ["--workload", "mix", "--cash", AUDIT_CASH, "--audit"]
    return load(context, arguments, more=audited)


def audited(report):
    """What is kept of the audit of a report."""
    checked = report.get("audit") or {}
    return {
        "passed": bool(checked.get("passed")),
        "orders": checked.get("orders", 0),
        "executions": checked.get("executions", 0),
        "cash_moved": checked.get("cash_moved", ""),
        "not_checked": checked.get("not_checked", ""),
        "findings": checked.get("findings", [])[:FINDINGS_MAX],
    }


def durability(context):
    chosen = context.settings
    settings = {
        "clients": chosen.durability_clients,
        "kills": chosen.kills,
        "load_s": chosen.kill_after_s,
        "seed": chosen.seed,
        "timeout_s": chosen.reply_timeout_s,
    }
    with context.server() as server:
        found = durability_part.run(server, context.style, settings, context.deadline, context.say)
        return clipped(found) | about(server)


def throughput(context):
    """Each trial on a fresh server; those of one round come after each other, then the next
    round."""
    chosen, done = context.settings, []
    skipped = plan.skipped(chosen, context.limits).items()
    result = {"trials": done, "problem": ""}
    result["skipped"] = {str(cores): why for cores, why in skipped}
    if not context.style.fits_loadgen:
        return {**result, "problem": NOT_DRIVEN}
    for nth, kind, cores in plan.trials(chosen, context.limits):
        if context.seconds_left() <= 0:
            result["problem"] = f"out of time after {figures.counted(len(done), 'trial')}"
            break
        if is_hopeless(done, "answered"):
            result["problem"] = f"{NO_ANSWERS}: {done[-1].get('problem') or done[-1].get('wrong')}"
            break
        context.say(plan.trial_name(kind, cores, nth, chosen))
        done.append({"kind": kind, "cores": cores, **_trial(context, kind, cores)})
    return result


def _trial(context, kind, cores):
    """The server on the first cores, the load generator on the others where there are any."""
    chosen, cpus = context.settings, sorted(os.sched_getaffinity(0))
    own, rest = cpus[:cores], cpus[cores:]
    arguments = ["-c", str(chosen.throughput_clients), "--workload", kind]
    arguments += ["--duration", f"{chosen.throughput_s:g}", "--warmup", f"{chosen.warmup_s:g}s"]
    arguments += ["--client-cpus", ",".join(map(str, rest or cpus))]
    return {**load(context, arguments, own), "shares_cpus": not rest}


PARTS = {
    "conformance": conformance,
    "audit": audit,
    "durability": durability,
    "throughput": throughput,
}
