"""Everything about links put together: endpoint, writer, registry, events, and their routes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from starlette.routing import BaseRoute, WebSocketRoute

from vigie.server.link.endpoint import ANSWER_SECONDS, Keys, Links
from vigie.server.link.own import LinksTable
from vigie.server.link.session import Counts, PassOn, Shared
from vigie.server.link.tables import Alike
from vigie.server.link.writer import LinkWriter
from vigie.server.nodes.events import Events
from vigie.server.nodes.events_routes import EventRoutes
from vigie.server.nodes.registry import Registry
from vigie.server.nodes.registry_routes import NodeRoutes
from vigie.store.store import Store


class Hub:
    """The links of a server; made within its event loop."""

    def __init__(
        self,
        data: Path,
        store: Store,
        keys: Keys,
        clock: Callable[[], int],
        age_ms: int,
        answer_seconds: float = ANSWER_SECONDS,
        pass_on: PassOn | None = None,
    ) -> None:
        self.counts = Counts()
        self.events = Events(data / "events.sqlite")
        self._writer = LinkWriter(store, self.events)
        self.registry = Registry(data / "nodes.sqlite", self._writer.tell, clock)
        shared = Shared(
            store, self._writer, self.events, self.registry, clock, age_ms, self.counts, Alike(), pass_on
        )
        self.links = Links(shared, keys, answer_seconds)
        self.table = LinksTable(self.counts, lambda: self.links.connected)
        self._watching = asyncio.ensure_future(self.links.watch())

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            WebSocketRoute("/link", self.links.answer),
            *NodeRoutes(self.registry, self.links).routes(),
            *EventRoutes(self.events).routes(),
        ]

    def close(self) -> None:
        """Store what waits, and let go of the files."""
        self._watching.cancel()
        self._writer.close()
        self.registry.close()
        self.events.close()
