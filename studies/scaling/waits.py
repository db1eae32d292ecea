"""CPUs of a PostgreSQL cluster, and what its sessions wait for during a trial."""

import os
import subprocess
from pathlib import Path


def children(pid):
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def pin(cluster, cpus):
    """Postmaster and everything it has started; what it starts later inherits."""
    for pid in [cluster.pid, *children(cluster.pid)]:
        try:
            os.sched_setaffinity(pid, cpus)
        except ProcessLookupError:
            pass


class WaitSampler:
    """What the exchange's sessions wait for, sampled ten times a second by one psql."""

    # Sessions that wait for the client are idle: the exchange has nothing for them.
    QUERY = """SELECT extract(epoch FROM clock_timestamp()),
        CASE WHEN state <> 'active' AND wait_event_type = 'Client' THEN 'idle'
             WHEN wait_event IS NULL THEN 'running' ELSE wait_event_type || ':' || wait_event END, count(*)
      FROM pg_stat_activity WHERE datname = '{database}' AND backend_type = 'client backend' GROUP BY 2 \\watch 0.1
"""

    def __init__(self, cluster, database):
        program, *arguments = cluster.psql("postgres")
        self.process = subprocess.Popen(
            [cluster.binaries / program, *arguments],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            **cluster.owner,
        )
        self.process.stdin.write(self.QUERY.format(database=database))
        self.process.stdin.flush()

    def finish(self):
        """[(time, event, sessions), ...]"""
        self.process.kill()
        output, _ = self.process.communicate()
        return parse_samples(output)


def parse_samples(output):
    samples = []
    for line in output.splitlines():
        words = line.split("|")
        if len(words) != 3:
            continue  # \watch prints the time above each round
        try:
            samples.append((float(words[0]), words[1], int(words[2])))
        except ValueError:
            continue
    return samples


def count_waits(samples, begin, end):
    """{event: sessions, summed over the samples}, and the number of samples, between two times."""
    counts, times = {}, set()
    for at, event, sessions in samples:
        if begin <= at <= end:
            counts[event] = counts.get(event, 0) + sessions
            times.add(round(at, 2))
    return {"samples": len(times), "sessions": dict(sorted(counts.items()))}
