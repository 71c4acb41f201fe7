"""Sightings become troubles: each thing once, under its cause, with whom it hits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.findings.core.finding import MINUTE_MS
from vigie.findings.core.incident import MIN_WAVE, Incident, build_incidents
from vigie.findings.core.occurrence import Occurrence, from_events
from vigie.findings.core.registry import all_findings, find_finding
from vigie.model import Event

NOW = 1_700_000_000_000


def seen(name: str, begin: float, end: float | None = None, **labels: str) -> Occurrence:
    """Return a sighting on n1; times are minutes from now."""
    over = None if end is None else NOW + round(end * MINUTE_MS)
    return Occurrence(find_finding(name), {"instance": "n1", **labels}, NOW + round(begin * MINUTE_MS), over)


def nobody(*_: object) -> Sequence[str]:
    return ()


def names(found: Sequence[Incident]) -> list[str]:
    return sorted(one.finding.name for one in found)


def told(
    kind: str, begin: float, severity: str = "critical", end: float | None = None, **where: str
) -> Event:
    over = None if end is None else NOW + round(end * MINUTE_MS)
    return Event(kind, NOW + round(begin * MINUTE_MS), "it happened", {"node": "n1", **where}, over, severity)


def test_samples_and_event_of_one_thing_are_one_with_the_time_of_the_event() -> None:
    event = told("gpu_throttled", -50.3, "warning", gpu="5", reason="hw_power_brake")
    both = [seen("gpu-throttled", -50, gpu="5"), *from_events(all_findings(), [event], NOW)]
    (one,) = build_incidents(both, nobody)
    assert one.begin_ms == NOW + round(-50.3 * MINUTE_MS)
    assert one.end_ms is None
    assert one.gpus == (("n1", "5"),)
    assert one.facts["reason"] == "hw_power_brake"


def test_two_gpus_are_two_troubles_and_many_at_once_are_one() -> None:
    two = [seen("gpu-throttled", -5, gpu=str(gpu)) for gpu in range(2)]
    assert len(build_incidents(two, nobody)) == 2
    (one,) = build_incidents([seen("gpu-throttled", -5, gpu=str(gpu)) for gpu in range(MIN_WAVE)], nobody)
    assert len(one.gpus) == MIN_WAVE


def test_many_nodes_lost_one_by_one_are_not_one() -> None:
    lost = [
        Occurrence(find_finding("node-lost"), {"instance": f"n{node}"}, NOW - node * 20 * MINUTE_MS, None)
        for node in range(8)
    ]
    assert len(build_incidents(lost, nobody)) == 8


def test_effects_are_told_with_their_cause_only() -> None:
    found = build_incidents(
        [
            seen("row-remap-pending", -190, gpu="1"),
            seen("ecc-uncorrected", -190, -130, gpu="1"),
            *from_events(all_findings(), [told("xid", -189, gpu="1", xid="48")], NOW),
            seen("gpu-throttled", -100, gpu="2"),
        ],
        nobody,
    )
    assert names(found) == ["gpu-throttled", "row-remap-pending"]


def test_effect_at_another_place_or_long_after_is_told_by_itself() -> None:
    elsewhere = seen("ecc-uncorrected", -190, -130, gpu="2")
    assert len(build_incidents([seen("row-remap-pending", -190, gpu="1"), elsewhere], nobody)) == 2
    over = seen("node-lost", -270, -258)
    assert names(build_incidents([over, seen("idle-holder", -245, gpu="0", holder="9")], nobody)) == [
        "idle-holder",
        "node-lost",
    ]


def test_node_that_is_lost_explains_what_is_on_it() -> None:
    found = build_incidents([seen("node-lost", -10), seen("gpu-lost", -9, gpu="3")], nobody)
    assert names(found) == ["node-lost"]


def test_node_that_was_stopped_in_order_is_not_lost() -> None:
    stopped = from_events(all_findings(), [told("node_stopped", -10)], NOW)
    found = build_incidents([*stopped, seen("node-lost", -10), seen("gpu-lost", -9, gpu="3")], nobody)
    assert names(found) == ["node-stopped"]
    assert found[0].finding.severity == "info"


def test_what_was_wrong_long_before_does_not_follow_from_a_node_that_is_lost() -> None:
    found = build_incidents([seen("node-lost", -1), seen("rank-hung", -12, gpu="3", holder="42")], nobody)
    assert names(found) == ["node-lost", "rank-hung"]


def test_flapping_link_takes_over_the_times_at_which_it_was_down() -> None:
    downs = [told("ib_link_down", -140 + n, end=-139.5 + n, device="mlx5_3", port="1") for n in range(3)]
    found = build_incidents(
        [
            seen("ib-link-flap", -138, -133, device="mlx5_3", port="1"),
            *from_events(all_findings(), downs, NOW),
        ],
        nobody,
    )
    assert names(found) == ["ib-link-flap"]
    assert found[0].begin_ms == NOW - 140 * MINUTE_MS


def test_all_places_of_a_job_are_one_trouble_of_that_job() -> None:
    found = build_incidents([seen("idle-holder", -90, gpu=str(gpu), holder="42") for gpu in range(3)], nobody)
    (one,) = found
    assert (len(one.gpus), one.jobs) == (3, ("42",))


def test_hung_rank_explains_that_the_others_spin() -> None:
    found = build_incidents(
        [
            seen("rank-hung", -12, gpu="3", holder="42"),
            *(seen("spinning", -12, gpu=str(gpu), holder="42") for gpu in range(3)),
            seen("spinning", -12, gpu="7", holder="43"),
        ],
        nobody,
    )
    assert names(found) == ["rank-hung", "spinning"]


def test_moment_needs_somebody_for_a_while_and_is_over_then() -> None:
    fresh, old = told("xid", -20, gpu="0", xid="48"), told("xid", -300, gpu="1", xid="48")
    found = build_incidents(from_events(all_findings(), [fresh, old], NOW), nobody)
    assert {one.gpus[0][1]: one.open for one in found} == {"0": True, "1": False}


@pytest.mark.parametrize(("severity", "count"), [("critical", 1), ("warning", 0), ("info", 0)])
def test_corrected_memory_errors_are_no_uncorrected_ones(severity: str, count: int) -> None:
    assert len(list(from_events(all_findings(), [told("memory_error", -5, severity)], NOW))) == count


def test_end_that_is_still_to_come_is_not_known_yet() -> None:
    (one,) = from_events(all_findings(), [told("node_lost", -10, end=5)], NOW)
    assert one.end_ms is None


def test_jobs_are_asked_for_by_place_and_time() -> None:
    asked: list[tuple[object, ...]] = []

    def jobs(*given: object) -> Sequence[str]:
        asked.append(given)
        return ["42"]

    (one,) = build_incidents([seen("pcie-downgrade", -90, -30, gpu="6")], jobs)
    assert one.jobs == ("42",)
    assert asked == [("n1", "6", NOW - 90 * MINUTE_MS, NOW - 30 * MINUTE_MS)]


SIGHTINGS = st.builds(
    seen,
    st.sampled_from([one.name for one in all_findings()]),
    st.integers(-300, -100),
    st.none() | st.integers(-99, 0),
    gpu=st.sampled_from(["", "0", "1"]),
    device=st.sampled_from(["", "mlx5_0"]),
    holder=st.sampled_from(["", "42"]),
)


@given(st.lists(SIGHTINGS, max_size=12))
def test_nothing_is_lost_without_a_cause_and_order_does_not_matter(given_: list[Occurrence]) -> None:
    found = build_incidents(given_, nobody)
    told_ = {one.finding.name for one in found}
    for one in given_:
        causes = {cause.name for cause in all_findings() if one.finding.name in cause.explains}
        causes.update(one.finding.explained_by)
        assert one.finding.name in told_ or causes & {each.finding.name for each in given_}
    assert names(build_incidents(given_[::-1], nobody)) == names(found)
