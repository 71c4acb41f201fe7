"""A day of a busy machine on simulated time."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path

import pytest

from vigie.agent.collector import Collector
from vigie.agent.loop import Loop
from vigie.agent.source_reader import Outcome, SourceReader
from vigie.common.clock import Clock
from vigie.simulation.changing_machine import ChangingMachine
from vigie.simulation.clock import SimulatedClock
from vigie.sources.core.host import Host, HostRoots, Statvfs, SystemCalls
from vigie.sources.core.registry import find_sources
from vigie.sources.core.tree import FileBudget
from vigie.wire.exposition.renderer import TEXT, Renderer

pytestmark = pytest.mark.process

HOUR = 3600
SOURCES = ("cpu", "filesystem", "loadavg", "meminfo", "netclass", "netdev", "processes", "stat")


class SimulatedCalls(SystemCalls):
    """File systems that are all of one size."""

    def statvfs(self, path: str) -> Statvfs:  # noqa: ARG002
        return Statvfs(100, 50, 50, 10, 5, False)


def _readings(directory: Path, clock: Clock, budget: FileBudget) -> list[SourceReader]:
    roots = HostRoots(*(str(directory / name) for name in HostRoots._fields))
    readings = []
    for source in find_sources():
        if source.name in SOURCES:
            options = {option.name: option.default for option in source.options}
            host = Host(roots, calls=SimulatedCalls(), options=options, budget=budget)
            readings.append(SourceReader(source, host, clock))
    return readings


def test_memory_and_files_stay_flat_for_a_day_while_everything_comes_and_goes(tmp_path: Path) -> None:
    machine, clock, budget = ChangingMachine(tmp_path), SimulatedClock(), FileBudget(384)
    machine.step()
    collector = Collector(_readings(tmp_path, clock, budget))
    loop = Loop(collector, clock, cadence=60)
    renderer = Renderer()
    marks: list[int] = []
    files: list[int] = []

    async def day() -> None:
        for minute in range(24 * 60 + 1):
            if minute % 4 == 0:
                machine.step()
            await loop.tick()
            renderer.render(collector.values(), TEXT)
            await clock.sleep(60)
            if minute in (4 * 60, 24 * 60):
                gc.collect()
                marks.append(sys.getallocatedblocks())
                files.append(len(os.listdir("/proc/self/fd")))

    asyncio.run(day())
    assert {r.source.name: r.outcome for r in collector.readers} == dict.fromkeys(SOURCES, Outcome.OK)
    assert all(r.values.table.version > 200 for r in collector.readers if r.source.name == "netdev")
    assert marks[1] - marks[0] < 1000, f"{marks[1] - marks[0]} more objects after 20 hours"
    assert abs(files[1] - files[0]) < 40
    collector.close()
    assert budget.left == 384
