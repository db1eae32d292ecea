"""Runs the harness against a fake load generator."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
HARNESS = TESTS.parent
FAKE = TESTS / "fake"


def environment(**more):
    return {**os.environ, **more}


def run_harness(*arguments, bin=FAKE, **more):
    return subprocess.run(
        [sys.executable, "-B", HARNESS / "run", "--bin", str(bin), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(**more),
        timeout=300,
    )


def made_report(
    rate,
    cpu_us=10.0,
    answered=1000,
    errors=None,
    p50=2.0,
    commit_us=400.0,
    database_us=None,
    client_us=5.0,
):
    """As the load generator writes it, as far as the harness reads it."""

    def process(us):
        return {"cpu_us_per_request": us, "voluntary_switches": 100}

    latency = {"p50": p50, "p99": 3 * p50}
    return {
        "format": "exchange-loadgen/1",
        "load": {"workers": 1},
        "result": {
            "seconds": answered / rate if rate else 1.0,
            "answered": answered,
            "requests_per_s": rate,
            "response_ms": latency,
            "errors": {"refused": 0, "reset": 0, **(errors or {})},
            "rejected": {"order": 0},
            "first_wrong_answer": "",
            "first_connect_error": "Connection refused" if errors else "",
        },
        "client": process(client_us),
        "server_process": process(cpu_us),
        "database": process(database_us) if database_us else None,
        "server_stages_us": {
            "commit": {"count": 9, "mean": commit_us, "p50": commit_us, "p99": commit_us}
        },
    }


def made_record(cell, trial, **report):
    return {
        "cell": cell.key,
        "trial": trial,
        "command": ["loadgen", "-c", str(cell.clients)],
        "exit": 0,
        "report": made_report(**report),
        "core_thread_share": 0.2,
        "machine_busy": 0.5,
        "machine_stolen": 0.0,
        "wall_s": 1.0,
    }


def made_head(settings, cpus=(0, 1)):
    return {
        "commit": "abc",
        "binaries": "def",
        "settings": settings.as_json(),
        "cpus": list(cpus),
        "started": "now",
        "postgresql": None,
        "machine": {
            "cpu": "a CPU",
            "cpus": list(cpus),
            "memory_bytes": 2**30,
            "kernel": "6",
            "scratch": {"folder": "/tmp", "filesystem": "ext4"},
        },
    }
