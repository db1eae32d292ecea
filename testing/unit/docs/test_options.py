"""The table of docs/options.md and the variables that the compose files pass follow from `server
--help`. WRITE=1 testing/python-tests testing/unit/docs -k follow_from_the_server writes them."""

import os
import re
import subprocess
import unittest

from exchange_server import BINARY as SERVER
from tree import ROOT

# The image sets these, and each composition has a way of its own to choose the host's.
OF_THE_IMAGE = {"EXCHANGE_PORT", "EXCHANGE_HTTP_PORT", "EXCHANGE_BIND"}
OF_THE_COMPOSITIONS = {
    f"EXCHANGE_{name}" for name in ("PUBLISH", "PUBLISH_WITHOUT_AUTH", "PASSWORD", "1", "2")
}
OPTION = re.compile(
    (
        r"^ +(?P<flag>--[\w-]+)(?: (?P<type>[^\n]*?))? \(Env:(?P<variable>\w+)\)(?: Needs:"
        r" --[\w-]+)?\s+(?P<text>.*)$"
    ),
    re.M,
)


def row_of(option):
    kind, _, default = (option["type"] or "").partition("=")
    values = [f"{least} to {most}" for least, most in re.findall(r"\[(\d+) - (\d+)\]", kind)]
    values += [f"`{word}`" for words in re.findall(r"{(.*?)}", kind) for word in words.split(",")]
    text = re.sub(r"docs/([\w-]+\.md)(#[\w-]+)?", r"[docs/\1](\1\2)", option["text"])
    text = re.sub(r"(?<![\w-])--[a-z-]+", r"`\g<0>`", text)
    default = default or ("none" if kind else "no")
    return f"| `{option['flag']}` | {', '.join(values)} | {default} | {text} |\n"


@unittest.skipUnless(SERVER.exists(), f"no {SERVER}")
class Options(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        done = subprocess.run([SERVER, "--help"], capture_output=True, text=True, check=True)
        cls.options = list(OPTION.finditer(done.stdout))
        cls.variables = set(re.findall(r"\(Env:(\w+)\)", done.stdout))

    def check(self, page, part, expected):
        """That `part`, a pattern, is `expected` in the page."""
        path = ROOT / page
        text = path.read_text()
        (found,) = re.findall(part, text, re.M)
        if os.environ.get("WRITE"):
            path.write_text(text.replace(found, expected))
        else:
            self.assertEqual(found, expected, f"{page}: {__doc__}")

    def test_the_table_and_compositions_follow_from_the_server(self):
        self.assertEqual(len(self.options), len(self.variables))
        with self.subTest("docs/options.md"):
            self.check("docs/options.md", r"(?:^\| `--.*\n)+", "".join(map(row_of, self.options)))
        for page in ("docker-compose.yml", "docker-compose.ha.yml"):
            with self.subTest(page):
                text = (ROOT / page).read_text()
                with_value = set(re.findall(r"^ +(EXCHANGE_\w+): .", text, re.M))
                self.assertLessEqual(with_value - self.variables, OF_THE_COMPOSITIONS)
                (indent,) = set(re.findall(r"^( +)EXCHANGE_\w+:$", text, re.M))
                others = sorted(self.variables - OF_THE_IMAGE - with_value)
                passed = "".join(f"{indent}{variable}:\n" for variable in others)
                self.check(page, r"(?:^ +EXCHANGE_\w+:\n)+", passed)

    def test_the_image_sets_options_only(self):
        text = (ROOT / "Dockerfile").read_text()
        image = set(re.findall(r"^(?:ENV|   ) (EXCHANGE_\w+)=", text, re.M))
        self.assertLessEqual(OF_THE_IMAGE, image)
        self.assertLessEqual(image, self.variables)
