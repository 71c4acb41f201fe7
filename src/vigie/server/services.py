"""Everything about links put together: endpoint, writer, registry, events, and their routes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from starlette.routing import BaseRoute

from vigie.model import Event, Table
from vigie.server.api.bindings import BindingRoutes
from vigie.server.api.events import EventRoutes
from vigie.server.api.nodes import NodeCommandRoutes, NodeRoutes
from vigie.server.api.prometheus.targets import ActiveTargets
from vigie.server.auth.delegated_auth import DelegatedAuth
from vigie.server.cluster.activity_table import ActivityTable
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.server.cluster.events import EventStore
from vigie.server.cluster.nodes import NodeStore
from vigie.server.ingest.link_endpoint import ANSWER_SECONDS, LinkEndpoint, NodeKeys
from vigie.server.ingest.link_session import FrameSink, LinkServices
from vigie.server.ingest.link_tables import SharedTables
from vigie.server.ingest.link_writer import LinkWriter
from vigie.server.ingest.metadata import MetricMetadata
from vigie.server.maintenance import RetentionConfig
from vigie.server.metrics import LinkMetrics, LinkMetricsTable
from vigie.server.scrape.appender import ScrapeStore, TeeStore
from vigie.server.scrape.appender import SeriesSink as SeriesSink
from vigie.server.scrape.config import ScrapeConfig
from vigie.server.scrape.discovery import Discovery, FileSd, Listing, agents
from vigie.server.scrape.registration import RegistrationRoutes
from vigie.server.scrape.scraper import Scraper
from vigie.server.scrape.target import Target
from vigie.server.scrape.target_store import TargetStore
from vigie.server.staleness.activity import ActivityLog
from vigie.store.store import Store

TARGETS = "targets.sqlite"
FILE_SD = "targets.yaml"
log = logging.getLogger(__name__)
PARTINGS = ("node_lost", "node_stopped", "node_removed")  # after these nobody tells who holds what there


class ScrapeServices:
    """Begins when it is made, and ends with `close`."""

    def __init__(
        self,
        data: Path,
        store: ScrapeStore,
        rules: ScrapeConfig,
        clock: Callable[[], int],
        age_ms: int,
        *,
        agents: Listing = tuple,
        file_sd: Path | None = None,
        pass_on: SeriesSink | None = None,
    ) -> None:
        """Take where state is kept, what stores, how to scrape, what lists agents, and where else it goes."""
        self.targets = TargetStore(data / TARGETS)
        self._discovery = Discovery(self.targets.all, agents)
        taking = TeeStore(store, pass_on) if pass_on else store
        self._scraper = Scraper(self.targets, taking, rules, clock, age_ms)
        self.active = ActiveTargets(self.targets.all, self._scraper.states, rules)
        self._file_sd = FileSd(file_sd or data / FILE_SD, self._discovery)
        self.targets.watch(self._file_sd.refresh)

    def close(self) -> None:
        """End; the targets are there again next time."""
        self._file_sd.close()
        self._scraper.close()
        self.targets.close()

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return what the scraper says of itself."""
        return self._scraper.table()

    def families(self) -> Mapping[str, MetricMetadata]:
        """Return what the exporters say about their metrics."""
        return self._scraper.families()

    def routes(self) -> list[BaseRoute]:
        registration = RegistrationRoutes(self.targets)
        return [
            *registration.routes(),
            *self._discovery.routes(),
        ]


class LinkHub:
    """The links of a server; made within its event loop."""

    def __init__(
        self,
        data: Path,
        store: Store,
        keys: NodeKeys,
        clock: Callable[[], int],
        age_ms: int,
        answer_seconds: float = ANSWER_SECONDS,
        pass_on: FrameSink | None = None,
        retention: RetentionConfig = RetentionConfig(),  # noqa: B008 - it cannot be changed
    ) -> None:
        self.counts, self._clock, self._pass_on = LinkMetrics(), clock, pass_on
        self.scraped: Callable[[str, str], bool] = lambda _instance, _job: False  # the scraper comes later
        self.database = ClusterDatabase(data / FILE)
        self.activity = ActivityLog(ActivityTable(self.database), store, clock)
        self.events = EventStore(self.database, retention.events_days, clock=clock)
        self.bindings = BindingStore(self.database, retention.bindings_days, clock=clock)
        with contextlib.suppress(sqlite3.Error):  # on a full disk what is too old stays for a while
            self.events.prune(clock())
            self.bindings.prune(clock())
        self.vouching = DelegatedAuth()
        self._writer = LinkWriter(store, self.database, self.events, self.activity)
        self.nodes = NodeStore(self.database, self.record_event, clock)
        alike = SharedTables()
        self.described = alike.described
        shared = LinkServices(
            store,
            self._writer,
            self.events,
            self.nodes,
            clock,
            age_ms,
            self.counts,
            alike,
            self.activity,
            lambda instance, job: self.scraped(instance, job),
            self.bindings,
            self.vouching,
            pass_on,
        )
        self.links = LinkEndpoint(shared, keys, answer_seconds)
        self.table = LinkMetricsTable(self.counts, lambda: self.links.connected)
        self._watching = asyncio.ensure_future(self.links.watch())

    def agents(self) -> list[Target]:
        """Return the agents that a Prometheus could scrape."""
        return agents(self.nodes.nodes())

    def routes(self) -> list[BaseRoute]:
        return [
            *self.links.routes(),
            *NodeRoutes(self.nodes, self.links).routes(),
            *NodeCommandRoutes(self.nodes, self.links).routes(),
            *EventRoutes(self.events).routes(),
            *BindingRoutes(self.bindings, clock=self._clock).routes(),
        ]

    def record_event(self, event: Event) -> None:
        """Have an event of our own stored, and what follows from it."""
        self._writer.record_event(event)
        if event.kind in PARTINGS and event.end_ms is None:
            self._part(event.where["node"], event.begin_ms)

    @property
    def waiting(self) -> int:
        """Tell how many entries of agents wait to be stored."""
        return self._writer.waiting

    def _part(self, node: str, at_ms: int) -> None:
        """Have all end that a node held, and its series where they are passed on to."""
        self._writer.run_later(partial(self.bindings.end_all, node, at_ms))
        if self._pass_on:
            for job in self.activity.jobs(node):
                self._writer.run_later(partial(self._pass_on.end, {"instance": node, "job": job}))

    def close(self) -> None:
        """Store what waits, and let go of the files."""
        self._watching.cancel()
        self._writer.close()
        for part in (self.activity, self.nodes):
            try:
                part.close()
            except sqlite3.Error as error:  # a full disk; the nodes send most of it again
                log.error("cannot save the newest of %s: %s", type(part).__name__, error)
        self.database.close()
