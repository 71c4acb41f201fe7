"""Builds and closes every long-lived part of the server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from starlette.routing import BaseRoute

from vigie.model import Event, Table
from vigie.query.limits import QueryLimits
from vigie.server.api.bindings import BindingRoutes
from vigie.server.api.events import EventRoutes
from vigie.server.api.health import Readiness, check_free_space
from vigie.server.api.nodes import NodeCommandRoutes, NodeRoutes
from vigie.server.api.pages import PageRoutes
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.api.prometheus.remote_backend import BackendRoutes, WriteForwarder
from vigie.server.api.prometheus.targets import ActiveTargets
from vigie.server.api.traces import TraceRoutes
from vigie.server.app import AppParts, build, build_remote
from vigie.server.auth.authenticator import Authenticator, AuthPolicy
from vigie.server.auth.delegated_auth import DelegatedAuth
from vigie.server.auth.middleware import AuthMiddleware
from vigie.server.auth.secrets import Secrets
from vigie.server.cluster.activity_table import ActivityTable
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.server.cluster.events import EventStore
from vigie.server.cluster.nodes import NodeStore
from vigie.server.http.request_log import Traffic
from vigie.server.http.tls import Certificate
from vigie.server.ingest.link_endpoint import ANSWER_SECONDS, LinkEndpoint, NodeKeys
from vigie.server.ingest.link_session import FrameSink, LinkServices
from vigie.server.ingest.link_tables import SharedTables
from vigie.server.ingest.link_writer import LinkWriter
from vigie.server.ingest.metadata import MetricMetadata, merge_metadata
from vigie.server.ingest.remote_write import RemoteWriter
from vigie.server.ingest.reported_holders import ReportedHolders
from vigie.server.ingest.self_monitoring import SelfMonitor
from vigie.server.maintenance import MaintenanceThread, RetentionConfig, open_store
from vigie.server.metrics import LinkMetrics, LinkMetricsTable, QueueMetrics, ServerMetrics
from vigie.server.pages.cluster_state import LocalClusterState
from vigie.server.pages.query_batch import LocalRunner
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.perfetto import find_perfetto, perfetto_routes
from vigie.server.privacy.host_redaction import known_hosts
from vigie.server.privacy.redactor import Privacy
from vigie.server.query_executor import QueryExecutor
from vigie.server.scrape.appender import ScrapeStore, TeeStore
from vigie.server.scrape.appender import SeriesSink as SeriesSink
from vigie.server.scrape.config import ScrapeConfig
from vigie.server.scrape.discovery import Discovery, FileSd, Listing, agents
from vigie.server.scrape.registration import RegistrationRoutes
from vigie.server.scrape.scraper import Scraper
from vigie.server.scrape.target import Target
from vigie.server.scrape.target_store import TargetStore
from vigie.server.staleness.activity import ActivityLog
from vigie.server.staleness.view import StalenessView
from vigie.server.tracing.service import ClusterTracing
from vigie.server.web_app import web_app_routes
from vigie.store.filesystem import STORE_DIRECTORY
from vigie.store.store import Store

if TYPE_CHECKING:
    from vigie.sinks.remote_write import RemoteWrite

TARGETS = "targets.sqlite"
TRACES = "traces"
FILE_SD = "targets.yaml"
log = logging.getLogger(__name__)
PARTINGS = ("node_lost", "node_stopped", "node_removed")  # after these nobody tells who holds what there


class ServerConfig(NamedTuple):
    """What to run, resolved from the configuration."""

    listen: str
    data: Path
    limits: QueryLimits
    retention: RetentionConfig
    flags: Mapping[str, str]
    reading: BackendRoutes | None = None  # instead of the embedded store
    writing: WriteForwarder | None = None
    auth: AuthPolicy = AuthPolicy()
    privacy: Privacy = Privacy()
    tls: Certificate | None = None
    admin_password: str = ""
    scrape: ScrapeConfig = ScrapeConfig()
    file_sd: Path | None = None
    remote_write: Callable[[], RemoteWrite] | None = None  # what is taken goes there too
    access_log: str = "changes"  # or all, or off
    clock: Callable[[], int] = now_ms
    cluster_reporters: tuple[str, ...] = ()  # nodes that may report allocations of others
    simulated: bool = False  # nothing of it is real, and every page says so
    itself: str = ""  # the instance under which the server keeps its own metrics; empty: it does not


class ScrapeServices:
    """Begins when it is made, and ends with `close`."""

    def __init__(
        self,
        targets: TargetStore,
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
        self.targets = targets
        self._discovery = Discovery(self.targets.all, agents)
        taking = TeeStore(store, pass_on) if pass_on else store
        self._scraper = Scraper(self.targets, taking, rules, clock, age_ms)
        self.active = ActiveTargets(self.targets.all, self._scraper.states, rules)
        self._file_sd = FileSd(file_sd or data / FILE_SD, self._discovery)
        self.targets.watch(self._file_sd.refresh)

    def close(self) -> None:
        self._file_sd.close()
        self._scraper.close()

    def table(self) -> tuple[Table, tuple[float, ...]]:
        return self._scraper.table()

    def families(self) -> Mapping[str, MetricMetadata]:
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
        is_scraped: Callable[[str, str], bool] = lambda _instance, _job: False,
        delegated_auth: DelegatedAuth | None = None,
        reporters: Collection[str] = (),
    ) -> None:
        self.counts, self._clock, self._pass_on = LinkMetrics(), clock, pass_on
        self.database = ClusterDatabase(data / FILE)
        self.activity = ActivityLog(ActivityTable(self.database), store, clock)
        self.events = EventStore(self.database, retention.events_days, clock=clock)
        self.bindings = BindingStore(self.database, retention.bindings_days, clock=clock)
        with contextlib.suppress(sqlite3.Error):  # on a full disk what is too old stays for a while
            self.events.prune(clock())
            self.bindings.prune(clock())
        self._holders = ReportedHolders()
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
            is_scraped,
            self.bindings,
            delegated_auth or DelegatedAuth(),
            self._holders,
            pass_on,
        )
        self.links = LinkEndpoint(shared, keys, answer_seconds, reporters)
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
        self._writer.run_later(partial(self._holders.replace, node, ()))
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


class Services(NamedTuple):
    """What a running server consists of, as far as others need it."""

    app: AuthMiddleware
    authenticator: Authenticator
    readiness: Readiness


def build_services(
    config: ServerConfig,
    secrets: Secrets,
    opened: contextlib.ExitStack,
    traffic: Traffic,
) -> Services:
    """Build every part, within the event loop; `opened` closes them, the last built first."""
    if config.reading:
        return _build_remote(config, secrets, traffic)
    age_ms = config.retention.raw.age_ms
    store = opened.enter_context(open_store(config.data / STORE_DIRECTORY, config.retention))
    sink = config.remote_write() if config.remote_write else None
    if sink:
        opened.callback(sink.close)
    targets = opened.enter_context(contextlib.closing(TargetStore(config.data / TARGETS)))
    hub = LinkHub(
        config.data,
        store,
        secrets,
        config.clock,
        age_ms,
        pass_on=sink,
        retention=config.retention,
        is_scraped=targets.has,
        reporters=config.cluster_reporters,
        delegated_auth=DelegatedAuth(
            lambda: app if config.auth.vouching else None,
            lambda node, user: node in config.auth.login_nodes or hub.bindings.has_user(node, user),
        ),
    )
    opened.callback(hub.close)
    scraping = ScrapeServices(
        targets,
        config.data,
        store,
        config.scrape,
        config.clock,
        age_ms,
        agents=hub.agents,
        file_sd=config.file_sd,
        pass_on=sink,
    )
    opened.callback(scraping.close)
    privacy = config.privacy.with_lookups(
        hub.bindings.jobs.of,
        hub.bindings.containers_of,
        lambda: known_hosts(hub.nodes.nodes(), targets.all()),
    )
    authenticator = Authenticator(
        secrets,
        config.auth,
        privacy=privacy,
        record_event=hub.record_event,
        simulated=config.simulated,
    )
    executor = QueryExecutor(StalenessView(store, hub.activity), config.limits)
    opened.callback(executor.close)
    queues = QueueMetrics(
        {
            "questions": lambda: executor.waiting,
            "writes": lambda: writer.waiting,
            "links": lambda: hub.waiting,
        }
    )
    metrics = ServerMetrics(
        lambda: (*store.bytes_on_disk(), len(store.corruption_reports), store.series_count()),
        lambda: executor.forks,
        [
            traffic.table,
            hub.table,
            authenticator.counts,
            scraping.table,
            queues,
            *([sink.metrics] if sink else []),
        ],
    )
    forward = sink.write_series if sink else lambda _: None
    writer = RemoteWriter(store, metrics, config.clock, age_ms, forward)
    opened.callback(writer.close)
    maintenance = MaintenanceThread(store, config.clock)
    opened.callback(maintenance.close)
    if config.itself:
        opened.callback(SelfMonitor(metrics, store, config.clock, config.itself, sink).close)
    tracing = ClusterTracing(
        config.data / TRACES,
        config.retention,
        hub.links,
        hub.bindings,
        hub.nodes,
        hub.record_event,
    )
    opened.callback(tracing.close)
    readiness = Readiness([lambda: maintenance.trouble, check_free_space(config.data)])
    pages = _build_pages(config, executor, hub, opened)
    app = build(
        AppParts(
            executor,
            writer.write,
            metrics,
            authenticator,
            config.limits,
            config.flags,
            retention=f"{age_ms / 86_400_000:g}d",
            clock=config.clock,
            targets=scraping.active,
            families=lambda: merge_metadata(
                writer.described.families, scraping.families(), hub.described.families
            ),
            more=[
                *scraping.routes(),
                *hub.routes(),
                *TraceRoutes(
                    tracing.coordinator,
                    tracing.survey,
                    is_public=config.simulated and not config.privacy.own,
                ).routes(),
                *perfetto_routes(find_perfetto()),
                *pages.routes(),
                *web_app_routes(),
            ],
            reasons=readiness.reasons,
        )
    )
    return Services(app, authenticator, readiness)


def _build_remote(config: ServerConfig, secrets: Secrets, traffic: Traffic) -> Services:
    """Build a server whose data are in another engine."""
    assert config.reading is not None
    authenticator = Authenticator(secrets, config.auth, privacy=config.privacy, simulated=config.simulated)
    metrics = ServerMetrics(lambda: (0, 0, 0, 0), lambda: 0, [traffic.table, authenticator.counts])
    app = build_remote(config.reading, config.writing, metrics, authenticator)
    return Services(app, authenticator, Readiness())


def _build_pages(
    config: ServerConfig, executor: QueryExecutor, hub: LinkHub, opened: contextlib.ExitStack
) -> PageRoutes:
    state = LocalClusterState(hub.nodes, hub.events, hub.bindings)
    snapshots = SnapshotCache(LocalRunner(executor), state, config.clock)
    opened.callback(snapshots.close)
    snapshots.warm()
    return PageRoutes(snapshots, simulated=config.simulated)
