"""The page: one document at each of its addresses, and its files, which browsers keep for good."""

from __future__ import annotations

import mimetypes
import re
from pathlib import Path
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute
from starlette.types import Scope

import vigie
from vigie.server.http.html import base_href, page_headers
from vigie.server.http.responses import error_response, respond_with_etag, wants_gzip
from vigie.server.http.routes import HTML, JSON, TEXT, ApiRoute, Content, Operation
from vigie.wire.api.pages import WEB_PAGES
from vigie.wire.api.resources import ApiError

# A name with a line break is none, and one with a slash at its end is found without it.
NO_FILE = {
    307: Content("The address without the slash at its end."),
    404: Content("There is no such page or file.", {JSON: ApiError, TEXT: str}),
}
SHOW_PAGE = Operation(
    "Show a page.",
    Content("The page.", {HTML: str}),
    errors={**NO_FILE, 503: Content("The web UI has not been built.", {JSON: ApiError, HTML: str})},
)
GET_ASSET = Operation(
    "A file of the web UI.",
    Content("The file.", {"text/javascript": str, "text/css": str}),
    errors=NO_FILE,
)
GET_ICON = Operation("The icon.", Content("The icon.", {"image/svg+xml": str}), errors=NO_FILE)
LOADS = {page.address.split("/")[1]: page.loads for page in WEB_PAGES if page.loads}
PLAIN = "!'()*"  # what encodeURIComponent leaves as it is beside what quote does
FOLDER = Path(vigie.__file__).parent / "page"
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
HERE = '<base href="/" />'  # what the document says of its depth before it is known
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
KEPT = "max-age=31536000, immutable"  # the name of a file changes with its content
NOT_BUILT_STYLE = ":root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; margin: 3rem; }"
NOT_BUILT = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>vigie</title>
<style>{NOT_BUILT_STYLE}</style>
<h1>vigie</h1>
<p>The server runs, and its page has not been built. In the folder of the source, type:</p>
<p><code>pip install .</code></p>
<p>The cluster in a terminal: <code>vigie top</code></p>
</html>
"""


def preload_path(scope: Scope) -> str | None:
    """Return what the page at an address asks first, as it will spell it; none if that takes more to know.

    >>> preload_path({"raw_path": b"/gpu/gpu01/3", "path": "/gpu/gpu01/3", "query_string": b""})
    'api/pages/gpus/gpu01/3'
    """
    if scope.get("query_string"):
        return None  # it may say a moment, or a tab
    path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0]
    page, *names = path.decode(errors="replace").strip("/").split("/")
    path = LOADS.get(page)
    if path is None or path.count("{}") != len(names):
        return None
    return "api/pages/" + path.format(*(quote(unquote(name), safe=PLAIN) for name in names))


def web_app_routes(folder: Path = FOLDER) -> list[BaseRoute]:
    """Return the routes of the page whose built files are in a folder."""
    app = WebApp(folder)
    return [
        *(ApiRoute(page.address, app.document, SHOW_PAGE) for page in WEB_PAGES),
        ApiRoute("/assets/{name}", app.asset, GET_ASSET),
        ApiRoute("/icon.svg", app.icon, GET_ICON),
    ]


class WebApp:
    """The built files; they are read when asked for, since they are small and may be built anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def document(self, request: Request) -> Response:
        """Return the one document; its base is how far up the page begins, so that any prefix will do."""
        try:
            text = (self._folder / "index.html").read_text()
        except FileNotFoundError:
            return HTMLResponse(NOT_BUILT, 503, page_headers(NOT_BUILT_STYLE))
        body = text.replace(HERE, _head(request.scope), 1).encode()
        return respond_with_etag(request, body, "text/html; charset=utf-8", "no-cache", HEADERS)

    async def asset(self, request: Request) -> Response:
        """Return a file whose name changes with its content."""
        return self._file(request, self._folder / "assets", request.path_params["name"], KEPT)

    async def icon(self, request: Request) -> Response:
        """Return what a browser shows on the page's tab."""
        return self._file(request, self._folder, "icon.svg", "max-age=86400")

    def _file(self, request: Request, folder: Path, name: str, caching: str) -> Response:
        path = folder / name
        if not NAME.fullmatch(name) or not path.is_file():
            return error_response(
                404, "not_found", "the page has no such file; it may have been built anew: reload"
            )
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        packed = path.with_name(f"{name}.gz")
        headers = {"Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff"}
        if wants_gzip(request) and packed.is_file():
            return respond_with_etag(
                request, packed.read_bytes(), kind, caching, {**headers, "Content-Encoding": "gzip"}
            )
        return respond_with_etag(request, path.read_bytes(), kind, caching, headers)


def _head(scope: Scope) -> str:
    """Return where the page begins, and what it will ask first."""
    base = f'<base href="{base_href(scope)}" />'
    first = preload_path(scope)
    return f'{base}<link rel="preload" as="fetch" crossorigin href="{first}" />' if first else base
