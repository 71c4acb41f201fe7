"""/link: agents dial in, show their key or the join token, and are who they may be."""

from __future__ import annotations

import asyncio
import logging
import re
import sqlite3
from collections.abc import Collection
from functools import partial
from typing import Any, Protocol

from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from vigie.common.change_logger import ChangeLogger
from vigie.server.auth.origin import not_local
from vigie.server.auth.secrets_file import SecretsError
from vigie.server.cluster.nodes import NAME, REMOVED
from vigie.server.http.routes import TEXT, Content, Operation, RouteAccess, SocketRoute
from vigie.server.identity import Identity
from vigie.server.ingest.link_session import LinkServices, LinkSession
from vigie.server.ingest.link_writer import StoreUnavailableError
from vigie.server.parser_threads import parse
from vigie.wire import messages
from vigie.wire.messages import PROTOCOL, CommandResult, Goodbye, Hello, MalformedMessageError, Welcome

log = logging.getLogger(__name__)

HELLO_SECONDS = 10.0
ANSWER_SECONDS = 3.0  # so long an older connection may take to show that it lives
ORDER_SECONDS = 30.0  # a driver takes its time to close
WATCH_SECONDS = 1.0
BAD_DATA, TRY_LATER, UNWANTED = 1007, 1013, 1008
CONNECT = Operation(
    "The link of an agent: a WebSocket with binary messages.",
    Content("The connection is a WebSocket now."),
    errors={404: Content("This was no WebSocket.", {TEXT: str})},
    status=101,
)
BEARER = re.compile(r"Bearer +(\S+)", re.IGNORECASE)


class NodeKeys(Protocol):
    """What knows the credentials of nodes."""

    def identify(self, token: str) -> Identity | None: ...

    def new_node_key(self, node: str) -> str: ...

    def revoke(self, node: str) -> None:
        """Let every key of a node be valid no more."""


class UnwantedLinkError(Exception):
    """An agent that may not be who it says; the message tells it why and what to do."""


