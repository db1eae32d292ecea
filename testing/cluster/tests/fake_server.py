"""A stand-in for an exchange server, on the ports of a cluster."""

import contextlib
import socket
import threading

from cluster import HTTP, XML


class FakeServer:
    """Answers /readyz, and repeats what a client of the XML port sends, if it has one."""

    def __init__(self, address, is_ready, has_xml=False):
        """`is_ready`: called for each answer; if it is not, it is a standby."""
        self.is_ready = is_ready
        self.listeners = [self._listen((address, HTTP), self._answer_http)]
        if has_xml:
            self.listeners.append(self._listen((address, XML), self._repeat))

    def close(self):
        for listener in self.listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    @staticmethod
    def _listen(address, serve):
        listener = socket.create_server(address)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],)).start()

        threading.Thread(target=accept).start()
        return listener

    def _answer_http(self, connection):
        with connection, contextlib.suppress(OSError):
            if request := connection.recv(4096):
                is_200 = self.is_ready() or b"/readyz?standby" in request
                status = "200 OK\r\n\r\nok" if is_200 else "503 No\r\n\r\nstandby"
                connection.sendall(f"HTTP/1.0 {status}\n".encode())

    @staticmethod
    def _repeat(connection):
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(4096):
                connection.sendall(data)
