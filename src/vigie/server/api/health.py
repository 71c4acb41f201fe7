"""The routes about the server itself: its health, its metrics, and what there is to ask."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute

from vigie.server.http.openapi import build_document
from vigie.server.http.responses import Handler, respond
from vigie.server.http.routes import JSON, OPEN, PROGRAMS, TEXT, ApiRoute, Content, Operation
from vigie.server.metrics import ServerMetrics
from vigie.store.filesystem import DiskSpace, SpaceLimits, disk_space
from vigie.wire.api.resources import NotReady
from vigie.wire.exposition.negotiation import choose_format

Check = Callable[[], str]
EXPOSITION = Content("An exposition.", {TEXT: str, "application/openmetrics-text": str})
ALIVE = Operation("Check that the server is alive.", Content("It is.", {TEXT: str}))
READY = Operation(
    "Check that the server can do its work.",
    Content("It can.", {TEXT: str}),
    errors={503: Content("It cannot, and why.", {JSON: NotReady})},
)


class Readiness:
    """Asks what the work depends on; nothing of it may wait."""

    def __init__(self, checks: Sequence[Check] = ()) -> None:
        self._checks = checks  # each returns what is wrong, or nothing
        self.stopping = False

    def reasons(self) -> list[str]:
        """Return why the server cannot do its work; none when it can."""
        if self.stopping:
            return ["the server is being stopped"]
        return [reason for check in self._checks if (reason := check())]


def check_free_space(directory: Path, space: Callable[[Path], DiskSpace] = disk_space) -> Check:
    """Return what tells when the file system is so full that the store takes nothing."""

    def check() -> str:
        free, total = space(directory)
        if free >= total * SpaceLimits().refuse:
            return ""
        return f"the disk is full: {free} of {total} bytes are free on the file system of {directory}"

    return check


def health_routes(own: ServerMetrics, reasons: Callable[[], list[str]]) -> list[BaseRoute]:
    """Return the routes; the reasons tell why the server cannot do its work."""

    async def metrics(request: Request) -> Response:
        form = choose_format(request.headers.get("accept", ""))
        # The store may be busy with its upkeep: nobody else should wait for that.
        return respond(await asyncio.to_thread(own.render, form), request, form.content_type)

    async def openapi(request: Request) -> Response:
        return respond(json.dumps(build_document(request.app.routes)).encode(), request)

    return [
        ApiRoute("/metrics", metrics, Operation("The server's own metrics.", EXPOSITION), access=PROGRAMS),
        ApiRoute("/api/openapi.json", openapi, Operation("This document.", dict[str, Any])),
        ApiRoute("/healthz", _text("ok\n"), ALIVE, access=OPEN),
        ApiRoute("/-/healthy", _text("vigie server is Healthy.\n"), ALIVE),
        ApiRoute("/readyz", _ready("ok\n", reasons), READY, access=OPEN),
        ApiRoute("/-/ready", _ready("vigie server is Ready.\n", reasons), READY),
    ]


def _text(words: str) -> Handler:
    async def say(_: Request) -> Response:
        return PlainTextResponse(words)

    return say


def _ready(words: str, reasons: Callable[[], list[str]]) -> Handler:
    async def tell(_: Request) -> Response:
        if found := reasons():
            return Response(msgspec.json.encode(NotReady(False, found)), 503, media_type=JSON)
        return PlainTextResponse(words)

    return tell
