"""Gaps between frames: which there are depends on which frames there are, not on their order."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from vigie.server.staleness.gaps import Gap, NodeActivity, late_after, lost_after

STEP = 10_000


def heard(*times: int) -> NodeActivity:
    made = NodeActivity(times[0], times[0], STEP)
    for time in times:
        made = made.with_frame(time)
    return made


@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=30).flatmap(
        lambda ticks: st.tuples(st.just(ticks), st.permutations(ticks))
    )
)
def test_gaps_are_those_of_neighbouring_frames_in_whatever_order_they_came(
    ticks: tuple[list[int], list[int]],
) -> None:
    times = [tick * STEP for tick in sorted(set(ticks[0]))]
    expected = tuple(
        Gap(before, after, STEP)
        for before, after in itertools.pairwise(times)
        if after - before > late_after(STEP)
    )
    assert heard(*(tick * STEP for tick in ticks[1])).gaps == expected


@given(st.binary(max_size=300))
def test_replay_that_brings_every_frame_leaves_no_gap(some: bytes) -> None:
    made = heard(0, *(tick % 101 * STEP for tick in some), 100 * STEP)
    for tick in range(101):
        made = made.with_frame(tick * STEP)
    assert made.gaps == ()


def test_gap_ends_series_only_when_it_is_longer_than_until_a_node_is_lost() -> None:
    late, lost = heard(0, 40_000).gaps[0], heard(0, lost_after(STEP) + 1).gaps[0]
    assert not late.ends_series
    assert lost.ends_series


def test_stop_is_a_gap_however_short_and_stays_when_the_frames_before_it_come_late() -> None:
    stopped = NodeActivity(0, 10_000, STEP, "stopped").with_frame(31_000)
    assert stopped.gaps == (Gap(10_000, 31_000, STEP, "stopped"),)
    assert stopped.with_frame(20_000).gaps == (Gap(20_000, 31_000, STEP, "stopped"),)


def test_node_is_not_absent_while_nobody_was_there_to_listen() -> None:
    made = heard(0)
    assert made.until(1_000_000, since=990_000) == ()
    assert [gap.ends_series for gap in made.until(1_031_000, since=1_000_000)] == [False]
    assert [gap.ends_series for gap in made.until(1_061_000, since=1_000_000)] == [True]


def test_gaps_of_one_node_are_bounded() -> None:
    assert len(heard(*range(0, 1000 * 100_000, 100_000)).gaps) == 256
