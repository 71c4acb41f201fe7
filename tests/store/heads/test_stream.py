"""Heads are as long as memory allows, and streams that began together are not merged at once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.store.frames import answer, frame
from vigie.store.heads.stream import HEAD_LIMITS, HeadLimits
from vigie.store.store import Store

SMALL = HeadLimits(
    head_rows=16, least_rows=4, head_cells=160, head_ms=100_000, keep_ms=20, block_ms=1_000_000
)


def rows_of_chunks(directory: Path) -> set[int]:
    with sqlite3.connect(directory / "blocks.sqlite") as blocks:
        return {count for (count,) in blocks.execute("SELECT count FROM chunk")}


@pytest.mark.parametrize(
    ("series", "rows"),
    [(0, 160), (75_000, 160), (300_000, 160), (400_000, 96), (600_000, 64), (1_500_000, 64)],
)
def test_all_heads_together_fit_into_memory(series: int, rows: int) -> None:
    assert HEAD_LIMITS.rows_per_head(series) == rows


def filled(directory: Path, nodes: int, steps: int) -> Store:
    """Return a store with two series of each node, looked after at every step."""
    store = Store(directory, head_limits=SMALL)
    for step in range(steps):
        for node in range(nodes):
            store.append({"instance": f"n{node}"}, frame(1000 + 10 * step, ["a"], [step, node]))
        store.maintain(1000 + 10 * step)
    return store


def test_few_series_have_long_chunks(tmp_path: Path) -> None:
    with filled(tmp_path, nodes=2, steps=40):
        assert max(rows_of_chunks(tmp_path)) == 16


def test_many_series_have_short_chunks_from_the_first_on(tmp_path: Path) -> None:
    with filled(tmp_path, nodes=30, steps=20) as store:
        assert max(rows_of_chunks(tmp_path)) <= 5  # one more row may come before the first look
        assert len(answer(store)) == 60


def test_heads_that_grow_while_series_come_are_cut_short(tmp_path: Path) -> None:
    with filled(tmp_path, nodes=2, steps=3) as store:
        for node in range(30):
            store.append({"instance": f"m{node}"}, frame(1100, ["a"], [1, 2]))
        for step in range(3, 12):
            store.append({"instance": "n0"}, frame(1100 + 10 * step, ["a"], [1, 2]))
            store.maintain(1100 + 10 * step)
        assert max(rows_of_chunks(tmp_path)) <= 6


def test_streams_that_began_together_are_merged_one_after_another(tmp_path: Path) -> None:
    head_limits = HeadLimits(head_rows=2, head_ms=100, keep_ms=20, block_ms=400)
    merged_at = set()
    with Store(tmp_path, head_limits=head_limits) as store:
        for step in range(60):
            for node in range(20):
                store.append({"instance": f"n{node}"}, frame(1000 + 10 * step, ["a"], [step, node]))
            before = max(rows_of_chunks(tmp_path), default=0)
            store.maintain(1000 + 10 * step)
            merged_at |= {step} if max(rows_of_chunks(tmp_path), default=0) > before else set()
        assert len(merged_at) > 5
