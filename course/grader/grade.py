#!/usr/bin/python3
"""Grades servers of the protocol: see --help, and grade.sh, which builds first."""

import argparse
import os
import re
import signal
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

sys.dont_write_bytecode = True
TOOL = Path(__file__).resolve().parent
ROOT = TOOL.parents[1]
sys.path += [str(TOOL), str(ROOT / "client/report")]

import apart  # noqa: E402
import bundle  # noqa: E402
import compose  # noqa: E402
import figures  # noqa: E402
import gradebook  # noqa: E402
import grading  # noqa: E402
import moments  # noqa: E402
import pages  # noqa: E402
import plan  # noqa: E402
import processes  # noqa: E402
import sandbox  # noqa: E402
import submissions as found  # noqa: E402
import summary  # noqa: E402
import watch  # noqa: E402
import weights as weighing  # noqa: E402
from plain_text import printable  # noqa: E402
from results import Results, write_atomically  # noqa: E402
from server import Limits  # noqa: E402

OK, NOT_GRADED, USAGE = 0, 1, 2
DESCRIPTION = (
    "Grades servers of the exchange protocol, of any number and in any language: the rules of the"
    " protocol, money and trades under load, orders that survive kill -9, and throughput beside"
    " this project's own server. Writes a page for each, a table of all, grades.json and"
    " grades.csv. Started again, it goes on from what it has found."
)
EXAMPLES = """examples:
  ./grade.sh --server './server {port}'
  ./grade.sh --server alice='java -jar alice.jar {port} {data}' --server bob='python3 bob.py {port}'
  ./grade.sh --submissions handed-in --weights my-weights.toml --output build/spring
  ./grade.sh --submissions handed-in --list

{port} stands for the port that the server must listen on at 127.0.0.1, {data} for an empty folder of its own that survives its
restarts. A command without {port} must listen on 12345, the port of the course. A subfolder of --submissions has a grade.toml
(command = "...", and if needed build = "...", restart = "...", port = 8000), or an executable run.sh that takes the port, or a
docker-compose.yml, also in a folder of its own.

exit status: 0 all were graded, 1 at least one could not be graded at all, 2 the command line or a file that it names is wrong,
130 interrupted; the same command goes on from there.  More: course/docs/grading.md"""


