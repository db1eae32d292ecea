"""Grades submissions one after another: reuses what an earlier run has found, runs what is missing.
"""

import os
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import apart
import compose
import machine
import parts
import plan
import sandbox
from dialogue import NoReply, Style, find_style, loopback_problem
from results import Results
from server import NotStarted, PortTaken, first_error, run_build, tail_of
from submissions import Submission, fingerprint, windows_scripts

SANDBOX_FAILS = "bwrap: "  # as its last words begin
PROGRAMS = {"conformance": "conformance", "audit": "loadgen", "throughput": "loadgen"}


class MachineFails(Exception):
    """One sentence: no server could be graded here."""


@dataclass
class Grade:
    """What was found of one submission."""

    submission: object
    parts: dict = field(default_factory=dict)
    problem: str = ""  # why it could not be graded at all
    is_ours: bool = False  # the grader or the machine failed: no points, and no 0 either
    last_lines: str = ""
    silent: str = ""  # why it gave no reply to a first request
    style: Style = Style()
    moments: dict = field(default_factory=dict)  # of broken rules, as moments.find() sets them


@dataclass
class Grading:
    """What all submissions share."""

    settings: object
    limits: object
    bin: Path
    output: Path
    weights: dict
    wanted: tuple  # parts
    jobs: int = 1  # submissions at once
    progress: object = None
    fingerprints: dict = field(default_factory=dict)

    @property
    def clients(self):
        return tuple(self.weights["audit"]["clients"])

    def steps(self, submission):
        """The part of the reference is the throughput alone."""
        wanted = ("throughput",) if is_reference(submission) else self.wanted
        for part in wanted:
            for what, seconds in plan.steps_of(part, self.settings, self.limits, self.clients):
                yield (submission.name, part), what, seconds

    def fingerprint(self, *programs):
        """Worked out once."""
        if programs not in self.fingerprints:
            binaries = [self.bin / name for name in programs]
            self.fingerprints[programs] = machine.fingerprint(binaries)
        return self.fingerprints[programs]

    def key(self, submission, part, style):
        """Two results with the same key measured the same."""
        program = PROGRAMS.get(part)
        return {
            "submission": submission.described(),
            "settings": self.settings.of(part),
            "clients": list(self.clients) if part == "audit" else None,
            "limits": vars(self.limits).copy(),
            "style": None if part == "conformance" else vars(style).copy(),
            "program": self.fingerprint(program) if program else None,
            "cpus": sorted(os.sched_getaffinity(0)),
        }


def reference_submission(bin_folder):
    """The project's own server, with its usual store on the disk."""
    binary = Path(bin_folder) / "server"
    command = f"'{binary}' --port {{port}} --http-port off --policy loop --log-level error"
    command += " --store sqlite:{data}/exchange.db"
    # A bundle has the program's libraries beside its folder.
    return Submission("reference", Path(bin_folder).parent, command, slug="reference")


def is_reference(submission):
    return submission.slug == "reference"


def grade_apart(submission, shared):
    """As grade(), in a process of its own if there is a sandbox: that process has no network."""
    if not shared.limits.sandbox:
        return grade(submission, shared)
    try:
        made, shared.progress.state = apart.run(
            lambda: (grade(submission, shared), shared.progress.state)
        )
    except Exception as error:  # noqa: BLE001
        words = str(error) if isinstance(error, apart.Died) else f"the grader failed: {error!r}"
        made = Grade(submission, problem=words, is_ours=True)
        shared.progress.say(f"{submission.name}: {made.problem}")
    return made


def grade(submission, shared):
    """Never raises but for an interruption: one submission must not keep the others from their
    grades."""
    made = Grade(submission, problem=submission.problem)
    if made.problem:
        shared.progress.say(f"{submission.name}: not graded: {made.problem}")
        return made
    try:
        _grade_and_clear(made, shared)
    except Exception as error:  # noqa: BLE001
        made.problem, made.is_ours = f"the grader failed: {error!r}", True
        if isinstance(error, MachineFails):
            made.problem = str(error)
        else:
            with suppress(OSError):
                log = shared.output / submission.slug / "grader.log"
                log.write_text(traceback.format_exc(), errors="replace")
                made.problem += f"; {log} says where"
        shared.progress.say(f"{submission.name}: not graded: {made.problem}")
    return made


def _grade_and_clear(made, shared):
    submission = made.submission
    results = Results(shared.output, submission.slug)
    is_sandboxed = shared.limits.sandbox and not submission.is_compose
    try:
        with sandbox.lent(submission.top if is_sandboxed else None):
            _grade(made, shared, results)
    finally:
        sandbox.clear(results.folder)
        results.files_are(fingerprint(submission))
        for part, _, _ in shared.steps(submission):
            shared.progress.done(part)


def recall(submission, shared):
    """Its grade by what earlier runs have found; None where something is missing."""
    try:
        return _recall(submission, shared)
    except Exception as error:  # noqa: BLE001
        shared.progress.say(f"{submission.name}: its grade cannot be read: {error!r}")
        return None


