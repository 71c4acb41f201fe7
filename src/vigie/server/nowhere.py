"""What stands where nothing is: a way back for people, a word for programs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from vigie.server.access.login_page import STYLE, page_headers, wants_page
from vigie.server.page import base_of

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


def nowhere(request: Request) -> Response:
    """Return that there is nothing at an address."""
    if not wants_page(request.scope):
        return PlainTextResponse("Not Found", 404)
    home = base_of(request.scope)
    return HTMLResponse(PAGE.format(style=STYLE, home=home), 404, page_headers(STYLE))
