"""The server cases of the Autobahn test suite, as kosoku runs them, before /ws: autobahn_cases.py
URL

They expect a server that echoes. This one answers {"unsubscribe": {"account": TEXT}} with {"type":
"unsubscribed", "account": TEXT}, whatever the text: so each text of a case is sent as the one, and
read from the other. Frames, their order and their faults stay those of the case. Prints a line for
each case that fails, and a last line that counts."""

import asyncio
import json
import os
import sys

import kosoku
import kosoku.cases  # puts `case` on the path
from case import Case

BEFORE, BEHIND = b'{"unsubscribe":{"account":"', b'"}}'
TEXT, CONTINUATION = 1, 0
WANTED = ["1.1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"]
# Not 1.2, 9, 12 and 13: binary messages, large ones and compression, which /ws refuses.
TOO_LARGE = ["1.1.6", "1.1.7", "1.1.8", "10.1.1"]


def escaped(text):
    """Inside of a JSON string. It may end within a character, or be no UTF-8."""
    special = {byte: b"\\u%04x" % byte for byte in (*range(0x20), *b'"\\')}
    bytes_ = text.encode() if isinstance(text, str) else bytes(text)
    return b"".join(special.get(byte, bytes([byte])) for byte in bytes_)


class Connection:
    """That of a case: kosoku's, but for its texts."""

    def __init__(self, connection):
        self.__dict__.update(connection=connection, in_text=False)

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def __setattr__(self, name, value):
        setattr(self.connection, name, value)

    def sendFrame(self, opcode, payload=b"", fin=True, **options):
        if opcode == TEXT or opcode == CONTINUATION and self.in_text:
            before, behind = BEFORE if opcode == TEXT else b"", BEHIND if fin else b""
            payload = before + escaped(payload) + behind
            self.__dict__["in_text"] = not fin
        return self.connection.sendFrame(opcode=opcode, payload=payload, fin=fin, **options)

    def sendMessage(self, payload, isBinary=False, **options):
        if not isBinary:
            payload = BEFORE + escaped(payload) + BEHIND
        return self.connection.sendMessage(payload, isBinary, **options)


def adapt():
    begin, take = Case.__init__, Case.onMessage

    def on_message(self, text, binary):
        answer = json.loads(text)
        if answer.get("type") == "unsubscribed":
            text = answer["account"]
        return take(self, text, binary)

    Case.__init__ = lambda self, connection: begin(self, Connection(connection))
    Case.onMessage = on_message


async def run(url, wanted, concurrency):
    """How many cases there were, and those that failed."""
    try:
        return len(await kosoku.run_fuzzingclient(url, wanted, TOO_LARGE, concurrency)), []
    except kosoku.FailureError as failure:
        results = failure.results
        return len(results), [result for result in results if not result.passed]


async def main():
    adapt()
    url = sys.argv[1]
    count, failed = await run(url, WANTED, 8)
    for _ in range(3):  # they wait a second for an answer, which a busy machine may not give
        if failed:
            _, failed = await run(url, [result.case_id for result in failed], 1)
    for one in failed:
        print(f"{one.case_id}: {one.result} {one.result_close} received: {one.received}")
    print(f"{count} cases, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    status = asyncio.run(main())
    sys.stdout.flush()
    os._exit(
        status
    )  # without the end of the interpreter, where the library's own threads can abort it
