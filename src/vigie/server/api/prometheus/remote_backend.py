"""The routes of a server whose data are elsewhere: requests are passed on, answers are passed back."""

from __future__ import annotations

import asyncio
from typing import Protocol

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from vigie.common.endpoint import Endpoint
from vigie.common.http_client import HttpClient, UnreachableError
from vigie.server.http.bodies import BodyTooLargeError, read_body
from vigie.server.http.responses import error_response
from vigie.server.ingest.remote_write import MAX_BODY, RETRY
from vigie.server.pages.query_batch import RemoteEngines

FORWARDED_HEADERS = ("content-type", "content-encoding", "x-prometheus-remote-write-version", "user-agent")
WRITE_SECONDS = 30.0
MAX_REQUESTS = 8
# What changes something there, or tells what is no business of a viewer's, is not passed on.
PATHS = (
    "query", "query_range", "query_exemplars", "format_query", "parse_query", "series", "labels",
    "label/{name:text}/values", "metadata", "targets", "rules", "alerts", "status/buildinfo",
    "status/runtimeinfo", "status/tsdb",
)  # fmt: skip


class BackendRoutes(RemoteEngines, Protocol):
    """A way to an engine elsewhere: for requests as they are, and for questions of our own."""

    async def forward(
        self, method: str, path: str, query: str, body: bytes, content_type: str
    ) -> tuple[int, str, bytes]:
        """Return status, content type and body of its answer."""


class RemoteBackend:
    def __init__(self, to: BackendRoutes, max_bytes: int) -> None:
        self._to, self._max_bytes = to, max_bytes

    async def answer(self, request: Request) -> Response:
        scope = request.scope
        # Such a path would lead out of the API, or of the prefix that the engine has.
        if {".", ".."}.intersection(scope["path"].split("/")):
            return error_response(400, "bad_data", "a path with a step of dots is not passed on")
        kind = request.headers.get("content-type", "")
        try:
            body = await read_body(request, self._max_bytes)
            path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
            status, content_type, content = await self._to.forward(
                request.method, path, scope["query_string"].decode("latin-1"), body, kind
            )
        except BodyTooLargeError as error:
            return error_response(413, "bad_data", str(error))
        return Response(content, status, media_type=content_type or None)


class WriteForwarder:
    """Passes remote write on, with the headers that tell its version."""

    def __init__(self, target: Endpoint, seconds: float = WRITE_SECONDS) -> None:
        target.check()
        self._target, self._seconds = target, seconds
        self._slots = asyncio.Semaphore(MAX_REQUESTS)

    async def answer(self, request: Request) -> Response:
        headers = {name: request.headers[name] for name in FORWARDED_HEADERS if name in request.headers}
        try:
            body = await read_body(request, MAX_BODY)
            async with self._slots:
                return await asyncio.to_thread(self._forward, body, headers)
        except BodyTooLargeError as error:
            return PlainTextResponse(f"{error}\n", 413)
        except UnreachableError as error:
            return PlainTextResponse(f"{self._target.name} does not answer: {error}\n", 503, RETRY)

    def _forward(self, body: bytes, headers: dict[str, str]) -> Response:
        client = HttpClient(self._target, self._seconds)
        try:
            reply = client.request("POST", self._target.parts().path or "/", body, headers)
        finally:
            client.close()
        return Response(reply.body, reply.status, media_type=reply.headers.get("content-type"))


async def refuse_write(_: Request) -> Response:
    return PlainTextResponse("this server takes no remote write: see server.store_write\n", 404)
