"""Exporters to scrape: one HTTP server, a path for each node, whose numbers move with every scrape."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.store.fleet import Node, parts_of
from vigie.model import format_series

TABLES = ("dcgm", "netdev")  # of what a node of the fleet has: 304 series


class Exporter:
    """One node's page."""

    def __init__(self, number: int) -> None:
        self._node = Node(number, [part for part in parts_of(number) if part.table in TABLES])
        self.instance = self._node.labels["instance"]
        self._names = [format_series(*series) for series in self._node.series]

    def page(self) -> bytes:
        """Return the numbers of the next step."""
        (numbers,) = self._node.values(1).tolist()
        return "".join(
            [f"{name} {number!r}\n" for name, number in zip(self._names, numbers, strict=True)]
        ).encode()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a scrape that was given up."""


@contextlib.contextmanager
def exporting(count: int) -> Iterator[tuple[int, list[str]]]:
    """Serve so many exporters, and give the port and what each is called; its number is its path."""
    exporters = [Exporter(number) for number in range(count)]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            """Answer a scrape."""
            page = exporters[int(self.path[1:])].page()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield server.server_address[1], [exporter.instance for exporter in exporters]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def prometheus(home: Path, port: int, exporters: tuple[int, list[str]], write: str, token: Path) -> list[str]:
    """Return the command of a Prometheus that scrapes every second and remote-writes."""
    address, instances = exporters
    groups = "\n".join(
        f"""      - targets: ["127.0.0.1:{address}"]
        labels: {{instance: "{instance}", __metrics_path__: "/{number}"}}"""
        for number, instance in enumerate(instances)
    )
    (home / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: node
    static_configs:
{groups}
remote_write:
  - url: {write}
    authorization: {{credentials_file: {token}}}
""")
    return [
        "prometheus",
        f"--config.file={home}/prometheus.yml",
        f"--storage.tsdb.path={home}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
