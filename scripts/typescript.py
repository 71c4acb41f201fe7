"""The types of the web UI, from the OpenAPI document of the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from vigie.wire.api.pages import WEB_PAGES

HEAD = "// Written by `make docs` from the declared routes; edit those instead. Null is absent, never 0."
REFERENCE = "#/components/schemas/"
SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def types_file(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the file: the pages, and an interface for each type that vigie's own API answers."""
    yield f"{HEAD}\n"
    yield "export const WEB_PAGES = ["
    for page in WEB_PAGES:
        name = page.address.split("/")[1]
        shown = {"name": name, "title": page.title, "menu": page.menu, "tool": page.tool}
        yield f"  {{ {', '.join(f'{key}: {json.dumps(value)}' for key, value in shown.items())} }},"
    yield "];"
    schemas = document["components"]["schemas"]
    for name in sorted(_reachable(document)):
        schema = schemas[name]
        yield ""
        if schema.get("description"):
            yield f"/** {schema['description'].splitlines()[0]} */"
        if "prefixItems" in schema:
            items = (f"{item['title']}: {_type(item)}" for item in schema["prefixItems"])
            yield f"export type {name} = [{', '.join(items)}];"
            continue
        yield f"export interface {name} {{"
        for field, kind in schema["properties"].items():
            yield f"  {field}{'' if field in schema['required'] else '?'}: {_type(kind)};"
        yield "}"


def _reachable(document: dict[str, Any]) -> set[str]:
    own = {
        path: operations
        for path, operations in document["paths"].items()
        if path.startswith("/api/") and not path.startswith("/api/v1/")
    }
    reached: set[str] = set()
    waiting = _references(own)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting |= _references(document["components"]["schemas"][name])
    return reached


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"].removeprefix(REFERENCE)} if "$ref" in value else set()
        return own.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].removeprefix(REFERENCE))
    if "anyOf" in schema:
        return " | ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(SCALARS[each] for each in kind)
    if kind == "array":
        inner = _type(schema["items"])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object":
        return f"Record<string, {_type(schema.get('additionalProperties', {}))}>"
    return SCALARS.get(kind or "", "unknown")
