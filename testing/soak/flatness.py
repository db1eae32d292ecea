"""Whether a series of samples is flat: a slope that single outliers do not move, and how much that makes over the time looked at."""

from dataclasses import dataclass
from statistics import median

MIB = 1 << 20


def slope(points):
    """Theil and Sen's: the median slope of all pairs of (x, y); 0 for fewer than two."""
    slopes = [
        (b[1] - a[1]) / (b[0] - a[0])
        for i, a in enumerate(points)
        for b in points[i + 1 :]
        if b[0] > a[0]
    ]
    return median(slopes) if slopes else 0.0


def thin(points, most=400):
    """So many points at most, evenly: slopes of pairs take time in the square of them."""
    step = max(1, -(-len(points) // most))
    return points[::step]


@dataclass
class Judgement:
    name: str
    unit: str
    level: float  # median over the second half
    growth: float  # by its slope, over the second half
    allowed: float | None  # None: reported, not judged
    per_hour: float

    @property
    def passed(self):
        return self.allowed is None or self.growth <= self.allowed

    def sentence(self):
        criterion = (
            f", allowed is {self.allowed:+.3g}: {'passed' if self.passed else 'FAILED'}"
            if self.allowed is not None
            else " (reported, not judged)"
        )
        return (
            f"{self.name}: {self.level:.4g} {self.unit} in the second half, where it grows by {self.growth:+.3g} "
            f"({self.per_hour:+.3g} an hour){criterion}"
        )


def judge(name, unit, points, allowed=None):
    """`points` are (seconds, value) of the whole time; `allowed` is a growth over the second half, or a function of its level."""
    if not points:
        return Judgement(name, unit, 0, 0, None, 0)
    begin, end = points[0][0], points[-1][0]
    half = thin([point for point in points if point[0] >= (begin + end) / 2])
    level, rate = median(value for _, value in half), slope(half)
    return Judgement(
        name,
        unit,
        level,
        rate * (end - begin) / 2,
        allowed(level) if callable(allowed) else allowed,
        rate * 3600,
    )


def memory_allowed(level_mib):
    """Growth of resident memory over the second half that is not taken for a leak: an allocator's own unrest."""
    return max(8.0, 0.05 * level_mib)
