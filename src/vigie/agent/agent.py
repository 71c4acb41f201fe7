"""Builds, starts and stops the parts of the agent."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from vigie.agent.bindings import BindingTracker
from vigie.agent.collector import Collector
from vigie.agent.dialects.catalog import build
from vigie.agent.events.state_file import EventStateFile
from vigie.agent.events.tracker import EventTracker
from vigie.agent.http import server, unix_socket
from vigie.agent.http.exporter_ports import EXPORTER_PORTS
from vigie.agent.http.gpu_commands import GpuCommands
from vigie.agent.http.handlers import Handlers
from vigie.agent.http.job_commands import JobCommands
from vigie.agent.http.unix_handlers import UnixHandlers
from vigie.agent.loop import Consumer, Loop, OwnTable
from vigie.agent.manual_jobs import ManualJobs
from vigie.agent.metrics import SourceOutcomes
from vigie.agent.reports import receiver
from vigie.agent.reports.receiver import ReportReceiver
from vigie.agent.source_reader import Outcome
from vigie.common import listen
from vigie.common.clock import SystemClock
from vigie.common.listen import is_loopback, split_address
from vigie.common.systemd import notify
from vigie.common.unix_listen import UnixSocketError
from vigie.model import Binding, Event, Frame
from vigie.sinks.core.background_sink import BackgroundSink

log = logging.getLogger(__name__)


LINK_STOP_SECONDS = 5.0


class AgentStartError(Exception):
    """The agent cannot start; the message says why and what to do."""


class LinkHandle(Protocol):
    def __call__(self, frame: Frame) -> None: ...

    def replace_held(self, changes: Sequence[Binding], held: Sequence[Binding]) -> None: ...

    def record_event(self, event: Event) -> None: ...

    def state(self) -> dict[str, Any]: ...

    async def request(self, user: str, target: str) -> tuple[int, bytes]: ...

    async def run(self) -> None:
        """Send queued entries until stopped."""

    def stop(self) -> None:
        """Say goodbye and end."""

    def close(self) -> None:
        """Save what was not sent."""


class ExporterRelay(Protocol):
    """Reads other exporters with each frame."""

    def __call__(self, frame: Frame) -> None: ...

    async def close(self) -> None: ...


class Companion(Protocol):
    """Runs next to the agent, within its event loop."""

    def start(self) -> None: ...

    def close(self) -> None: ...


class AgentConfig(NamedTuple):
    """Settings of the agent, resolved from the configuration."""

    node: str
    listen: str
    token: str | None
    cadence: float
    collector: Collector
    sinks: Sequence[BackgroundSink] = ()
    tables: Sequence[OwnTable] = ()
    links: Sequence[LinkHandle] = ()
    relay: ExporterRelay | None = None
    tracing: Companion | None = None
    socket: Path | None = None  # for commands on this machine
    state_file: Path | None = None  # state of events across restarts
    dialects: Sequence[str] = ()
    exporter_ports: Sequence[int] = ()  # in the order of EXPORTER_PORTS
    jobs_file: Path | None = None  # jobs named by hand


async def run(config: AgentConfig) -> None:
    """Run until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    clock = SystemClock()
    jobs = ManualJobs(config.jobs_file, clock)
    bindings = BindingTracker(config.collector.readers, config.links, jobs.bindings)
    dialects = build(config.dialects, config.collector.readers, bindings, clock)
    listeners = [*config.links, *dialects.listeners]
    events = EventTracker(config.collector.readers, listeners, EventStateFile(config.state_file))
    consumers: list[Consumer] = [*config.sinks, *config.links, bindings, events]
    if config.relay:
        consumers.append(config.relay)
    loop = Loop(config.collector, clock, cadence=config.cadence, consumers=consumers)
    outcomes = SourceOutcomes(config.collector.readers)
    reports = ReportReceiver(config.collector.readers)
    tables = [outcomes.table, bindings.table, events.table, reports.table, *dialects.tables, *config.tables]
    host, port = split_address(config.listen)
    handlers = Handlers(
        config.node,
        config.collector,
        loop,
        clock,
        token=config.token,
        loopback=is_loopback(config.listen),
        tables=tables,
    )
    if config.sinks or config.links:
        loop.tables = [handlers.agent_table, *tables]  # otherwise unused: a scrape builds its own
    servers = [await _listen(handlers.answer, host, port)]
    for exporter, its_port in zip(EXPORTER_PORTS, config.exporter_ports, strict=False):
        servers.append(await _listen(handlers.answer_as(exporter), host, its_port))
    commands = await _listen_on_socket(config, handlers, JobCommands(jobs))
    _receive_reports(config, reports)
    if config.tracing:
        config.tracing.start()
    link_tasks = [asyncio.ensure_future(link.run()) for link in config.links]
    await loop.tick()
    _log_ready(config, servers[0])
    gc.collect()
    gc.freeze()  # objects from the start stay, so the collector need not traverse them
    gc.set_threshold(20_000)  # a scrape creates about 2,000 tuples and no cycles
    ticking = asyncio.ensure_future(loop.run())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([ticking, stopping], return_when=asyncio.FIRST_COMPLETED)
    notify("STOPPING=1")
    for each in servers:
        each.close()
    if commands:
        commands.close()
    reports.close()
    if ticking.done():
        ticking.result()  # it only ends with an error: raise it
    ticking.cancel()
    await _close(config, link_tasks)
    log.info("stopped")


