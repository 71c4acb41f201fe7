"""/: the nodes with their state, and the way to the API; one document, no script, nothing from elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from html import escape
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from vigie.server.access.callers import identity_of
from vigie.server.access.login_page import page_headers
from vigie.server.http import answered
from vigie.server.nodes.registry import REMOVED, UP, Node

MOST = 2000  # nodes on the page
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .25rem 1.5rem .25rem 0; }
.bad { font-weight: bold; }
"""
LINKS = {
    "api/nodes": "nodes",
    "api/events": "what happened",
    "api/bindings": "who holds what",
    "api/jobs": "jobs",
    "api/users": "users",
    "api/v1/query?query=up": "a query in PromQL",
    "api/openapi.json": "all there is to ask, as OpenAPI",
    "metrics": "how the server is doing",
}
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>vigie</title>
<style>{style}</style>
<h1>vigie</h1>
<p>{who}</p>
<h2>Nodes</h2>
{nodes}
<h2>Questions</h2>
<ul>
{links}
</ul>
</html>
"""


def home(nodes: Callable[[], list[Node]]) -> Route:
    """Return the route of the page."""

    async def page(request: Request) -> Response:
        name = identity_of(request).name
        links = "\n".join(f'<li><a href="{escape(path)}">{text}</a></li>' for path, text in LINKS.items())
        who = (
            f"You are signed in as {escape(name)}." if name else 'You may look. <a href="login">Sign in</a>.'
        )
        body = PAGE.format(style=STYLE, who=who, links=links, nodes=_table(nodes()))
        return HTMLResponse(body, headers=page_headers(STYLE))

    return Route("/", answered(page))


def _table(nodes: Iterable[Node]) -> str:
    members = [node for node in nodes if node.state != REMOVED]
    if not members:
        return "<p>None yet. The line that lets one join: <code>vigie nodes join</code></p>"
    up = sum(node.state == UP for node in members)
    rows = "\n".join(_row(node) for node in members[:MOST])
    head = "<tr><th>node<th>state<th>last heard<th>missing"
    return f"<p>{up} of {len(members)} are up.</p>\n<table>\n{head}\n{rows}\n</table>"


def _row(node: Node) -> str:
    silent = max(0, round(time.time() - node.last_seen_ms / 1000))
    name = f'<a href="api/nodes/{quote(node.name)}">{escape(node.name)}</a>'
    state = node.state if node.state == UP else f'<span class="bad">{escape(node.state)}</span>'
    return f"<tr><td>{name}<td>{state}<td>{silent} s ago<td>{escape(', '.join(node.missing)) or '-'}"
