"""/api/dashboards: what to show, as the page and other views draw it; it holds questions and no answers."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from vigie.dashboards import all_dashboards, dashboard
from vigie.server.http.requests import error_response, handle_errors, respond


def dashboard_routes() -> list[BaseRoute]:
    return [
        Route("/api/dashboards", handle_errors(_list)),
        Route("/api/dashboards/{slug}", handle_errors(_one)),
    ]


async def _list(request: Request) -> Response:
    listed = [board for board in all_dashboards() if board.listed]
    rows = [{"slug": board.slug, "title": board.title, "sentence": board.description} for board in listed]
    return respond(msgspec.json.encode({"dashboards": rows}), request)


async def _one(request: Request) -> Response:
    slug = request.path_params["slug"]
    found = dashboard(slug)
    if found is None:
        return error_response(404, "not_found", f"there is no dashboard {slug!r}; /api/dashboards lists them")
    return respond(msgspec.json.encode(_plain(found)), request)


def _plain(value: Any) -> Any:
    """Return a value whose named tuples are objects, as JSON has them."""
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None)
        plain = [_plain(part) for part in value]
        return plain if names is None else dict(zip(names, plain, strict=True))
    return value
