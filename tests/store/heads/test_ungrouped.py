from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.frames import NODE, answer, frame
from vigie.model import STALE
from vigie.model.nan import ABSENT_BITS, float_from_bits, float_to_bits
from vigie.query.storage import Matcher
from vigie.store.errors import InvalidInputError
from vigie.store.heads.stream import HeadLimits
from vigie.store.heads.ungrouped import Samples
from vigie.store.retention import Retention
from vigie.store.store import Store

TINY = HeadLimits(head_rows=20, keep_ms=5, block_ms=50)


def series(name: str, times: list[int], values: list[float], instance: str = "n1") -> Samples:
    return Samples({"__name__": name, "instance": instance, "job": "other"}, times, values)


def samples_of(store: Store, name: str) -> dict[int, int]:
    (samples,) = answer(store, [Matcher("__name__", "=", name)]).values()
    return samples


def test_series_that_arrive_together_share_a_group(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for time in (10, 20):
            store.append_series([series(name, [time], [1.0]) for name in ("a", "b", "c")])
        store.append_series([series("d", [13], [1.0])])
        groups = store.select([Matcher("job", "=", "other")], 0, 99)
        assert sorted(len(group.labels) for group in groups) == [1, 3]


def test_absence_of_a_ungrouped_series_means_nothing_only_its_own_marker_ends_it(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append_series([series("a", [10], [1.0]), series("b", [10], [2.0])])
        store.append_series([series("a", [20], [3.0])])
        store.append_series([series("b", [30], [STALE])])
        assert samples_of(store, "a") == {10: float_to_bits(1), 20: float_to_bits(3)}
        assert samples_of(store, "b") == {10: float_to_bits(2), 30: float_to_bits(STALE)}


def test_samples_of_one_time_may_come_in_several_calls_and_the_first_stays(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append_series([series("a", [10], [1.0]), series("b", [10], [2.0])])
        store.append_series([series("a", [20], [3.0])])
        store.flush()
        store.append_series([series("b", [20], [4.0]), series("a", [20, 25], [9.0, 5.0])])
        assert samples_of(store, "a") == {10: float_to_bits(1), 20: float_to_bits(3), 25: float_to_bits(5)}
        assert samples_of(store, "b") == {10: float_to_bits(2), 20: float_to_bits(4)}


def test_series_that_stop_coming_together_are_parted(tmp_path: Path) -> None:
    names = [f"s{i}" for i in range(8)]
    with Store(tmp_path) as store:
        store.append_series([series(name, [0], [0.0]) for name in names])
        for time in range(1, 200):
            store.append_series([series(names[time % 8], [time], [float(time)])])
        expected = {name: samples_of(store, name) for name in names}
        assert len(list(store._index)) == 9
    with Store(tmp_path) as store:
        store.append_series([series("s0", [1000], [1.0])])
        assert samples_of(store, "s0") == {**expected["s0"], 1000: float_to_bits(1)}
        assert {name: samples_of(store, name) for name in names[1:]} == {
            name: expected[name] for name in names[1:]
        }
        assert len(list(store._index)) == 9


def test_series_of_one_scrape_share_a_group_although_they_come_in_several_requests(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for time in (10, 20):
            store.append_series([series("a", [time], [1.0]), series("b", [time], [2.0])])
            store.append_series([series("c", [time], [3.0]), series("x", [time], [4.0], "n2")])
        store.append_series([series("d", [20], [5.0])])  # one that is new later on
        store.append_series([series(name, [30], [6.0]) for name in "dcba"])
        groups = store.select([Matcher("instance", "=", "n1")], 0, 99)
        assert [len(group.labels) for group in groups] == [4]
        assert samples_of(store, "d") == {20: float_to_bits(5), 30: float_to_bits(6)}
        assert samples_of(store, "c") == {10: float_to_bits(3), 20: float_to_bits(3), 30: float_to_bits(6)}


def test_targets_of_a_kind_share_a_layout_in_whatever_order_their_series_come(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for instance, names in (("n1", ["abc", "d"]), ("n2", ["da", "cb"]), ("n3", ["dcba"])):
            for some in names:
                store.append_series([series(name, [10], [1.0], instance) for name in some])
        assert (
            len(
                {
                    id(group.layout)
                    for groups in store._ungrouped._groups.values()
                    for group in groups.values()
                }
            )
            == 1
        )


def test_series_that_ended_leave_their_group_and_find_it_again(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for time in range(200):
            names = [f"s{time}", "a", "b"]
            store.append_series([series(name, [time], [1.0]) for name in names])
            store.append_series([series(f"s{time}", [time + 1], [STALE])])
        (group,) = (group for groups in store._ungrouped._groups.values() for group in groups.values())
        assert len(group.members) < 40
        store.append_series([series(name, [200], [2.0]) for name in ("a", "b", "s5")])
        assert samples_of(store, "s5") == {
            5: float_to_bits(1),
            6: float_to_bits(STALE),
            200: float_to_bits(2),
        }
        assert len(list(store._index)) == 1


def test_target_whose_series_are_all_replaced_at_every_scrape_keeps_one_narrow_group(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for time in range(60):
            new = [series(f"s{time}_{n}", [time], [1.0]) for n in range(100)]
            old = [series(f"s{time - 1}_{n}", [time], [STALE]) for n in range(100)] if time else []
            store.append_series([*new, *old])
        (group,) = (group for groups in store._ungrouped._groups.values() for group in groups.values())
        assert len(group.members) == 100
        assert samples_of(store, "s7_7") == {7: float_to_bits(1), 8: float_to_bits(STALE)}


def test_series_that_come_together_now_and_then_end_up_alone_and_make_no_streams_for_ever(
    tmp_path: Path,
) -> None:
    with Store(tmp_path) as store:
        for time in range(600):
            names = "abcd" if time % 40 == 0 else "abcd"[time % 4]
            store.append_series([series(name, [time], [float(time)]) for name in names])
        assert len(list(store._index)) <= 4 * 3
        for place, name in enumerate("abcd"):
            expected = [time for time in range(600) if time % 4 == place or time % 40 == 0]
            assert samples_of(store, name) == {time: float_to_bits(time) for time in expected}


def test_group_whose_data_expired_goes_on(tmp_path: Path) -> None:
    with Store(tmp_path, head_limits=TINY, retention=Retention(age_ms=1000)) as store:
        store.append_series([series("a", [10], [1.0]), series("b", [10], [1.0])])
        store.flush()
        store.maintain(100_000)
        store.append_series([series("a", [100_010], [2.0])])
        assert samples_of(store, "a") == {100_010: float_to_bits(2)}


def test_ungrouped_series_and_framed_ones_of_the_same_labels_are_one_series(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(NODE, frame(10, ["a"], [1, 2]))
        labels = {"__name__": "power_watts", "sensor": "a", **NODE}
        store.append_series([Samples(labels, [5, 15], [7.0, 8.0])])
        store.append({"instance": "n1"}, frame(30, ["a"], [3, 4]))
        (samples,) = answer(
            store, [Matcher("__name__", "=", "power_watts"), Matcher("job", "=", "node")]
        ).values()
        assert samples == {5: float_to_bits(7), 10: float_to_bits(1), 15: float_to_bits(8)}


@pytest.mark.parametrize(
    "samples", [Samples({"a": "b"}, [1], [1.0]), Samples({"__name__": "x"}, [1, 2], [1.0])]
)
def test_samples_that_make_no_sense_are_refused(tmp_path: Path, samples: Samples) -> None:
    with Store(tmp_path) as store, pytest.raises(InvalidInputError):
        store.append_series([samples])


calls = st.lists(
    st.one_of(
        st.sampled_from(["flush", "maintain", "restart"]),
        st.lists(
            st.tuples(
                st.sampled_from("abcd"),
                st.lists(
                    st.tuples(st.integers(0, 80), st.integers(0, 2**64 - 1) | st.just(ABSENT_BITS)),
                    min_size=1,
                    max_size=4,
                ),
            ),
            min_size=1,
            max_size=8,
        ),
    ),
    max_size=25,
)


@settings(max_examples=15)
@given(calls)
def test_any_order_of_samples_flushes_and_restarts_keeps_the_first_value_of_each_time(
    tmp_path_factory: pytest.TempPathFactory, calls: list[str | list[tuple[str, list[tuple[int, int]]]]]
) -> None:
    directory = tmp_path_factory.mktemp("ungrouped")
    expected: dict[str, dict[int, int]] = {}
    store = Store(directory, head_limits=TINY, segment_bytes=300)
    for call in calls:
        if call == "flush":
            store.flush()
        elif call == "maintain":
            store.maintain(80)
        elif call == "restart":
            store.close()
            store = Store(directory, head_limits=TINY, segment_bytes=300)
        else:
            assert not isinstance(call, str)
            store.append_series(
                [
                    series(name, [t for t, _ in pairs], [float_from_bits(word) for _, word in pairs])
                    for name, pairs in call
                ]
            )
            for name, pairs in call:
                for time, word in pairs:
                    if word != ABSENT_BITS:
                        expected.setdefault(name, {}).setdefault(time, word)
    answers = {dict(key)["__name__"]: samples for key, samples in answer(store).items()}
    store.close()
    assert answers == expected
