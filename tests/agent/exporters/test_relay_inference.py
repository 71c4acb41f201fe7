"""Inference servers beside an agent: found by their names, relayed, and shown on dashboards without a gap."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from tests.dashboards.asking import questions
from vigie.agent.exporters.catalog import KNOWN, Exporter, parse_exporters
from vigie.agent.exporters.relay import Relay
from vigie.agent.gpu_processes import GpuMemory
from vigie.dashboards import find_dashboard
from vigie.model import Frame
from vigie.query.engine import Engine
from vigie.query.limits import QueryLimits
from vigie.server.ingest.link_tables import job_of
from vigie.simulation.inference_server import KINDS, StandInServer
from vigie.simulation.memory_storage import MemoryStorage

STEP = 15_000
BEGIN = 1_700_000_000_000
FRAMES = 12
# Panels of the dashboard to which a server has no metric, as its own documentation has none.
EMPTY = {
    "tgi": {"KV cache use", "Time to first token"},
    "dynamo": {"KV cache use"},
    "triton": {
        *("Tokens generated per second", "Prompt tokens per second", "Time between tokens"),
        "Request duration",
    },
}


def _exporter(kind: str, port: int) -> Exporter:
    (exporter,) = parse_exporters([f"{kind.partition('-')[0]}={port}"])
    return exporter


def _memory() -> GpuMemory:
    """Tell that this process, in which the stand-in serves, computes on a GPU."""
    return {str(os.getpid()): {"3": 7e9}, "1": {"0": 1e9}}


async def _frames(*servers: tuple[str, int]) -> list[Frame]:
    frames: list[Frame] = []
    relay = Relay([_exporter(*each) for each in servers], [frames.append], memory=_memory)
    for number in range(FRAMES):
        relay(Frame(BEGIN + number * STEP, ()))
        assert relay._reading is not None
        await relay._reading
    return frames


def _stored(frames: list[Frame]) -> MemoryStorage:
    """Return what a server would have stored, with what its agent says of GPU 3."""
    storage, points = MemoryStorage(), list[tuple[dict[str, str], int, float]]()
    for frame in frames:
        for table, values in frame.parts:
            for (metric, labels), value in zip(table.series, values, strict=True):
                named = dict(zip(metric.labels, labels, strict=True))
                target = {"instance": "n1", "job": job_of(table.source), "__name__": metric.name}
                points.append(({**named, **target}, frame.time_ms, value))
        gpu = {"instance": "n1", "job": "node", "gpu": "3"}
        points.append(({**gpu, "__name__": "vigie_gpu_busy_ratio"}, frame.time_ms, 0.5))
        holder = {"kind": "job", "holder": "17", "user": "ada", "resource": "gpu:3"}
        points.append(({**gpu, **holder, "__name__": "vigie_holder_info"}, frame.time_ms, 1.0))
    series: dict[tuple[tuple[str, str], ...], list[tuple[int, float]]] = {}
    for labels_, moment, value in points:
        series.setdefault(tuple(sorted(labels_.items())), []).append((moment, value))
    for key, samples in series.items():
        assert len({moment for moment, _ in samples}) == len(samples), f"twice at one time: {key}"
        storage.add(dict(key), [moment for moment, _ in samples], [value for _, value in samples])
    return storage


def _empty(storage: MemoryStorage, slug: str) -> set[str]:
    """Return the panels of a dashboard that show nothing."""
    board = find_dashboard(slug)
    assert board is not None
    engine, end = Engine(storage, QueryLimits()), BEGIN + (FRAMES - 1) * STEP
    return {asked.panel.title for asked in questions(board) if not engine.instant(asked.text, end).series}


@pytest.mark.parametrize("kind", KINDS)
def test_dashboard_of_llm_servers_has_no_empty_panel_but_those_a_server_has_no_metric_for(kind: str) -> None:
    with StandInServer(kind) as server:
        storage = _stored(asyncio.run(_frames((kind, server.port))))
    assert _empty(storage, "llm") == EMPTY.get(kind, set())


def test_dashboard_of_triton_has_no_empty_panel() -> None:
    with StandInServer("triton") as server:
        storage = _stored(asyncio.run(_frames(("triton", server.port))))
    assert _empty(storage, "triton") == set()


def test_two_servers_of_a_kind_are_told_apart_by_their_port() -> None:
    with StandInServer("vllm") as first, StandInServer("vllm") as second:
        storage = _stored(asyncio.run(_frames(("vllm", first.port), ("vllm", second.port))))
    engine, end = Engine(storage, QueryLimits()), BEGIN + (FRAMES - 1) * STEP
    found = engine.instant("vllm:num_requests_running", end).series
    assert {one.labels["port"] for one in found} == {str(first.port), str(second.port)}
    assert {one.labels["job"] for one in found} == {"vllm"}


def test_server_is_joined_with_the_gpu_of_its_process() -> None:
    with StandInServer("sglang") as server:
        frames = asyncio.run(_frames(("sglang", server.port)))
    table, values = frames[-1].parts[1]
    ((metric, labels),) = table.series
    assert metric.name == "vigie_inference_server_info"
    assert (labels, values) == ((str(server.port), str(os.getpid()), "3"), (1.0,))


def test_server_that_is_gone_for_long_leaves_neither_series_nor_gpu() -> None:
    async def test() -> list[Frame]:
        frames: list[Frame] = []
        with StandInServer("tgi") as server:
            relay = Relay([_exporter("tgi", server.port)], [frames.append], memory=_memory)
            await _tick(relay)
        for _ in range(40):
            await _tick(relay)
        return frames

    last = asyncio.run(test())[-1]
    assert [len(table.series) for table, _ in last.parts] == [0, 0]


async def _tick(relay: Relay) -> None:
    relay(Frame(BEGIN, ()))
    assert relay._reading is not None
    await relay._reading


def _pairs() -> Iterator[tuple[str, str]]:
    servers = [name for name, known in KNOWN.items() if known.serves]
    return ((wanted, there) for wanted in servers for there in KINDS if not there.startswith(wanted))


@pytest.mark.parametrize(("wanted", "there"), list(_pairs()))
def test_server_of_another_kind_on_the_port_is_not_taken_for_it(wanted: str, there: str) -> None:
    with StandInServer(there) as server:
        assert asyncio.run(_frames((wanted, server.port))) == []
