"""What became of each mutation, as lines, as a table and as JSON."""

from collections import Counter
from dataclasses import asdict, dataclass

CAUGHT, HUNG, SURVIVED = "caught", "caught by a hang", "survived"
OTHERWISE = "failed, but not as it should"
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


def as_json(verdicts, machine):
    listed = [asdict(verdict) for verdict in verdicts]
    return {"format": "exchange-mutations/1", "machine": machine, "verdicts": listed}


def merged(files, names):
    """The verdicts of several files, the last of each mutation; in the order of `names`, and of those only."""
    newest = {entry["name"]: Verdict(**entry) for file in files for entry in file["verdicts"]}
    return [newest[name] for name in names if name in newest]


def _cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def markdown(verdicts):
    """A table for each area."""
    lines = [summary(verdicts) + ".", ""]
    for area in dict.fromkeys(verdict.area for verdict in verdicts):
        heads = "| mutation | breaks the promise that | caught by | s |"
        lines += [f"### {area}", "", heads, "|---|---|---|---|"]
        for one in (verdict for verdict in verdicts if verdict.area == area):
            by = "; ".join(map(_cell, one.caught_by))
            if one.state != CAUGHT:
                by = f"**{one.state}** {by}".strip()
            lines.append(f"| {one.name} | {_cell(one.promise)} | {by} | {one.seconds:.1f} |")
        lines.append("")
    return "\n".join(lines)
