"""Series that come and go: found over any time, and of no weight once they are on disk."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.frames import EVERYTHING, NODE, POWER
from vigie.model import Frame, Metric, Table, gauge
from vigie.query.storage import Matcher
from vigie.store.blocks.layout_spans import LayoutSpans
from vigie.store.heads.stream import HeadLimits
from vigie.store.retention import Retention
from vigie.store.series.layout import Layout
from vigie.store.store import Store

pytestmark = pytest.mark.process

HEAD_LIMITS = HeadLimits(head_rows=4, head_ms=400, keep_ms=800, block_ms=1600, cached_series=100)
THREADS = gauge("container_threads", "How many threads it has.", "id", "image")
MEMORY = gauge("container_memory_bytes", "How much memory it has.", "id", "image")
STEP = 100


def series(step: int) -> tuple[tuple[Metric, tuple[str, ...]], ...]:
    """Two containers at a time, each there for two steps, and one series that stays."""
    containers = [(f"c{number}", f"image{number % 3}") for number in (step, step + 1)]
    return (*((metric, one) for metric in (THREADS, MEMORY) for one in containers), (POWER, ("psu",)))


def churn(store: Store, first: int, last: int) -> None:
    for step in range(first, last):
        table = Table("containers", step + 1, series(step))
        store.append(NODE, Frame(step * STEP, ((table, (1.0, 2.0, 3.0, 4.0, 5.0)),)))
        store.sync()
        store.maintain(step * STEP)


@pytest.fixture(scope="module", params=["running", "opened again"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    directory = tmp_path_factory.mktemp("churn")
    with Store(directory, head_limits=HEAD_LIMITS) as store:
        churn(store, 0, 200)
        if request.param == "running":
            yield store
    if request.param != "running":
        with Store(directory, head_limits=HEAD_LIMITS) as store:
            yield store


def test_what_is_on_disk_is_no_weight_in_memory(tmp_path: Path) -> None:
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        churn(store, 0, 100)
        few = layouts_alive()
        churn(store, 100, 400)
        assert len(store.series(EVERYTHING, 0, 400 * STEP)) == 2 * 401 + 1
        assert layouts_alive() <= few + 20


def layouts_alive() -> int:
    gc.collect()
    return sum(isinstance(one, Layout) for one in gc.get_objects())


@pytest.mark.parametrize("step", [3, 50, 120, 197])
def test_series_of_any_time_are_found_and_not_those_of_another(store: Store, step: int) -> None:
    found = {labels.get("id", "") for labels in store.series(EVERYTHING, step * STEP, step * STEP)}
    near = range(step - 30, step + 30)
    assert {"", f"c{step}", f"c{step + 1}"} <= found <= {"", *(f"c{number}" for number in near)}


@pytest.mark.parametrize(
    ("matchers", "start", "end", "expected"),
    [
        ([], 0, 20_000, ["container_memory_bytes", "container_threads", "power_watts"]),
        ([("id", "=", "c7")], 0, 20_000, ["container_memory_bytes", "container_threads"]),
        ([("id", "=", "c7")], 15_000, 20_000, []),
        ([("id", "=", "")], 600, 900, ["power_watts"]),
        ([("__name__", "=~", "container.*"), ("image", "!=", "")], 600, 900, ["container_memory_bytes"]),
        ([("sensor", "=", "psu"), ("id", "=~", ".+")], 0, 20_000, []),
    ],
)
def test_metric_names_of_any_time_are_found(
    store: Store, matchers: list[tuple[str, str, str]], start: int, end: int, expected: list[str]
) -> None:
    conditions = [Matcher(*each) for each in matchers]
    if len(expected) == 1 and "memory" in expected[0]:
        conditions.append(Matcher("__name__", "!=", "container_threads"))
    assert store.label_values("__name__", conditions, start, end) == expected


@pytest.mark.parametrize("start", [0, 19_000])
def test_label_names_and_values_are_those_of_the_series_that_fit(store: Store, start: int) -> None:
    end = 20_000
    assert store.label_names([], start, end) == ["__name__", "id", "image", "instance", "job", "sensor"]
    power = [Matcher("__name__", "=", "power_watts")]
    assert store.label_names(power, start, end) == ["__name__", "instance", "job", "sensor"]
    assert store.label_names([Matcher("sensor", "=", "psu")], start, end) == [
        "__name__",
        "instance",
        "job",
        "sensor",
    ]
    assert store.label_names([Matcher("id", "=", "nobody")], start, end) == []
    assert store.label_values("image", [], start, end) == ["image0", "image1", "image2"]
    assert store.label_values("image", power, start, end) == []
    assert store.label_values("instance", [Matcher("id", "=~", "c1.*")], start, end) == ["n1"]
    assert store.label_values("instance", [Matcher("id", "=", "nobody")], start, end) == []


def test_many_series_are_not_gathered_where_few_are_wanted(store: Store) -> None:
    all_of_them = store.series(EVERYTHING, 0, 20_000)
    assert len(all_of_them) == 2 * 201 + 1
    assert store.series_up_to(EVERYTHING, 0, 20_000, 402) is None
    assert store.series_up_to(EVERYTHING, 0, 20_000, 403) == all_of_them


def test_pairs_of_live_series_are_counted_by_target_and_series(store: Store) -> None:
    pairs = store.label_cardinality()
    assert pairs["instance", "n1"] == pairs["job", "node"] == store.series_count()
    assert pairs["__name__", "power_watts"] == pairs["sensor", "psu"] == 1
    assert pairs["__name__", "container_threads"] == pairs["__name__", "container_memory_bytes"] >= 2


def test_metric_that_ended_is_forgotten_with_its_last_chunk(tmp_path: Path) -> None:
    keep = Retention(age_ms=5000)
    with Store(tmp_path, head_limits=HEAD_LIMITS, retention=keep) as store:
        gone = gauge("gone_before", "It ends.")
        store.append(NODE, Frame(0, ((Table("containers", 1, ((gone, ()),)), (1.0,)),)))
        churn(store, 1, 20)
        assert store.label_values("__name__", [], 0, 2000)[-2:] == ["gone_before", "power_watts"]
        churn(store, 20, 200)
        assert "gone_before" not in store.label_values("__name__", [], 0, 20_000)
        assert store.series([Matcher("__name__", "=", "gone_before")], 0, 20_000) == []
        assert store.select([Matcher("__name__", "=", "gone_before")], 0, 20_000) == []


def test_count_of_series_is_that_of_the_newest_tables(tmp_path: Path) -> None:
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        assert store.series_count() == 0
        churn(store, 0, 30)
        assert store.series_count() == 5
        store.append({"instance": "n2"}, Frame(3000, ((Table("psu", 1, ((POWER, ("psu",)),)), (1.0,)),)))
        assert store.series_count() == 6


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 100), st.integers(0, 20)), max_size=40), st.data()
)
def test_spans_name_every_layout_of_a_time_or_say_that_they_do_not_know(
    chunks: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    spans = LayoutSpans()
    for layout, start, length in chunks:
        spans.add(layout, start, start + length)
    first = data.draw(st.integers(-5, 130))
    last = data.draw(st.integers(first, 130))
    wanted = {layout for layout, start, length in chunks if start <= last and start + length >= first}
    assert bool(spans) == bool(chunks)
    if first >= spans.listed_from:
        assert wanted <= set(spans.between(first, last))
    if chunks:
        assert spans.start == min(start for _, start, _ in chunks)
        assert spans.end == max(start + length for _, start, length in chunks)
