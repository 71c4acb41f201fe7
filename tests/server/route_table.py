"""The routes of a whole server, and stand-ins for them with another handler."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from starlette.routing import BaseRoute

from tests.server.whole import whole
from vigie.server.http.responses import Handler
from vigie.server.http.routes import ApiRoute, Operation, RouteAccess, SocketRoute, check_declared


def _routes() -> list[ApiRoute | SocketRoute]:
    async def build() -> list[BaseRoute]:
        with tempfile.TemporaryDirectory() as data, whole(Path(data)) as (app, *_):
            return app.routes

    return [check_declared(route) for route in asyncio.run(build())]


def _row(route: ApiRoute | SocketRoute) -> str:
    methods = route.methods if isinstance(route, ApiRoute) else None
    return f"{min(methods)} {route.path}" if methods and "GET" not in methods else route.path


# By path, after its method where that is not GET.
TABLE: dict[str, RouteAccess] = {_row(route): route.access for route in _routes()}


def stand_in(row: str, handler: Handler) -> ApiRoute:
    """Return a route for whom the real one is, with another handler."""
    method, _, path = row.rpartition(" ")
    return ApiRoute(
        path, handler, Operation("A stand-in.", str), methods=[method or "GET"], access=TABLE[row]
    )
