"""Makes the modules importable."""

import sys
from pathlib import Path

LOCUST = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(LOCUST), str(LOCUST.parents[1] / "support")]
