"""Makes the page maker importable, and runs of it to feed it with."""

import copy
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent / "document"
sys.path[:0] = [str(HERE.parent / "page"), str(HERE.parents[2])]

LOCKS = {
    "name": "locks",
    "title": "5. Locks",
    "asked": "?",
    "measured": "!",
    "tables": [
        {
            "key": "wall",
            "title": "Wall time",
            "columns": ["lock", "there", "here"],
            "rows": [["none", "1.57", "1.60 (1.5-1.7)"], ["a|b", "4.74"]],
        }
    ],
    "plots": [
        {
            "key": "turn",
            "title": "Where it turns",
            "x": "threads",
            "y": "ns",
            "log_x": True,
            "log_y": True,
            "series": [
                {"name": "mutex", "points": [[1, 20, 15, 25], [64, 200, 150, 900]]},
                {"name": "spinlock & co", "points": [[1, 10, 0, 12], [64, 9000, 8000, 9500]]},
            ],
        }
    ],
    "checks": [{"what": "mutual exclusion, mutex", "holds": True, "seen": "0 violations"}],
    "notes": ["SCHED_FIFO: Operation not permitted"],
    "excerpts": [{"key": "said", "title": "What it said", "text": "one\n  two\n"}],
}
FILES = {"name": "files", "title": "3. Files", "asked": "?", "measured": "!"}
FILES |= {kind: [] for kind in ("tables", "plots", "checks", "notes", "excerpts")}
TEXTS = {
    "locks": "Answer: A mutex will do.\n\nAsked by many.\n\n{{table wall}}\n\n{{plot turn}}\n\n{{excerpt said}}\n\nSee [it](../locks.cpp).\n",
    "files": "Answer: In groups.\n\nNothing more.\n",
}


def made_run(*experiments, **more):
    chosen = copy.deepcopy(list(experiments) or [FILES, LOCKS])
    return {
        "format": "exchange-experiments/1",
        "started": "2026-01-01 00:00 UTC",
        "commit": "abc",
        "machine": {"cpu": "a CPU", "cpus": 2, "kernel": "6"},
        "seed": 7,
        "repetitions": 5,
        "quick": False,
        "known": [{"name": e["name"], "title": e["title"]} for e in (FILES, LOCKS)],
        "experiments": chosen,
        **more,
    }


def document(folder, run, *arguments, texts=TEXTS):
    """Runs it on a tree of its own. Returns what a process returns."""
    prose = folder / "studies/experiments/text"
    prose.mkdir(parents=True, exist_ok=True)
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "locks.cpp").touch()
    for name, text in texts.items():
        (prose / f"{name}.md").write_text(text)
    (folder / "run.json").write_text(json.dumps(run))
    docs = ("--docs", folder / "docs", "--text", prose)
    command = [sys.executable, "-B", DOCUMENT, folder / "run.json", *docs, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)
