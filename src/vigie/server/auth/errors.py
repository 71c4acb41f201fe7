"""Why a caller is not let in, and how that is answered."""

from __future__ import annotations

from starlette.responses import Response

from vigie.server.http.responses import error_response

KINDS = {401: "unauthorized", 403: "forbidden", 429: "too_many_requests", 503: "unavailable"}
HOW = "Authorization: Bearer TOKEN (see vigie users --help), or a sign-in at /login"


class AuthError(Exception):
    """Somebody is not let in; the message says why."""

    def __init__(self, status: int, why: str, wait: int = 0) -> None:
        super().__init__(why)
        self.status, self.wait = status, wait


def auth_error_response(refused: AuthError) -> Response:
    """Return the answer to somebody who is not let in."""
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}
    if refused.wait:
        headers["Retry-After"] = str(refused.wait)
    return error_response(refused.status, KINDS[refused.status], str(refused), headers)
