"""Why requests wait: scheduler events of one CPU, from the output of `perf sched timehist --state`.
"""

import re
from collections import Counter, namedtuple

# A stay of a thread on the CPU, until `end_s`. Before it the thread slept and was ready for
# `wait_ms`, of which it was ready for `delay_ms`. `state`: in which it left the CPU: D waits for
# the disk, S sleeps, R was made to leave.
Stay = namedtuple("Stay", "end_s thread wait_ms delay_ms run_ms state")
LINE = re.compile(
    r"\s*([\d.]+) \[\d+\]\s+(\S.*?)\[[\d/]+\]\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*(\S*)"
)
TRANSPORT = ("loop", "pool", "client")  # the threads that read requests and write replies
PAUSE_MS, DISK_WAIT_MS = 4, 2
LONGEST_S = 4  # no stay and no wait is that long


def read_stays(timehist):
    stays = []
    for line in timehist.splitlines():
        if found := LINE.match(line):
            numbers = map(float, found.group(3, 4, 5))
            stays.append(Stay(float(found[1]), found[2], *numbers, found[6]))
    return stays


def began_s(stay):
    return stay.end_s - stay.run_ms / 1e3


def disk_waits(stays, thread):
    """(begin, end), in seconds, of each wait of the thread for the disk."""
    waits, left_in = [], ""
    for stay in stays:
        if stay.thread != thread:
            continue
        if left_in == "D":
            ready = began_s(stay) - stay.delay_ms / 1e3
            waits.append((ready - (stay.wait_ms - stay.delay_ms) / 1e3, ready))
        left_in = stay.state
    return waits


def pauses(stays):
    """(begin, end) of each time of more than PAUSE_MS in which no transport thread ran, but the
    first and the last."""
    found, last = [], None
    for stay in stays:
        if stay.thread in TRANSPORT:
            if last is not None and began_s(stay) - last > PAUSE_MS / 1e3:
                found.append((last, began_s(stay)))
            last = stay.end_s
    return found


def meanwhile(stays, windows):
    """Milliseconds that each thread ran in these windows, and that the core waited for the disk:
    {what: ms}."""
    spent = Counter()
    doings = [(f"{stay.thread} ran", began_s(stay), stay.end_s) for stay in stays]
    doings += [("core waited for the disk", *wait) for wait in disk_waits(stays, "core")]
    doings.sort(key=lambda doing: doing[2])
    at = 0
    for begin, end in windows:
        while at < len(doings) and doings[at][2] <= begin:
            at += 1
        for what, from_s, to_s in doings[at:]:
            if to_s - LONGEST_S > end:
                break
            spent[what] += max(0.0, min(to_s, end) - max(from_s, begin)) * 1e3
    return Counter({what: ms for what, ms in spent.items() if ms > 0})
