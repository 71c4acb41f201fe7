"""`hide_hosts`: in what routes tell a viewer, names and addresses of hosts are pseudonyms.

Answers to PromQL are made over pseudonyms already (see private_storage). Everything else is JSON that is
rewritten on its way out, whatever route it comes from; what a viewer asks for is turned back on its way in.
A name that is hidden from him finds nothing: who guesses it must not learn whose pseudonym is whose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

import msgspec
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vigie.server.cluster.nodes import NodeRecord
from vigie.server.http.routes import ROUTE
from vigie.server.privacy.redactor import HOST, HOSTS, Pseudonyms
from vigie.wire.api.pages import WEB_PAGES

# Routes that ask the store, which shows a viewer pseudonyms only.
MASKED = frozenset(
    {
        "/federate",
        "/api/v1/query",
        "/api/v1/query_range",
        "/api/v1/query_exemplars",
        "/api/v1/format_query",
        "/api/v1/series",
        "/api/v1/labels",
        "/api/v1/label/{name:text}/values",
    }
)
# Those that tell nothing but what was asked for: the page's document, and that an address is elsewhere.
ASKED_ONLY = frozenset({*(page.address for page in WEB_PAGES), None})
# What looks for hosts as the viewer sees them, by itself.
SEARCH = "/api/search"
NOBODY = "-"
JSON = "application/json"
_VALUE = re.compile(r"(?<==)[^&]*")
_WORD = re.compile(r"\w(?:[\w.-]*\w)?")  # a name or an IPv4 address, without what stands around it
_COLONS = re.compile(r"[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")  # or an IPv6 address


class ScrapedTarget(Protocol):
    @property
    def host(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...


def known_hosts(nodes: Iterable[NodeRecord], targets: Iterable[ScrapedTarget]) -> set[str]:
    """Return them, of nodes that were removed too: what happened there is still told."""
    words = set()
    for node in nodes:
        words |= {node.name, node.host, *node.addresses}
    for target in targets:
        words |= {target.host, *(text for label, text in target.labels.items() if label in HOSTS)}
    return words


class HostRedactor:
    """Answers a viewer; hosts in the answer are pseudonyms."""

    def __init__(self, app: ASGIApp, mask: Pseudonyms, hosts: Collection[str]) -> None:
        self._app = app
        self._out = {host: mask.word(HOST, host) for host in hosts if host}
        self._in = {pseudonym: host for host, pseudonym in self._out.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get(ROUTE) in MASKED | ASKED_ONLY:
            await self._app(scope, receive, send)
            return
        await self._app(self._meant(scope), receive, _Rewriting(send, self.hidden))

    def hidden(self, value: Any) -> Any:
        """Return JSON whose texts name no host; its keys are words of ours."""
        if isinstance(value, str):
            return _COLONS.sub(self._hide, _WORD.sub(self._hide, value))
        if isinstance(value, list):
            return [self.hidden(part) for part in value]
        if isinstance(value, dict):
            return {key: self.hidden(part) for key, part in value.items()}
        return value

    def _hide(self, found: re.Match[str]) -> str:
        """Return the pseudonym of a host, also of one that is named with its domain, or the word itself."""
        word = found[0]
        return self._out.get(word) or self._out.get(word.partition(".")[0]) or word

    def _meant(self, scope: Scope) -> Scope:
        """Return the request about the hosts that are meant; its answer must not be compressed."""
        route = scope[ROUTE]
        headers = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        changed = {"path": self._path(route, scope["path"]), "headers": headers}
        if scope.get("raw_path"):
            changed["raw_path"] = self._path(route, scope["raw_path"].decode("latin-1")).encode("latin-1")
        if scope.get("query_string") and route != SEARCH:
            asked = scope["query_string"].decode("latin-1")
            changed["query_string"] = _VALUE.sub(lambda one: self._turned(one[0]), asked).encode("latin-1")
        return {**scope, **changed}

    def _path(self, route: str, path: str) -> str:
        """Return a path whose variable parts name the hosts that are meant."""
        parts, names = path.split("/"), route.split("/")
        if len(parts) != len(names):
            return path
        pairs = zip(names, parts, strict=True)
        return "/".join(self._turned(part) if name.startswith("{") else part for name, part in pairs)

    def _turned(self, text: str) -> str:
        def meant(found: re.Match[str]) -> str:
            word = found[0]
            return NOBODY if word in self._out else self._in.get(word, word)

        return _WORD.sub(meant, text)


class _Rewriting:
    """Collects an answer, and sends it rewritten if it is JSON."""

    def __init__(self, send: Send, change: Callable[[Any], Any]) -> None:
        self._send, self._change = send, change
        self._start: Message | None = None
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            if headers.get("content-type", "").startswith(JSON):
                self._start = message
                return
        if self._start is None or message["type"] != "http.response.body":
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body"):
            await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        body = bytes(self._body)
        if body:
            body = msgspec.json.encode(self._change(msgspec.json.decode(body)))
        headers = MutableHeaders(raw=start["headers"])
        headers["content-length"] = str(len(body))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})
