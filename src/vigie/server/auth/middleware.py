"""Lets a request through to the routes, or answers it."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from vigie.server.auth.authenticator import Authenticator
from vigie.server.auth.errors import HOW, AuthError, auth_error_response
from vigie.server.auth.login import LoginRoutes, login_page, return_path
from vigie.server.auth.origin import same_origin
from vigie.server.auth.secrets_file import SecretsError
from vigie.server.http.bodies import AUTHENTICATED, BodyBudgets
from vigie.server.http.html import wants_page
from vigie.server.http.requests import IDENTITY
from vigie.server.http.routes import OPEN, RouteAccess, RouteTable
from vigie.server.http.routing import application
from vigie.server.identity import Identity
from vigie.server.privacy.host_redaction import HostRedactor
from vigie.server.privacy.redactor import current_pseudonyms, sees_through


def with_auth(routes: Sequence[BaseRoute], callers: Authenticator) -> AuthMiddleware:
    """Return the application with these routes and those for signing in, each for whom the table says."""
    return AuthMiddleware(application([*routes, *LoginRoutes(callers).routes()]), callers)


class AuthMiddleware:
    """Asks who is calling, and whether the route is for them."""

    def __init__(self, app: Starlette, callers: Authenticator) -> None:
        self._app, self._callers = app, callers
        self._bodies = BodyBudgets()
        self._rules = RouteTable(app.routes)

    @property
    def routes(self) -> list[BaseRoute]:
        """Return all that can be asked for."""
        return self._app.routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            try:
                await self._admit(scope, self._rules.access(scope))
            except AuthError as refused:
                await _answer(refused, scope, receive, send)
                return
            except SecretsError:
                await _answer(AuthError(503, "who you are cannot be looked up now"), scope, receive, send)
                return
        with self._bodies.count(scope, receive) as counted:
            await self._answering(scope, counted, send)

    async def vouched(self, identity: Identity, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of somebody of whom a node says who it is: pages and queries, and no changes."""
        rule = self._rules.access(scope)
        if rule == OPEN or rule.changes or rule.programs or not rule.met_by(identity.role):
            refused = AuthError(403, "via an agent only pages and queries can be read")
            await auth_error_response(refused)(scope, receive, send)
            return
        self._let_in(scope, identity)
        await self._answering(scope, receive, send)

    async def _answering(self, scope: Scope, receive: Receive, send: Send) -> None:
        mask = current_pseudonyms() if scope["type"] == "http" and IDENTITY in scope else None
        app: ASGIApp = self._app
        if mask and mask.hosts:
            app = HostRedactor(app, mask, self._callers.privacy.hosts())
        await app(scope, receive, send)

    def _let_in(self, scope: Scope, identity: Identity) -> None:
        scope[IDENTITY] = identity
        sees_through(self._callers.privacy.mask(identity))

    async def _admit(self, scope: Scope, rule: RouteAccess) -> None:
        if rule == OPEN:
            return
        connection = HTTPConnection(scope)
        identity, shown, by_itself = await self._callers.find(connection)
        if not rule.met_by(identity.role):
            if shown:
                raise AuthError(403, f"this needs the role {rule.least}, and yours is {identity.role}")
            raise AuthError(401, f"this needs the role {rule.least}: {HOW}")
        ours = same_origin(connection.headers, self._callers.policy.names)
        if rule.changes and by_itself and not ours:
            raise AuthError(403, "a browser's sign-in changes something only from a page of this server")
        if shown:
            scope[AUTHENTICATED] = True
        self._let_in(scope, identity)


async def _answer(refused: AuthError, scope: Scope, receive: Receive, send: Send) -> None:
    response = auth_error_response(refused)
    if scope["type"] == "http":
        if refused.status == 401 and wants_page(scope):
            response = login_page(scope["path"], 401, then=return_path(scope))
        await response(scope, receive, send)
        return
    socket = WebSocket(scope, receive, send)
    if "websocket.http.response" in scope.get("extensions", {}):
        await socket.send_denial_response(response)
    else:
        await socket.close(1008, str(refused))
