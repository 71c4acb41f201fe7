"""/api/dashboards: what to show, as the page and other views draw it; it holds questions and no answers."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from vigie.dashboards import all_dashboards, find_dashboard
from vigie.model.dashboard import Dashboard
from vigie.server.http.responses import error_response, respond
from vigie.server.http.routes import ApiRoute, Operation, Parameter
from vigie.wire.api.resources import DashboardList, DashboardSummary


def dashboard_routes() -> list[BaseRoute]:
    return [
        ApiRoute("/api/dashboards", _list, Operation("List the dashboards.", DashboardList)),
        ApiRoute(
            "/api/dashboards/{slug}",
            _one,
            Operation(
                "Return a dashboard; variables stand in its PromQL as `$name`, to be put in as patterns.",
                Dashboard,
                (Parameter("slug", "Its name in addresses."),),
                errors={404: "There is no such dashboard."},
            ),
        ),
    ]


async def _list(request: Request) -> Response:
    listed = [board for board in all_dashboards() if board.listed]
    rows = [DashboardSummary(board.slug, board.title, board.description) for board in listed]
    return respond(msgspec.json.encode(DashboardList(rows)), request)


async def _one(request: Request) -> Response:
    slug = request.path_params["slug"]
    found = find_dashboard(slug)
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
