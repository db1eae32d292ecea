"""What a grading has found so far, as JSON in its folder: OUTPUT/SLUG/PART.json. A later run goes
on from it."""

import json
import os
from pathlib import Path

FORMAT = "exchange-grade/1"
FILES_MAX = 50


def encoded(text):
    """Also what no encoding holds, such as half of a pair of UTF-16: one name must not keep the
    pages of all from being written."""
    return text.encode("utf-8", "replace")


def write_atomically(file, text):
    """The file has all of the old or all of the new text, whenever the grader ends."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as out:
            out.write(encoded(text))
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


class Results:
    """The results of one submission."""

    def __init__(self, output, slug):
        self.folder = Path(output) / slug
        self.folder.mkdir(parents=True, exist_ok=True)
        self.known = self._read("files") or []
        self.style = self._read("style") or {}  # before the conformance test tells it

    def _read(self, name):
        try:
            return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def load(self, part, key):
        """The saved result of the part, if it was found for this key."""
        saved = self._read(part)
        if not isinstance(saved, dict) or saved.get("format") != FORMAT:
            return None
        return saved["result"] if saved.get("key") == json.loads(json.dumps(key)) else None

    def save(self, part, key, result):
        text = json.dumps({"format": FORMAT, "key": key, "result": result}, indent=1)
        write_atomically(self.folder / f"{part}.json", text)

    def style_is(self, style):
        self.style = style
        write_atomically(self.folder / "style.json", json.dumps(style))

    # A build and a run change the files of a submission. Each state that the grader itself has left
    # is known; any other is new work of its author, and what was found before is of no use.

    def is_known(self, files):
        return files in self.known

    def files_are(self, files):
        if files not in self.known:
            self.known = [*self.known, files][-FILES_MAX:]
            write_atomically(self.folder / "files.json", json.dumps(self.known))

    def discard(self, parts):
        self.known, self.style = [], {}
        for name in (*parts, "files", "style"):
            (self.folder / f"{name}.json").unlink(missing_ok=True)
