"""The descriptions of a server, before the server itself:

  descriptions.py ADDRESS examples [--keys]    their examples, in order
  descriptions.py ADDRESS random SEED COUNT    COUNT messages of each kind, made by schemathesis

Takes openapi.json and asyncapi.json from the server, and validates them, each response to an
example, and each message of the WebSocket that comes. The server of examples is new: accounts and
symbols come from them. A random message that fits the description is not refused as malformed; one
that does not is refused."""

import json
import sys
import time
import urllib.parse

from exchange_server import OPERATOR_KEY
from interfaces import ask, basic, bearer, is_judged
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from websockets.sync.client import connect

ADDRESS, WHAT, *CHOSEN = sys.argv[1:]
WITH_KEYS = "--keys" in CHOSEN
BYTES_MAX = 16_000  # of a message
NAMES = ("openapi.json", "asyncapi.json")
API, MESSAGES = DOCUMENTS = [ask(ADDRESS, "GET", f"/api/{name}")[1] for name in NAMES]
REGISTRY = Registry().with_resources(
    (name, Resource(document, DRAFT202012)) for name, document in zip(NAMES, DOCUMENTS, strict=True)
)
# In an order in which each finds what it needs.
OPERATIONS = (
    "createAccount createSymbol setInstrument setInstruments setAccount adjustCash adjustShares"
    " setKey beginRound placeOrders getSymbols getBook getTrades getDays getLeaderboard getAccount"
    " getFills getOrder replaceOrder cancelOrder cancelOrders getOpenApi getAsyncApi"
).split()
# No JSON; and the end of the day, which a store in memory refuses, and closed days, of which it has
# none.
OTHERS = set(
    "openWebSocket executeXml getDashboard getLiveness getReadiness getMetrics getLeaderboardCsv"
    " closeDay getDay getMoments".split()
)


def validate(instance, pointer):
    """Against what `pointer` names: asyncapi.json#/components/schemas/Event."""
    Draft202012Validator({"$ref": pointer}, registry=REGISTRY).validate(instance)


class WebSocket:
    """A connection to /ws. All that comes is validated."""

    # of a message, by its type
    schemas = {
        schema["properties"]["type"]["const"]: name
        for name, schema in MESSAGES["components"]["schemas"].items()
        if "const" in schema.get("properties", {}).get("type", {})
    }

    def __init__(self):
        self.socket = connect(f"ws{ADDRESS.removeprefix('http')}/ws", max_size=None)
        self.seen = set()  # types

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def receive(self):
        message = json.loads(self.socket.recv(timeout=30))
        validate(message, f"asyncapi.json#/components/schemas/{self.schemas[message['type']]}")
        self.seen.add(message["type"])
        return message

    def ask(self, request):
        """What answers the request: the first message of no subscription."""
        self.socket.send(json.dumps(request))
        while (answer := self.receive())["type"] in ("update", "events", "rules"):
            pass
        return answer


def resolved(part):
    """`part` of openapi.json, or what it refers to."""
    resolver = REGISTRY.resolver("openapi.json")
    return resolver.lookup(part["$ref"]).contents if "$ref" in part else part


def send_examples(path, method, operation, parameters):
    """Each example of its body, with the example of each parameter."""
    query = {}
    for parameter in map(resolved, parameters):
        if "example" in parameter and parameter["in"] == "path":
            value = urllib.parse.quote(parameter["example"], safe="")
            path = path.replace("{%s}" % parameter["name"], value)
        elif "example" in parameter:
            query[parameter["name"]] = parameter["example"]
    path += "?" + urllib.parse.urlencode(query)
    schemes = [name for scheme in operation.get("security", []) for name in scheme]
    authorization = (bearer() if "operator" in schemes else basic()) if WITH_KEYS else None
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    examples = [example["value"] for example in body.get("examples", {}).values()]
    for example in examples or [body.get("example")]:
        deadline = time.monotonic() + 30
        while True:
            status, answer = ask(ADDRESS, method.upper(), path, example, authorization)
            if method != "get" or status != 404 or time.monotonic() > deadline:
                break  # reads are a moment behind
        print(method, path, example, status)
        assert status < 300, answer
        steps = ["paths", operation["path"], method, "responses", str(status)]
        if "$ref" in operation["responses"][str(status)]:
            steps = operation["responses"][str(status)]["$ref"].split("/")[1:]
        steps += ["content", "application/json", "schema"]
        pointer = "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps)
        validate(answer, "openapi.json#/" + urllib.parse.quote(pointer))