def _recall(submission, shared):
    results, made = Results(shared.output, submission.slug), Grade(submission)
    made.style = Style(**results.style)
    if submission.problem or not results.is_known(fingerprint(submission)):
        return None
    for part in plan.PARTS:
        found = results.load(part, shared.key(submission, part, made.style))
        if part == "conformance" and found and found.get("rules"):
            made.style = Style.of(found)
        if part in shared.wanted:
            if not found:
                return None
            made.parts[part] = found
    return made


def _grade(made, shared, results):
    submission, made.style = made.submission, Style(**results.style)
    wanted = ("throughput",) if is_reference(submission) else shared.wanted
    _discard_if_changed(submission, shared, results)
    is_ready = False
    for part in plan.PARTS:
        key = shared.key(submission, part, made.style)
        found = results.load(part, key)
        if part == "conformance" and found and found.get("rules"):
            made.style = Style.of(found)  # of an earlier run, whether or not it is wanted now
        if part not in wanted:
            continue
        if found:
            shared.progress.say(f"{submission.name}: {part}, reused from before")
        else:
            if not is_ready:
                made.problem, made.last_lines = _not_ready(made, shared, results)
                if made.problem:
                    shared.progress.say(f"{submission.name}: not graded: {made.problem}")
                    return
                is_ready = True
                if not results.load("conformance", shared.key(submission, "conformance", None)):
                    made.style = Style(**results.style)  # as it was found just now
                    key = shared.key(submission, part, made.style)
            if part != "conformance" and made.silent and not _has_kept_rules(made):
                words = "not run: it gave no reply to a first request"
                found = {"problem": f"{words} ({made.silent})"}
            else:
                found = _run_part(part, made, shared, results)
                # A result of before it failed is not saved.
                _check_machine(shared, results.folder / "server.log")
            results.save(part, key, found)
            results.files_are(fingerprint(submission))
        made.parts[part] = found
        if part == "conformance" and found.get("rules"):
            made.style = Style.of(found)
        shared.progress.done((submission.name, part))


def _discard_if_changed(submission, shared, results):
    files = fingerprint(submission)
    if not results.is_known(files):
        if results.known:
            shared.progress.say(f"{submission.name}: its files have changed, graded again")
        results.discard(plan.PARTS)
    results.files_are(files)


def _has_kept_rules(made):
    """Whether the conformance test got replies where the first look did not."""
    tested = made.parts.get("conformance") or {}
    return any(rule.get("result") == "kept" for rule in tested.get("rules", []))


def _not_ready(made, shared, results):
    """Builds it, starts it once and asks for a first reply. Returns (why it cannot be graded, last
    lines of a log)."""
    submission = made.submission
    if submission.is_compose and (why := compose.why_no_engine()):
        return why, ""
    is_sandboxed = shared.limits.sandbox and not submission.is_compose
    if is_sandboxed:
        sandbox.enter()
    if submission.build:
        shared.progress.say(f"{submission.name}: {submission.build}")
        log = results.folder / "build.log"
        log.unlink(missing_ok=True)
        if how := run_build(submission, results.folder, log, shared.limits):
            _check_machine(shared, log)
            return with_cause(f"its build {how}", log, submission), tail_of(log)
    if is_sandboxed:
        sandbox.cut_network()  # after the build, which may need it
    server_log = results.folder / "server.log"
    server_log.unlink(missing_ok=True)
    _check_machine(shared, server_log)
    server = compose.server_for(submission, shared.limits, results.folder)
    try:
        with server:
            try:
                found = find_style(server.port)
            except NoReply as error:
                made.silent, found = str(error), Style()
            results.style_is(vars(found).copy())
            return "", ""
    except PortTaken as error:
        raise MachineFails(f"this machine cannot grade it: {error}") from None
    except NotStarted as error:
        _check_machine(shared, server_log)
        words = server.tail()
        return with_cause(str(error), server.log, submission), words


def _check_machine(shared, log):
    """Raises MachineFails. A submission, too, can write what the sandbox writes to its log: so that
    counts only if there can be no sandbox now."""
    why = loopback_problem()
    if shared.limits.sandbox and not why:
        last = tail_of(log).splitlines()[-1:]
        if any(line.startswith(SANDBOX_FAILS) for line in last):
            why = sandbox_problem()
    if why:
        raise MachineFails(f"this machine cannot grade servers: {why}")


def sandbox_problem():
    """Why there can be no sandbox now; empty if there can."""
    try:
        return apart.run(sandbox.why_not)
    except apart.Died as error:
        return str(error)


def with_cause(problem, log, submission):
    """The first error of the log is nearer to the cause than the last."""
    found = [first_error(log), windows_scripts(submission)]
    return ": ".join([problem, *filter(None, found)])


def _run_part(part, made, shared, results):
    owner, given = (made.submission.name, part), (shared.settings, shared.limits, shared.bin)
    say = lambda what: shared.progress.step(owner, what)
    context = parts.Context(
        made.submission, *given, results.folder, shared.clients, made.style, say
    )
    try:
        return parts.run(part, context)
    except NotStarted as error:
        log = tail_of(results.folder / "server.log")
        return {"problem": f"it did not start: {error}", "last_lines": log}
