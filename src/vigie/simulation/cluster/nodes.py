"""A simulated node: from the model to the frames that its agent would send."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vigie.model import Frame, Table
from vigie.simulation.cluster.gpu_physics import GpuPhysics
from vigie.simulation.cluster.host_physics import host
from vigie.simulation.cluster.incidents import LOST
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.metrics.agent import agent_columns, holder_columns
from vigie.simulation.cluster.metrics.columns import Column, CounterColumns, metric_of
from vigie.simulation.cluster.metrics.fabric import fabric_columns
from vigie.simulation.cluster.metrics.gpu import gpu_columns
from vigie.simulation.cluster.metrics.host import host_columns
from vigie.simulation.cluster.metrics.kernel import kernel_columns
from vigie.simulation.cluster.metrics.slurm import Scheduler
from vigie.simulation.cluster.metrics.workload import container_columns, genv_columns, triton_columns
from vigie.simulation.cluster.noise import Times
from vigie.simulation.cluster.scenario import Scenario


class NodePeriod(NamedTuple):
    """What one table says over some time: a row for each time, a column for each of its series."""

    table: Table
    times: Times
    values: NDArray[np.float64]


class SimulatedNode:
    """One machine of the story, from its first moment on."""

    def __init__(self, story: Scenario, machine: MachineSpec, *, head: bool) -> None:
        self.machine = machine
        self._story, self._head = story, head
        self._gpus = GpuPhysics(story, machine) if machine.gpu else None
        self._counters = CounterColumns()
        self._tables: dict[tuple[tuple[str, tuple[str, ...]], ...], Table] = {}

    def alive(self, times: Times) -> Times:
        """Return the times at which the node is there to say something."""
        gone = np.zeros(len(times), dtype=bool)
        for incident in self._story.incidents_of(LOST, node=self.machine.name):
            gone |= self._story.during(times, incident.begin, incident.end)
        return times[~gone]

    def stretches(self, times: Times) -> list[NodePeriod]:
        """Return what the node says at these times, which must follow those asked before."""
        times = self.alive(times)
        if not len(times):
            return []
        columns = list(self._columns(times))
        columns += agent_columns(self._story, self.machine, columns, times)
        values = self._counters.accumulate(times, columns)
        made = []
        together = sorted(zip(columns, values, strict=True), key=lambda both: _source(both[0]))
        for source, group in groupby(together, key=lambda both: _source(both[0])):
            both = list(group)
            table = self._table(source, [column for column, _ in both])
            made.append(NodePeriod(table, times, np.column_stack([numbers for _, numbers in both])))
        return made

    def frame(self, time_ms: int) -> Frame | None:
        """Return the frame of one moment, or nothing while the node is lost."""
        return next(self.frames(np.array([time_ms], dtype=np.int64)), None)

    def frames(self, times: Times) -> Iterator[Frame]:
        made = self.stretches(times)
        for row, time_ms in enumerate(made[0].times.tolist() if made else ()):
            yield Frame(time_ms, tuple((one.table, tuple(one.values[row].tolist())) for one in made))

    def _columns(self, times: Times) -> Iterator[Column]:
        story, machine = self._story, self.machine
        state = host(story, machine, times)
        readings = self._gpus.readings(times) if self._gpus else []
        yield from host_columns(story, machine, state, times)
        yield from kernel_columns(story, machine, state, times)
        yield from fabric_columns(story, machine, state, times)
        yield from gpu_columns(story, machine, readings, times)
        yield from container_columns(story, machine, times)
        yield from triton_columns(story, machine, times)
        yield from genv_columns(story, machine, readings, times)
        if self._head:
            yield from Scheduler(story, times).columns()
        yield from holder_columns(story, machine.name, times, head=self._head)

    def _table(self, source: str, columns: Sequence[Column]) -> Table:
        key = tuple((column.name, column.labels) for column in columns)
        table = self._tables.get(key)
        if table is None:
            series = tuple((metric_of(one.name, len(one.labels)), one.labels) for one in columns)
            table = self._tables[key] = Table(source, len(self._tables) + 1, series)
        return table


def _source(column: Column) -> str:
    """Return the table that a series goes into: by the first word of its name."""
    return column.name.partition("_")[0].lower()
