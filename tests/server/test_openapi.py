"""The OpenAPI document is made from the routes, and says of each what it takes, answers and asks for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from tests.server.asgi import call
from tests.server.whole import whole
from vigie.server.api.prometheus import remote_backend
from vigie.server.metrics import ServerMetrics
from vigie.server.openapi.document import METHODS, UndeclaredRouteError, declared, document
from vigie.server.openapi.operations import OPERATIONS


class Made:
    """The routes of both kinds of server, and what the first says of itself."""

    def __init__(self, routes: list[BaseRoute], elsewhere: list[BaseRoute], told: dict[str, Any]) -> None:
        self.routes, self.elsewhere, self.told = routes, elsewhere, told

    def rows(self) -> set[str]:
        """Return every row of the table that a route uses."""
        used = set()
        for route in (*self.routes, *self.elsewhere):
            assert isinstance(route, Route | WebSocketRoute)
            methods = route.methods if isinstance(route, Route) else {"GET"}
            for method in set(METHODS) & set(methods or ()):
                row = f"{method} {route.path}"
                used.add(row if row in OPERATIONS else route.path)
        return used


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    data = Path(tmp_path_factory.mktemp("data"))

    async def make() -> Made:
        with whole(data) as (app, callers, _):
            passing: Any = None
            elsewhere = remote_backend.backend_routes(
                passing, None, ServerMetrics(lambda: (0, 0, 0, 0), lambda: 0), callers
            )
            answer = await asyncio.to_thread(call, app, "GET", "/api/openapi.json")
            return Made(app.routes, elsewhere.routes, answer.json)

    return asyncio.run(make())


def test_every_route_is_declared_and_every_declaration_has_a_route(made: Made) -> None:
    assert made.rows() == set(OPERATIONS)


def test_server_tells_the_document_of_its_own_routes(made: Made) -> None:
    assert made.told == json.loads(json.dumps(document(made.routes)))
    assert document(made.elsewhere)["paths"]["/api/v1/parse_query"]["post"]["x-role"] == "viewer"


def test_undeclared_route_is_named() -> None:
    async def nothing(_: Request) -> Response:
        return Response()

    with pytest.raises(UndeclaredRouteError, match="GET /nowhere has no row"):
        document([Route("/nowhere", nothing)])
    with pytest.raises(UndeclaredRouteError):
        declared("GET", "/nowhere")


def test_parameters_travel_in_the_address_or_in_a_form(made: Made) -> None:
    both = made.told["paths"]["/api/v1/query_range"]
    asked = {row["name"]: row for row in both["get"]["parameters"]}
    form = both["post"]["requestBody"]["content"]["application/x-www-form-urlencoded"]["schema"]
    assert set(asked) == set(form["properties"]) >= {"query", "start", "end", "step", "timeout"}
    assert [name for name, row in asked.items() if row["required"]] == form["required"]
    assert "parameters" not in both["post"]
    (name, *_) = made.told["paths"]["/api/v1/label/{name}/values"]["get"]["parameters"]
    assert (name["name"], name["in"], name["required"]) == ("name", "path", True)


@pytest.mark.parametrize(
    ("method", "path", "role", "anybody"),
    [
        ("get", "/healthz", "anybody", True),
        ("get", "/api/v1/labels", "viewer", True),
        ("delete", "/api/nodes/{name}", "admin", False),
        ("post", "/api/v1/write", "writer", False),
        ("get", "/link", "node", False),
    ],
)
def test_role_and_credentials_are_told(made: Made, method: str, path: str, role: str, anybody: bool) -> None:
    operation = made.told["paths"][path][method]
    assert operation["x-role"] == role
    assert (operation["security"] == [] or {} in operation["security"]) == anybody
    assert ("401" in operation["responses"]) == (role != "anybody")


def test_ids_of_operations_are_unique(made: Made) -> None:
    ids = [found["operationId"] for path in made.told["paths"].values() for found in path.values()]
    assert len(ids) == len(set(ids))
