"""The class kit of the source, for tests."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = [str(ROOT / folder) for folder in ("course/class", "client", "client/python/src")]
sys.path[:0] = FOLDERS
