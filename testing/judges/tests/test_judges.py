"""HTTP and the WebSocket before judges that others wrote. The description is valid, its examples
work, random requests find no difference between it and the server, and the frames of the Autobahn
test suite no fault. Generators of clients understand it: the one that docs/http-api.md names, whose
client then calls a server, and three more, whose code a compiler accepts."""

import functools
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

import interfaces
from exchange_server import BINARY, ROOT, ExchangeServer
from python_packages import NotInstalled, python_with

SEED = 1
DESCRIPTION = interfaces.DESCRIPTIONS / "openapi.json"
OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
GO_RUNTIME = "github.com/oapi-codegen/runtime@v1.9.0"
OUT_OF_REACH = re.compile("dial tcp|no such host|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT")
needs_server = unittest.skipUnless(BINARY.exists(), f"no {BINARY}")


@functools.cache
def find_python():
    """The interpreter that has the packages, or the reason why there is none."""
    try:
        return Path(python_with(interfaces.REQUIREMENTS)), ""
    except NotInstalled as reason:
        return None, str(reason)


class Case(unittest.TestCase):
    def python(self):
        python, why_missing = find_python()
        return python or self.skipTest(why_missing)


@needs_server
class Interfaces(Case):
    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stdout[-20_000:] + done.stderr[-5_000:])

    def test_the_descriptions_are_valid_and_their_examples_work_with_and_without_keys(self):
        python = self.python()
        for arguments, keys in (((), ()), (("--auth",), ("--keys",))):
            with ExchangeServer("--projection-interval-ms", "0", *arguments) as server:
                words = "descriptions.py", server.address, "examples", *keys
                self.check(interfaces.run_with(python, *words))

    def test_random_requests_find_the_server_as_it_is_described(self):
        with interfaces.server_with_market() as server:
            self.check(interfaces.schemathesis(self.python(), server, "--seed", SEED, "-n", 30))

    def test_random_requests_find_orders_with_keys_as_they_are_described(self):
        with interfaces.server_with_market("--auth") as server:
            options = ("--seed", SEED, "-n", 2, "--include-tag", "orders")  # each takes a hash
            self.check(interfaces.schemathesis(self.python(), server, *options, keys=True))

    def test_random_messages_find_the_web_socket_as_it_is_described(self):
        with interfaces.server_with_market() as server:
            self.check(interfaces.random_messages(self.python(), server, SEED, 20))

    def test_the_frames_of_the_autobahn_test_suite(self):
        with ExchangeServer() as server:
            url = f"ws://127.0.0.1:{server.http_port}/ws"
            self.check(interfaces.run_with(self.python(), "autobahn_cases.py", url))


@needs_server
class Paths(unittest.TestCase):
    """Each path of the description has its methods and no other."""

    def test_each_path_has_the_methods_of_the_description(self):
        paths = json.loads(DESCRIPTION.read_text())["paths"]
        with ExchangeServer() as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=30)
            for path, item in paths.items():
                methods = {method.upper() for method in item if method != "parameters"}
                if "GET" in methods:
                    methods.add("HEAD")
                path = path.replace("{id}", "1").replace("{symbol}", "SPY")
                for method in "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE QUERY".split():
                    with self.subTest(f"{method} {path}"):
                        connection.request(method, path)
                        answer = connection.getresponse()
                        answer.read()
                        self.assertEqual(answer.status == 405, method not in methods)
                        allowed = set((answer.getheader("Allow") or "").split(", "))
                        self.assertEqual(allowed, methods if answer.status == 405 else {""})
                        if answer.getheader("Connection") == "close":
                            connection.close()


@needs_server
class Frames(unittest.TestCase):
    """What the Autobahn test suite does not ask of a server."""

    def connect(self, server, fields=""):
        connection = socket.create_connection(("127.0.0.1", server.http_port), 30)
        handshake = (
            "GET /ws HTTP/1.1\r\nHost: exchange\r\nUpgrade: websocket\r\nConnection:"
            " Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key:"
            f" dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
        )
        connection.sendall(handshake.encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        return connection, head.decode()

    def test_frames_that_autobahn_does_not_send(self):
        text, binary, rest = 0x1, 0x2, 0x0
        final, masked = 0x80, 0x80
        half = masked | 126, *(9_000).to_bytes(2, "big"), *bytes(4), *bytes(9_000)
        cases = {
            "a frame without a mask (RFC 6455 5.1)": ([final | text, 2, *b"{}"], 1002),
            "a binary message": ([final | binary, masked | 0, *bytes(4)], 1003),
            "fragments of a message that is too long": ([text, *half, rest, *half], 1009),
            "a length of 2^63": ([final | text, masked | 127, 0x80, *bytes(11)], 1009),
        }
        with ExchangeServer() as server:
            for name, (frames, code) in cases.items():
                with self.subTest(name):
                    connection, _ = self.connect(server)
                    with connection:
                        connection.sendall(bytes(frames))
                        answer = connection.recv(4)
                        self.assertEqual(answer[:1], bytes([final | 0x8]))
                        self.assertEqual(int.from_bytes(answer[2:4], "big"), code)

    def test_no_extension_and_no_subprotocol_is_accepted(self):
        offers = "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: chat\r\n"
        with ExchangeServer() as server:
            connection, head = self.connect(server, offers)
            connection.close()
            self.assertTrue(head.startswith("HTTP/1.1 101 "))
            self.assertNotIn("sec-websocket-extensions", head.lower())
            self.assertNotIn("sec-websocket-protocol", head.lower())


def code_in(text, language):
    """The first block of code in a page, from the heading of the descriptions on."""
    section = text[text.index("## Descriptions for tools") :]
    return re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)[1]


class Generators(Case):
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

    def program(self, name):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")
        return name

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

    @needs_server
    def test_the_client_of_the_page_calls_the_server(self):
        page = (ROOT / "docs/http-api.md").read_text()
        python = self.python()
        with ExchangeServer("--projection-interval-ms", "0") as server:
            words = code_in(page, "sh").replace("http://127.0.0.1:8080", server.address).split()
            self.assertEqual(["pipx", "run", "openapi-python-client"], words[:3])
            self.run_program(python.with_name(words[2]), *words[3:])
            path = {"PYTHONPATH": str(self.folder / "exchange-over-http-client")}
            script = interfaces.HERE / "generated_client.py"
            self.run_program(python, "-B", script, server.address, **path)
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
