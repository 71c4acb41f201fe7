"""How large a demo may be: a fleet of any size has a history, a pace, and words for what is too much."""

from __future__ import annotations

import argparse
import re

import numpy as np
import pytest

from vigie.cli import demo
from vigie.model import Frame
from vigie.simulation.cluster.live import LiveLink
from vigie.simulation.cluster.machines import build_machines
from vigie.simulation.cluster.nodes import SimulatedNode
from vigie.simulation.cluster.scenario import Scenario
from vigie.simulation.cluster.sizing import (
    HOUR_MS,
    MINUTE_MS,
    SendRate,
    TooLargeError,
    check_size,
    choose_rate,
    default_history,
)

NOW = 1_794_800_000_000
ROOMY = 10**12


@pytest.mark.parametrize("nodes", [1, 16, 17, 64, 65, 200, 1000, 5000])
def test_fleet_of_any_size_has_a_history_and_a_pace(nodes: int) -> None:
    assert 15 * MINUTE_MS <= default_history(nodes) <= 6 * HOUR_MS
    assert 5 <= choose_rate(nodes).seconds <= 30
    assert 1 <= choose_rate(nodes).ahead * nodes <= max(4096, nodes)
    check_size(nodes, default_history(nodes), ROOMY)


@pytest.mark.parametrize(
    ("nodes", "hours", "free", "says"),
    [
        (16, 0, ROOMY, "at least 1m"),
        (1000, 24, ROOMY, "9.79 G samples.*use --history 367m or less"),
        (16, 1e6, ROOMY, "use --history"),
        (16, 6, 10_000_000, "where 0.01 GB are free: use --history 61m or less, or choose another directory"),
        (5000, 1, 1000, "use fewer --nodes"),
    ],
)
def test_what_is_too_much_is_refused_with_what_to_type(
    nodes: int, hours: float, free: int, says: str
) -> None:
    with pytest.raises(TooLargeError, match=says):
        check_size(nodes, int(hours * HOUR_MS), free)


@pytest.mark.parametrize(
    "flag", ["--nodes=0", "--nodes=-3", "--nodes=x", "--nodes=10000", "--gpus=0", "--gpus=9"]
)
def test_odd_number_is_refused_with_what_it_should_be(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    demo.add_arguments(parser)
    with pytest.raises(SystemExit):
        parser.parse_args([flag])
    assert "should be a whole number from 1 to" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--history=abc", "--history=-1h", "--now=rubbish"])
def test_odd_time_is_refused_with_an_example(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    demo.add_arguments(parser)
    with pytest.raises(SystemExit):
        parser.parse_args([flag])
    assert re.search(r"invalid (duration|time) .*: use \d+", capsys.readouterr().err)


class Heard:
    """Stands where a link is."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def __call__(self, frame: Frame) -> None:
        self.frames.append(frame)


def test_frames_made_at_once_are_those_made_one_by_one() -> None:
    scenario = Scenario(build_machines(3), NOW, 1)
    heard = Heard()
    speaker = LiveLink(
        SimulatedNode(scenario, scenario.machines["gpu02"], head=False), heard, SendRate(5.0, 3)
    )
    alone = SimulatedNode(scenario, scenario.machines["gpu02"], head=False)
    times = [NOW + 5000 * turn for turn in range(5)]
    for turn, time in enumerate(times):
        speaker.run(time + turn % 2)  # turns are not quite even
    assert [frame.time_ms for frame in heard.frames] == [*times[:3], times[3] + 1, times[4] + 1]
    for frame in heard.frames[:3]:
        one = alone.build_frame(frame.time_ms)
        assert one is not None
        for (table, numbers), (other, others) in zip(frame.parts, one.parts, strict=True):
            assert table.series == other.series
            np.testing.assert_allclose(numbers, others, rtol=1e-12)


def test_node_that_is_away_says_nothing_until_it_is_back() -> None:
    scenario = Scenario(build_machines(16), NOW, 1)
    lost = SimulatedNode(scenario, scenario.machines["gpu14"], head=False)
    speaker = LiveLink(lost, heard := Heard(), SendRate(5.0, 12))
    for turn in range(3):
        speaker.run(NOW + 5000 * turn)
    assert heard.frames == []
