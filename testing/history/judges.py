"""The two judges of a history: the replay of the journal (check-history) and Porcupine, which knows the protocol alone."""

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from exchange_server import BIN

PORCUPINE = Path(__file__).resolve().parents[2] / "judge/history/porcupine"
GO_ENVIRONMENT = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}


def go(*arguments, timeout=300):
    return subprocess.run(
        ["go", *arguments],
        cwd=PORCUPINE,
        env=os.environ | GO_ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@functools.cache
def no_porcupine():
    """Why it cannot be had here; None where it can."""
    if shutil.which("go") is None:
        return "Go is not installed (Debian package golang-go)"
    try:
        fetched = go("mod", "download", timeout=60)
    except subprocess.TimeoutExpired:
        return "the Go module proxy does not answer"
    return (
        None
        if fetched.returncode == 0
        else f"the Go module cannot be fetched: {fetched.stderr.strip().splitlines()[-1]}"
    )


@functools.cache
def porcupine_binary():
    folder = tempfile.TemporaryDirectory(prefix="exchange-porcupine-")
    built = go("build", "-buildvcs=false", "-o", folder.name + "/porcupine", ".")
    if built.returncode != 0:
        raise RuntimeError("go build failed: " + built.stderr)
    return folder  # lives as long as the process


def porcupine(*histories, html=None):
    """(exit code, output)"""
    page = ["-html", str(html)] if html else []
    done = subprocess.run(
        [porcupine_binary().name + "/porcupine", "-timeout", "5m", *page, *map(str, histories)],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def check_history(store, *histories):
    """(exit code, output)"""
    done = subprocess.run(
        [str(BIN / "check-history"), "--store", store, *map(str, histories)],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr
