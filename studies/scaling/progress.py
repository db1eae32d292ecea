"""Lines while trials run; the time left comes from the trials measured so far."""

import sys
import time

from cells import seconds_expected

LINE_S = 10  # between two lines


class Progress:
    def __init__(self, todo, settings):
        self.expected = [seconds_expected(cell, settings) for cell in todo]
        self.done, self.took, self.said_at = 0, 0.0, -LINE_S

    def finished(self, seconds):
        self.done += 1
        self.took += seconds

    def seconds_left(self):
        over = self.took / sum(self.expected[: self.done]) if self.done else 1.0
        return over * sum(self.expected[self.done :])

    def show(self, what):
        if time.monotonic() - self.said_at > LINE_S:
            self.said_at = time.monotonic()
            left = duration(self.seconds_left())
            print(f"{self.done}/{len(self.expected)} trials, {left} left; {what}", file=sys.stderr)


def duration(seconds):
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"
