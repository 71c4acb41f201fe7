"""Signing in and out: /login, /api/login, /api/logout, /api/session."""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

import vigie
from vigie.server.access.callers import COOKIE, Callers, identity_of
from vigie.server.access.login_page import HEADERS, login_page
from vigie.server.access.origin import is_encrypted, same_origin
from vigie.server.access.refusals import Refused, refusing
from vigie.server.access.sessions import LINK_SECONDS, SESSION_SECONDS
from vigie.server.access.way_back import FIELD, checked
from vigie.server.http import TooLarge, answered, body_of, refusal

MOST = 8192  # bytes of a name and a password
FORM = "application/x-www-form-urlencoded"


class Given(NamedTuple):
    """What was typed."""

    name: str = ""
    password: str = ""
    then: str = ""  # where a form wants to go, checked


class SignIn:
    """Opens and ends sessions of browsers."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._secrets = callers.secrets

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/login", answered(self.page)),
            Route("/api/login", answered(self.sign_in), methods=["POST"]),
            Route("/api/logout", answered(self.sign_out), methods=["POST"]),
            Route("/api/session", answered(self.session)),
        ]

    async def page(self, request: Request) -> Response:
        """Show the form, or open a session for a link that was not used yet."""
        once, then = request.query_params.get("once"), checked(request.query_params.get(FIELD, ""))
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
        given = Given()
        try:
            given = _given(await body_of(request, MOST), by_form)
            if same_origin(request.headers, self._callers.doors.names) is False:
                raise Refused(403, "this sign-in comes from a page of another server")
            identity = await self._callers.sign_in(request, given.name, given.password)
        except Refused as refused:
            if by_form and refused.status in (401, 429):
                return login_page(request.url.path, refused.status, _sentence(refused), given.then)
            return refusing(refused)
        except (TooLarge, ValueError) as error:
            return refusal(400, "bad_data", f"not a name and a password: {error}")
        response = RedirectResponse(f"../{given.then}", 303) if by_form else JSONResponse(identity._asdict())
        return self._opened(request, response, self._secrets.sessions.open(identity.name))

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        self._secrets.sessions.end(request.cookies.get(COOKIE, ""))
        response = Response(status_code=204)
        response.delete_cookie(COOKIE)
        return response

    async def session(self, request: Request) -> Response:
        """Tell who is signed in, and what the page should know of the server."""
        role, name = identity_of(request)
        told = {
            "role": role,
            "name": name,
            "user": name,
            "simulated": self._callers.simulated,
            "version": vigie.__version__,
            "privacy": "own" if self._callers.privacy.own else "open",
            "home": f"user/{quote(name, safe='')}" if role == "user" else "",
        }
        return JSONResponse(told, headers={"Cache-Control": "no-store"})

    def _opened(self, request: Request, response: Response, session: str) -> Response:
        secure = is_encrypted(request, self._callers.doors.proxies)
        response.headers.update({name: HEADERS[name] for name in ("Cache-Control", "Referrer-Policy")})
        response.set_cookie(COOKIE, session, SESSION_SECONDS, httponly=True, samesite="strict", secure=secure)
        return response


def _given(body: bytes, by_form: bool) -> Given:
    fields = dict(parse_qsl(body.decode())) if by_form else json.loads(body)
    if not isinstance(fields, dict):
        raise ValueError("it is no object")
    given = Given(fields.get("name", ""), fields.get("password", ""))
    if not all(isinstance(text, str) and text for text in given[:2]):
        raise ValueError("name and password are texts, and not empty")
    return given._replace(then=checked(fields.get(FIELD, ""))) if by_form else given


def _sentence(refused: Refused) -> str:
    wait = f"; try again in {refused.wait} s" if refused.wait else ""
    return f"{str(refused).capitalize()}{wait}."
