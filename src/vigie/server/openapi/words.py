"""The words in which a route is declared: parameters, contents, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]

JSON = "application/json"
TEXT = "text/plain"
HTML = "text/html"
FORM = "application/x-www-form-urlencoded"

STRING: Schema = {"type": "string"}
ANY: Schema = {}


class Parameter(NamedTuple):
    """A field of the address, or of the form when a request is sent by POST."""

    name: str
    what: str
    schema: Schema = STRING
    required: bool = False
    many: bool = False  # it may be given several times

    @property
    def full_schema(self) -> Schema:
        """Return the schema of all its values."""
        return {"type": "array", "items": self.schema} if self.many else self.schema


class Content(NamedTuple):
    """What a body holds: its schema by its type."""

    what: str
    forms: Mapping[str, Schema]


class Operation(NamedTuple):
    """What a route does, what it takes and what it answers."""

    what: str
    answer: Content
    parameters: tuple[Parameter, ...] = ()
    body: Content | None = None
    refusals: Mapping[int, Content] = {}
    status: int = 200  # of the answer


def items(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def record(required: str = "", **fields: Schema) -> Schema:
    """Return the schema of an object; fields that are always there are named, with blanks between them."""
    words = required.split()
    return {"type": "object", "properties": fields, **({"required": words} if words else {})}


def choice(*words: str) -> Schema:
    """Return the schema of one of a few words."""
    return {"type": "string", "enum": list(words)}


def json_of(what: str, schema: Schema) -> Content:
    return Content(what, {JSON: schema})


def data_of(what: str, schema: Schema) -> Content:
    """Return a content as Prometheus wraps it: with a status, and the data inside."""
    wrapped = record(
        "status data", status=choice("success"), data=schema, warnings=items(STRING), infos=items(STRING)
    )
    return Content(what, {JSON: wrapped})


def text_of(what: str, kind: str = TEXT) -> Content:
    return Content(what, {kind: STRING})


ERROR = record("status errorType error", status=choice("error"), errorType=STRING, error=STRING)


def refused(what: str) -> Content:
    """Return an error as Prometheus spells it."""
    return Content(what, {JSON: {"$ref": "#/components/schemas/Error"}})
