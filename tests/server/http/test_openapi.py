"""The OpenAPI document is made from the routes, and says of each what it takes, answers and asks for."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tests.server.asgi import call
from tests.server.whole import whole
from vigie.server.api.prometheus.operations import OPERATIONS
from vigie.server.app import build_remote
from vigie.server.http.openapi import SchemaBuilder, build_document
from vigie.server.http.routes import check_declared
from vigie.server.metrics import ServerMetrics
from vigie.wire.api.pages import WEB_PAGES
from vigie.wire.api.trace_reports import Span

T = TypeVar("T")


class Leaf(NamedTuple):
    size: float | None
    kind: Literal["a", "b"]


class Tree(msgspec.Struct, Generic[T], omit_defaults=True):
    leaves: list[Leaf]
    by_name: dict[str, Leaf | None]
    root: T
    note: str = ""


class Made(NamedTuple):
    """The routes of both kinds of server, and what the first says of itself."""

    routes: list[BaseRoute]
    elsewhere: list[BaseRoute]
    told: dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    data = Path(tmp_path_factory.mktemp("data"))

    async def make() -> Made:
        with whole(data) as (app, callers, _):
            passing: Any = None
            elsewhere = build_remote(passing, None, ServerMetrics(lambda: (0, 0, 0, 0), lambda: 0), callers)
            answer = await asyncio.to_thread(call, app, "GET", "/api/openapi.json")
            return Made(app.routes, elsewhere.routes, answer.json)

    return asyncio.run(make())


def test_every_declared_route_of_prometheus_is_served(made: Made) -> None:
    served = {check_declared(route).path for route in (*made.routes, *made.elsewhere)}
    assert set(OPERATIONS) <= served


def test_page_loads_what_the_server_answers(made: Made) -> None:
    served = {
        f"/api/pages/{page.loads.partition('?')[0].replace('{}', '*')}" for page in WEB_PAGES if page.loads
    }
    answered = {re.sub(r"{[^}]*}", "*", check_declared(route).path) for route in made.routes}
    assert served <= answered


def test_server_tells_the_document_of_its_own_routes(made: Made) -> None:
    assert made.told == json.loads(json.dumps(build_document(made.routes)))
    assert build_document(made.elsewhere)["paths"]["/api/v1/parse_query"]["post"]["x-role"] == "viewer"


def test_undeclared_route_is_named() -> None:
    async def nothing(_: Request) -> Response:
        return Response()

    with pytest.raises(TypeError, match="/nowhere"):
        build_document([Route("/nowhere", nothing)])


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


def test_schema_of_a_type_names_its_parts_and_tells_what_may_be_missing() -> None:
    schemas = SchemaBuilder()
    leaf = {"$ref": "#/components/schemas/Leaf"}
    assert schemas.build(Tree[int]) == {
        "type": "object",
        "properties": {
            "leaves": {"type": "array", "items": leaf},
            "by_name": {"type": "object", "additionalProperties": {"anyOf": [leaf, {"type": "null"}]}},
            "root": {"type": "integer"},
            "note": {"type": "string"},
        },
        "required": ["leaves", "by_name", "root"],
    }
    assert schemas.components == {
        "Leaf": {
            "type": "object",
            "properties": {
                "size": {"type": ["number", "null"]},
                "kind": {"type": "string", "enum": ["a", "b"]},
            },
            "required": ["size", "kind"],
        }
    }


def test_struct_that_travels_as_a_list_is_told_as_one() -> None:
    schemas = SchemaBuilder()
    schemas.build(Span)
    assert schemas.components["Span"]["type"] == "array"
    assert [item["title"] for item in schemas.components["Span"]["prefixItems"]] == ["start", "end", "kind"]
