"""What an unknown address answers: a page for people, a line for programs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Scope

from vigie.server.http.html import STYLE, page_headers, wants_page

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>vigie: no such page</title>
<style>{style}</style>
<main>
<h1>vigie</h1>
<p>There is no such page. The address may be mistyped, or of another version.</p>
<p><a href="{home}">To the cluster</a></p>
</main>
</html>
"""


def not_found(request: Request) -> Response:
    """Return that there is nothing at an address."""
    if not wants_page(request.scope):
        return PlainTextResponse("Not Found", 404)
    home = base_href(request.scope)
    return HTMLResponse(PAGE.format(style=STYLE, home=home), 404, page_headers(STYLE))


def base_href(scope: Scope) -> str:
    """Return the way from the address of a request, as the browser wrote it, up to where the page begins.

    >>> base_href({"raw_path": b"/job/4711", "path": "/job/4711"})
    '../'
    """
    path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0]
    return "../" * (path.count(b"/") - 1) or "./"
