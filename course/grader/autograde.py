#!/usr/bin/python3
"""Grades one submission on a course platform, in a bundle that bundle.py made."""

import argparse
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
TOOL = Path(__file__).resolve().parent
ROOT = TOOL.parents[1]
sys.path += [str(TOOL), str(ROOT / "client/report")]

import exports  # noqa: E402
import feedback  # noqa: E402
import sandbox  # noqa: E402
import student_files  # noqa: E402
from plain_text import printable  # noqa: E402

LIMIT_S = 38 * 60  # Gradescope ends it after 40 minutes at most, without a word
NAME = "submission"
FILES_MAX = 500_000  # of a repository, with what it has of others


def parser():
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("form", choices=("gradescope", "classroom"))
    made.add_argument("submission", type=Path)
    text = "results.json of Gradescope; of a workflow, the file of its outputs"
    made.add_argument("result", type=Path, help=text)
    made.add_argument("--output", type=Path, help="folder for the pages")
    made.add_argument("--user", help="if this is root, the user as which all of it runs")
    return made


def copied(submission, work):
    """The grader builds and runs a copy, made as the archive of a student would be. Returns the
    folder of submissions."""
    target = work / "submissions" / NAME
    student_files.copy(submission, target, {".git", ".github"}, FILES_MAX)
    try:
        exports.prepare(target)
    except exports.BadArchive as error:
        print(printable(str(error)))  # it is then graded as it is, and found to be no server
    return exports.inner_folder(target).parent


def give(folder, user):
    for path, _, names in os.walk(folder):
        for name in [path, *(os.path.join(path, name) for name in names)]:
            os.chown(name, user.pw_uid, user.pw_gid, follow_symlinks=False)


def user_of(name):
    try:
        return pwd.getpwnam(name) if name and os.geteuid() == 0 else None
    except KeyError:
        sys.exit(f"there is no user {name}: setup.sh makes it")


def grade(work, submissions, user):
    command = [sys.executable, str(TOOL / "grade.py"), "--submissions", str(submissions)]
    command += ["--output", str(work / "grades"), "--bin", str(ROOT / "build/bin")]
    command += json.loads((ROOT / "bundle.json").read_text())
    environment = {**os.environ, "CHART_JS": str(ROOT / "chart.min.js")}
    if user:
        give(work, user)
        who = ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
        command = ["setpriv", *who, "--", *command]
        environment |= {"HOME": user.pw_dir, "USER": user.pw_name}
    try:
        subprocess.run(command, env=environment, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        sys.exit(f"no result: the grader took more than {LIMIT_S // 60} minutes")


def result_of(form, work):
    for file in (work / "grades").glob(f"*/{form}.json"):
        return json.loads(file.read_text())
    sys.exit("the grader wrote no result; the lines above say why")  # no points, and no 0 either


def main(arguments):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")
    chosen = parser().parse_args(arguments)
    try:
        return grade_one(chosen)
    except OSError as error:
        sys.exit(f"no result, since this machine cannot grade: {error}")


def grade_one(chosen):
    user = user_of(chosen.user)
    work = Path(tempfile.mkdtemp(prefix="exchange-"))
    try:
        grade(work, copied(chosen.submission, work), user)
        result = result_of(chosen.form, work)
        if chosen.output:
            shutil.copytree(work / "grades", chosen.output, dirs_exist_ok=True)
    finally:
        sandbox.remove(work)  # a build makes folders of any depth
    if chosen.form == "gradescope":
        chosen.result.parent.mkdir(parents=True, exist_ok=True)
        chosen.result.write_text(json.dumps(result, indent=1))
    else:
        with open(chosen.result, "a", encoding="utf-8") as out:
            out.write(f"result={feedback.encoded(result)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
