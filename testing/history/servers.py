"""A server that keeps its journal, and one that lies: what the tests of histories and `run` start. All on loopback."""

import re
import socket
import threading

from exchange_server import ExchangeServer


def journaling_server(store, policy="loop", **more):
    return ExchangeServer(
        "--keep-journal", "--policy", policy, store=store, http_port="off", **more
    )


def read_frame(file):
    """The document behind a length line; None at the end of the stream."""
    line = file.readline()
    return file.read(int(line)) if line.strip() else None


class StaleServer:
    """A real exchange behind a cache that believes orders do not change: a query that was answered once is answered so ever after.

    Each reply was right once, so that one connection or one reply alone does not show it.
    """

    def __init__(self, port):
        self.upstream, self.lock, self.answers = port, threading.Lock(), {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lies = 0
        self.threads = []

    def __enter__(self):
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.acceptor.join()
        for thread in self.threads:
            thread.join()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.upstream))
        with client, server, client.makefile("rb") as requests, server.makefile("rb") as replies:
            try:
                while (document := read_frame(requests)) is not None:
                    server.sendall(b"%d\n%s" % (len(document), document))
                    reply = replies.readline()
                    if not reply:
                        return
                    if re.search(rb"<query\b", document) and not re.search(
                        rb"<(order|cancel)\b", document
                    ):
                        with self.lock:
                            first = self.answers.setdefault(document, reply)
                            self.lies += first != reply
                        reply = first
                    client.sendall(reply)
            except OSError:
                return  # one of the two has gone
