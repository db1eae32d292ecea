"""Generators of clients that others wrote understand the description: the one that docs/http-api.md
names, whose client then calls a server, and three more, whose code a compiler accepts."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import interfaces
from exchange_server import BINARY, ROOT, ExchangeServer
from python_packages import NotInstalled, python_with

REQUIREMENTS = interfaces.HERE / "generators.txt"
DESCRIPTION = interfaces.DESCRIPTIONS / "openapi.json"
OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
GO_RUNTIME = "github.com/oapi-codegen/runtime@v1.9.0"
OUT_OF_REACH = re.compile("dial tcp|no such host|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT")


def code_in(text, language):
    """The first block of code in a page, from the heading of the descriptions on."""
    section = text[text.index("## Descriptions for tools") :]
    return re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)[1]


class Generators(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="exchange-generated-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, *command, **environment):
        done = subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        output = done.stdout + done.stderr
        if done.returncode != 0 and OUT_OF_REACH.search(output):
            self.skipTest(f"a registry cannot be reached: {output.strip().splitlines()[-1]}")
        self.assertEqual(0, done.returncode, output[-10_000:])
        return done.stdout

    def python(self):
        try:
            return Path(python_with(REQUIREMENTS))
        except NotInstalled as reason:
            self.skipTest(str(reason))

    def program(self, name):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")
        return name

    @unittest.skipUnless(BINARY.exists(), f"no {BINARY}")
    def test_the_client_of_the_page_calls_the_server(self):
        page = (ROOT / "docs/http-api.md").read_text()
        python = self.python()
        with ExchangeServer("--projection-interval-ms", "0") as server:
            words = code_in(page, "sh").replace("http://127.0.0.1:8080", server.address).split()
            self.assertEqual(["pipx", "run", "openapi-python-client"], words[:3])
            self.run_program(python.with_name(words[2]), *words[3:])
            path = {"PYTHONPATH": str(self.folder / "exchange-over-http-client")}
            self.run_program(
                python, "-B", interfaces.HERE / "generated_client.py", server.address, **path
            )
            example = code_in(page, "python").replace("http://127.0.0.1:8080", server.address)
            printed = self.run_program(python, "-B", "-c", example, **path)
            self.assertRegex(printed, r"^Placed\(order=\d+\)\n$")

    def test_models_of_pydantic_accept_the_examples(self):
        python = self.python()
        self.run_program(
            python.with_name("datamodel-codegen"),
            *f"--input {DESCRIPTION} --input-file-type openapi --output models.py".split(),
            *"--output-model-type pydantic_v2.BaseModel".split(),
        )
        api = json.loads(DESCRIPTION.read_text())
        examples = {}  # by the name of the schema
        for item in api["paths"].values():
            for operation in item.values():
                body = operation.get("requestBody", {}) if isinstance(operation, dict) else {}
                content = body.get("content", {}).get("application/json", {})
                if "$ref" in content.get("schema", {}) and "example" in content:
                    name = content["schema"]["$ref"].rpartition("/")[2]
                    examples[name] = content["example"]
        self.assertGreater(len(examples), 5)
        script = "import json, sys, models\nfor name, example in json.loads(sys.argv[1]).items():\n"
        script += "    getattr(models, name).model_validate(example)\n"
        self.run_program(python, "-B", "-c", script, json.dumps(examples))

    def test_a_client_in_go_compiles(self):
        go = self.program("go")
        generate = f"run {OAPI_CODEGEN} -package api -generate types,client -o api.go"
        self.run_program(go, *generate.split(), DESCRIPTION)
        self.run_program(go, "mod", "init", "example.org/api")
        self.run_program(go, "get", GO_RUNTIME)
        self.run_program(go, "build", "-mod=mod", "./...")

    def test_types_in_typescript_compile(self):
        npx = self.program("npx")
        self.run_program(
            npx, "--yes", "openapi-typescript@7.13.0", DESCRIPTION, "--output", "api.ts"
        )
        self.run_program(npx, *"--yes -p typescript@5.9.3 tsc --noEmit --strict api.ts".split())


class Description(unittest.TestCase):
    """What generators cannot read: a schema that is a boolean, and a constant that is one."""

    def walk(self, schema, where):
        if isinstance(schema, list):
            for number, one in enumerate(schema):
                self.walk(one, f"{where}/{number}")
        if not isinstance(schema, dict):
            return
        self.assertNotIsInstance(schema.get("const"), bool, where)
        for holder in ("properties", "$defs", "patternProperties"):
            for name, one in schema.get(holder, {}).items():
                self.assertIsInstance(one, dict, f"{where}/{holder}/{name}")
        for name, one in schema.items():
            self.walk(one, f"{where}/{name}")

    def test_generators_can_read_its_schemas(self):
        parts = json.loads(DESCRIPTION.read_text())["components"]
        self.walk(parts["schemas"], "")
        self.assertEqual(set(), set(parts["parameters"]) & set(parts["schemas"]))
