"""What became of each mutation, as a line and as a table."""

from collections import Counter
from dataclasses import dataclass

CAUGHT, HUNG, SURVIVED = "caught", "caught by a hang", "survived"
BROKEN, STALE, UNFIT, SKIPPED = "does not compile", "stale", "cannot be judged", "skipped"
GOOD = (CAUGHT, HUNG)


@dataclass
class Verdict:
    name: str
    area: str
    promise: str
    state: str
    caught_by: list
    seconds: float
    why: str = ""  # in words, where it was not simply caught

    @property
    def good(self):
        return self.state in GOOD

    def line(self):
        why = f": {self.why}" if self.why else ""
        return f"{self.area}: {self.name}: {self.state} ({self.seconds:.1f} s){why}"


def summary(verdicts):
    counts = Counter(verdict.state for verdict in verdicts)
    states = ", ".join(f"{count} {state}" for state, count in counts.items())
    return f"{len(verdicts)} mutations: {states}"


def markdown(verdicts):
    """A table of which test caught which mutation."""
    lines = ["| mutation | breaks the promise that | caught by | s |", "|---|---|---|---|"]
    for one in verdicts:
        by = "; ".join(one.caught_by)
        if one.state != CAUGHT:
            by = f"**{one.state}** {by}".strip()
        cells = (f"{one.area}: {one.name}", one.promise, by, f"{one.seconds:.1f}")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
