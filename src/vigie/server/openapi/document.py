"""Makes the document from the routes of an application."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from starlette.routing import BaseRoute, Route, WebSocketRoute

import vigie
from vigie.server.http.routes import OPEN, RouteAccess, rule_of
from vigie.server.openapi.operations import OPERATIONS
from vigie.server.openapi.words import ERROR, FORM, Content, Operation, Parameter, Schema, refused

METHODS = ("GET", "POST", "PUT", "DELETE")  # HEAD follows GET
PLACE = re.compile(r"\{(\w+)(?::\w+)?\}")
SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token: of an account, the join token, or a node's key.",
    },
    "password": {"type": "http", "scheme": "basic", "description": "Name and password of an account."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "vigie_session",
        "description": "The sign-in of a browser; changes something only from a page of this server.",
    },
}
# What every route may answer that is not for anybody.
COMMON = {
    401: refused("Nobody, or somebody unknown: say who you are."),
    403: refused("Not for this role, or from a page of another server."),
    429: refused("Too many sign-ins have failed; see Retry-After."),
    503: refused("It cannot be answered now: too much at once, too slow, or the server is being stopped."),
}
DESCRIPTION = (
    "Prometheus's API under /api/v1, at its own paths and in its own words, and vigie's own beside it. "
    "`x-role` is the least role that may. Without credentials programs on the server's machine may do what "
    "a viewer may, unless `server.auth` says otherwise."
)


class UndeclaredRouteError(ValueError):
    """A route that nobody has described."""


def document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of some routes."""
    paths: dict[str, dict[str, Any]] = {}
    for method, path in _taken(routes):
        described = _operation(method, path, declared(method, path), rule_of(method, path))
        paths.setdefault(PLACE.sub(r"{\1}", path), {})[method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "vigie", "version": vigie.__version__, "description": DESCRIPTION},
        "servers": [{"url": ".."}],  # relative to this document, so that it is true below a prefix too
        "paths": dict(sorted(paths.items())),
        "components": {"securitySchemes": SCHEMES, "schemas": {"Error": ERROR}},
    }


def declared(method: str, path: str) -> Operation:
    """Return the declaration of a route, or raise Undeclared."""
    found = OPERATIONS.get(f"{method} {path}") or OPERATIONS.get(path)
    if found is None:
        raise UndeclaredRouteError(
            f"{method} {path} has no row in the table of vigie.server.openapi.operations"
        )
    return found


def _taken(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    for route in routes:
        if isinstance(route, Route):
            yield from ((method, route.path) for method in METHODS if method in (route.methods or ()))
        elif isinstance(route, WebSocketRoute):
            yield "GET", route.path


def _operation(method: str, path: str, operation: Operation, rule: RouteAccess) -> dict[str, Any]:
    by_form = method == "POST" and operation.body is None
    answers = {operation.status: operation.answer, **({} if rule == OPEN else COMMON), **operation.refusals}
    places = PLACE.findall(path)
    parameters = [_placed(name, operation) for name in places]
    if not by_form:
        asked = [parameter for parameter in operation.parameters if parameter.name not in places]
        parameters += [_parameter(parameter) for parameter in asked]
    body = _form(operation.parameters) if by_form and operation.parameters else operation.body
    return {
        "summary": operation.what,
        "operationId": f"{method.lower()}{re.sub(r'[^a-z0-9]+', '_', path.lower())}".rstrip("_"),
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"content": _content(body), "required": True}} if body else {}),
        "responses": {str(status): _answer(content) for status, content in sorted(answers.items())},
        "security": _security(rule),
        "x-role": rule.least or "anybody",
    }


def _placed(name: str, operation: Operation) -> dict[str, Any]:
    what = next((parameter.what for parameter in operation.parameters if parameter.name == name), name)
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": what, "schema": schema}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    described = {"name": parameter.name, "in": "query", "description": parameter.what}
    return {**described, "required": parameter.required, "schema": parameter.full_schema}


def _form(parameters: Iterable[Parameter]) -> Content:
    fields = {parameter.name: parameter.full_schema for parameter in parameters}
    needed = [parameter.name for parameter in parameters if parameter.required]
    schema = {"type": "object", "properties": fields, **({"required": needed} if needed else {})}
    return Content("The parameters.", {FORM: schema})


def _security(rule: RouteAccess) -> list[dict[str, list[str]]]:
    if rule == OPEN:
        return []
    named: list[dict[str, list[str]]] = [{name: []} for name in SCHEMES]
    return [*named, {}] if rule.least == "viewer" and not rule.changes else named


def _answer(content: Content) -> dict[str, Any]:
    return {"description": content.what, **({"content": _content(content)} if content.forms else {})}


def _content(content: Content) -> dict[str, dict[str, Schema]]:
    return {kind: {"schema": schema} for kind, schema in content.forms.items()}
