"""An exporter that says what it is told to, well or badly."""

from __future__ import annotations

import contextlib
import gzip
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

Reply = Callable[[str], bytes]  # from a request's head to all bytes of the answer; none: hang up


class Exporter(socketserver.ThreadingTCPServer):
    """Counts connections and requests, and answers each as `reply` says."""

    daemon_threads = True

    def __init__(self, reply: Reply, tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reply, self._tls = reply, tls
        self.connections = 0
        self.requests: list[str] = []
        self.port: int = self.server_address[1]
        self.leaving = threading.Event()
        self.connected: set[socket.socket] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def get_request(self) -> tuple[Any, Any]:
        sock, address = super().get_request()
        return (self._tls.wrap_socket(sock, server_side=True) if self._tls else sock), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave in the middle are what is tested."""

    def leave(self) -> None:
        """End all conversations."""
        self.leaving.set()
        for sock in list(self.connected):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


class _Handler(socketserver.StreamRequestHandler):
    server: Exporter

    def handle(self) -> None:
        self.server.connections += 1
        self.server.connected.add(self.connection)
        with contextlib.suppress(OSError):
            while self._answered():
                pass
        self.server.connected.discard(self.connection)

    def _answered(self) -> bool:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return False
            head += line
        self.server.requests.append(head.decode())
        answer = self.server.reply(head.decode())
        self.wfile.write(answer)
        return bool(answer) and b"Connection: close" not in answer and not answer.startswith(b"HTTP/1.0")


def said(body: str | bytes, *headers: str, status: str = "200 OK", packed: bool = False) -> bytes:
    """Return a whole answer."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", *headers]
    if packed:
        content = gzip.compress(content)
        lines.append("Content-Encoding: gzip")
    lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + content


@contextlib.contextmanager
def exporting(reply: Reply | str, tls: ssl.SSLContext | None = None) -> Iterator[Exporter]:
    """Run an exporter on a free port."""
    text = "" if callable(reply) else reply
    with Exporter(reply if callable(reply) else lambda _: said(text), tls) as exporter:
        thread = threading.Thread(target=exporter.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield exporter
        finally:
            exporter.leave()
            exporter.shutdown()
            thread.join()
