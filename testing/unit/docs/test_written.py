"""Parts of the tree follow from what its programs print, and WRITE=1 writes them: the table of
docs/options.md and the variables that the compose files pass from `server --help` (-k
follow_from_the_server); the table of paths in docs/http-api.md and _described.py of the Python
client from `describe` (-k follow_from_the_description). Error codes and variables of the image are
those of the programs."""

import json
import os
import re
import subprocess
import unittest

from exchange_server import BIN, BINARY as SERVER
from tree import ROOT

PAGE = "docs/http-api.md"
PYTHON = "client/python/src/exchange_client/_described.py"
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


def printed(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def described(what):
    return printed(BIN / "describe", what)


def description(name):
    return json.loads(described(ROOT / "server/web/descriptions" / name))


def section(page, heading):
    text = (ROOT / "docs" / page).read_text()
    start = text.index(f"\n{heading}\n") + 1
    level = heading.split()[0]
    end = re.search(rf"^#{{1,{len(level)}}} ", text[start + len(heading) :], re.M)
    return text[start : start + len(heading) + end.start()] if end else text[start:]


def rows(api):
    """The rows of the table, from the summaries and the parameters of queries."""
    for path, item in api["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            needed, optional = "", []
            for parameter in [*item.get("parameters", []), *operation.get("parameters", [])]:
                if "$ref" in parameter:
                    parameter = api["components"]["parameters"][parameter["$ref"].split("/")[-1]]
                name, schema = parameter["name"], parameter["schema"]
                if parameter["in"] != "query" or name == "account":
                    continue
                if parameter.get("required"):
                    needed = f"?{name}={{{name}}}"
                    continue
                text = f"`{'&' if needed or optional else '?'}{name}=` {parameter['description']}"
                if parameter.get("allowEmptyValue"):
                    text = text.replace("=", "")
                if "default" in schema:
                    text += (
                        f", {schema['minimum']} to {schema['maximum']}, by default"
                        f" {schema['default']}"
                    )
                optional.append(text)
            summary = "; ".join([operation["summary"], *optional])
            yield f"| `{path}{needed}` | {method.upper()} | {summary} |\n"


class Written(unittest.TestCase):
    maxDiff = None

    def check(self, page, part, expected):
        """That `part`, a pattern, is `expected` in the page."""
        path = ROOT / page
        text = path.read_text()
        (found,) = re.findall(part, text, re.M)
        if os.environ.get("WRITE"):
            path.write_text(text.replace(found, expected))
        else:
            self.assertEqual(found, expected, f"{page}: {__doc__}")


class Descriptions(Written):
    def test_the_rows_of_paths_follow_from_the_description(self):
        part = r"^\| path \| method \| response \|\n\|.*\n((?:\|.*\n)+)"
        self.check(PAGE, part, "".join(rows(description("openapi.json"))))

    def test_the_tables_of_the_python_client_follow_from_the_description(self):
        self.check(PYTHON, r"(?s)\A.+", described("--python"))

    def test_the_description_has_the_error_codes_of_the_pages(self):
        codes = re.findall(r"^\| `([a-z_]+)` \|", section("protocol.md", "### Error codes"), re.M)
        statuses = re.findall(r"^\| (\d.*?) \|", section("http-api.md", "## Paths"), re.M)
        codes += re.findall(r"`([a-z_]+)`", "".join(statuses))
        (others,) = re.findall(r"Other error codes here are ([^.]*)\.", (ROOT / PAGE).read_text())
        codes += re.findall(r"`([a-z_]+)`", others)
        (known,) = [
            one["enum"]
            for one in description("openapi.json")["components"]["schemas"]["ErrorCode"]["anyOf"]
            if "enum" in one
        ]
        self.assertGreater(len(known), 50)
        self.assertEqual(sorted(known), sorted(set(codes)))


@unittest.skipUnless(SERVER.exists(), f"no {SERVER}")
class Options(Written):
    @classmethod
    def setUpClass(cls):
        text = printed(SERVER, "--help")
        cls.options = list(OPTION.finditer(text))
        cls.variables = set(re.findall(r"\(Env:(\w+)\)", text))

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
