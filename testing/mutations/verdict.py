"""What became of each mutation, as lines, as a table and as JSON."""

from dataclasses import asdict, dataclass

CAUGHT, HUNG = "caught", "caught by a hang"
SURVIVED, OTHERWISE, BROKEN, STALE = (
    "survived",
    "failed, but not as it should",
    "does not compile",
    "stale",
)
UNFIT, SKIPPED = "cannot be judged", "skipped"
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
        return f"{self.area}: {self.name}: {self.state} ({self.seconds:.1f} s)" + (
            f": {self.why}" if self.why else ""
        )


def summary(verdicts):
    counts = {}
    for verdict in verdicts:
        counts[verdict.state] = counts.get(verdict.state, 0) + 1
    return f"{len(verdicts)} mutations: " + ", ".join(
        f"{count} {state}" for state, count in counts.items()
    )


def as_json(verdicts, machine):
    return {
        "format": "exchange-mutations/1",
        "machine": machine,
        "verdicts": [asdict(verdict) for verdict in verdicts],
    }


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
        lines += [
            f"### {area}",
            "",
            "| mutation | breaks the promise that | caught by | s |",
            "|---|---|---|---|",
        ]
        for verdict in verdicts:
            if verdict.area != area:
                continue
            by = "; ".join(_cell(test) for test in verdict.caught_by)
            if verdict.state != CAUGHT:
                by = f"**{verdict.state}** {by}".strip()
            lines.append(
                f"| {verdict.name} | {_cell(verdict.promise)} | {by} | {verdict.seconds:.1f} |"
            )
        lines.append("")
    return "\n".join(lines)
