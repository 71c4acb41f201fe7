"""A version of a table gives the same layout and refusals whether the one before it is known or not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.model import Table, gauge
from vigie.model.table import Series
from vigie.store.errors import InvalidInputError
from vigie.store.series.layout import Layouts
from vigie.store.series.table_layout import build_table_layout

TAKEN = {"instance": "n1"}
THREADS = gauge("threads", "How many there are.", "id", "image")
MEMORY = gauge("memory_bytes", "How much there is.", "image", "instance")
LAYOUTS = Layouts()
texts = st.sampled_from(["", "a", "b", "c"])
rows = st.lists(
    st.tuples(st.sampled_from([THREADS, MEMORY]), st.tuples(texts, texts)), max_size=6
)  # some of them twice, and some the same but for an empty label


@given(st.lists(rows, min_size=1, max_size=4))
def test_a_version_has_the_same_shape_beside_the_one_before(versions: list[list[Series]]) -> None:
    before = None
    for version, series in enumerate(versions):
        table = Table("containers", version, tuple(series))
        alone = build_table_layout(LAYOUTS, table, TAKEN)
        before = build_table_layout(LAYOUTS, table, TAKEN, before)
        assert before.layout is alone.layout
        assert (before.kept is None) == (alone.kept is None)
        if before.kept is not None and alone.kept is not None:
            assert before.kept.tolist() == alone.kept.tolist()


@pytest.mark.parametrize("values", [("a",), ("a", "\ud800")])
def test_what_is_new_in_a_version_is_refused_as_in_the_first(values: tuple[str, ...]) -> None:
    good = (THREADS, ("a", "b"))
    before = build_table_layout(LAYOUTS, Table("containers", 1, (good,)), TAKEN)
    with pytest.raises(InvalidInputError):
        build_table_layout(LAYOUTS, Table("containers", 2, (good, (THREADS, values))), TAKEN, before)


@given(st.lists(st.lists(texts, max_size=4), min_size=2, max_size=6))
def test_a_layout_that_is_widened_knows_where_each_series_stands(steps: list[list[str]]) -> None:
    layouts = Layouts()
    all_of_them = layouts.of(())
    for step in steps:
        keys = tuple((("__name__", name),) for name in dict.fromkeys(step))
        union = layouts.union((all_of_them, layouts.of(keys)))
        all_of_them = layouts.extend_layout(all_of_them, keys)
        assert all_of_them is union
        assert [all_of_them.series[i] for i in all_of_them.column.values()] == list(all_of_them.column)
        assert len(all_of_them.column) == len(all_of_them)
