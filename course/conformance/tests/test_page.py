"""The page of a result, whose words are those of a server."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[1] / "page.py"
HOSTILE = "got </script><b>"


def rule(number, level, result, why=""):
    turns = [{"sent": "<create/>", "got": HOSTILE}]
    return {
        **{"rule": number, "level": level, "sentence": f"What {number} says.", "result": result},
        **{"cases": 3, "case": "a case", "why": why, "blocked_by": "", "conversation": turns},
    }


RESULT = {
    **{"program": "conformance 1", "server": "h:1", "seed": 7, "seconds": 1.25, "stopped": ""},
    **{"style": {"framing": "bare", "end_of_stream": False}, "restarts": 0},
    **{"points": 3, "points_max": 9, "score": 33.3, "form": ["no newline"], "test_errors": []},
    "causes": [{"rule": "M4", "points": 6, "blocks": ["M5"]}],
    "rules": [
        rule("E4", "ours", "broken", "an error"),
        rule("M5", "must", "blocked", "a preparation"),
        rule("M4", "must", "broken", HOSTILE),
        rule("M1", "must", "kept"),
    ],
}


class Page(unittest.TestCase):
    def test_root_causes_come_first_and_no_word_of_a_server_is_markup(self):
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder, "result.json")
            result.write_text(json.dumps(RESULT))
            made = subprocess.check_output([PROGRAM, result], text=True)
        self.assertNotIn("<b>", made)
        self.assertIn("Score 33.3 of 100, 3 of 9 points.", made)
        self.assertIn("Differs in form alone: no newline", made)
        order = "What to mend first", "M4 is broken", "M5 is blocked", "exchange alone", "E4 is"
        places = list(map(made.index, order))
        self.assertEqual(sorted(places), places)
