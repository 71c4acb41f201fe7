"""What each route asks for: the one table of who may do what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from starlette.routing import BaseRoute, Match, Mount, Route, WebSocketRoute
from starlette.types import Scope

ADDRESSES = (
    "/",
    "/jobs",
    "/job/{id:text}",
    "/nodes",
    "/node/{name}",
    "/gpu/{node}/{gpu:text}",
    "/users",
    "/user/{name:text}",
    "/events",
    "/dashboards",
    "/dashboard/{slug}",
    "/explore",
    "/vigie",
)
ASSET = "/assets/{name}"
ICON = "/icon.svg"


ROUTE = "vigie.route"  # where the scope of a request tells the path of its route, as the routes spell it
# Which roles meet a demand. Whoever may change may look; a node's key and a writer's token may do one thing.
MEETS = {
    "viewer": ("viewer", "user", "admin"),
    "user": ("user", "admin"),
    "admin": ("admin",),
    "writer": ("writer", "admin"),
    "join": ("join", "admin"),  # lets machines in, and throws none out
    "node": ("node", "join"),
}


class RouteAccess(NamedTuple):
    """The least role that a route asks for, and whether a request to it changes anything."""

    least: str
    changes: bool = False

    def met_by(self, role: str) -> bool:
        """Tell whether somebody of this role may."""
        return role in MEETS[self.least]


OPEN = RouteAccess("")
VIEW = RouteAccess("viewer")
ADMIN = RouteAccess("admin", changes=True)

# By path as the routes spell it; a row with a method goes before one without.
TABLE = {
    **dict.fromkeys((*ADDRESSES, ASSET, ICON), VIEW),
    "/healthz": OPEN,
    "/readyz": OPEN,
    "/login": OPEN,
    "POST /api/login": OPEN,
    "POST /api/logout": RouteAccess("viewer", changes=True),
    "/api/session": VIEW,
    "/api/openapi.json": VIEW,
    "/-/healthy": VIEW,
    "/-/ready": VIEW,
    "/metrics": VIEW,
    "/federate": VIEW,
    "/api/v1/query": VIEW,
    "/api/v1/query_range": VIEW,
    "/api/v1/query_exemplars": VIEW,
    "/api/v1/format_query": VIEW,
    "/api/v1/parse_query": VIEW,
    "/api/v1/series": VIEW,
    "/api/v1/labels": VIEW,
    "/api/v1/label/{name:text}/values": VIEW,
    "/api/v1/metadata": VIEW,
    "/api/v1/targets": VIEW,
    "/api/v1/rules": VIEW,
    "/api/v1/alerts": VIEW,
    "/api/v1/status/buildinfo": VIEW,
    "/api/v1/status/runtimeinfo": VIEW,
    "/api/v1/status/flags": VIEW,
    "/api/v1/status/config": VIEW,
    "/api/v1/status/tsdb": VIEW,
    "/api/v1/write": RouteAccess("writer", changes=True),
    "/sd/prometheus": VIEW,
    "/add_node": RouteAccess("join", changes=True),
    "/remove_node": ADMIN,
    "/link": RouteAccess("node", changes=True),
    "/api/nodes": VIEW,
    "/api/nodes/{name}": VIEW,
    "POST /api/nodes/{name}": ADMIN,
    "DELETE /api/nodes/{name}": ADMIN,
    "/api/nodes/{name}/gpus/{do}": ADMIN,
    "/api/events": VIEW,
    "/api/bindings": VIEW,
    "/api/jobs": VIEW,
    "/api/users": VIEW,
    "/api/pages/cluster": VIEW,
    "/api/pages/incidents": VIEW,
    "/api/pages/jobs": VIEW,
    "/api/pages/jobs/{id}": VIEW,
    "/api/pages/nodes": VIEW,
    "/api/pages/nodes/{name}": VIEW,
    "/api/pages/gpus/{node}/{gpu}": VIEW,
    "/api/pages/users": VIEW,
    "/api/pages/users/{name}": VIEW,
    "/api/search": VIEW,
    "/api/findings": VIEW,
    "/api/dashboards": VIEW,
    "/api/dashboards/{slug}": VIEW,
}


def rule_of(method: str, path: str) -> RouteAccess:
    """Return what a route asks for, by its path as the routes spell it."""
    return TABLE.get(f"{method} {path}") or TABLE.get(path) or ADMIN


class RouteTable:
    """Finds the rule of a request by the routes themselves, so that no other spelling of a path slips by."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._routes = list(routes)
        for path in map(_path, self._routes):
            if path not in TABLE and not any(row.endswith(f" {path}") for row in TABLE):
                raise ValueError(f"the route {path} has no row in the table of vigie.server.http.routes")

    def rule(self, scope: Scope) -> RouteAccess:
        """Return what the request asks for; what is not there is not for strangers to know."""
        path = scope[ROUTE] = self._taken(scope)
        return VIEW if path is None else rule_of(scope.get("method", "GET"), path)

    def _taken(self, scope: Scope) -> str | None:
        """Return the path of the route that will take the request, chosen as the router does."""
        partial = None
        for route in self._routes:
            match, _ = route.matches(scope)
            if match == Match.FULL:
                return _path(route)
            if match == Match.PARTIAL and partial is None:
                partial = _path(route)
        return partial


def _path(route: BaseRoute) -> str:
    assert isinstance(route, Route | WebSocketRoute | Mount)
    return route.path
