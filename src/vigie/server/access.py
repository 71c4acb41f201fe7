"""Who may do what: loopback may look, everything else shows the token."""

from __future__ import annotations

import hmac
import ipaddress

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vigie.agent.pages import LOOPBACK_NAMES
from vigie.server.http import refusal

OPEN = ("/healthz", "/readyz")
WRITING = ("/api/v1/write",)
FORWARDING = ("forwarded", "x-real-ip", "via")
FORWARDING_PREFIX = "x-forwarded-"


class Access:
    """Lets a request through to the routes, or answers it."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._shown = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and (refused := self._refused(Request(scope))):
            await refused(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refused(self, request: Request) -> Response | None:
        if request.url.path in OPEN:
            return None
        given = request.headers.get("authorization")
        if given is not None:
            known = hmac.compare_digest(given.encode("utf-8", "replace"), self._shown)
            return None if known else _unauthorized("this is not the token of this server")
        if request.url.path in WRITING:
            return _unauthorized("writing needs the token")
        why = _not_local(request)
        return _unauthorized(why) if why else None


def _not_local(request: Request) -> str:
    """Return why the request is not certainly of somebody on this machine, or nothing."""
    if not request.client or not _is_loopback(request.client.host):
        return "beyond this machine the token is needed"
    for name in request.headers:
        if name in FORWARDING or name.startswith(FORWARDING_PREFIX):
            return f"a request that was passed on (header {name}) needs the token"
    # A page elsewhere can point its own name at 127.0.0.1 and read us through a browser.
    host = request.headers.get("host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return "" if name.lower() in LOOPBACK_NAMES else "under another name than localhost the token is needed"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _unauthorized(why: str) -> Response:
    text = f"{why}: Authorization: Bearer with what the file server-token in the data directory holds"
    return refusal(401, "unauthorized", text, {"WWW-Authenticate": "Bearer"})
