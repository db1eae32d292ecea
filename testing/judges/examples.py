"""The examples of the descriptions, sent to a server: examples.py ADDRESS [--keys]

Takes openapi.json and asyncapi.json from the server itself, and validates them, each response to an
example, and each message of the WebSocket that comes. The server is new: accounts and symbols come
from the examples."""

import sys
import time
import urllib.parse

from described import ADDRESS, API, DOCUMENTS, MESSAGES, NAMES, REGISTRY, WebSocket, validate
from exchange_server import OPERATOR_KEY
from interfaces import ask, basic, bearer
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

WITH_KEYS = "--keys" in sys.argv
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


for name, document in zip(NAMES, DOCUMENTS, strict=True):
    for reference in references(document):
        REGISTRY.resolver(name).lookup(reference)
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
http()
web_socket()
