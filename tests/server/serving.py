"""A server on a free port, with a store of its own, and a client that says what came back."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import uvicorn
from starlette.types import ASGIApp

from tests.server.known import known_secrets
from vigie.query.limits import QueryLimits
from vigie.server.app import AppParts, build
from vigie.server.auth.authenticator import Authenticator
from vigie.server.http.protocols import ServerProtocol
from vigie.server.http.responses import Body
from vigie.server.ingest.remote_write import RemoteWriter
from vigie.server.metrics import ServerMetrics
from vigie.server.query_executor import Work
from vigie.store.heads.ungrouped import Samples
from vigie.store.store import Store
from vigie.wire.remote_write.write_request import compress, encode

TOKEN = "a-token-for-tests"
NOW = 1_700_000_000_000
DAY = 86_400_000


class Said(NamedTuple):
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def data(self) -> Any:
        assert self.status == 200, self.body
        return self.json["data"]


class Direct:
    """Does the work in a thread, with limits."""

    def __init__(self, store: Store, limits: QueryLimits) -> None:
        self._store, self._limits = store, limits
        self.cancelled = threading.Event()

    async def ask(self, work: Work, seconds: float | None = None) -> Body:
        limits = self._limits if seconds is None else self._limits._replace(seconds=seconds)
        try:
            return await asyncio.to_thread(work, self._store, limits)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


class Server:
    """A running server."""

    def __init__(self, store: Store, readers: Direct, writer: RemoteWriter, port: int) -> None:
        self.store, self.readers, self.writer, self.port = store, readers, writer, port

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Said:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as client:
            client.request(method, path, body or None, dict(headers or {}))
            answer = client.getresponse()
            content = answer.read()
            found = {name.lower(): value for name, value in answer.getheaders()}
        if found.get("content-encoding") == "gzip":
            content = gzip.decompress(content)
        return Said(answer.status, found, content)

    def get(self, path: str, _headers: Mapping[str, str] | None = None, /, **parameters: Any) -> Said:
        query = f"?{urlencode(parameters, doseq=True)}" if parameters else ""
        return self.ask("GET", f"/api/v1/{path}{query}", headers=_headers)

    def post(self, path: str, **parameters: Any) -> Said:
        form = urlencode(parameters, doseq=True).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", f"/api/v1/{path}", form, kind)

    def write(self, body: bytes, **headers: str) -> Said:
        usual = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-protobuf"}
        return self.ask("POST", "/api/v1/write", body, {**usual, **headers})


@contextlib.contextmanager
def listening(
    app: ASGIApp, kind: type[ServerProtocol] = ServerProtocol, most: int | None = None
) -> Iterator[int]:
    """Serve an application from a thread, and give its port."""
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=kind,
            limit_concurrency=most,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
        )
    )
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([bound])))
        thread.start()
        try:
            yield bound.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def serving(
    directory: Path,
    limits: QueryLimits = QueryLimits(),  # noqa: B008 - it cannot be changed
    clock: Callable[[], int] = lambda: NOW,
    kind: type[Store] = Store,
) -> Iterator[Server]:
    """Serve an empty store."""
    with kind(directory) as store, known_secrets(TOKEN) as secrets:
        readers = Direct(store, limits)
        own = ServerMetrics(
            lambda: (*store.bytes_on_disk(), len(store.corruption_reports), store.series_count()), lambda: 0
        )
        writer = RemoteWriter(store, own, clock, 15 * DAY)
        parts = AppParts(
            readers, writer.write, own, Authenticator(secrets), limits, {"raw-days": "15"}, "15d", clock
        )
        try:
            with listening(build(parts)) as port:
                yield Server(store, readers, writer, port)
        finally:
            writer.close()


def series(name: str, values: list[float], step: int = 15_000, **labels: str) -> Samples:
    """Return a series whose last sample is of now."""
    times = [NOW - step * (len(values) - 1 - place) for place in range(len(values))]
    return Samples({"__name__": name, **labels}, times, values)


def request_of(*all_series: Samples) -> bytes:
    """Return a remote write request."""
    return compress(encode(all_series))
