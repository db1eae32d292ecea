"""The load generator against a server that runs already."""

import json
import subprocess
import tempfile
import time
from pathlib import Path

from exchange_server import LOADGEN


class LoadError(RuntimeError):
    pass


def under_load(port, server_pid, options, during=lambda load_pid: None, after_s=0):
    """The report of the load generator, and what during(its pid) returned, which is called after_s after its start."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [LOADGEN, "--connect", f"127.0.0.1:{port}", "--server-pid", server_pid]
        command += ["--json", report, "--no-progress", *options]
        load = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            time.sleep(after_s)
            seen = during(load.pid)
        finally:
            errors = load.communicate()[1]
        if load.returncode != 0:
            raise LoadError(f"the load generator ended with {load.returncode}: {errors.strip()}")
        return json.loads(report.read_text()), seen
