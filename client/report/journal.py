"""OUT/trials.jsonl: a head line, then one line for each finished trial, synced at once. A later run
continues from it."""

import json
import os


class Refused(Exception):
    pass


FORMAT = "exchange-trials/1"


class Journal:
    def __init__(self, folder):
        self.file = folder / "trials.jsonl"
        self.head, self.trials = None, []
        if self.file.exists():
            self._read()

    def _read(self):
        data = self.file.read_bytes()
        # A line that was cut short is a trial that was not finished.
        whole = data[: data.rfind(b"\n") + 1]
        lines = [json.loads(line) for line in whole.splitlines()]
        if lines:
            self.head, self.trials = lines[0], lines[1:]
            if self.head.get("format") != FORMAT:
                raise Refused(f"{self.file} is not a journal of trials; --fresh discards it")
        if len(whole) != len(data):
            with open(self.file, "r+b") as file:
                file.truncate(len(whole))

    def begin(self, head, same=("commit", "binaries", "settings", "cpus")):
        """Starts a journal, or continues this one if these of its head are the same."""
        head = {"format": FORMAT, **head}
        if self.head is None:
            self.head = head
            self._append(head, "w")
            return
        for name in same:
            was, is_ = self.head.get(name), json.loads(json.dumps(head.get(name)))
            if was != is_:
                raise Refused(
                    f"{self.file} was begun with another {name}:\n  then {text(was)}\n  now "
                    f" {text(is_)}\nFigures of both do not belong in one table: --out FOLDER keeps"
                    " the old ones, --fresh discards them."
                )

    def add(self, record):
        self.trials.append(record)
        self._append(record, "a")

    def done(self):
        return {(record["cell"], record["trial"]) for record in self.trials}

    def _append(self, record, mode):
        with open(self.file, mode) as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def discard(self):
        self.file.unlink(missing_ok=True)
        self.head, self.trials = None, []


def text(value):
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
