"""A server that says one thing, whatever it is asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from vigie.common.endpoint import Endpoint

GOOD = b'[{"targets": ["n1:9797"], "labels": {"instance": "n1", "job": "node"}}]'
NODES = b'{"nodes": [{"scrape_address": "n1:9797"}, {"scrape_address": ""}, {"scrape_address": ""}]}'


class Says:
    """A server that says one thing."""

    status, body, nodes = 200, GOOD, NODES
    asked: list[str]


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[Says, Endpoint]]:
    said = Says()
    said.asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said.asked.append(self.path)
            body = said.nodes if self.path.endswith("/api/nodes") else said.body
            self.send_response(said.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield said, Endpoint(f"http://127.0.0.1:{server.server_port}/prefix")
        server.shutdown()
        thread.join()


@pytest.fixture
def says(server: tuple[Says, Endpoint]) -> tuple[Says, Endpoint]:
    """Return the server in good health, and where it is."""
    server[0].status, server[0].body, server[0].nodes = 200, GOOD, NODES
    return server
