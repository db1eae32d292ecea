"""A bar on a terminal, plain lines in a pipe; the time left comes from the trials measured so far."""

import sys
import time

from cells import seconds_expected


class Progress:
    def __init__(self, todo, settings, stream=sys.stderr):
        self.todo = list(todo)  # cells, one entry a trial, in order
        self.settings = settings
        self.stream = stream
        self.done = 0
        self.seen = {}  # what is alike -> [sum of measured over expected, count]
        self.said_at = 0.0

    @staticmethod
    def alike(cell):
        return cell.store, cell.load, bool(cell.idle)

    def finished(self, cell, seconds):
        entry = self.seen.setdefault(self.alike(cell), [0.0, 0])
        entry[0] += seconds / seconds_expected(cell, self.settings)
        entry[1] += 1
        self.done += 1

    def seconds_left(self):
        total = sum(entry[0] for entry in self.seen.values())
        count = sum(entry[1] for entry in self.seen.values())
        overall = total / count if count else 1.0
        left = 0.0
        for cell in self.todo[self.done :]:
            own = self.seen.get(self.alike(cell))
            left += seconds_expected(cell, self.settings) * (own[0] / own[1] if own else overall)
        return left

    def show(self, what):
        share = self.done / len(self.todo) if self.todo else 1.0
        line = f"{self.done}/{len(self.todo)} trials, {duration(self.seconds_left())} left"
        if self.stream.isatty():
            full = int(24 * share)
            self.stream.write(f"\r\x1b[K[{'█' * full}{'·' * (24 - full)}] {line}  {what}"[:200])
        elif time.monotonic() - self.said_at > 10 or self.done == len(self.todo):
            self.said_at = time.monotonic()
            self.stream.write(f"{line}; next {what}\n" if what else line + "\n")
        self.stream.flush()

    def clear(self):
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def duration(seconds):
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"
