"""Finds exporters on this node, reads them with each frame, and relays their series.

They are read over loopback and sent over the link, so the node needs no open port for them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from vigie.agent.exporters.catalog import Exporter, is_exporter
from vigie.agent.exporters.client import ExporterUnreachableError, fetch
from vigie.agent.exporters.parser import RelayedExposition
from vigie.agent.exporters.server_processes import find_server_gpus
from vigie.agent.gpu_processes import GpuMemory
from vigie.common.change_logger import ChangeLogger
from vigie.model import Frame, Table
from vigie.wire.agent_series import EXPORTER_METRICS, INFERENCE_SERVER, PORT
from vigie.wire.messages import RELAYED_PREFIX

log = logging.getLogger(__name__)

PROBE_SECONDS = 60.0  # between two probes of a closed port
OTHER_PROGRAM_SECONDS = 600.0  # between two probes of a port with another program
DEADLINE = 5.0
MAX_FAILURES = 30  # consecutive
GPU_SECONDS = 60.0  # between two lookups of a server's processes
Part = tuple[Table, tuple[float, ...]]


class Relay:
    """For each frame of the agent, emits one with the same time and the exporters' values."""

    def __init__(
        self,
        wanted: Sequence[Exporter],
        consumers: Sequence[Callable[[Frame], None]],
        clock: Callable[[], float] = time.monotonic,
        memory: Callable[[], GpuMemory] = dict,
    ) -> None:
        self._ports = [_ExporterPort(exporter, clock, memory) for exporter in wanted]
        self._consumers = consumers
        self._reading: asyncio.Task[None] | None = None

    def __call__(self, frame: Frame) -> None:
        """Start reading, unless the previous read is still running."""
        if self._consumers and (self._reading is None or self._reading.done()):
            self._reading = asyncio.ensure_future(self._read(frame.time_ms))

    async def close(self) -> None:
        if self._reading:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, time_ms: int) -> None:
        found = await asyncio.gather(*(place.read() for place in self._ports))
        parts = tuple(part for parts in found for part in parts)
        if parts:
            for consumer in self._consumers:
                consumer(Frame(time_ms, parts))


class _ExporterPort:
    """A port that may have an exporter."""

    def __init__(
        self, exporter: Exporter, clock: Callable[[], float], memory: Callable[[], GpuMemory]
    ) -> None:
        self._exporter, self._clock = exporter, clock
        source = RELAYED_PREFIX + exporter.name
        added = {PORT: str(exporter.port)} if exporter.serves else {}
        self._gpus = _ServerGpus(f"{source}:{exporter.port}:gpus", exporter.port, clock, memory)
        self._exposition = RelayedExposition(
            f"{source}:{exporter.port}" if exporter.serves else source,
            [(metric, ()) for metric in EXPORTER_METRICS],
            added,
        )
        self._found = False
        self._next_probe = float("-inf")
        self._failures = 0
        self._log_change = ChangeLogger(f"{exporter.name} on port {exporter.port}")

    async def read(self) -> list[Part]:
        """Return the exporter's table and that of its GPUs, or nothing without an exporter."""
        found_before = self._found
        part = await self._read()
        if part is None:
            return []
        if not self._exporter.serves:
            return [part]
        if self._found:
            return [part, await self._gpus.read()]
        return [part, self._gpus.forget()] if found_before else [part]

    async def _read(self) -> Part | None:
        begun = self._clock()
        if not self._found and begun < self._next_probe:
            return None
        try:
            text = await fetch(self._exporter.port, DEADLINE, self._exporter.path)
            if not is_exporter(self._exporter, text):
                return self._ignore_other()
            # In a thread: parsing a large exposition takes time.
            table, values = await asyncio.to_thread(self._exposition.read, text)
        except (ExporterUnreachableError, ValueError) as error:
            return self._record_failure(str(error), begun)
        self._record_success(len(values))
        return table, (1.0, self._clock() - begun, float(len(values)), *values)

    def _record_success(self, count: int) -> None:
        if not self._found:
            name, port = self._exporter.name, self._exporter.port
            log.info("found %s on port %d: relaying %d samples", name, port, count)
        self._found, self._failures = True, 0
        self._log_change("")

    def _record_failure(self, why: str, begun: float) -> Part | None:
        if not self._found:
            self._next_probe = begun + PROBE_SECONDS
            return None
        self._log_change(why)
        self._failures += 1
        if self._failures > MAX_FAILURES:
            return self._forget()
        return self._exposition.clear(), (0.0, self._clock() - begun, 0.0)

    def _ignore_other(self) -> Part | None:
        """Remember that another program, or an agent, has this port."""
        self._next_probe = self._clock() + OTHER_PROGRAM_SECONDS
        return self._forget() if self._found else None

    def _forget(self) -> Part:
        """Return an empty table, which ends all series."""
        self._found, self._failures = False, 0
        return Table(self._exposition.clear().source, 0, ()), ()


class _ServerGpus:
    """The GPUs of one inference server, looked up once a minute."""

    def __init__(
        self, source: str, port: int, clock: Callable[[], float], memory: Callable[[], GpuMemory]
    ) -> None:
        self._port, self._clock, self._memory = port, clock, memory
        self._table = Table(source, 0, ())
        self._again = float("-inf")

    async def read(self) -> Part:
        """Return one series per GPU, or one without a GPU if it is unknown."""
        if self._clock() >= self._again:
            self._again = self._clock() + GPU_SECONDS
            found = await asyncio.to_thread(find_server_gpus, self._port, self._memory)
            series = tuple((INFERENCE_SERVER, (str(self._port), *each)) for each in found)
            if series != self._table.series:
                self._table = self._table._replace(version=self._table.version + 1, series=series)
        return self._table, (1.0,) * len(self._table.series)

    def forget(self) -> Part:
        """Return an empty table, which ends all series."""
        self._table = self._table._replace(version=self._table.version + 1, series=())
        self._again = float("-inf")
        return self._table, ()
