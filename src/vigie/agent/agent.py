"""The agent: its parts put together, started, and stopped cleanly."""

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
from vigie.agent.events.state_file import EventStateFile
from vigie.agent.events.tracker import EventTracker
from vigie.agent.http import server, unix_socket
from vigie.agent.http.gpu_commands import GpuCommands
from vigie.agent.http.handlers import Handlers
from vigie.agent.http.unix_handlers import UnixHandlers
from vigie.agent.loop import Consumer, Loop, OwnTable
from vigie.agent.metrics import SourceOutcomes
from vigie.agent.source_reader import Outcome
from vigie.common import listen
from vigie.common.clock import SystemClock
from vigie.common.listen import is_loopback, split_address
from vigie.common.systemd import notify
from vigie.model import Binding, Event, Frame
from vigie.sinks.core.background_sink import BackgroundSink

log = logging.getLogger(__name__)


UNLINK_SECONDS = 5.0


class AgentStartError(Exception):
    """The agent cannot run as asked; the message says why and what to type."""


class LinkHandle(Protocol):
    """A way to a server."""

    def __call__(self, frame: Frame) -> None: ...

    def hold(self, changes: Sequence[Binding], held: Sequence[Binding]) -> None:
        """Take which bindings have begun and ended, and all that is held now."""

    def event(self, event: Event) -> None: ...

    def state(self) -> dict[str, Any]: ...

    async def ask(self, user: str, target: str) -> tuple[int, bytes]:
        """Return status and body of the server's answer to a GET of a user, for whom we vouch."""

    async def run(self) -> None:
        """Send what was taken until it is stopped."""

    def stop(self) -> None:
        """Have it say goodbye and end."""

    def close(self) -> None:
        """Keep what was not sent."""


class ExporterRelay(Protocol):
    """What reads other exporters with each frame."""

    def __call__(self, frame: Frame) -> None: ...

    async def close(self) -> None: ...


class AgentConfig(NamedTuple):
    """What to run, resolved from the configuration."""

    node: str
    listen: str
    token: str | None
    cadence: float
    collector: Collector
    feeders: Sequence[BackgroundSink] = ()
    tables: Sequence[OwnTable] = ()
    links: Sequence[LinkHandle] = ()
    relay: ExporterRelay | None = None
    socket: Path | None = None  # for commands on this machine
    memory: Path | None = None  # what was told is known there after a restart


async def run(plan: AgentConfig) -> None:
    """Run until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    clock = SystemClock()
    holding = BindingTracker(plan.collector.readings, plan.links)
    happenings = EventTracker(plan.collector.readings, plan.links, EventStateFile(plan.memory))
    consumers: list[Consumer] = [*plan.feeders, *plan.links, holding, happenings]
    if plan.relay:
        consumers.append(plan.relay)
    loop = Loop(plan.collector, clock, cadence=plan.cadence, consumers=consumers)
    outcomes = SourceOutcomes(plan.collector.readings)
    tables = [outcomes.table, holding.table, happenings.table, *plan.tables]
    host, port = split_address(plan.listen)
    pages = Handlers(
        plan.node,
        plan.collector,
        loop,
        clock,
        token=plan.token,
        loopback=is_loopback(plan.listen),
        tables=tables,
    )
    if plan.feeders or plan.links:
        loop.tables = [pages.own, *tables]  # else nobody takes them: a scrape makes its own
    server = await _listen(pages, host, port)
    commands = await _listen_locally(plan, pages)
    linking = [asyncio.ensure_future(link.run()) for link in plan.links]
    await loop.tick()
    _announce(plan, server)
    gc.collect()
    gc.freeze()  # what is here now stays: the collector need not walk it again
    gc.set_threshold(20_000)  # a scrape makes and drops some 2,000 tuples, and no cycles
    ticking = asyncio.ensure_future(loop.run())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([ticking, stopping], return_when=asyncio.FIRST_COMPLETED)
    notify("STOPPING=1")
    server.close()
    if commands:
        commands.close()
    if ticking.done():
        ticking.result()  # it only ends by an error: let it be seen
    ticking.cancel()
    if plan.relay:
        await plan.relay.close()
    await _unlink(plan.links, linking)
    for feeder in plan.feeders:
        feeder.close()
    plan.collector.close()
    log.info("stopped")


async def _unlink(links: Sequence[LinkHandle], running: Sequence[asyncio.Future[None]]) -> None:
    """Let every link end by itself within a moment; what is not acknowledged goes to the disk."""
    for link in links:
        link.stop()
    if running:
        _, late = await asyncio.wait(running, timeout=UNLINK_SECONDS)
        for task in late:
            task.cancel()
    for link in links:
        link.close()


async def _listen(pages: Handlers, host: str, port: int) -> asyncio.Server:
    try:
        return await server.serve(pages.answer, host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            who = listen.port_holder(port)
            raise AgentStartError(
                f"port {port} is taken by {who}; choose another: vigie agent --listen {host}:{port + 1}"
            ) from None
        raise AgentStartError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


async def _listen_locally(plan: AgentConfig, pages: Handlers) -> unix_socket.UnixServer | None:
    """Listen for commands, where that is possible; the agent does its work without them too."""
    if plan.socket is None:
        return None
    gpus = GpuCommands(plan.collector.readings)
    try:
        return await unix_socket.listen(UnixHandlers(pages, plan.links, gpus).answer, plan.socket)
    except unix_socket.UnixSocketError as error:
        log.warning("no socket for commands on this machine: %s", error)
        return None


def _announce(plan: AgentConfig, server: asyncio.Server) -> None:
    host, port = server.sockets[0].getsockname()[:2]
    readings = plan.collector.readings
    working = [reading for reading in readings if reading.outcome is Outcome.OK]
    series = sum(len(reading.values.numbers) for reading in working)
    where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    log.info("watching %s: %d series from %d of %d sources", plan.node, series, len(working), len(readings))
    log.info("%s/metrics for Prometheus, %s/status for each source's state and reason", where, where)
    notify(f"READY=1\nSTATUS={where}/metrics")
