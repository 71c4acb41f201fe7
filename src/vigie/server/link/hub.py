"""Everything about links put together: endpoint, writer, registry, events, and their routes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

from starlette.routing import BaseRoute, WebSocketRoute

from vigie.model import Event
from vigie.server.absence.absences import Absences
from vigie.server.bindings.book import Book
from vigie.server.bindings.routes import BindingRoutes
from vigie.server.link.endpoint import ANSWER_SECONDS, Keys, Links
from vigie.server.link.own import LinksTable
from vigie.server.link.session import Counts, PassOn, Shared
from vigie.server.link.tables import Alike
from vigie.server.link.vouching import Vouching
from vigie.server.link.writer import LinkWriter
from vigie.server.nodes.agents import agents
from vigie.server.nodes.events import Events
from vigie.server.nodes.events_routes import EventRoutes
from vigie.server.nodes.orders import OrderRoutes
from vigie.server.nodes.registry import Registry
from vigie.server.nodes.registry_routes import NodeRoutes
from vigie.server.scrape.target import Target
from vigie.store.store import Store

log = logging.getLogger(__name__)

PARTINGS = ("node_lost", "node_stopped", "node_removed")  # after these nobody tells who holds what there


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
        self.counts, self._clock, self._pass_on = Counts(), clock, pass_on
        self.scraped: Callable[[str, str], bool] = lambda _instance, _job: False  # the scraper comes later
        self.absences = Absences(data / "absences.sqlite", store, clock)
        self.events = Events(data / "events.sqlite", clock=clock)
        self.book = Book(data / "bindings.sqlite", clock=clock)
        with contextlib.suppress(sqlite3.Error):  # on a full disk what has become too old stays a while
            self.events.prune(clock())
            self.book.prune(clock())
        self.vouching = Vouching()
        self._writer = LinkWriter(store, self.events, self.absences, self.book)
        self.registry = Registry(data / "nodes.sqlite", self.tell, clock)
        alike = Alike()
        self.described = alike.described
        shared = Shared(
            store,
            self._writer,
            self.events,
            self.registry,
            clock,
            age_ms,
            self.counts,
            alike,
            self.absences,
            lambda instance, job: self.scraped(instance, job),
            self.book,
            self.vouching,
            pass_on,
        )
        self.links = Links(shared, keys, answer_seconds)
        self.table = LinksTable(self.counts, lambda: self.links.connected)
        self._watching = asyncio.ensure_future(self.links.watch())

    def agents(self) -> list[Target]:
        """Return the agents that a Prometheus could scrape."""
        return agents(self.registry.nodes())

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            WebSocketRoute("/link", self.links.answer),
            *NodeRoutes(self.registry, self.links).routes(),
            *OrderRoutes(self.registry, self.links).routes(),
            *EventRoutes(self.events).routes(),
            *BindingRoutes(self.book, clock=self._clock).routes(),
        ]

    def tell(self, event: Event) -> None:
        """Have an event of our own stored, and what follows from it."""
        self._writer.tell(event)
        if event.kind in PARTINGS and event.end_ms is None:
            self._part(event.where["node"], event.begin_ms)

    @property
    def waiting(self) -> int:
        """Tell how many entries of agents wait to be stored."""
        return self._writer.waiting

    def _part(self, node: str, at_ms: int) -> None:
        """Have all end that a node held, and its series where they are passed on to."""
        self._writer.later(partial(self.book.part, node, at_ms))
        if self._pass_on:
            for job in self.absences.jobs(node):
                self._writer.later(partial(self._pass_on.end, {"instance": node, "job": job}))

    def close(self) -> None:
        """Store what waits, and let go of the files."""
        self._watching.cancel()
        self._writer.close()
        for part in (self.absences, self.registry, self.events, self.book):
            try:
                part.close()
            except sqlite3.Error as error:  # a full disk; the nodes tell most of it again
                log.error("the newest of %s cannot be saved: %s", type(part).__name__.lower(), error)