def size(text):
    """Bytes of 500M or 2G."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.I)
    value = float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ") if match else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500M or 2G")
    return int(value)


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def count(text):
    if not text.isdigit() or not 0 < int(text) < 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def part_list(text):
    wanted = [name.strip() for name in text.split(",")]
    for name in wanted:
        if name not in plan.PARTS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(plan.PARTS)}")
    return tuple(name for name in plan.PARTS if name in wanted)


def parser():
    made = argparse.ArgumentParser(
        prog="grade.sh",
        description=textwrap.fill(DESCRIPTION, 100),
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    limits = Limits()
    add("--server", action="append", default=[], metavar="[NAME=]COMMAND", help="a server")
    path = "its subfolders are servers; or a zip of Moodle, Gradescope or Canvas"
    add("--submissions", type=Path, action="append", default=[], metavar="PATH", help=path)
    folder = f"a docker compose project that publishes its container port {found.COURSE_PORT}"
    add("--compose", type=Path, action="append", default=[], metavar="FOLDER", help=folder)
    folder = "folder of everything written (build/grade)"
    add("--output", type=Path, default=ROOT / "build/grade", metavar="FOLDER", help=folder)
    file = "points of the parts (course/grader/weights.toml)"
    add("--weights", type=Path, default=TOOL / "weights.toml", metavar="FILE", help=file)
    text = (
        "the class as Canvas or Moodle exports it: written again with the points, as gradebook.csv"
    )
    add("--roster", type=Path, metavar="FILE", help=text)
    text = "its name in the gradebook (Exchange server)"
    add("--assignment", default="Exchange server", metavar="NAME", help=text)
    text = "write the grader, with the options given here, as a file for a course platform"
    add("--bundle", choices=bundle.PLATFORMS, help=text)
    text = "packages of Debian or Ubuntu that submissions need there ('g++ make cmake')"
    add("--packages", default="g++ make cmake", metavar="LIST", help=text)
    text = "run this one; the others keep their grades"
    add("--only", action="append", default=[], metavar="NAME", help=text)
    only = f"only these parts, of {','.join(plan.PARTS)}"
    add("--parts", type=part_list, default=plan.PARTS, metavar="LIST", help=only)
    add("--quick", action="store_true", help="a look of about 20 seconds each, for no grades")
    text = "number of submissions to grade at once, each on all CPUs, but for throughput (1)"
    add("--jobs", type=count, default=1, metavar="N", help=text)
    add("--seed", type=int, default=1, help="of requests and pauses (1)")
    add("--list", action="store_true", help="print what would be run, and run nothing")
    again = made.add_mutually_exclusive_group()
    text = "go on from what is in --output (the default)"
    again.add_argument("--resume", action="store_true", help=text)
    text = "discard what is in --output of these servers"
    again.add_argument("--restart-from-scratch", action="store_true", dest="fresh", help=text)
    text = f"seconds until a server listens ({limits.start_s:g})"
    add("--limit-start", type=seconds, default=limits.start_s, metavar="S", help=text)
    text = f"seconds of a build ({limits.build_s:g})"
    add("--limit-build", type=seconds, default=limits.build_s, metavar="S", help=text)
    text = f"seconds of one part of one server ({limits.part_s:g})"
    add("--limit-time", type=seconds, default=limits.part_s, metavar="S", help=text)
    text = "memory of a server, all its processes together (2G)"
    add("--limit-memory", type=size, default=limits.memory_bytes, metavar="SIZE", help=text)
    text = "size of {data} on the disk (4G)"
    add("--limit-disk", type=size, default=limits.disk_bytes, metavar="SIZE", help=text)
    text = f"threads and processes of a server ({limits.threads})"
    add("--limit-threads", type=count, default=limits.threads, metavar="N", help=text)
    add("--limit-cpus", type=count, default=0, metavar="N", help="CPUs of a server (all)")
    text = "whether servers and builds run in a sandbox of bubblewrap; auto: if that works (auto)"
    add("--sandbox", choices=("auto", "on", "off"), default="auto", help=text)
    text = (
        "compose projects among the submissions, which no sandbox holds (refuse; without a sandbox"
        " allow)"
    )
    add("--compose-projects", choices=("refuse", "allow"), help=text)
    text = "all servers may read this file or folder in the sandbox"
    add("--sandbox-read", type=Path, action="append", default=[], metavar="PATH", help=text)
    text = "builds in the sandbox may use the network, to download packages"
    add("--build-network", action="store_true", help=text)
    folder = "folder of conformance, loadgen and server (build/bin)"
    binaries = Path(os.environ.get("EXCHANGE_BIN") or ROOT / "build/bin")
    add("--bin", type=Path, default=binaries, metavar="FOLDER", help=folder)
    return made


def say(line):
    """Names, commands and messages are those of students, and a terminal obeys some characters."""
    print(printable(line))


def warn(sentence):
    print(printable(f"grade.sh: {sentence}"), file=sys.stderr)


def submissions_of(chosen):
    here, every = Path.cwd(), []
    every += [found.from_command(text, here) for text in chosen.server]
    for path in chosen.submissions:
        if path.is_file() and path.suffix.lower() == ".zip":
            every += found.from_export(path, chosen.output / "submissions", warn)
        else:
            every += found.from_submissions(path)
    every += [found.from_compose(folder) for folder in chosen.compose]
    if not every:
        raise found.BadInput("name a server with --server, --submissions or --compose")
    found.slugged(every)
    for name in chosen.only:
        if name not in {one.name for one in every}:
            names = ", ".join(one.name for one in every)
            raise found.BadInput(f"--only {name}: there is no such server; there are {names}")
    return every


def grading_of(chosen):
    names = ("start", "build", "time", "memory", "disk", "threads", "cpus")  # the order of Limits
    limits = Limits(
        *(getattr(chosen, f"limit_{name}") for name in names),
        sandbox=chosen.sandbox != "off",
        readable=tuple(str(path.resolve()) for path in chosen.sandbox_read),
        build_network=chosen.build_network,
    )
    settings = plan.quick(chosen.seed) if chosen.quick else plan.Settings(seed=chosen.seed)
    folders, weights = (chosen.bin.resolve(), chosen.output.resolve()), weighing.read(
        chosen.weights
    )
    return grading.Grading(settings, limits, *folders, weights, chosen.parts, chosen.jobs)


def list_all(every, shared):
    for one in every:
        command = f"cannot be graded: {one.problem}" if one.problem else one.shown_command
        say(f"{one.name}: {command}")
        if one.problem:
            continue
        if one.build:
            say(f"  build: {one.build}")
        for part in shared.wanted:
            steps = [(what, took) for (_, of), what, took in shared.steps(one) if of == part]
            listed = "; ".join(what for what, _ in steps)
            say(f"  {part}, about {plan.duration(sum(took for _, took in steps))}: {listed}")
    for cores, why in plan.skipped(shared.settings, shared.limits).items():
        say(f"not measured on {figures.counted(cores, 'core')}: {why}")
    total = sum(expected for one in every for _, _, expected in shared.steps(one))
    say(f"about {plan.duration(total)} in all")
    return OK


def check_tools(folder):
    for name in bundle.PROGRAMS:
        if not os.access(folder / name, os.X_OK):
            how = "grade.sh builds it, --bin names another folder"
            raise found.BadInput(f"there is no {folder / name}: {how}")


def write_bundle(chosen):
    check_tools(chosen.bin.resolve())
    weighing.read(chosen.weights)
    print(bundle.make(chosen, parser().parse_args([])))
    return OK


def check_sandbox(wanted, shared):
    """Goes on without one where it may and must."""
    why = grading.sandbox_problem() if shared.limits.sandbox else ""
    if why and wanted == "on":
        raise found.BadInput(f"--sandbox on: there can be none: {why}")
    if why:
        shared.limits = replace(shared.limits, sandbox=False)
        warn(f"no sandbox, so submissions run with all your rights: {why}")
    elif shared.limits.sandbox:
        sandbox.system()  # for all processes of the grader at once


def is_chosen(one, only):
    return not only or one.name in only


def grade_at_once(queue, shared):
    """So many submissions at once as shared.jobs says, but for the throughput: run() finds the
    results. Only in sandboxes, as each has its own ports there."""
    wanted = tuple(part for part in shared.wanted if part != "throughput")
    queue = [one for one in queue if not one.is_compose and not grading.is_reference(one)]
    jobs = min(shared.jobs, len(queue), len(os.sched_getaffinity(0)))
    if jobs < 2 or not wanted:
        return
    if not shared.limits.sandbox:
        shared.progress.say(
            "one after another: without a sandbox servers could take each other's ports"
        )
        return

    def grade_all(mine):
        own, watch.at_once = replace(shared, wanted=wanted), jobs
        own.progress = plan.Progress([step for one in mine for step in own.steps(one)])
        for one in mine:
            grading.grade_apart(one, own)

    begun = [apart.start(lambda mine=queue[nth::jobs]: grade_all(mine)) for nth in range(jobs)]
    while begun:
        try:
            apart.finish(begun.pop())
        except Exception as error:  # noqa: BLE001
            shared.progress.say(str(error))  # what is missing is run below


def run(every, shared, fresh, only=()):
    """Grades of those that are chosen, and the reference's. Earlier grades of the others stay in
    the table."""
    queue = [one for one in every if is_chosen(one, only)]
    if "throughput" in shared.wanted:
        queue.insert(0, grading.reference_submission(shared.bin))
    if fresh:
        for one in queue:
            Results(shared.output, one.slug).discard(plan.PARTS)
    gradable = [one for one in queue if not one.problem]
    shared.progress = plan.Progress([step for one in gradable for step in shared.steps(one)])
    if "throughput" in shared.wanted:
        for cores, why in plan.skipped(shared.settings, shared.limits).items():
            count = figures.counted(cores, "core")
            shared.progress.say(f"throughput on {count} is not measured: {why}")
    others = [grading.recall(one, shared) for one in every if not is_chosen(one, only)]
    others = [made for made in others if made]
    for made in others:
        moments.find(made, shared)
    others = [pages.presentable(made, None, shared, every) for made in others]
    grade_at_once(gradable, shared)
    grades, reference = [], None
    for one in queue:
        made = grading.grade_apart(one, shared)
        if grading.is_reference(one):
            reference = made
            if made.problem:
                raise found.BadInput(f"the reference server cannot be run: {made.problem}")
        else:
            moments.find(made, shared)
            grades.append(pages.presentable(made, reference, shared, every))
            pages.write_all(others + grades, reference, shared, every)
    return grades, reference, others


def interrupt(*_):
    raise KeyboardInterrupt


def run_to_the_end(*arguments):
    for number in apart.SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # of nohup
            signal.signal(number, interrupt)
    try:
        return run(*arguments)
    finally:
        apart.ignore_signals()  # a second Ctrl-C must not leave a server behind
        processes.kill_all(None)


def write_gradebook(roster, grades, reference, shared, assignment):
    rows = summary.scored(grades, reference, shared.weights)
    given = [(row[0].submission, None if row[0].problem else row[2], row[3]) for row in rows]
    text, unplaced = gradebook.filled(roster, given, assignment)
    write_atomically(shared.output / "gradebook.csv", text)
    for sentence in unplaced:
        say(f"gradebook: {sentence}")
    print(shared.output / "gradebook.csv")


def main(arguments):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a name may have characters that a terminal lacks
    made = parser()
    chosen = made.parse_args(arguments)
    try:
        if chosen.bundle:
            return write_bundle(chosen)
        every, shared = submissions_of(chosen), grading_of(chosen)
        roster = gradebook.read(chosen.roster, chosen.assignment) if chosen.roster else None
        check_sandbox(chosen.sandbox, shared)
        if (chosen.compose_projects or ("allow", "refuse")[shared.limits.sandbox]) == "refuse":
            compose.refuse(every, chosen.compose)
        if chosen.list:
            return list_all([one for one in every if is_chosen(one, chosen.only)], shared)
        check_tools(shared.bin)
        shared.output.mkdir(parents=True, exist_ok=True)
        processes.adopt_orphans()
        grades, reference, others = run_to_the_end(every, shared, chosen.fresh, chosen.only)
    except (found.BadInput, OSError) as error:
        warn(error)
        return USAGE
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from there", file=sys.stderr)
        return apart.INTERRUPTED
    for line in summary.closing(grades, reference, shared):
        say(line)
    if roster:
        write_gradebook(roster, others + grades, reference, shared, chosen.assignment)
    print(shared.output / "index.html")
    return NOT_GRADED if any(one.problem for one in grades) else OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
