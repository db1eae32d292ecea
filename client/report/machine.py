"""The machine and the build that figures come from."""

import hashlib
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def first_line(command, cwd=None):
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""


def commit():
    return (
        first_line(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], cwd=ROOT
        )
        or "unknown"
    )


def fingerprint(binaries):
    """One short hash for the programs measured: a commit alone does not tell what was built."""
    digest = hashlib.sha256()
    for binary in binaries:
        digest.update(Path(binary).read_bytes() if Path(binary).exists() else b"missing")
    return digest.hexdigest()[:16]


def filesystem_of(folder):
    best = ("", "unknown")
    try:
        for line in Path("/proc/mounts").read_text().splitlines():
            _, where, kind, *_ = line.split()
            if (str(folder) + "/").startswith(where.rstrip("/") + "/") and len(where) >= len(
                best[0]
            ):
                best = (where, kind)
    except OSError:
        pass
    return best[1]


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
