"""The server: its parts put together, started, and stopped cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import re
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from vigie.common.listen import bind_or_next, local_url, socket_url
from vigie.common.systemd import notify
from vigie.query.limits import QueryLimits
from vigie.server import app, maintenance
from vigie.server.api.health import Readiness, check_free_space
from vigie.server.api.pages import PageRoutes
from vigie.server.api.prometheus import remote_backend
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.auth.authenticator import Authenticator, AuthPolicy
from vigie.server.auth.middleware import AuthMiddleware
from vigie.server.auth.secrets import ADMIN, Secrets
from vigie.server.http.request_log import AccessLog, Traffic
from vigie.server.http.server import HttpServer
from vigie.server.http.tls import Certificate
from vigie.server.ingest.metadata import merge_metadata
from vigie.server.ingest.remote_write import RemoteWriter
from vigie.server.ingest.self_monitoring import SelfMonitor
from vigie.server.maintenance import RetentionConfig
from vigie.server.metrics import QueueMetrics, ServerMetrics
from vigie.server.pages.cluster_state import LocalClusterState
from vigie.server.pages.query_batch import LocalRunner
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.privacy.host_redaction import known_hosts
from vigie.server.privacy.redactor import Privacy
from vigie.server.query_executor import QueryExecutor
from vigie.server.scrape.config import ScrapeConfig
from vigie.server.server_address import ServerAddress, write_address
from vigie.server.services import LinkHub, ScrapeServices
from vigie.server.staleness.view import StalenessView
from vigie.server.web_app import web_app_routes
from vigie.store.filesystem import STORE_DIRECTORY

if TYPE_CHECKING:
    from vigie.sinks.remote_write import RemoteWrite

EVERYWHERE = re.compile(r"//(0\.0\.0\.0|\[::\]):")  # where one listens, and nobody is found
log = logging.getLogger(__name__)
THREADS = 64  # made when they are needed, for what waits: a ledger, a disk, an engine elsewhere


def greeting(secrets: Secrets, address: str) -> str:
    """Return what is said once: the password that was made just now, and a link that signs in."""
    where = EVERYWHERE.sub(f"//{socket.gethostname()}:", address)
    link = f"sign in once, within ten minutes: {where}/login?once={secrets.sessions.link(ADMIN)}"
    if secrets.first_password:
        return f"the password of {ADMIN}, shown now and never again: {secrets.first_password}\n{link}"
    return link


def greet(secrets: Secrets, address: str, terminal: TextIO | None = None) -> None:
    """Say it to a terminal; a log is read by others and kept for long."""
    terminal = terminal or sys.stderr
    if terminal.isatty():
        print(greeting(secrets, address), file=terminal, flush=True)


def advice(secrets: Secrets) -> str:
    """Return what the log says about getting in."""
    file = secrets.admin_file
    said = f"beyond loopback and for changes: Authorization: Bearer with the token in {file}"
    if not secrets.first_password:
        return said
    return f"{said}; to set the password of {ADMIN}: vigie users passwd {ADMIN} --data {file.parent}"


class ServerConfig(NamedTuple):
    """What to run, resolved from the configuration."""

    listen: str
    data: Path
    limits: QueryLimits
    retention: RetentionConfig
    flags: Mapping[str, str]
    reading: remote_backend.BackendRoutes | None = None  # instead of the embedded store
    writing: remote_backend.WriteForwarder | None = None
    doors: AuthPolicy = AuthPolicy()
    privacy: Privacy | None = None
    tls: Certificate | None = None
    admin_password: str = ""
    scrape: ScrapeConfig = ScrapeConfig()
    file_sd: Path | None = None
    remote_write: Callable[[], RemoteWrite] | None = None  # what is taken goes there too
    access_log: str = "changes"  # or all, or off
    clock: Callable[[], int] = now_ms
    simulated: bool = False  # nothing of it is real, and every page says so
    itself: str = ""  # the instance under which the server keeps its own metrics; empty: it does not


class Companion(Protocol):
    """What runs with the server, from its first answer on, and ends before it."""

    def start(self, address: str) -> None: ...

    async def stop(self) -> None: ...


async def run(plan: ServerConfig, beside: Companion | None = None) -> None:
    """Run until SIGINT or SIGTERM."""
    _allow_many_files()
    # As it comes there are a few more threads than processors: slow questions would keep a sign-in waiting.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "server"))
    with contextlib.ExitStack() as opened:
        secrets = opened.enter_context(contextlib.closing(Secrets(plan.data)))
        if plan.admin_password:
            secrets.take_password(plan.admin_password)
        traffic, readiness = Traffic(_access_log(plan.access_log)), Readiness()
        made = application(
            plan, Authenticator(secrets, plan.doors, privacy=plan.privacy), opened, traffic, readiness
        )
        bound = opened.enter_context(bind_or_next(plan.listen))
        front = HttpServer(traffic.watching(made), plan.tls.context if plan.tls else None)
        traffic.connections = lambda: front.connections
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, _stop, front, beside, readiness)
        following = asyncio.ensure_future(plan.tls.follow()) if plan.tls else None
        _leave_address(plan, bound)
        _announce(bound, secrets, bool(plan.tls))
        if beside:
            beside.start(socket_url(bound, bool(plan.tls)))
        await front.serve([bound])
        if following:
            following.cancel()
    log.info("stopped")


def _allow_many_files() -> None:
    """Let as many files be open as the system allows: each agent stays connected."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _stop(front: HttpServer, beside: Companion | None, readiness: Readiness) -> None:
    """Stop, whatever runs beside the server first."""
    readiness.stopping = True
    if beside and not front.stopping:
        front.stopping = asyncio.ensure_future(beside.stop())
        front.stopping.add_done_callback(lambda _: front.stop())
    else:
        front.stop()


