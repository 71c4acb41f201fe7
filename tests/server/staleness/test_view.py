"""A node that is not there: its series end, its up is 0, and nothing of that is left when frames come."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vigie.model import ABSENT, Frame, Table, gauge
from vigie.query.engine import Engine
from vigie.query.storage import Matcher
from vigie.server.api.prometheus.json_encoder import result
from vigie.server.cluster.activity_table import ActivityTable
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.server.ingest.link_session import HERE
from vigie.server.staleness.activity import ActivityLog
from vigie.server.staleness.view import StalenessView
from vigie.store.store import Store

STEP = 10_000
BEGIN = 1_700_000_000_000 // 300_000 * 300_000
HOUR = 3_600_000
LOAD = Table("load", 1, ((gauge("load", "A load."), ()),))
SLOW = Table("slow", 1, ((gauge("slow", "A slow one.", "disk"), ("a",)),))
UP = [Matcher("__name__", "=", "up")]
QUESTIONS = (
    "load",
    "up",
    "slow",
    "sum(up)",
    "count_over_time(load[1m])",
    "avg_over_time(up[5m])",
    'absent(load{instance="n1"})',
    '{instance="n1"}',
    "vigie_node_clock_offset_seconds",
)


class Scene:
    """A store, the activity of nodes, and a clock in our hands."""

    def __init__(self, directory: Path) -> None:
        self.now = BEGIN
        self._directory = directory
        self.open()

    def open(self) -> None:
        self.store = Store(self._directory / "store")
        self.database = ClusterDatabase(self._directory / FILE)
        self.reload()

    def reload(self) -> None:
        """Read the activity again, as after a crash."""
        self.activity = ActivityLog(ActivityTable(self.database), self.store, lambda: self.now)
        self.overlay = StalenessView(self.store, self.activity)

    def close(self) -> None:
        self.activity.close()
        self.database.close()
        self.store.close()

    def frame(self, tick: int, node: str = "n1") -> None:
        time = BEGIN + tick * STEP
        slow = [(SLOW, (float(tick),))] if tick % 6 == 0 else []
        parts = ((LOAD, (float(tick),)), *slow, (HERE, (1.0, 0.0)))
        self.store.append({"instance": node, "job": "node"}, Frame(time, parts))
        self.activity.add_frame(node, time, STEP / 1000)
        self.now = max(self.now, time)

    def at(self, question: str, tick: float) -> list[float]:
        self.now = max(self.now, BEGIN + round(tick * STEP))
        found = Engine(self.overlay).instant(question, BEGIN + round(tick * STEP))
        return [float(series.values[0]) for series in found.series]

    def answers(self, last: int) -> list[bytes]:
        engine = Engine(self.overlay)
        return [
            b"".join(result(engine.range(question, BEGIN, BEGIN + last * STEP, step), self.now))
            for question, step in zip(QUESTIONS, itertools.cycle((5000, 7000)), strict=False)
        ]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.close()


def test_series_of_a_lost_node_end_at_its_last_frame_and_its_up_is_zero(scene: Scene) -> None:
    for tick in range(10):
        scene.frame(tick)
    assert scene.at("load", 9) == [9.0]
    assert scene.at("load", 11.9) == [9.0]
    assert scene.at("up", 11.9) == [1.0]  # not even late yet
    assert scene.at("up", 12.5) == [0.0]  # late
    assert scene.at("load", 14.5) == [9.0]
    assert scene.at("load", 15.2) == []  # lost
    assert scene.at("slow", 15.2) == []
    assert scene.at("up", 15.2) == [0.0]
    assert scene.at("load", 9) == [9.0]  # its last frame is still there
    assert scene.at("load", 9.5) == []
    assert scene.at("up", 10_000) == [0.0]
    assert scene.at("sum(up)", 10_000) == [0.0]


def test_node_that_is_there_is_left_alone(scene: Scene) -> None:
    for tick, node in itertools.product(range(20), ("n1", "n2")):
        if node == "n1" or tick < 5:
            scene.frame(tick, node)
    assert scene.at('up{instance="n1"}', 20) == [1.0]
    assert scene.at('up{instance="n2"}', 20) == [0.0]
    assert scene.at("load", 20) == [19.0]
    assert scene.at("sort(up)", 20) == [0.0, 1.0]


def test_zeros_come_at_each_moment_at_which_a_frame_should_have_come(scene: Scene) -> None:
    scene.frame(0)
    scene.frame(20)
    (group,) = scene.overlay.select(UP, BEGIN, BEGIN + 20 * STEP)
    assert ((group.times - BEGIN) // STEP).tolist() == [0, *range(3, 21)]
    assert group.values.tolist() == [[1.0, *([0.0] * 17), 1.0]]
    (part,) = scene.overlay.select(UP, BEGIN + 5 * STEP + 1, BEGIN + 7 * STEP)
    assert ((part.times - BEGIN) // STEP).tolist() == [6, 7]


@settings(max_examples=8)
@given(
    cut=st.tuples(st.integers(1, 20), st.integers(1, 40)),
    order=st.randoms(use_true_random=False),
    asked=st.booleans(),
)
def test_range_query_across_a_cut_equals_one_without_it(
    tmp_path_factory: pytest.TempPathFactory, cut: tuple[int, int], order: object, asked: bool
) -> None:
    last = 45
    begin, end = cut[0], min(cut[0] + cut[1], last)
    whole, replayed = (Scene(tmp_path_factory.mktemp("scene")) for _ in range(2))
    late = list(range(begin, end))
    order.shuffle(late)  # type: ignore[attr-defined]
    for tick in range(last + 1):
        whole.frame(tick)
    for tick in [*range(begin), *range(end, last + 1)]:
        replayed.frame(tick)
    if end - begin > 6:
        assert replayed.answers(last) != whole.answers(last)  # the end is there, provisionally
    for tick in late:
        replayed.frame(tick)
        if asked:
            replayed.overlay.select(UP, BEGIN, BEGIN + last * STEP)
    assert replayed.answers(last) == whole.answers(last)
    whole.close()
    replayed.close()


def test_end_survives_a_restart_of_the_server_and_so_does_taking_it_back(scene: Scene) -> None:
    for tick in (0, 1, 30, 31):
        scene.frame(tick)
    before = scene.answers(31)
    scene.close()
    scene.open()
    assert scene.answers(31) == before
    for tick in range(2, 30):
        scene.frame(tick)
    covered = scene.answers(31)
    assert covered != before
    scene.close()
    scene.open()
    assert scene.answers(31) == covered


def test_frames_that_only_the_store_knows_of_after_a_crash_are_no_absence(scene: Scene) -> None:
    scene.frame(0)
    scene.activity.save()
    for tick in range(1, 10):
        scene.frame(tick)
    scene.reload()
    assert scene.at("up", 9.5) == [1.0]
    assert scene.activity.between(BEGIN, scene.now) == {}


def test_stopped_node_ends_at_once_and_for_good(scene: Scene) -> None:
    for tick in range(5):
        scene.frame(tick)
    scene.activity.mark_stopped("n1")
    assert scene.at("load", 4.1) == []
    assert scene.at("up", 5) == [0.0]
    for tick in range(6, 9):
        scene.frame(tick)
    assert scene.at("load", 4.1) == []
    assert scene.at("load", 6) == [6.0]
    assert scene.at("up", 6) == [1.0]


def test_removed_node_has_no_up_any_more(scene: Scene) -> None:
    for tick in range(5):
        scene.frame(tick)
    scene.activity.mark_removed("n1")
    assert scene.at("up", 4) == [1.0]
    assert scene.at("up", 5) == scene.at("load", 5) == scene.at("up", 1000) == []


def test_series_that_ended_before_the_node_was_lost_ends_once(scene: Scene) -> None:
    labels = {"instance": "n1", "job": "node"}
    scene.frame(0)
    scene.store.append(labels, Frame(BEGIN + STEP, ((LOAD, (ABSENT,)), (HERE, (1.0, 0.0)))))
    scene.activity.add_frame("n1", BEGIN + STEP)
    scene.now = BEGIN + 100 * STEP
    (group,) = scene.overlay.select([Matcher("__name__", "=", "load")], BEGIN, scene.now)
    assert len(group.times) == 2


def test_up_of_an_exporter_that_did_not_come_back_with_its_node_has_ended(scene: Scene) -> None:
    up = Table("exporter/x", 1, ((gauge("up", "Whether it is."), ()),))
    for tick in range(3):
        scene.frame(tick)
        time = BEGIN + tick * STEP
        scene.store.append({"instance": "n1", "job": "x"}, Frame(time, ((up, (1.0,)),)))
        scene.activity.add_frame("n1", time, STEP / 1000, ["x"])
    scene.activity.mark_stopped("n1")
    for tick in range(3, 6):
        scene.frame(tick)
    assert scene.at('up{job="x"}', 2) == [1.0]
    assert scene.at('up{job="x"}', 5) == []
    assert scene.at('up{job="node"}', 5) == [1.0]
    scene.activity.mark_stopped("n1")
    assert scene.at("count(up == 0)", 7) == [2.0]


def test_labels_and_series_tell_the_up_of_a_node_that_was_lost_long_ago(scene: Scene) -> None:
    scene.frame(0)
    scene.now = BEGIN + 10 * HOUR
    span = (BEGIN + 9 * HOUR, BEGIN + 10 * HOUR)
    labels = {"__name__": "up", "instance": "n1", "job": "node"}
    assert scene.overlay.series(UP, *span) == [labels]
    assert scene.overlay.series_up_to(UP, *span, 10) == [labels]
    assert scene.overlay.label_names(UP, *span) == sorted(labels)
    assert scene.overlay.label_values("instance", UP, *span) == ["n1"]
    assert scene.overlay.series([Matcher("__name__", "=", "load")], *span) == []


def test_rollups_of_up_have_the_same_zeros(scene: Scene) -> None:
    for tick in [*range(10), *range(100, 110)]:
        scene.frame(tick)
    start, end, width = BEGIN, BEGIN + 1_200_000, 300_000
    (rolled,) = scene.overlay.rollups(UP, start, end, width, ("total", "low", "high", "first", "last"))
    (raw,) = scene.overlay.select(UP, start + 1, end)
    buckets = (raw.times - start - 1) // width
    values = raw.values[0]
    for place in range(4):
        mine = values[buckets == place]
        times = raw.times[buckets == place]
        assert rolled.buckets.count[0, place] == len(mine)
        assert rolled.buckets.total[0, place] == mine.sum()
        assert (rolled.buckets.low[0, place], rolled.buckets.high[0, place]) == (mine.min(), mine.max())
        assert (rolled.buckets.first[0, place], rolled.buckets.last[0, place]) == (mine[0], mine[-1])
        assert (rolled.buckets.first_at[0, place], rolled.buckets.last_at[0, place]) == (times[0], times[-1])


def test_garbled_row_costs_only_itself(scene: Scene) -> None:
    scene.frame(0, "n1")
    scene.frame(0, "n2")
    scene.activity.save()
    with scene.database.transaction() as connection:
        connection.execute("update activity set facts = '{' where node = 'n1'")
    scene.reload()
    scene.now += HOUR
    assert {node for node, _ in scene.activity.between(0, scene.now)} == {"n2"}


def test_stale_markers_are_told_by_their_bits(scene: Scene) -> None:
    scene.frame(0)
    scene.now = BEGIN + HOUR
    (group,) = scene.overlay.select([Matcher("__name__", "=", "load")], BEGIN, scene.now)
    assert group.values.view(np.uint64)[0, 1] == 0x7FF0000000000002
    assert group.times.tolist() == [BEGIN, BEGIN + 1]
