"""The bots of the source, and servers, for tests."""

import socket
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "client"), str(ROOT / "client/python/src")]


class HttpServer:
    """Replies with (status, text) of `pages`, by path."""

    def __init__(self, test, pages):
        self.pages, self.asked, self.authorizations = pages, [], []
        self.connections = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                outer.connections += 1

            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.asked.append(self.path)
                outer.authorizations.append(self.headers.get("Authorization"))
                status, text = outer.pages[self.path.partition("?")[0]]
                self.send_response(status)
                self.send_header("Content-Length", len(text.encode()))
                self.end_headers()
                self.wfile.write(text.encode())

            do_POST = do_GET

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)
        self.address = server.server_address


def start_line_server(test, reply):
    """Replies once, with these bytes, and closes the connection. Returns its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    test.addCleanup(listener.close)

    def serve():
        with closing(listener.accept()[0]) as connection:
            connection.recv(1 << 16)
            connection.sendall(reply)

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()
