"""One line for each step, with the time that has passed and an estimate of what is left."""

import sys
import time

from plain_text import printable


def duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Progress:
    """steps: [(owner, what, seconds expected)]; an owner is a submission and a part."""

    def __init__(self, steps, stream=sys.stderr, clock=time.monotonic):
        self.steps, self.stream, self.clock = list(steps), stream, clock
        self.began = clock()
        self.at = 0  # steps before this one are done
        self.running = None  # (seconds expected, begin)
        self.expected = self.taken = 0.0

    @property
    def state(self):
        """What another process needs to go on with it."""
        return {
            name: value for name, value in vars(self).items() if name not in ("stream", "clock")
        }

    @state.setter
    def state(self, state):
        vars(self).update(state)

    def _finish(self):
        if self.running:
            expected, begin = self.running
            self.expected += expected
            self.taken += self.clock() - begin
            self.running = None

    def seconds_left(self):
        """As expected, scaled by what the steps before took."""
        ahead = sum(seconds for _, _, seconds in self.steps[self.at :])
        ahead += self.running[0] if self.running else 0
        return ahead * (self.taken / self.expected if self.expected else 1.0)

    def step(self, owner, what):
        self._finish()
        for nth in range(self.at, len(self.steps)):
            if self.steps[nth][:2] == (owner, what):
                self.at = nth + 1
                self.running = (self.steps[nth][2], self.clock())
                break
        self.say(f"{': '.join(owner)}, {what}", f"about {duration(self.seconds_left())} left")

    def done(self, owner):
        """All steps of this owner are over, also those that were not run."""
        self._finish()
        while self.at < len(self.steps) and self.steps[self.at][0] == owner:
            self.at += 1

    def say(self, text, more=""):
        counted = f"[{self.at}/{len(self.steps)}] " if self.steps else ""
        line = f"{counted}{duration(self.clock() - self.began)}  {text}"
        self.stream.write(printable(line + (f" ({more})" if more else "")) + "\n")
        self.stream.flush()
