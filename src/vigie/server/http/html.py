"""HTML documents without script: their style and headers, and the one for an unknown address."""

from __future__ import annotations

import base64
import hashlib

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Scope

STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif;
  --ground: #f4f6f7; --card: #fff; --rule: #d3dae0; --ink: #19212a; --deep: #22364a; --wrong: #bb1f2a; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #0e1216; --card: #151a20; --rule: #35414c; --ink: #e7ecf0; --deep: #c2d0dc; --wrong: #ff7077; } }
* { box-sizing: border-box; }
body { display: grid; place-items: center; min-height: 90vh; margin: 0; color: var(--ink);
  background: var(--ground); }
form, main { display: grid; gap: .9rem; width: min(22rem, 92vw); padding: 1.5rem; background: var(--card);
  border: 1px solid var(--rule); border-radius: 10px; }
h1 { margin: 0; font-size: 1.35rem; letter-spacing: -.02em; }
input, button { width: 100%; padding: .5rem .6rem; font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--rule); border-radius: 6px; }
button { margin-top: .3rem; color: var(--card); font-weight: 600; background: var(--deep); border: 0; }
a { color: inherit; }
p { margin: 0; }
[role=alert] { color: var(--wrong); }
"""


NOT_FOUND = """<!doctype html>
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


def page_headers(style: str) -> dict[str, str]:
    """Return the headers of a page that has this style, no script, and nothing from elsewhere."""
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {
        "Cache-Control": "no-store",
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{hashed}'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def wants_page(scope: Scope) -> bool:
    """Tell whether a person with a browser is asking, not a program."""
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")


def not_found(request: Request) -> Response:
    """Return that there is nothing at an address."""
    if not wants_page(request.scope):
        return PlainTextResponse("Not Found", 404)
    home = base_href(request.scope)
    return HTMLResponse(NOT_FOUND.format(style=STYLE, home=home), 404, page_headers(STYLE))


def base_href(scope: Scope) -> str:
    """Return the way from the address of a request, as the browser wrote it, up to where the page begins.

    >>> base_href({"raw_path": b"/job/4711", "path": "/job/4711"})
    '../'
    """
    path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0]
    return "../" * (path.count(b"/") - 1) or "./"