def http():
    OpenAPIV31SpecValidator(API).validate()
    operations = {}
    for path, item in API["paths"].items():
        for method in item.keys() - {"parameters"}:
            operation = {**item[method], "path": path}
            parameters = item.get("parameters", []) + operation.get("parameters", [])
            operations[operation["operationId"]] = (path, method, operation, parameters)
    assert set(operations) - OTHERS == set(OPERATIONS), set(operations) ^ set(OPERATIONS)
    for name in OPERATIONS:
        if name == "setKey" and not WITH_KEYS:
            continue  # it is refused there
        send_examples(*operations[name])


def web_socket():
    """Each example of a message to the server, in order."""
    with WebSocket() as socket:
        for message in MESSAGES["components"]["messages"].values():
            for example in message.get("examples", []):
                request = example["payload"]
                validate(request, "asyncapi.json" + message["payload"]["$ref"])
                if "set_key" in request and not WITH_KEYS:
                    continue  # it is refused there
                if "operator_key" in request.get("login", {}):
                    request["login"]["operator_key"] = OPERATOR_KEY
                while "unsubscribe" in request and not {"update", "events", "rules"} <= socket.seen:
                    socket.receive()
                answer = socket.ask(request)
                print(request, answer)
                assert answer.get("status", 200) < 300 and answer["type"] != "error", answer
        socket.ask({"subscribe": "?"})
        assert socket.seen == set(socket.schemas), set(socket.schemas) - socket.seen


def references(part):
    """What `part` of a document refers to."""
    for name, value in part.items() if isinstance(part, dict) else enumerate(part):
        if name == "$ref":
            yield value
        elif isinstance(value, (dict, list)):
            yield from references(value)


def examples():
    for name, document in zip(NAMES, DOCUMENTS, strict=True):
        for reference in references(document):
            REGISTRY.resolver(name).lookup(reference)
        for schema in document["components"]["schemas"].values():
            Draft202012Validator.check_schema(schema)
    http()
    web_socket()


def describe_messages():
    """Each message to the server as the body of a path, for schemathesis."""
    schemas = {}
    for document in DOCUMENTS:
        schemas |= json.loads(
            json.dumps(document["components"]["schemas"]).replace("openapi.json#", "#")
        )
    paths = {
        f"/{name}": {
            "post": {
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": message["payload"]}},
                },
                "responses": {"200": {"description": "answered"}},
            }
        }
        for name, message in MESSAGES["components"]["messages"].items()
        if "examples" in message
    }
    info = {"title": "messages", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def send_random(socket, name, message, fits):
    is_json = isinstance(message, (dict, list, str, int, type(None)))
    if not is_json or len(json.dumps(message)) > BYTES_MAX or not is_judged(name, message, fits):
        return
    if fits and name == "set_key":
        return  # a server without keys refuses it
    content = message.get(name) if isinstance(message, dict) else None
    if fits and isinstance(content, dict) and name not in ("login", "create_account"):
        if "account" in content:
            content["account"] = "1"
        if name == "subscribe" and "from" in content:
            content["from"] = 1  # one that is not there yet is waited for
    answer = socket.ask(message)
    is_error = answer["type"] == "error"
    if fits:
        assert answer.get("id") == message.get("id"), (message, answer)
        assert answer.get("status") != 400, (message, answer)
        assert not is_error or answer["code"].startswith("unknown_"), (message, answer)
    else:
        assert is_error or answer.get("status", 0) >= 400, (message, answer)


def random_messages(seed, count):
    import hypothesis
    import schemathesis
    from schemathesis.generation import GenerationMode

    schema = schemathesis.openapi.from_dict(describe_messages())
    with WebSocket() as socket:
        socket.ask({"id": 1, "login": {"account": "1"}})
        for path in schema:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

                @hypothesis.seed(seed)
                @hypothesis.settings(
                    max_examples=count,
                    deadline=None,
                    database=None,
                    phases=[hypothesis.Phase.generate],
                    suppress_health_check=list(hypothesis.HealthCheck),
                )
                @hypothesis.given(schema[path]["POST"].as_strategy(generation_mode=mode))
                def each(case):
                    send_random(socket, path[1:], case.body, fits=mode == GenerationMode.POSITIVE)

                each()
                print(path, mode)


if WHAT == "examples":
    examples()
else:
    random_messages(*map(int, CHOSEN))
