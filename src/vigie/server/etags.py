"""A browser is not sent what it has: each answer has a mark that changes with its content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response


def unless_known(
    request: Request, body: bytes, kind: str, caching: str, headers: Mapping[str, str]
) -> Response:
    """Return a body, unless the browser has that very one."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    headers = {**headers, "Cache-Control": caching, "ETag": tag}
    known = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
    if tag in known:
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, kind)
