"""Dashboards over what the genv source reads: no panel is empty."""

from __future__ import annotations

import pytest

from tests.dashboards.asking import questions
from tests.workload.conftest import Machine
from tests.workload.test_genv import ALICE, BOB, DEVICES, four_gpus, state_files
from vigie.dashboards import find_dashboard
from vigie.query.engine import Engine
from vigie.query.limits import QueryLimits
from vigie.simulation.memory_storage import MemoryStorage
from vigie.sources.core.host import Host
from vigie.workload.genv import SOURCE

NOW = 1_700_000_000_000
TIMES = [NOW - 30_000, NOW - 15_000, NOW]


def _stored(host: Host) -> MemoryStorage:
    """Return what a server would have from this node: the source, its bindings, and a driver's readings."""
    storage, node = MemoryStorage(), {"instance": "n1", "job": "node"}

    def add(name: str, value: float, **labels: str) -> None:
        storage.add({**node, **labels, "__name__": name}, TIMES, [value] * len(TIMES))

    for metric, labels, value in SOURCE.read(host):
        if value is not None:
            add(metric.name, value, **{k: v for k, v in zip(metric.labels, labels, strict=True) if v})
    for one in host.bindings:
        named = {"gpu": one.gpu, "resource": one.resource, "kind": one.holder_kind, "holder": one.holder}
        add("vigie_holder_info", 1, **named, user=one.user)
    for gpu in range(4):
        add("vigie_gpu_info", 1, gpu=str(gpu))
        add("vigie_gpu_busy_ratio", 0.5, gpu=str(gpu))
        add("vigie_gpu_power_watts", 300, gpu=str(gpu))
    return storage


@pytest.mark.parametrize("slug", ["environments", "overview"])
def test_no_panel_is_empty_on_a_node_with_genv(machine: Machine, slug: str) -> None:
    board = find_dashboard(slug)
    assert board is not None
    engine = Engine(_stored(machine(state_files([ALICE, BOB], DEVICES), four_gpus())), QueryLimits())
    assert {one.panel.title for one in questions(board) if not engine.instant(one.text, NOW).series} == set()
