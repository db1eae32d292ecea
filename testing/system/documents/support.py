"""The commands that a page shows, with what they print."""

import os
import re
import subprocess

from exchange_server import BIN, PATIENCE_S, ROOT


def steps_of(page):
    """Each command of a page, with what the page shows of its output."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    shown = [block for language, block in blocks if language in ("", "console")]
    steps = [step for block in shown for step in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [tuple(step.partition("\n")[::2]) for step in steps]


def run(command, server, cwd, env):
    """What the command prints. env: further variables."""
    environment = os.environ | {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "EXCHANGE_CONNECT": f"127.0.0.1:{server.port}",
        "EXCHANGE_HTTP": f"127.0.0.1:{server.http_port}",
    }
    return subprocess.run(
        ["sh", "-c", command],
        cwd=cwd,
        env=environment | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
    ).stdout


def text_of(steps):
    return "".join(f"$ {command}\n{text}" for command, text in steps)
