"""Builds what a study measures."""

import subprocess
import sys
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
