"""The OpenAPI document, derived from the declarations of routes."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from starlette.routing import BaseRoute

import vigie
from vigie.server.http.routes import (
    FORM,
    JSON,
    OPEN,
    ApiRoute,
    Content,
    Operation,
    Parameter,
    RouteAccess,
    Schema,
    check_declared,
)
from vigie.wire.api.resources import ApiError

METHODS = ("GET", "POST", "PUT", "DELETE")  # HEAD follows GET
VARIABLE = re.compile(r"\{(\w+)(?::\w+)?\}")
REFERENCE = "#/components/schemas/"
SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "format": "binary"},
    type(None): {"type": "null"},
    object: {"type": "object"},
    Any: {},
}
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
# Errors of every route that is not open to anybody.
COMMON_ERRORS = {
    401: "No credentials, or unknown ones.",
    403: "Not for this role, or from a page of another server.",
    429: "Too many sign-ins have failed; see Retry-After.",
    503: "It cannot be answered now: too much at once, too slow, or the server is being stopped.",
}
DESCRIPTION = (
    "Prometheus's API under /api/v1, at its own paths and in its own words, and vigie's own beside it. "
    "`x-role` is the least role that may. Without credentials programs on the server's machine may do what "
    "a viewer may, unless `server.auth` says otherwise."
)


class SchemaBuilder:
    """JSON schemas of types; structs and named tuples are components that are referred to by name."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def build(self, kind: Any, variables: Mapping[Any, Any] = {}) -> Schema:
        kind = variables.get(kind, kind)
        origin, arguments = get_origin(kind), get_args(kind)
        if kind in SCALARS:
            return SCALARS[kind]
        if origin is Literal:
            return {"type": "string", "enum": list(arguments)}
        if origin is Annotated:
            return {**self.build(arguments[0]), "minLength": arguments[1].min_length}
        if origin in (Union, types.UnionType):
            return _union([self.build(part, variables) for part in arguments])
        if origin in (list, tuple, Sequence):
            return {"type": "array", "items": self.build(arguments[0], variables)}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.build(arguments[1], variables)}
        if origin is not None:  # a generic struct
            return self._object(origin, dict(zip(_type_variables(origin), arguments, strict=True)))
        if kind.__name__ not in self.components:
            self.components[kind.__name__] = {}  # it may refer to itself
            self.components[kind.__name__] = self._object(kind, {})
        return {"$ref": REFERENCE + kind.__name__}

    def _object(self, kind: Any, variables: Mapping[Any, Any]) -> Schema:
        fields = {
            name: self.build(hint, variables)
            for name, hint in get_type_hints(kind, include_extras=True).items()
        }
        described = {"description": kind.__doc__} if issubclass(kind, msgspec.Struct) and kind.__doc__ else {}
        if issubclass(kind, msgspec.Struct) and kind.__struct_config__.array_like:
            items = [{**schema, "title": name} for name, schema in fields.items()]
            return {
                "type": "array",
                **described,
                "prefixItems": items,
                "minItems": len(items),
                "items": False,
            }
        required = [name for name in fields if name not in _omitted(kind)]
        return {"type": "object", **described, "properties": fields, "required": required}


def _union(parts: Sequence[Schema]) -> Schema:
    if all(set(part) == {"type"} for part in parts):
        return {"type": [part["type"] for part in parts]}
    return {"anyOf": list(parts)}


def _type_variables(kind: Any) -> tuple[TypeVar, ...]:
    found: tuple[TypeVar, ...] = kind.__parameters__
    return found


def _omitted(kind: Any) -> set[str]:
    """Return the fields that are left out where they have their default."""
    if not issubclass(kind, msgspec.Struct) or not kind.__struct_config__.omit_defaults:
        return set()
    return {field.encode_name for field in msgspec.structs.fields(kind) if not field.required}


def build_document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of some routes."""
    paths: dict[str, dict[str, Any]] = {}
    schemas = SchemaBuilder()
    schemas.build(ApiError)
    for route in map(check_declared, routes):
        path = VARIABLE.sub(r"{\1}", route.path)
        methods = route.methods if isinstance(route, ApiRoute) else {"GET"}
        for method in (method for method in METHODS if method in (methods or ())):
            built = _build_operation(schemas, method, route.path, route.operation, route.access)
            paths.setdefault(path, {})[method.lower()] = built
    return {
        "openapi": "3.1.0",
        "info": {"title": "vigie", "version": vigie.__version__, "description": DESCRIPTION},
        "servers": [{"url": ".."}],  # relative to this document, so that it is true below a prefix too
        "paths": dict(sorted(paths.items())),
        "components": {"securitySchemes": SCHEMES, "schemas": dict(sorted(schemas.components.items()))},
    }


def _build_operation(
    schemas: SchemaBuilder, method: str, path: str, operation: Operation, access: RouteAccess
) -> dict[str, Any]:
    by_form = method == "POST" and operation.body is None
    common = {} if access == OPEN else COMMON_ERRORS
    answers = {operation.status: operation.answer, **common, **operation.errors}
    variables = VARIABLE.findall(path)
    parameters = [_path_parameter(name, operation) for name in variables]
    others = [parameter for parameter in operation.parameters if parameter.name not in variables]
    body = None if operation.body is None else _content(schemas, operation.body)
    if by_form and others:
        body = {FORM: {"schema": _form(others)}}
    elif not by_form:
        parameters += [_query_parameter(parameter) for parameter in others]
    return {
        "summary": operation.summary,
        "operationId": f"{method.lower()}{re.sub(r'[^a-z0-9]+', '_', path.lower())}".rstrip("_"),
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"content": body, "required": True}} if body else {}),
        "responses": {str(status): _answer(schemas, answer) for status, answer in sorted(answers.items())},
        "security": _security(access),
        "x-role": access.least or "anybody",
    }


def _path_parameter(name: str, operation: Operation) -> dict[str, Any]:
    described = {parameter.name: parameter.description for parameter in operation.parameters}
    schema = {"type": "string", "minLength": 1}
    parameter = {"name": name, "in": "path", "description": described.get(name, name)}
    return {**parameter, "required": True, "schema": schema}


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    described = {"name": parameter.name, "in": "query", "description": parameter.description}
    return {**described, "required": parameter.required, "schema": parameter.full_schema}


def _form(parameters: Sequence[Parameter]) -> Schema:
    required = [parameter.name for parameter in parameters if parameter.required]
    fields = {parameter.name: parameter.full_schema for parameter in parameters}
    return {"type": "object", "properties": fields, **({"required": required} if required else {})}


def _security(access: RouteAccess) -> list[dict[str, list[str]]]:
    if access == OPEN:
        return []
    named: list[dict[str, list[str]]] = [{name: []} for name in SCHEMES]
    return [*named, {}] if access.least == "viewer" and not access.changes else named


def _answer(schemas: SchemaBuilder, answer: Any) -> dict[str, Any]:
    if isinstance(answer, str):
        answer = Content(answer, {JSON: ApiError})
    described = answer.description if isinstance(answer, Content) else _describe(answer)
    content = _content(schemas, answer)
    return {"description": described, **({"content": content} if content else {})}


def _describe(kind: Any) -> str:
    kind = get_origin(kind) or kind
    text = kind.__doc__ if isinstance(kind, type) and issubclass(kind, msgspec.Struct | tuple) else ""
    return (text or "The answer.").partition("\n")[0]


def _content(schemas: SchemaBuilder, body: Any) -> dict[str, dict[str, Schema]]:
    media = body.media if isinstance(body, Content) else {JSON: body}
    return {name: {"schema": schemas.build(kind)} for name, kind in media.items()}
