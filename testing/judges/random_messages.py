"""Random messages to /ws, which schemathesis makes of asyncapi.json: random_messages.py ADDRESS
SEED COUNT

One that fits the description is not refused as malformed; one that does not is refused; each answer
fits it. COUNT: of each kind."""

import json
import sys

import hypothesis
import schemathesis
from described import DOCUMENTS, MESSAGES, WebSocket
from interfaces import is_judged
from schemathesis.generation import GenerationMode

SEED, COUNT = int(sys.argv[2]), int(sys.argv[3])
BYTES_MAX = 16_000


def description():
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


def send(socket, name, message, fits):
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


def main():
    schema = schemathesis.openapi.from_dict(description())
    with WebSocket() as socket:
        socket.ask({"id": 1, "login": {"account": "1"}})
        for path in schema:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

                @hypothesis.seed(SEED)
                @hypothesis.settings(
                    max_examples=COUNT,
                    deadline=None,
                    database=None,
                    phases=[hypothesis.Phase.generate],
                    suppress_health_check=list(hypothesis.HealthCheck),
                )
                @hypothesis.given(schema[path]["POST"].as_strategy(generation_mode=mode))
                def each(case):
                    send(socket, path[1:], case.body, fits=mode == GenerationMode.POSITIVE)

                each()
                print(path, mode)


main()
