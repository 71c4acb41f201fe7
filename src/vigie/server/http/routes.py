"""A route is declared once: path, methods, role, parameters, answer. Access and OpenAPI derive from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import Scope
from starlette.websockets import WebSocket

from vigie.server.http.responses import Handler, handle_errors

ROUTE = "vigie.route"  # where the scope of a request has the path of its route
ACCESS = "vigie.access"  # and who may request it
# Which roles meet a demand. Whoever may change may look; a node's key and a writer's token may do one thing.
MEETS = {
    "viewer": ("viewer", "user", "admin"),
    "user": ("user", "admin"),
    "admin": ("admin",),
    "writer": ("writer", "admin"),
    "join": ("join", "admin"),  # adds machines, and removes none
    "node": ("node", "join"),
}
Schema = Mapping[str, Any]
STRING: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
TIME: Schema = {"type": "string", "format": "moment"}  # seconds since 1970, or RFC 3339
DURATION: Schema = {"type": "string", "format": "span"}  # seconds, or such as 1h30m
JSON = "application/json"
TEXT = "text/plain"
HTML = "text/html"
FORM = "application/x-www-form-urlencoded"


class RouteAccess(NamedTuple):
    """The least role that a route asks for, and whether a request to it changes anything."""

    least: str
    changes: bool = False
    programs: bool = False  # for programs with a token of their own, not on the word of a node

    def met_by(self, role: str) -> bool:
        return role in MEETS[self.least]


OPEN = RouteAccess("")
VIEW = RouteAccess("viewer")
PROGRAMS = RouteAccess("viewer", programs=True)
ADMIN = RouteAccess("admin", changes=True)


class Parameter(NamedTuple):
    """A field of the address, or of the form when a request is sent by POST."""

    name: str
    description: str
    schema: Schema = STRING
    required: bool = False
    many: bool = False  # it may be given several times

    @property
    def full_schema(self) -> Schema:
        return {"type": "array", "items": self.schema} if self.many else self.schema


class Content(NamedTuple):
    """A body: the type of its content by media type."""

    description: str
    media: Mapping[str, Any] = {}


class Operation(NamedTuple):
    """What a route does, takes and answers; a type stands for JSON of it, an error's text for ApiError."""

    summary: str
    answer: Any
    parameters: Sequence[Parameter] = ()
    body: Any = None
    errors: Mapping[int, str | Content] = {}
    status: int = 200


PAGING = (
    Parameter("limit", "How many at most.", {"type": "integer", "minimum": 1, "maximum": 1000}),
    Parameter("before", "Go on with the `next` of an answer."),
)
BAD_PARAMETER = {400: "A parameter cannot be parsed; the message names it."}
QUERY_ERRORS = {**BAD_PARAMETER, 422: "The query failed, for example because it reads too many samples."}


class ApiRoute(Route):
    def __init__(
        self,
        path: str,
        handler: Handler,
        operation: Operation,
        *,
        methods: Sequence[str] = ("GET",),
        access: RouteAccess = VIEW,
    ) -> None:
        super().__init__(path, handle_errors(handler), methods=list(methods))
        self.access, self.operation = access, operation


class SocketRoute(WebSocketRoute):
    def __init__(
        self,
        path: str,
        handler: Callable[[WebSocket], Awaitable[None]],
        access: RouteAccess,
        operation: Operation,
    ) -> None:
        super().__init__(path, handler)
        self.access, self.operation = access, operation


class RouteTable:
    """Finds who may request what by the routes themselves, so that no other spelling of a path slips by."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._routes = [check_declared(route) for route in routes]

    def access(self, scope: Scope) -> RouteAccess:
        """Return who may; what is not there is not for strangers to know."""
        route = self._match(scope)
        access = route.access if route else VIEW
        scope[ROUTE], scope[ACCESS] = route.path if route else None, access
        return access

    def _match(self, scope: Scope) -> ApiRoute | SocketRoute | None:
        """Return the route that will take the request, chosen as the router does."""
        partial = None
        for route in self._routes:
            match, _ = route.matches(scope)
            if match == Match.FULL:
                return route
            if match == Match.PARTIAL and partial is None:
                partial = route
        return partial


def check_declared(route: BaseRoute) -> ApiRoute | SocketRoute:
    """Return the route, or raise TypeError for one without a declaration."""
    if not isinstance(route, ApiRoute | SocketRoute):
        raise TypeError(f"{route!r} says neither who may request it nor what it answers: make it an ApiRoute")
    return route
