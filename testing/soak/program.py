"""What the programs `run` and `size` share: options, the load generator, results."""

import argparse
import json
import tempfile
from pathlib import Path

import machine
from exchange_server import BIN, ServerError, run_loadgen
from filling import FillError


def say(text):
    print(text, flush=True)


def make_parser(description, stores, output):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--store", choices=stores, default="sqlite", help="(default: %(default)s)")
    quick = "a few seconds, to see that everything works; its figures mean nothing"
    add("--quick", action="store_true", help=quick)
    output_help = "for results.json and section.md (default: %(default)s)"
    add("--output", type=Path, default=output, metavar="FOLDER", help=output_help)
    bin_help = "where server and loadgen are (default: build/bin)"
    add("--bin", type=Path, default=BIN, metavar="FOLDER", help=bin_help)
    return parser


def load(binaries, server, arguments):
    """(report of the load generator, its failure or None). Raises ServerError if there is no report."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        command = f"--connect 127.0.0.1:{server.port} --no-progress --json {file} {arguments}"
        code, output = run_loadgen(command, binaries / "loadgen", timeout_s=None)
        failure = f"loadgen {arguments} ended with {code}: {output[-1000:]}"
        if not file.exists():
            raise ServerError(failure)
        return json.loads(file.read_text()), failure if code else None


def head(name, options):
    return {
        "format": f"exchange-{name}/1",
        "commit": machine.commit(),
        "machine": machine.describe(),
        "store": options.store,
        "quick": options.quick,
    }


def execute(prefix, folder, measure):
    """measure(folder), in a temporary one if `folder` is None. Returns (exit code, result)."""
    try:
        if folder:
            return 0, measure(folder)
        with tempfile.TemporaryDirectory(prefix=prefix) as temporary:
            return 0, measure(temporary)
    except (ServerError, FillError, OSError) as problem:
        say(f"failed: {problem}")
        return 1, None
    except KeyboardInterrupt:
        say("interrupted")
        return 130, None


def write(folder, result, section):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    (folder / "section.md").write_text(section)