class LinkEndpoint:
    """The endpoint, and who is on the line."""

    def __init__(
        self,
        shared: LinkServices,
        keys: NodeKeys,
        answer_seconds: float = ANSWER_SECONDS,
        reporters: Collection[str] = (),
    ) -> None:
        self._shared, self._keys, self._answer_seconds = shared, keys, answer_seconds
        self._reporters = frozenset(reporters)  # nodes that may report what is held on others
        self._live: dict[str, LinkSession] = {}
        self._acknowledged: dict[str, tuple[str, int]] = {}  # by node: start of its agent, sequence

    def routes(self) -> list[BaseRoute]:
        return [SocketRoute("/link", self.answer, RouteAccess("node", changes=True), CONNECT)]

    @property
    def connected(self) -> int:
        """Return how many agents are on the line."""
        return len(self._live)

    def connected_nodes(self) -> list[str]:
        return sorted(self._live)

    async def watch(self) -> None:
        """Look for nodes that went silent, for ever."""
        complain = ChangeLogger("the nodes")
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                self._shared.nodes.watch()
            except sqlite3.Error as error:  # a full disk passes; until then nobody is lost
                complain(f"cannot be saved: {error}")
            else:
                complain("")

    def add(self, node: str) -> str:
        """Expect a node, and return the key with which it may come."""
        self._shared.nodes.add(node)
        self._shared.writer.run_later(partial(self._shared.activity.expect, node, self._shared.clock()))
        return self._keys.new_node_key(node)

    def remove(self, node: str) -> bool:
        """Let a node be no member any more; tell whether it was one."""
        removed = self._shared.nodes.remove(node)
        self._keys.revoke(node)
        self._shared.writer.run_later(partial(self._shared.activity.mark_removed, node))
        if node in self._live:
            why = f"node {node} was removed; to let it in again, on the server: vigie nodes add {node}"
            self._live[node].end(why, removed=True)
        return removed

    async def order(self, node: str, name: str, arguments: dict[str, Any]) -> CommandResult | None:
        """Have a node do something of its list; return what it replies, nothing if it does not."""
        session = self._live.get(node)
        return await session.order(name, arguments, ORDER_SECONDS) if session else None

    async def answer(self, socket: WebSocket) -> None:
        bearer = BEARER.fullmatch(socket.headers.get("authorization", ""))
        identity = self._keys.identify(bearer[1]) if bearer else None
        if identity is None or identity.role not in ("node", "join"):
            why = "show the node's key or the join token: Authorization: Bearer ...\n"
            await socket.send_denial_response(PlainTextResponse(why, 403 if identity else 401))
            return
        await socket.accept()
        try:
            session = await self._introduced(socket, identity)
            try:
                await session.run()
            finally:
                self._left(session)
            await socket.close()
        except (WebSocketDisconnect, RuntimeError):
            pass  # it is gone
        except KeyError:
            await _parted(socket, BAD_DATA, "text is not our protocol")
        except TimeoutError:
            await _parted(socket, BAD_DATA, f"no hello within {HELLO_SECONDS:g} s")
        except MalformedMessageError as error:
            await _parted(socket, BAD_DATA, str(error))
        except UnwantedLinkError as error:
            await _parted(socket, UNWANTED, str(error))
        except (StoreUnavailableError, SecretsError, sqlite3.Error) as error:
            await _parted(socket, TRY_LATER, f"nothing can be stored now: {error}")

    async def _introduced(self, socket: WebSocket, identity: Identity) -> LinkSession:
        async with asyncio.timeout(HELLO_SECONDS):
            data = await socket.receive_bytes()
        hello = await parse(len(data), messages.decode, data)
        if not isinstance(hello, Hello):
            raise MalformedMessageError("the first message should be a hello")
        await self._check(hello, identity, socket)
        joined = identity.role == "join"
        address = socket.client.host if socket.client else ""
        # From here to the entry into the live ones nothing waits, so no second agent slips in between.
        before = self._shared.nodes.find(hello.node)
        if before and before.start != hello.start:  # what the one before told, this one may not know of
            self._shared.writer.run_later(partial(self._shared.activity.mark_stopped, hello.node))
        node = self._shared.nodes.connect(hello, address, joined=joined)
        # An agent on the server's own machine may report of others: who is there could write the files.
        trusted = hello.node in self._reporters or not not_local(socket, ())
        session = self._live[hello.node] = LinkSession(
            socket, hello, self._shared, node.boot_ms, reports_others=trusted
        )
        try:
            key = self._keys.new_node_key(hello.node) if joined else ""
            start, acknowledged = self._acknowledged.get(hello.node, ("", 0))
            known = acknowledged if start == hello.start else 0
            welcome = Welcome(min(PROTOCOL, hello.protocol), known, key, self._shared.clock())
            await socket.send_bytes(messages.encode(welcome))
        except BaseException:
            self._left(session)
            raise
        log.info("node %s is connected from %s", hello.node, session.place)
        return session

    async def _check(self, hello: Hello, identity: Identity, socket: WebSocket) -> None:
        name = hello.node
        if hello.protocol < 1:
            raise MalformedMessageError(f"protocol {hello.protocol} was never spoken")
        if not NAME.fullmatch(name):
            raise UnwantedLinkError(
                f"{name!r} cannot be a node's name: letters, digits, dots, dashes; see --node"
            )
        if identity.role == "node" and name not in identity.name.split(","):
            raise UnwantedLinkError(
                f"this key is of {identity.name}, not of {name}: to stay {identity.name} start the agent "
                f"with --node {identity.name}, to be {name} join anew with the join token"
            )
        known = self._shared.nodes.find(name)
        if known and known.state == REMOVED:
            # Not even by the join token: where that stands in a file, the node would be back by itself.
            raise UnwantedLinkError(
                f"node {name} was removed; to let it in again, on the server: vigie nodes add {name}"
            )
        while other := self._live.get(name):
            if other.hello.start != hello.start and await other.answers(self._answer_seconds):
                here = f"{socket.client.host if socket.client else '?'} (host {hello.host or '?'})"
                raise UnwantedLinkError(
                    f"node {name} is connected already: that one is at {other.place}, this one at {here}; "
                    f"give one of them another name with --node"
                )
            if self._live.get(name) is other:
                other.end("another connection of this node took over")
                self._left(other)

    def _left(self, session: LinkSession) -> None:
        node = session.hello.node
        session.release()
        self._acknowledged[node] = (session.hello.start, session.acknowledged)
        if self._live.get(node) is not session:
            return
        del self._live[node]
        if session.said_goodbye and self._shared.nodes.mark_stopped(node):
            self._shared.writer.run_later(partial(self._shared.activity.mark_stopped, node))
        log.info("node %s has left%s", node, ": it was stopped" if session.said_goodbye else "")


async def _parted(socket: WebSocket, code: int, why: str) -> None:
    """Tell the other side why, as far as it still listens."""
    log.warning("link from %s: %s", socket.client.host if socket.client else "?", why)
    try:
        await socket.send_bytes(messages.encode(Goodbye(why[:1000])))
        await socket.close(code)
    except (RuntimeError, WebSocketDisconnect):
        pass
