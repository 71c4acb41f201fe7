"""Calls an application without a network, as whoever from wherever."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from starlette.types import ASGIApp, Message


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(
    app: ASGIApp,
    method: str,
    path: str,
    headers: Mapping[str, str] | list[tuple[str, str]] = {},  # noqa: B006 - it is only read
    body: bytes = b"",
    *,
    client: str | None = "127.0.0.1",
    version: str = "1.1",
    scheme: str = "http",
) -> Answer:
    """Return the answer; the Host is that of loopback unless it is given."""
    pairs = list(headers.items()) if isinstance(headers, Mapping) else headers
    if not any(name.lower() == "host" for name, _ in pairs):
        pairs = [("host", "127.0.0.1:8000"), *pairs]
    where, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "websocket" if method == "WEBSOCKET" else "http",
        "http_version": version,
        "path": unquote(where),
        "raw_path": where.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "scheme": scheme,
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
        "client": (client, 40000) if client else None,
        "server": ("127.0.0.1", 8000),
        "extensions": {"websocket.http.response": {}},
    }
    if method != "WEBSOCKET":
        scope["method"] = method
    return asyncio.run(_called(app, scope, body))


async def _called(app: ASGIApp, scope: dict[str, Any], body: bytes) -> Answer:
    sent: list[Message] = []
    given = [
        {"type": "websocket.connect"}
        if scope["type"] == "websocket"
        else {"type": "http.request", "body": body, "more_body": False}
    ]

    async def receive() -> Message:
        if not given and scope["type"] == "http":
            await asyncio.get_running_loop().create_future()  # nobody leaves before the answer is there
        return given.pop(0) if given else {"type": "websocket.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    first = sent[0]
    if first["type"] in ("websocket.accept", "websocket.close"):
        return Answer(101 if first["type"] == "websocket.accept" else 403, [], b"")
    headers = [(name.decode(), value.decode()) for name, value in first["headers"]]
    return Answer(first["status"], headers, b"".join(part.get("body", b"") for part in sent[1:]))
