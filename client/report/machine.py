"""The machine and the build that figures come from."""

import hashlib
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build(*targets, with_report=True):
    """Installs what is missing, and builds these programs into build/bin. What the steps print goes
    to stderr."""
    needs = ["--test", "--report"] if with_report else ["--test"]
    configure = ["cmake", "--preset", "release", "-DEXCHANGE_TESTS=ON"]
    make = ["cmake", "--build", "build", "--target", *targets]
    for command in (*([ROOT / "install-dependencies.sh", one] for one in needs), configure, make):
        done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr)
        if done.returncode:
            sys.exit(done.returncode)


def first_line(command):
    """What a command prints; empty if it fails. It runs in the root of the tree."""
    options = {"capture_output": True, "text": True, "errors": "replace", "timeout": 30}
    try:
        done = subprocess.run(command, cwd=ROOT, **options)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""


def commit():
    command = "git describe --always --dirty --abbrev=12 --exclude=*"
    return first_line(command.split()) or "unknown"


def fingerprint(binaries):
    """One short hash for the programs measured: a commit alone does not tell what was built."""
    digest = hashlib.sha256()
    for binary in binaries:
        digest.update(Path(binary).read_bytes() if Path(binary).exists() else b"missing")
    return digest.hexdigest()[:16]


def filesystem_of(folder):
    return first_line(["findmnt", "-n", "-o", "FSTYPE", "--target", folder]) or "unknown"


def processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def describe():
    scratch = tempfile.gettempdir()
    return {
        "cpu": processor(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "cpus_in_all": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "scratch": {"folder": scratch, "filesystem": filesystem_of(scratch)},
        "python": platform.python_version(),
    }


def cpu_times():
    """(busy, stolen, all) CPU seconds of the whole machine since its start."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    hertz = os.sysconf("SC_CLK_TCK")
    user, nice, system, idle, waiting, interrupt, soft, stolen = ticks
    return (user + nice + system + interrupt + soft) / hertz, stolen / hertz, sum(ticks) / hertz


def sync_times(folder, count=300, in_place=False):
    """Seconds of each of `count` writes of 1 KiB with their fdatasync: at the end of a file, or
    over what it holds, as in the journal's blocks."""
    record, times = b"x" * 1024, []
    with open(Path(folder) / "probe", "wb", buffering=0) as file:
        if in_place:
            file.write(record * count)
            os.fsync(file.fileno())
            file.seek(0)
        for _ in range(count):
            began = time.monotonic()
            file.write(record)
            os.fdatasync(file.fileno())
            times.append(time.monotonic() - began)
    return times
