"""Answers questions of people on nodes, for whom the agent of the node vouches: to look, never to change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from starlette.types import Message

from vigie.server.auth.middleware import AuthMiddleware
from vigie.server.identity import Identity
from vigie.wire.messages import MAX_MESSAGE, DelegatedRequest, DelegatedResponse

LARGEST = MAX_MESSAGE - 65536  # bytes of an answer


class DelegatedAuth:
    """The application, for callers of whom an agent says who they are."""

    def __init__(
        self,
        app: Callable[[], AuthMiddleware | None] = lambda: None,
        knows: Callable[[str, str], bool] = lambda _node, _user: False,
    ) -> None:
        """Take what returns the application, or nothing where agents may not vouch, and what tells whether
        a node knows a user. Of whom it does not know it can only say that somebody asks."""
        self._app, self._knows = app, knows

    async def answer(self, node: str, ask: DelegatedRequest) -> DelegatedResponse:
        """Return the answer to a question of somebody on a node."""
        app = self._app()
        if app is None:
            return DelegatedResponse(
                ask.number, 403, b"this server answers nobody for whom an agent vouches\n"
            )
        collected = _Collected()
        path, _, query = ask.target.partition("?")
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("utf-8", "replace"),
            "root_path": "",
            "query_string": query.encode("utf-8", "replace"),
            "headers": [(b"host", b"localhost")],
            "client": None,
            "server": None,
        }
        known = await asyncio.to_thread(self._knows, node, ask.user)
        identity = Identity("user", ask.user) if known else Identity("viewer", "")
        await app.vouched(identity, scope, collected.receive, collected.send)
        if len(collected.body) > LARGEST:
            return DelegatedResponse(
                ask.number, 413, b"the answer is too large for the link: ask for less at a time\n"
            )
        return DelegatedResponse(ask.number, collected.status, bytes(collected.body))


class _Collected:
    """A request without a body, and what is answered to it."""

    def __init__(self) -> None:
        self.status, self.body = 500, bytearray()
        self._asked = False

    async def receive(self) -> Message:
        if self._asked:
            await asyncio.get_running_loop().create_future()  # nobody leaves before the answer is there
        self._asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif len(self.body) <= LARGEST:
            self.body += message.get("body", b"")
