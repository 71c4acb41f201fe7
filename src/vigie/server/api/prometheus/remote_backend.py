"""The routes of a server whose data are elsewhere: requests are passed on, answers are passed back."""

from __future__ import annotations

import asyncio
from typing import Protocol

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from vigie.common.endpoint import Target
from vigie.common.http_client import Client, Unreachable
from vigie.server.api.dashboards import dashboard_routes
from vigie.server.api.health import about
from vigie.server.api.pages import OutlookRoutes
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.app import BOTH
from vigie.server.auth.authenticator import Callers
from vigie.server.auth.middleware import Access, guarded
from vigie.server.http.requests import MAX_FORM, TooLarge, answered, body_of, refusal
from vigie.server.ingest.remote_write import MAX_BODY, RETRY
from vigie.server.metrics import Own
from vigie.server.pages.cluster_state import Nothing
from vigie.server.pages.query_batch import Elsewhere, Engines
from vigie.server.pages.snapshot_cache import Outlook
from vigie.server.web_app import page_routes

PASSED = ("content-type", "content-encoding", "x-prometheus-remote-write-version", "user-agent")
WRITE_SECONDS = 30.0
AT_ONCE = 8
# What changes something there, or tells what is no business of a viewer's, is not passed on.
PATHS = (
    "query", "query_range", "query_exemplars", "format_query", "parse_query", "series", "labels",
    "label/{name:text}/values", "metadata", "targets", "rules", "alerts", "status/buildinfo",
    "status/runtimeinfo", "status/tsdb",
)  # fmt: skip


class Forwards(Engines, Protocol):
    """A way to an engine elsewhere: for requests as they are, and for questions of our own."""

    async def forward(
        self, method: str, path: str, query: str, body: bytes, content_type: str
    ) -> tuple[int, str, bytes]:
        """Return status, content type and body of its answer."""


def build(reading: Forwards, writing: WriteOn | None, own: Own, callers: Callers) -> Access:
    """Return the application over an engine elsewhere."""
    passing = answered(Passing(reading, MAX_FORM).answer)
    routes = [Route(f"/api/v1/{path}", passing, methods=list(BOTH)) for path in PATHS]
    routes.append(Route("/federate", passing))
    write = writing.answer if writing else _no_write
    routes.append(Route("/api/v1/write", answered(write), methods=["POST"]))
    pages = OutlookRoutes(Outlook(Elsewhere(reading), Nothing(), now_ms))
    return guarded(
        [*routes, *about(own, list), *dashboard_routes(), *pages.routes(), *page_routes()], callers
    )


class Passing:
    """Passes requests on."""

    def __init__(self, to: Forwards, most: int) -> None:
        self._to, self._most = to, most

    async def answer(self, request: Request) -> Response:
        """Return what the other side says."""
        scope = request.scope
        # Such a path would lead out of the API, or of the prefix that the engine has.
        if {".", ".."}.intersection(scope["path"].split("/")):
            return refusal(400, "bad_data", "a path with a step of dots is not passed on")
        kind = request.headers.get("content-type", "")
        try:
            body = await body_of(request, self._most)
            path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
            status, content_type, content = await self._to.forward(
                request.method, path, scope["query_string"].decode("latin-1"), body, kind
            )
        except TooLarge as error:
            return refusal(413, "bad_data", str(error))
        return Response(content, status, media_type=content_type or None)


class WriteOn:
    """Passes remote write on, with the headers that tell its version."""

    def __init__(self, target: Target, seconds: float = WRITE_SECONDS) -> None:
        target.check()
        self._target, self._seconds = target, seconds
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def answer(self, request: Request) -> Response:
        """Return what the other side says."""
        headers = {name: request.headers[name] for name in PASSED if name in request.headers}
        try:
            body = await body_of(request, MAX_BODY)
            async with self._turns:
                return await asyncio.to_thread(self._passed, body, headers)
        except TooLarge as error:
            return PlainTextResponse(f"{error}\n", 413)
        except Unreachable as error:
            return PlainTextResponse(f"{self._target.name} does not answer: {error}\n", 503, RETRY)

    def _passed(self, body: bytes, headers: dict[str, str]) -> Response:
        client = Client(self._target, self._seconds)
        try:
            reply = client.request("POST", self._target.parts().path or "/", body, headers)
        finally:
            client.close()
        return Response(reply.body, reply.status, media_type=reply.headers.get("content-type"))


async def _no_write(_: Request) -> Response:
    return PlainTextResponse("this server takes no remote write: see server.store_write\n", 404)
