"""An address with a slash too many leads to the right one, by a way that holds below any proxy's prefix."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from vigie.server.http.html import not_found


class TextConvertor(Convertor[str]):
    """Whatever stands in a path: slashes as in `{...:path}`, and line ends, too."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("text", TextConvertor())


def application(routes: list[BaseRoute]) -> Starlette:
    """Return the application with these routes; a redirect of Starlette's own would name the host it sees."""
    app = Starlette(routes=routes, exception_handlers={404: _handle_not_found})
    app.router.redirect_slashes = False
    return app


async def _handle_not_found(request: Request, _: Exception) -> Response:
    """Lead from /jobs/ to /jobs, if there is such a route."""
    if _matches_route(request.scope, request.scope["path"][:-1]):
        return RedirectResponse(f"../{_last_segment(request.scope)}")
    return not_found(request)


def _matches_route(scope: Scope, path: str) -> bool:
    slash = scope["path"].endswith("/")
    routes = scope["app"].routes
    return slash and any(route.matches({**scope, "path": path})[0] is not Match.NONE for route in routes)


def _last_segment(scope: Scope) -> str:
    """Return the last part of an address that ends with a slash, as the client wrote it, and its query."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    last = path.partition(b"?")[0].removesuffix(b"/").rpartition(b"/")[2]
    query: bytes = scope["query_string"]
    return (last + (b"?" + query if query else b"")).decode("latin-1")
