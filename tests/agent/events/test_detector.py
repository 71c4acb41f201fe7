"""Events by comparing frames."""

from __future__ import annotations

import pytest

from vigie.agent.events.detector import ChangeDetector
from vigie.agent.events.rules import HOUR_MS, RULES, StateRule
from vigie.model import ABSENT, EventChange, Frame, Metric, Phase, Table, counter, gauge
from vigie.sources import _gpu, amdgpu, edac, infiniband, nvidia_health, nvidia_nvlink
from vigie.sources._infiniband_counters import COUNTERS

STATE = infiniband.STATE
DOWNED = next(row.metric for row in COUNTERS if row.file.endswith("link_downed"))
PORT = ("mlx5_0", "1")
CARD = ("3", "GPU-3", "nvidia", "H100")
DECLARED = {
    metric.name
    for source in (amdgpu, edac, infiniband, nvidia_health, nvidia_nvlink)
    for metric in source.SOURCE.metrics
} | {metric.name for metric in _gpu.METRICS}


class Node:
    """A node whose series have values, frame by frame."""

    def __init__(self) -> None:
        self.now = 0
        self._changes = ChangeDetector()
        self._tables: dict[tuple[tuple[Metric, tuple[str, ...]], ...], Table] = {}

    def frame(self, *values: tuple[Metric, tuple[str, ...], float]) -> list[EventChange]:
        self.now += 10_000
        series = tuple((metric, labels) for metric, labels, _ in values)
        table = self._tables.setdefault(series, Table("source", len(self._tables) + 1, series))
        return list(self._changes(Frame(self.now, ((table, tuple(value for *_, value in values)),))))

    def phases(self, *values: tuple[Metric, tuple[str, ...], float]) -> list[Phase]:
        return [said.phase for said in self.frame(*values)]


def test_a_port_that_was_active_and_is_not_has_gone_down_until_it_is_back() -> None:
    node = Node()
    assert node.phases((STATE, PORT, 4)) == [Phase.ENDS]
    (down,) = node.frame((STATE, PORT, 1))
    assert (down.phase, down.event.kind) == (Phase.BEGINS, "ib_link_down")
    assert down.event.where == {"device": "mlx5_0", "port": "1"}
    (up,) = node.frame((STATE, PORT, 4))
    assert (up.phase, up.key) == (Phase.ENDS, down.key)


def test_a_port_that_never_was_active_has_not_gone_down() -> None:
    node = Node()
    assert node.phases((STATE, PORT, 1)) == []
    assert node.phases((STATE, PORT, 2)) == []


def test_a_flap_between_two_frames_is_seen_in_the_count() -> None:
    node = Node()
    assert node.frame((DOWNED, PORT, 7)) == []
    (flap,) = node.frame((DOWNED, PORT, 9))
    assert (flap.event.kind, flap.event.what) == ("ib_link_flap", "link-down events: 2")
    assert node.frame((DOWNED, PORT, 9)) == []
    assert node.frame((DOWNED, PORT, 0)) == []  # the driver was loaded anew
    assert len(node.frame((DOWNED, PORT, 1))) == 1


def test_harmless_errors_are_told_once_an_hour_with_all_that_came() -> None:
    node, corrected = Node(), edac.CORRECTED
    node.frame((corrected, ("0",), 0))
    node.now = HOUR_MS
    told = [said.event.what for value in range(1, 400) for said in node.frame((corrected, ("0",), value))]
    assert told == ["corrected memory errors: 1", "corrected memory errors: 360"]


@pytest.mark.parametrize(("reason", "kinds"), [("hw_thermal", ["gpu_throttled"]), ("power_cap", [])])
def test_being_held_back_is_an_event_when_it_is_trouble(reason: str, kinds: list[str]) -> None:
    said = Node().frame((_gpu.THROTTLED, (*CARD, reason), 1))
    assert [one.event.kind for one in said] == kinds


def test_fewer_lanes_than_there_are_is_a_downgrade_from_the_start() -> None:
    node = Node()
    most = (_gpu.PCIE_WIDTH_MAX, CARD, 16.0)
    (said,) = node.frame((_gpu.PCIE_WIDTH, CARD, 8), most)
    assert (said.event.kind, said.phase) == ("pcie_downgrade", Phase.BEGINS)
    assert said.event.where == {"gpu": "3", "uuid": "GPU-3"}
    assert node.phases((_gpu.PCIE_WIDTH, CARD, 16), most) == [Phase.ENDS]
    assert node.phases((_gpu.PCIE_WIDTH, CARD, 8)) == []  # of how many is not known


def test_absent_is_neither_good_nor_bad() -> None:
    node = Node()
    node.frame((STATE, PORT, 4), (DOWNED, PORT, 1))
    assert node.frame((STATE, PORT, ABSENT), (DOWNED, PORT, ABSENT)) == []


def test_a_series_that_went_and_came_back_is_compared_with_nothing() -> None:
    node = Node()
    node.frame((DOWNED, PORT, 1))
    node.frame((DOWNED, ("mlx5_9", "1"), 1))
    assert node.frame((DOWNED, PORT, 5)) == []


def test_errors_of_a_gpu_that_come_while_its_driver_is_let_go_of_are_told() -> None:
    node, gpu = Node(), ("3", "GPU-3", *("",) * 7)
    rows, errors = nvidia_health.REMAPPED_UNC, nvidia_health.DBE_VOL
    assert node.frame((rows, gpu, 1), (errors, gpu, 5)) == []
    assert node.frame() == []
    told = node.frame(
        (rows, gpu, 3), (errors, gpu, 2)
    )  # what is counted since the driver was loaded began anew
    assert [(said.event.kind, said.event.what.rpartition(": ")[2]) for said in told] == [
        ("gpu_row_remapped", "2"),
        ("gpu_ecc", "2"),
    ]
    assert node.frame((rows, gpu, 3), (errors, gpu, 2)) == []


def test_every_rule_is_about_a_metric_that_a_source_declares() -> None:
    wanted = {rule.metric for rule in RULES}
    wanted |= {rule.other_metric for rule in RULES if isinstance(rule, StateRule) and rule.other_metric}
    assert wanted - DECLARED == set()


def test_series_of_others_cost_nothing() -> None:
    other = gauge("node_load1", "Load."), counter("node_forks_total", "Forks.")
    assert Node().frame(*((metric, (), 1.0) for metric in other)) == []
