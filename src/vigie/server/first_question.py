"""What the page asks first at each address: named in its document, it is on its way while the page loads."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.types import Scope

OUTLOOKS = {
    "": "cluster",
    "jobs": "jobs?state=running",
    "job": "jobs/{}",
    "nodes": "nodes",
    "node": "nodes/{}",
    "gpu": "gpus/{}/{}",
    "users": "users",
    "user": "users/{}",
    "events": "attention",
}
PLAIN = "!'()*"  # what encodeURIComponent leaves as it is beside what quote does


def first_question(scope: Scope) -> str | None:
    """Return what the page at an address asks first, as it will spell it; none if that takes more to know.

    >>> first_question({"raw_path": b"/gpu/gpu01/3", "path": "/gpu/gpu01/3", "query_string": b""})
    'api/outlook/gpus/gpu01/3'
    """
    if scope.get("query_string"):
        return None  # it may say a moment, or a tab
    path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0]
    page, *names = path.decode(errors="replace").strip("/").split("/")
    outlook = OUTLOOKS.get(page)
    if outlook is None or outlook.count("{}") != len(names):
        return None
    return "api/outlook/" + outlook.format(*(quote(unquote(name), safe=PLAIN) for name in names))
