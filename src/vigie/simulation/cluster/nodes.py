"""A simulated node: turns the model into frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vigie.model import Frame, Table
from vigie.simulation.cluster.gpu_physics import GpuPhysics
from vigie.simulation.cluster.host_physics import compute_host
from vigie.simulation.cluster.incidents import LOST
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.metrics.agent import agent_columns, holder_columns
from vigie.simulation.cluster.metrics.columns import Column, CounterColumns, find_metric
from vigie.simulation.cluster.metrics.fabric import fabric_columns
from vigie.simulation.cluster.metrics.gpu import gpu_columns
from vigie.simulation.cluster.metrics.host import host_columns
from vigie.simulation.cluster.metrics.inference import inference_columns
from vigie.simulation.cluster.metrics.kernel import kernel_columns
from vigie.simulation.cluster.metrics.reports import report_columns
from vigie.simulation.cluster.metrics.slurm import Scheduler
from vigie.simulation.cluster.metrics.workload import container_columns, genv_columns
from vigie.simulation.cluster.noise import Times
from vigie.simulation.cluster.scenario import Scenario


class NodePeriod(NamedTuple):
    """Values of one table over a period: a row per time, a column per series."""

    table: Table
    times: Times
    values: NDArray[np.float64]


class SimulatedNode:
    def __init__(self, scenario: Scenario, machine: MachineSpec, *, head: bool) -> None:
        self.machine = machine
        self._scenario, self._head = scenario, head
        self._gpus = GpuPhysics(scenario, machine) if machine.gpu else None
        self._counters = CounterColumns()
        self._tables: dict[tuple[tuple[str, tuple[str, ...]], ...], Table] = {}

    def is_up(self, times: Times) -> Times:
        gone = np.zeros(len(times), dtype=bool)
        for incident in self._scenario.incidents_of(LOST, node=self.machine.name):
            gone |= self._scenario.during(times, incident.begin, incident.end)
        return times[~gone]

    def build_periods(self, times: Times) -> list[NodePeriod]:
        """Return the node's values at these times, which must follow those of the previous call."""
        times = self.is_up(times)
        if not len(times):
            return []
        columns = list(self._columns(times))
        columns += agent_columns(self._scenario, self.machine, columns, times)
        values = self._counters.accumulate(times, columns)
        made = []
        together = sorted(zip(columns, values, strict=True), key=lambda both: _source(both[0]))
        for source, group in groupby(together, key=lambda both: _source(both[0])):
            both = list(group)
            table = self._table(source, [column for column, _ in both])
            made.append(NodePeriod(table, times, np.column_stack([numbers for _, numbers in both])))
        return made

    def build_frame(self, time_ms: int) -> Frame | None:
        """Return the frame of one time, or None while the node is lost."""
        return next(self.build_frames(np.array([time_ms], dtype=np.int64)), None)

    def build_frames(self, times: Times) -> Iterator[Frame]:
        made = self.build_periods(times)
        for row, time_ms in enumerate(made[0].times.tolist() if made else ()):
            yield Frame(time_ms, tuple((one.table, tuple(one.values[row].tolist())) for one in made))

    def _columns(self, times: Times) -> Iterator[Column]:
        scenario, machine = self._scenario, self.machine
        state = compute_host(scenario, machine, times)
        readings = self._gpus.compute(times) if self._gpus else []
        yield from host_columns(scenario, machine, state, times)
        yield from kernel_columns(scenario, machine, state, times)
        yield from fabric_columns(scenario, machine, state, times)
        yield from gpu_columns(scenario, machine, readings, times)
        yield from container_columns(scenario, machine, times)
        yield from report_columns(scenario, machine, times)
        yield from inference_columns(scenario, machine, times)
        yield from genv_columns(scenario, machine, readings, times)
        if self._head:
            yield from Scheduler(scenario, times).columns()
        yield from holder_columns(scenario, machine.name, times, head=self._head)

    def _table(self, source: str, columns: Sequence[Column]) -> Table:
        key = tuple((column.name, column.labels) for column in columns)
        table = self._tables.get(key)
        if table is None:
            series = tuple((find_metric(one.name, len(one.labels)), one.labels) for one in columns)
            table = self._tables[key] = Table(source, len(self._tables) + 1, series)
        return table


def _source(column: Column) -> str:
    """Return the table of a series, by default the first word of its name."""
    return column.source or column.name.partition("_")[0].lower()
