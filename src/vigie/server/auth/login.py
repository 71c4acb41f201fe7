"""Signing in and out: /login, /api/login, /api/logout, /api/session."""

from __future__ import annotations

import json
import re
from html import escape
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute
from starlette.types import Scope

import vigie
from vigie.server.auth.authenticator import COOKIE, Authenticator
from vigie.server.auth.errors import AuthError, auth_error_response
from vigie.server.auth.origin import is_encrypted, same_origin
from vigie.server.auth.tokens import LINK_SECONDS, SESSION_SECONDS
from vigie.server.http.bodies import BodyTooLargeError, read_body
from vigie.server.http.html import STYLE, page_headers
from vigie.server.http.requests import identity_of
from vigie.server.http.responses import error_response
from vigie.server.http.routes import (
    FORM,
    HTML,
    JSON,
    OPEN,
    ApiRoute,
    Content,
    Operation,
    Parameter,
    RouteAccess,
)
from vigie.wire.api.resources import ApiError, Credentials, LoginResult, Session

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>vigie: sign in</title>
<style>{style}</style>
<form method="post" action="{action}">
<h1>vigie</h1>
{message}
{hidden}<label>Name <input name="name" autocomplete="username" required autofocus></label>
<label>Password
<input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button>
</form>
</html>
"""


HEADERS = page_headers(STYLE)
FIELD = "next"
MAX_ADDRESS = 2000  # characters of an address; a longer one leads to the start
LOGIN = "login"  # who asked to sign in has no page to go back to
# What an address may be made of; neither a control character nor what browsers read as another slash.
_WRITTEN = re.compile(r"[A-Za-z0-9_.~!$&'()*+,;=:@%/-]*(\?[^\x00-\x20\x7f-\U0010ffff\\#]*)?")
MAX_CREDENTIALS = 8192  # bytes of a name and a password


def login_page(path: str, status: int = 200, message: str = "", then: str = "") -> HTMLResponse:
    """Return the page as it stands at a path; its form finds its way also below a proxy's prefix."""
    action = "../" * max(path.count("/") - 1, 0) + "api/login"
    said = f'<p role="alert">{escape(message)}</p>' if message else ""
    hidden = f'<input type="hidden" name="{FIELD}" value="{escape(then)}">\n' if then else ""
    headers = HEADERS if status != 401 else {**HEADERS, "WWW-Authenticate": "Bearer"}
    return HTMLResponse(PAGE.format(style=STYLE, action=action, message=said, hidden=hidden), status, headers)


def return_path(scope: Scope) -> str:
    """Return the address of a request from where the server begins, or nothing where one cannot go back.

    >>> return_path({"raw_path": b"/gpu/n1/0", "path": "/gpu/n1/0", "query_string": b"at=1"})
    'gpu/n1/0?at=1'
    """
    path = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string", b"")
    asked = path.partition(b"?")[0] + (b"?" + query if query else b"")
    return check_return_path(asked.decode("latin-1").removeprefix("/"))


def check_return_path(address: str) -> str:
    """Return an address if it certainly stays below where the server begins, else nothing."""
    if len(address) > MAX_ADDRESS or not _WRITTEN.fullmatch(address):
        return ""
    path = address.partition("?")[0]
    first, *_ = steps = unquote(path).replace("\\", "/").split("/")
    leaves = ".." in steps or "." in steps or (path and not first)
    return "" if leaves or first == LOGIN else address


LOGIN_PAGE = Operation(
    "Show the page that asks for name and password, or sign in by a link that is used once.",
    Content("The page.", {HTML: str}),
    (Parameter("once", "What the link carries."),),
    errors={
        303: Content("Signed in: the cookie is set."),
        401: Content("The link is no longer valid.", {HTML: str}),
    },
)
SIGN_IN = Operation(
    "Sign in: sets the cookie of a session.",
    LoginResult,
    body=Content("Name and password.", {JSON: Credentials, FORM: Credentials}),
    errors={
        303: Content("Signed in by the form."),
        400: "No name, or no password.",
        401: Content("Name or password is wrong.", {JSON: ApiError, HTML: str}),
        403: "The sign-in comes from a page of another server.",
        429: Content("Too many have failed; see Retry-After.", {JSON: ApiError, HTML: str}),
        503: "Who you are cannot be looked up now.",
    },
)
SIGN_OUT = Operation("Sign out.", Content("The session has ended."), status=204)
SIGN_OUT_ACCESS = RouteAccess("viewer", changes=True)


