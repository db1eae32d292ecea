"""Programs in Python that others wrote, in a virtual environment of their own: installed once, in a
cache folder, by the file that names them."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path


class NotInstalled(RuntimeError):
    """The package index is out of reach."""


def python_with(requirements):
    """The interpreter of an environment that has what this requirements file names."""
    text = Path(requirements).read_text()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256((text + sys.version + str(cache)).encode()).hexdigest()[:16]
    folder = cache / "exchange-python" / key
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        print(f"installing {requirements} into {folder}", file=sys.stderr)
        install = (
            "-m pip install --quiet --retries 1 --disable-pip-version-check --requirement".split()
        )
        for command in (
            [sys.executable, "-m", "venv", "--clear", folder],
            [python, *install, requirements],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                reason = (done.stderr or done.stdout).strip().splitlines()[-1]
                raise NotInstalled(f"cannot install {requirements}: {reason}")
        (folder / "complete").touch()
    return str(python)
