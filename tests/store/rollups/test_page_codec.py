"""Pages of rollups give back what was put in, and are parted where series come and go."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.store.frames import NODE, frame
from vigie.model import Frame, Table, gauge
from vigie.query.buckets import FIELDS, Buckets
from vigie.query.storage import Matcher
from vigie.store.rollups.downsampling import bucket_ends, downsample
from vigie.store.rollups.page_codec import decode_page, encode_page
from vigie.store.series.layout import Layout, Layouts
from vigie.store.store import Store

MINUTE, HOUR = 60_000, 3_600_000
START = 1_700_000_000_000 // (72 * HOUR) * 72 * HOUR
THREADS = gauge("container_threads", "Threads.", "id")
LAYOUT = Layouts().of(tuple((("__name__", name), ("i", i)) for name, i in zip("aabc", "1234", strict=True)))
EVERY = [Matcher("__name__", "=", "container_threads")]

CLOSE = {"total": 2.5e-7, "lost": 1e-14}  # how far sums may be off, beside their bucket's largest value
numbers = st.sampled_from([0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, 1e300, -1e300, 2.0**62, 0.1])
whole = st.integers(-(10**6), 10**15).map(float)
hundredths = st.integers(0, 10**9).map(lambda number: number / 100)


@st.composite
def rolled_up(draw: st.DrawFn) -> Buckets:
    rows = draw(st.integers(1, 8))
    times = START + np.sort(
        draw(st.lists(st.integers(1, 6 * HOUR), min_size=rows, max_size=rows, unique=True))
    )
    lines = []
    for _ in range(len(LAYOUT)):
        kind = draw(st.sampled_from([whole, hundredths, numbers, numbers | whole, st.just(7.0)]))
        line = np.array(draw(st.lists(kind, min_size=rows, max_size=rows)))
        lines.append(np.sort(line) if draw(st.booleans()) else line)
    with np.errstate(all="ignore"):
        return downsample(
            times.astype(np.int64), np.array(lines), bucket_ends(START, START + 6 * HOUR, 5 * MINUTE)
        )


@settings(max_examples=50, print_blob=False)
@given(rolled_up(), st.sets(st.sampled_from(FIELDS), min_size=1))
def test_any_buckets_come_back(buckets: Buckets, wanted: set[str]) -> None:
    page = encode_page(LAYOUT, buckets, 5 * MINUTE)
    found = decode_page(page, np.arange(len(LAYOUT)), 5 * MINUTE, wanted)
    for name in wanted:
        shape = (len(LAYOUT), len(buckets.ends))
        expected = np.broadcast_to(getattr(buckets, name), shape)
        read_all = np.broadcast_to(getattr(found, name), shape)
        if name in CLOSE:
            finite = np.isfinite(expected)
            np.testing.assert_equal(read_all[~finite], expected[~finite])
            with np.errstate(all="ignore"):
                sizes = np.nan_to_num(buckets.count * np.fmax(np.abs(buckets.low), np.abs(buckets.high)))
                assert (np.abs(read_all - expected) <= CLOSE[name] * sizes + 1e-12)[finite].all()
        else:
            np.testing.assert_equal(read_all, expected)


def test_sums_know_decimals_that_only_a_sample_in_between_has() -> None:
    times = START + np.arange(1, 5, dtype=np.int64) * MINUTE
    values = np.array([[2.5, 2.75, 2.625, 3.5]] * len(LAYOUT))
    page = encode_page(
        LAYOUT, downsample(times, values, bucket_ends(START, START + 5 * MINUTE, 5 * MINUTE)), 5 * MINUTE
    )
    found = decode_page(page, np.arange(len(LAYOUT)), 5 * MINUTE, FIELDS)
    assert (found.total == 11.375).all()
    assert (found.lost == 2.75).all()


def test_a_spike_costs_the_sums_beside_it_nothing() -> None:
    times = START + np.arange(1, 11, dtype=np.int64) * MINUTE
    values = np.array([[1.0, 7.0, 2.0, 9.0, 4.0, 1e15, 3.0, 5.0, 1.0, 2.0]] * len(LAYOUT))
    page = encode_page(
        LAYOUT, downsample(times, values, bucket_ends(START, START + 10 * MINUTE, 5 * MINUTE)), 5 * MINUTE
    )
    found = decode_page(page, np.arange(len(LAYOUT)), 5 * MINUTE, FIELDS)
    assert (np.broadcast_to(found.total, (len(LAYOUT), 2))[:, 0] == 23.0).all()


def churn(store: Store, hours: int, since: int = 0) -> None:
    for step in range(since * 60 + 1, hours * 60 + 1):
        ids = [f"c{step + i}" for i in range(4)]
        table = Table("containers", step, tuple((THREADS, (one,)) for one in ids))
        store.append(NODE, Frame(START + step * MINUTE, ((table, (1.0, 2.0, 3.0, float(step))),)))
    store.sync()


def read_all(store: Store, width: int, until: int) -> dict[str, NDArray[np.float64]]:
    (group,) = store.rollups(EVERY, START, until, width, FIELDS)
    series = sorted(range(len(group.labels)), key=lambda i: group.labels[i]["id"])
    shape = (len(series), len(group.buckets.ends))
    return {name: np.broadcast_to(getattr(group.buckets, name), shape)[series] for name in FIELDS}


@pytest.mark.parametrize(
    ("width", "hours"), [(5 * MINUTE, 14), pytest.param(HOUR, 26, marks=pytest.mark.process)]
)
def test_a_page_whose_series_come_and_go_is_parted_and_says_the_same(
    width: int, hours: int, tmp_path: Path
) -> None:
    until = START + hours * HOUR
    with Store(tmp_path) as store:
        churn(store, hours)
        before = read_all(store, width, until)
        for hour in range(2, hours + 2, 2):
            store.maintain(START + hour * HOUR)
        np.testing.assert_equal(read_all(store, width, until), before)
        (tier,) = [tier for tier in store._rollups.tiers if tier.config.width == width]
        spans = list(tier.blocks.spans(1))
        assert len(spans) >= 6
        assert max(len(tier.blocks.layouts.layout(span.layout)) for span in spans) < 400
        assert store.check() == []
    with Store(tmp_path) as store:
        np.testing.assert_equal(read_all(store, width, until), before)


def test_a_page_that_grows_leaves_its_older_chunks_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path) as store:
        churn(store, 4)
        store.maintain(START + 2 * HOUR)
        store.maintain(START + 4 * HOUR)
        tier = store._rollups.tiers[0]
        older, newest = sorted(tier.blocks.spans(1), key=lambda span: span.start)
        read, layout = list[int](), tier.blocks.layouts.layout

        def noted(number: int) -> Layout:
            read.append(number)
            return layout(number)

        monkeypatch.setattr(tier.blocks.layouts, "layout", noted)
        churn(store, 6, since=4)
        store.maintain(START + 6 * HOUR)
        assert older in tier.blocks.spans(1)
        assert len(list(tier.blocks.spans(1))) == 3
        assert older.layout not in read
        assert newest.layout in read  # what is new might belong to it


def test_maintenance_that_is_to_end_starts_nothing_and_loses_nothing(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for step in range(1, 300):
            store.append(NODE, frame(START + step * MINUTE, "a", [float(step), 5.0]))
        store.stop_maintenance()
        store.maintain(START + 6 * HOUR)
        assert [len(tier.blocks.oldest(9)) for tier in store._rollups.tiers] == [0, 0]
        assert store._blocks.oldest(9) == []
    with Store(tmp_path) as store:
        store.maintain(START + 6 * HOUR)
        assert len(store._blocks.oldest(9)) > 1
        (group,) = store.select([Matcher("__name__", "=", "power_watts")], START, START + 6 * HOUR)
        assert group.values[0].tolist() == [float(step) for step in range(1, 300)]
