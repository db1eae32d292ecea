"""The descriptions that a server has, for examples.py and random_messages.py: ADDRESS is their
first argument."""

import json
import sys

from interfaces import ask
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from websockets.sync.client import connect

ADDRESS = sys.argv[1]
NAMES = ("openapi.json", "asyncapi.json")
API, MESSAGES = DOCUMENTS = [ask(ADDRESS, "GET", f"/api/{name}")[1] for name in NAMES]
REGISTRY = Registry().with_resources(
    (name, Resource(document, DRAFT202012)) for name, document in zip(NAMES, DOCUMENTS, strict=True)
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