class LoginForm(NamedTuple):
    name: str = ""
    password: str = ""
    then: str = ""  # where a form wants to go, checked


class LoginRoutes:
    """Opens and ends sessions of browsers."""

    def __init__(self, callers: Authenticator) -> None:
        self._callers = callers
        self._secrets = callers.secrets

    def routes(self) -> list[BaseRoute]:
        return [
            ApiRoute("/login", self.page, LOGIN_PAGE, access=OPEN),
            ApiRoute("/api/login", self.sign_in, SIGN_IN, methods=["POST"], access=OPEN),
            ApiRoute("/api/logout", self.sign_out, SIGN_OUT, methods=["POST"], access=SIGN_OUT_ACCESS),
            ApiRoute("/api/session", self.session, Operation("Return who is signed in.", Session)),
        ]

    async def page(self, request: Request) -> Response:
        """Show the form, or open a session for a link that was not used yet."""
        once, then = request.query_params.get("once"), check_return_path(request.query_params.get(FIELD, ""))
        if once is None or request.method != "GET":
            return login_page(request.url.path, then=then)
        session = self._secrets.sessions.redeem(once)
        if session is None:
            self._callers.counts.failed["link"] += 1
            why = f"This link was used before, or is older than {LINK_SECONDS // 60} minutes."
            return login_page(request.url.path, 401, why, then)
        return self._opened(request, RedirectResponse(f"./{then}", 303), session)

    async def sign_in(self, request: Request) -> Response:
        """Take a name and a password as JSON or as a form, and give a cookie."""
        by_form = request.headers.get("content-type", "").startswith(FORM)
        given = LoginForm()
        try:
            given = _read_form(await read_body(request, MAX_CREDENTIALS), by_form)
            if same_origin(request.headers, self._callers.policy.names) is False:
                raise AuthError(403, "this sign-in comes from a page of another server")
            identity = await self._callers.sign_in(request, given.name, given.password)
        except AuthError as refused:
            if by_form and refused.status in (401, 429):
                return login_page(request.url.path, refused.status, _sentence(refused), given.then)
            return auth_error_response(refused)
        except (BodyTooLargeError, ValueError, RecursionError) as error:
            return error_response(400, "bad_data", f"not a name and a password: {error}")
        response = RedirectResponse(f"../{given.then}", 303) if by_form else JSONResponse(identity._asdict())
        return self._opened(request, response, self._secrets.sessions.open(identity.name))

    async def sign_out(self, request: Request) -> Response:
        self._secrets.sessions.end(request.cookies.get(COOKIE, ""))
        response = Response(status_code=204)
        response.delete_cookie(COOKIE)
        return response

    async def session(self, request: Request) -> Response:
        """Tell who is signed in, and what the page should know of the server."""
        role, name = identity_of(request)
        session = Session(
            role=role,
            name=name,
            user=name,
            simulated=self._callers.simulated,
            version=vigie.__version__,
            privacy="own" if self._callers.privacy.own else "open",
            home=f"user/{quote(name, safe='')}" if role == "user" else "",
        )
        return Response(msgspec.json.encode(session), headers={"Cache-Control": "no-store"}, media_type=JSON)

    def _opened(self, request: Request, response: Response, session: str) -> Response:
        secure = is_encrypted(request, self._callers.policy.proxies)
        response.headers.update({name: HEADERS[name] for name in ("Cache-Control", "Referrer-Policy")})
        response.set_cookie(COOKIE, session, SESSION_SECONDS, httponly=True, samesite="strict", secure=secure)
        return response


def _read_form(body: bytes, by_form: bool) -> LoginForm:
    fields = dict(parse_qsl(body.decode())) if by_form else json.loads(body)
    if not isinstance(fields, dict):
        raise ValueError("it is no object")
    given = LoginForm(fields.get("name", ""), fields.get("password", ""))
    if not all(isinstance(text, str) and text for text in given[:2]):
        raise ValueError("name and password are texts, and not empty")
    return given._replace(then=check_return_path(fields.get(FIELD, ""))) if by_form else given


def _sentence(refused: AuthError) -> str:
    wait = f"; try again in {refused.wait} s" if refused.wait else ""
    return f"{str(refused).capitalize()}{wait}."
