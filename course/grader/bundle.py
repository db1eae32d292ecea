"""The grader as a file for a course platform: grade.sh --bundle gradescope|github-classroom.

The programs come with all of their libraries and the dynamic loader, so that they run on any
Linux of this architecture, with no compiler and no network. The versions that the build needs are
not in Ubuntu 22.04."""

import io
import json
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from report import CHART_JS, TEMPLATE
from submissions import BadInput

TOOL = Path(__file__).resolve().parent
ROOT = TOOL.parents[1]
PROGRAMS = ("conformance", "loadgen", "server")
PLATFORMS = ("gradescope", "github-classroom")
# As their command line has it; what stands for the teacher's machine alone is left out.
KEPT = "seed quick parts limit_start limit_build limit_time limit_memory limit_disk".split()
KEPT += ["limit_threads", "limit_cpus", "sandbox", "build_network", "compose_projects"]
# The limit of each part, unless --limit-time says otherwise: four parts and a build fit in 40
# minutes.
PART_S = 300
TIME = (2020, 1, 1, 0, 0, 0)  # the same input gives the same bytes
# The loader stands beside them: /proc/self/exe names it, and there the programs look for others.
LAUNCHER = """#!/bin/sh
here=${{0%/*}}
exec "$here/{loader}" --library-path "$here/../lib" "$here/../lib/programs/{name}" "$@"
"""


def make(chosen, defaults):
    """Writes the bundle; returns its path. chosen: the options given; defaults: with none given."""
    files = grader_files(chosen, defaults)
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / f"{chosen.bundle}.zip"
    if chosen.bundle == "gradescope":
        for name in ("setup.sh", "run_autograder"):
            files[name] = (TOOL / "platforms" / name).read_bytes(), True
    else:
        workflow = (TOOL / "platforms/classroom.yml").read_text()
        workflow = workflow.replace("@PACKAGES@", chosen.packages)
        files = {
            ".github/workflows/classroom.yml": (workflow.encode(), False),
            ".github/grader.zip": (packed(files), False),
        }
    path.write_bytes(packed(files))
    return path


def packed(files):
    """A zip of {name: (content, whether it is executable)}."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, (content, is_executable) in sorted(files.items()):
            info = zipfile.ZipInfo(name, TIME)
            info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if is_executable else 0o100644) << 16
            made.writestr(info, content)
    return out.getvalue()


def grader_files(chosen, defaults):
    check_packages(chosen.packages)
    files = {}
    for folder in ("course/grader", "client/report"):
        for file in sorted((ROOT / folder).glob("*.py")):
            files[f"{folder}/{file.name}"] = file.read_bytes(), False
    files["course/grader/weights.toml"] = chosen.weights.read_bytes(), False
    files[str(TEMPLATE.relative_to(ROOT))] = TEMPLATE.read_bytes(), False
    files["chart.min.js"] = CHART_JS.read_bytes(), False
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes(), False
    files["packages"] = f"{chosen.packages}\n".encode(), False
    files["bundle.json"] = json.dumps(arguments(chosen, defaults)).encode(), False
    return files | programs(chosen.bin.resolve())


def check_packages(words):
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*( [a-z0-9][a-z0-9.+-]*)*", words):
        raise BadInput(f"--packages {words!r} is not a list of packages such as 'g++ make'")


def arguments(chosen, defaults):
    """The options of the grader in the bundle: those given here, and its time limit."""
    found = []
    for name in KEPT:
        value, usual = getattr(chosen, name), getattr(defaults, name)
        option = f"--{name.replace('_', '-')}"
        if name == "limit_time" and value == usual:
            value = PART_S
        if value == usual:
            continue
        if value is True:
            found.append(option)
        else:
            found += [option, ",".join(value) if isinstance(value, tuple) else f"{value}"]
    return found


def programs(folder):
    """The programs and the libraries that they are linked with, as the loader of this machine
    finds them."""
    files = {}
    for name in PROGRAMS:
        loader, libraries = linked(folder / name)
        files[f"build/bin/{name}"] = LAUNCHER.format(loader=loader.name, name=name).encode(), True
        files[f"build/bin/{loader.name}"] = loader.read_bytes(), True
        files[f"build/lib/programs/{name}"] = stripped(folder / name), True
        for soname, library in libraries.items():
            files[f"build/lib/{soname}"] = library.read_bytes(), False
    return files


def linked(program):
    """(loader, {name: library})"""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    libraries = dict(re.findall(r"^\s*(\S+) => (/\S+) \(0x", done.stdout, re.M))
    loaders = re.findall(r"^\s*(/\S*/ld[-\w.]*) \(0x", done.stdout, re.M)
    if done.returncode or "not found" in done.stdout or len(loaders) != 1:
        raise BadInput(f"the libraries of {program} cannot be found: {done.stdout}{done.stderr}")
    return Path(loaders[0]), {name: Path(path) for name, path in libraries.items()}


def stripped(program):
    """Without debugging information, where binutils are installed."""
    if not shutil.which("strip"):
        return program.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / program.name
        subprocess.run(["strip", "-o", str(made), str(program)], check=True)
        return made.read_bytes()