async def _close(config: AgentConfig, link_tasks: Sequence[asyncio.Future[None]]) -> None:
    """Close what was given, the links before the sinks."""
    if config.relay:
        await config.relay.close()
    if config.tracing:
        config.tracing.close()
    await _stop_links(config.links, link_tasks)
    for sink in config.sinks:
        sink.close()
    config.collector.close()


async def _stop_links(links: Sequence[LinkHandle], running: Sequence[asyncio.Future[None]]) -> None:
    """Stop every link within the deadline. Unacknowledged entries are saved to disk."""
    for link in links:
        link.stop()
    if running:
        _, late = await asyncio.wait(running, timeout=LINK_STOP_SECONDS)
        for task in late:
            task.cancel()
    for link in links:
        link.close()


async def _listen(handler: server.Handler, host: str, port: int) -> asyncio.Server:
    try:
        return await server.serve(handler, host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            who = listen.port_holder(port)
            raise AgentStartError(
                f"port {port} is in use by {who}. Choose another: vigie agent --listen {host}:{port + 1}"
            ) from None
        raise AgentStartError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


async def _listen_on_socket(
    config: AgentConfig, handlers: Handlers, jobs: JobCommands
) -> unix_socket.UnixServer | None:
    """Listen on the Unix socket if possible. The agent also runs without it."""
    if config.socket is None:
        return None
    gpus = GpuCommands(config.collector.readers)
    try:
        return await unix_socket.listen(
            UnixHandlers(handlers, config.links, gpus, jobs).answer, config.socket
        )
    except UnixSocketError as error:
        log.warning("no Unix socket for local commands: %s", error)
        return None


def _receive_reports(config: AgentConfig, reports: ReportReceiver) -> None:
    """Receive reports of local programs if possible. The agent works without it."""
    if config.socket is None:
        return
    try:
        reports.open(config.socket.with_name(receiver.NAME))
    except UnixSocketError as error:
        log.warning("no socket for vigie.report: %s", error)


def _log_ready(config: AgentConfig, server: asyncio.Server) -> None:
    host, port = server.sockets[0].getsockname()[:2]
    readers = config.collector.readers
    working = [reader for reader in readers if reader.outcome is Outcome.OK]
    series = sum(len(reader.values.numbers) for reader in working)
    where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    log.info(
        "monitoring %s: %d series from %d of %d sources", config.node, series, len(working), len(readers)
    )
    log.info("metrics: %s/metrics, status of each source: %s/status", where, where)
    notify(f"READY=1\nSTATUS={where}/metrics")
