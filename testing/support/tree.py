"""The files of this project."""

import fnmatch
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns, root=ROOT):
    """Those that match; without what a build makes."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        return sorted(path for path in map(root.joinpath, listed.stdout.split()) if path.exists())
    # an archive of the tree, without git
    paths = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return sorted(
        path
        for name, path in paths.items()
        if not name.startswith("build") and any(fnmatch.fnmatch(name, each) for each in patterns)
    )
