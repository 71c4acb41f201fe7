"""At another exporter's port: its own names alone, and the sources that a request chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.agent.sources import reading, steady
from tests.expositions import Exposition, parse
from vigie.agent.collector import Collector
from vigie.agent.http.exporter_ports import EXPORTER_PORTS
from vigie.agent.http.handlers import Handlers
from vigie.agent.http.server import Request, Response
from vigie.agent.loop import Loop
from vigie.model import Sample, gauge
from vigie.simulation.clock import SimulatedClock
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

NODE, DCGM, SLURM = EXPORTER_PORTS
LOAD, BUSY, CPUS = (
    gauge("node_load1", ""),
    gauge("DCGM_FI_DEV_GPU_UTIL", "", "gpu"),
    gauge("slurm_cpus_total", ""),
)


def _mixed(_: Host) -> Iterator[Sample]:
    yield LOAD, (), 1.5
    yield BUSY, ("0",), 97
    yield CPUS, (), 64


@pytest.fixture
def handlers() -> Handlers:
    return _handlers()


def _handlers(token: str | None = None) -> Handlers:
    clock = SimulatedClock()
    collector = Collector(
        [reading(source, clock) for source in (Source("mixed", (), _mixed), steady("loadavg"))]
    )
    return Handlers(
        "n1", collector, Loop(collector, clock, cadence=10), clock, token=token, loopback=not token
    )


def _get(
    handlers: Handlers, exporter: object, path: str = "/metrics", query: str = "", **headers: str
) -> Response:
    assert isinstance(exporter, type(NODE))
    answer = handlers.answer_as(exporter)

    async def ask() -> Response:
        return await answer(Request(path, query, headers))

    return asyncio.run(ask())


def _names(response: Response) -> set[str]:
    said: Exposition = parse(response.body.decode())
    return {name for name, _ in said.values}


def test_each_port_gives_its_own_names(handlers: Handlers) -> None:
    assert _names(_get(handlers, DCGM)) == {"DCGM_FI_DEV_GPU_UTIL"}
    assert _names(_get(handlers, SLURM)) == {"slurm_cpus_total"}
    node = _names(_get(handlers, NODE))
    assert "node_load1" in node
    assert all(name.startswith("node_") for name in node)


def test_values_stand_at_their_series_when_asked_again(handlers: Handlers) -> None:
    for _ in range(2):
        assert b'\nDCGM_FI_DEV_GPU_UTIL{gpu="0"} 97\n' in _get(handlers, DCGM).body


def test_a_request_chooses_collectors_as_with_node_exporter(handlers: Handlers) -> None:
    whole = asyncio.run(handlers.answer(Request("/metrics", "collect[]=loadavg", {})))
    assert _names(whole) == {"vigie_test_value"}
    assert _names(_get(handlers, NODE, query="collect[]=mixed")) == {"node_load1"}
    assert _names(_get(handlers, NODE, query="collect%5B%5D=loadavg")) == set()
    assert _names(_get(handlers, NODE, query="exclude[]=mixed")) == set()


def test_a_collector_that_there_is_not_is_refused(handlers: Handlers) -> None:
    answer = _get(handlers, NODE, query="collect[]=wifi")
    assert answer.status == 400
    assert b"'wifi'" in answer.body
    assert _get(handlers, NODE, query="&".join(f"collect[]=x{i}" for i in range(500))).status == 400


def test_only_metrics_are_there(handlers: Handlers) -> None:
    assert _get(handlers, NODE, "/status").status == 404
    assert b"node exporter" in _get(handlers, NODE, "/").body


def test_beyond_loopback_the_token_is_asked_for() -> None:
    handlers = _handlers("secret")
    assert _get(handlers, NODE).status == 401
    assert _get(handlers, NODE, authorization="Bearer secret").status == 200


def test_through_another_name_of_loopback_nothing_is_told(handlers: Handlers) -> None:
    assert _get(handlers, NODE, host="evil.example:9100").status == 403
