"""The table of paths in docs/http-api.md follows from openapi.json; the error codes and messages of
both descriptions are those of the pages; _described.py of the Python client is what describe
writes. WRITE=1 testing/python-tests testing/unit/docs -k follow_from_the_description writes the
table and that file."""

import json
import os
import re
import subprocess
import unittest

from exchange_server import BIN
from tree import ROOT

PAGE = ROOT / "docs/http-api.md"
PYTHON = ROOT / "client/python/src/exchange_client/_described.py"
DESCRIBE = BIN / "describe"


def described(what):
    return subprocess.run([DESCRIBE, what], check=True, capture_output=True, text=True).stdout


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


class Descriptions(unittest.TestCase):
    maxDiff = None

    def test_the_rows_of_paths_follow_from_the_description(self):
        text = PAGE.read_text()
        (found,) = re.findall(r"^\| path \| method \| response \|\n\|.*\n((?:\|.*\n)+)", text, re.M)
        expected = "".join(rows(description("openapi.json")))
        if os.environ.get("WRITE"):
            PAGE.write_text(text.replace(found, expected))
        else:
            self.assertEqual(found, expected, __doc__)

    def test_the_tables_of_the_python_client_follow_from_the_description(self):
        expected = described("--python")
        if os.environ.get("WRITE"):
            PYTHON.write_text(expected)
        else:
            self.assertEqual(PYTHON.read_text(), expected, __doc__)

    def test_the_description_has_the_error_codes_of_the_pages(self):
        codes = re.findall(r"^\| `([a-z_]+)` \|", section("protocol.md", "### Error codes"), re.M)
        statuses = re.findall(r"^\| (\d.*?) \|", section("http-api.md", "## Paths"), re.M)
        codes += re.findall(r"`([a-z_]+)`", "".join(statuses))
        (others,) = re.findall(r"Other error codes here are ([^.]*)\.", PAGE.read_text())
        codes += re.findall(r"`([a-z_]+)`", others)
        (known,) = [
            one["enum"]
            for one in description("openapi.json")["components"]["schemas"]["ErrorCode"]["anyOf"]
            if "enum" in one
        ]
        self.assertGreater(len(known), 50)
        self.assertEqual(sorted(known), sorted(set(codes)))