def _access_log(which: str) -> AccessLog | None:
    return None if which == "off" else AccessLog(everything=which == "all")


def application(
    plan: ServerConfig,
    callers: Authenticator,
    opened: contextlib.ExitStack,
    traffic: Traffic,
    readiness: Readiness,
) -> AuthMiddleware:
    """Return what answers requests; what it needs is opened, to be closed with all the rest."""
    if plan.reading:
        elsewhere = ServerMetrics(lambda: (0, 0, 0, 0), lambda: 0)
        elsewhere.tables += [traffic.table, callers.counts]
        return app.build_remote(plan.reading, plan.writing, elsewhere, callers)
    store = opened.enter_context(maintenance.open_store(plan.data / STORE_DIRECTORY, plan.retention))
    own = ServerMetrics(
        lambda: (*store.bytes_on_disk(), len(store.corruption_reports), store.series_count()),
        lambda: readers.forks,
    )
    own.tables.append(traffic.table)
    sink = _sink(plan, own, opened)
    age_ms = plan.retention.raw.age_ms
    hub = LinkHub(
        plan.data, store, callers.secrets, plan.clock, age_ms, pass_on=sink, retention=plan.retention
    )
    opened.callback(hub.close)
    own.tables += [hub.table, callers.counts]
    callers.tell, callers.privacy.jobs_of = hub.record_event, hub.bindings.jobs.of
    readers = QueryExecutor(StalenessView(store, hub.activity), plan.limits)
    opened.callback(readers.close)
    passing_on = sink.write_series if sink else lambda _: None
    writer = RemoteWriter(store, own, plan.clock, age_ms, passing_on)
    opened.callback(writer.close)
    upkeep = maintenance.MaintenanceThread(store, plan.clock)
    opened.callback(upkeep.close)
    readiness.checks += [lambda: upkeep.trouble, check_free_space(plan.data)]
    scraping = ScrapeServices(
        plan.data,
        store,
        plan.scrape,
        plan.clock,
        age_ms,
        agents=hub.agents,
        file_sd=plan.file_sd,
        pass_on=sink,
    )
    hub.scraped = scraping.targets.has
    callers.privacy.hosts = lambda: known_hosts(hub.nodes.nodes(), scraping.targets.all())
    opened.callback(scraping.close)
    waiting = {"questions": lambda: readers.waiting, "writes": lambda: writer.waiting}
    own.tables += [scraping.table, QueueMetrics({**waiting, "links": lambda: hub.waiting})]
    if plan.itself:
        opened.callback(SelfMonitor(own, store, plan.clock, plan.itself, sink).close)
    callers.simulated = plan.simulated
    pages = _page_routes(plan, readers, hub, opened)
    parts = app.AppParts(
        readers,
        writer.write,
        own,
        callers,
        plan.limits,
        plan.flags,
        retention=f"{age_ms / 86_400_000:g}d",
        clock=plan.clock,
        targets=scraping.active,
        families=lambda: merge_metadata(
            writer.described.families, scraping.families(), hub.described.families
        ),
        more=[*scraping.routes(), *hub.routes(), *pages.routes(), *web_app_routes()],
        reasons=readiness.reasons,
    )
    built = app.build(parts)
    hub.vouching.app = built if plan.doors.vouching else None
    return built


def _page_routes(
    plan: ServerConfig, readers: QueryExecutor, hub: LinkHub, opened: contextlib.ExitStack
) -> PageRoutes:
    """Return what the page asks for, warmed up."""
    snapshots = SnapshotCache(
        LocalRunner(readers), LocalClusterState(hub.nodes, hub.events, hub.bindings), plan.clock
    )
    opened.callback(snapshots.close)
    snapshots.warm()
    return PageRoutes(snapshots, simulated=plan.simulated)


def _sink(plan: ServerConfig, own: ServerMetrics, opened: contextlib.ExitStack) -> RemoteWrite | None:
    """Return what passes on what the server takes, if that is wanted."""
    if plan.remote_write is None:
        return None
    sink = plan.remote_write()
    opened.callback(sink.close)
    own.tables.append(sink.metrics)
    return sink


def _leave_address(plan: ServerConfig, bound: socket.socket) -> None:
    """Tell commands on this machine where we are; without it they have to be told."""
    certificate = str(Path(plan.tls.file).absolute()) if plan.tls else ""
    where = socket_url(bound, bool(plan.tls))
    here = ServerAddress(local_url(where), where.partition("://")[2], certificate)
    try:
        write_address(plan.data, here)
    except OSError as error:
        log.warning("commands on this machine need --server %s: %s", here.url, error)


def _announce(bound: socket.socket, secrets: Secrets, encrypted: bool) -> None:
    host = bound.getsockname()[0]
    where = socket_url(bound, encrypted)
    log.info("the page is at %s, and Prometheus's API, for Grafana's Prometheus data source", where)
    log.info("%s", advice(secrets))
    if not encrypted and not ipaddress.ip_address(host).is_loopback:
        log.warning("passwords and tokens cross the network in the clear; see --tls-cert and --tls-key")
    greet(secrets, where)
    notify(f"READY=1\nSTATUS={where}")
