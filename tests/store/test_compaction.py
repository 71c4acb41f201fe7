"""Small chunks are merged while memory still has copies of them: nothing is lost, nothing comes twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.frames import NODE, answer, frame
from vigie.store import compaction
from vigie.store.blocks.chunk import Chunk
from vigie.store.heads.pieces import Piece, merge
from vigie.store.heads.stream import HeadLimits
from vigie.store.series.layout import Layouts
from vigie.store.store import Store

STEP = 10_000
HOUR = 1000 * STEP
HEAD_LIMITS = HeadLimits(head_rows=4, least_rows=4, head_ms=10**9, keep_ms=HOUR, block_ms=24 * STEP)
ROWS = 60


def append(store: Store, step: float) -> None:
    store.append(NODE, frame(int(step * STEP), ["a", "b"], [step, 1, 2, 3]))


def filled(store: Store) -> None:
    for step in range(1, ROWS + 1):
        append(store, step)
        store.sync()
        store.maintain(step * STEP)


def chunks_by_start(directory: Path) -> list[tuple[int, int]]:
    """Return when the chunks on disk begin, and how many rows they have."""
    with closing(sqlite3.connect(directory / "blocks.sqlite")) as blocks:
        return blocks.execute("SELECT start, count FROM chunk ORDER BY start").fetchall()


def chunks(directory: Path) -> list[int]:
    """Return the rows of the chunks on disk."""
    return [rows for _, rows in chunks_by_start(directory)]


def test_chunks_are_merged_although_memory_keeps_them(tmp_path: Path) -> None:
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        filled(store)
        rows = chunks(tmp_path)
        assert max(rows) == 24
        assert sum(rows) > ROWS - 8
        seen = answer(store)
        assert all(len(line) == ROWS for line in seen.values())
        first = (ROWS - 20) * STEP  # from the middle of what was merged last
        assert all(len(line) == 21 for line in answer(store, start=first).values())
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        assert answer(store) == seen


def test_late_rows_go_to_what_was_merged(tmp_path: Path) -> None:
    late = [5.5, 25.5, ROWS - 10.5, ROWS + 1]
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        filled(store)
        for step in late:
            append(store, step)
            seen = answer(store)
            assert all(int(step * STEP) in line for line in seen.values())
        assert all(len(line) == ROWS + len(late) for line in seen.values())
        store.maintain(ROWS * STEP)
        assert answer(store) == seen
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        assert answer(store) == seen


@pytest.mark.parametrize("late", [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5])
def test_a_row_that_comes_while_chunks_are_merged_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: float
) -> None:
    compressed, came = merge, list[list[int]]()
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:

        def disturbed(layouts: Layouts, pieces: Sequence[Piece]) -> Chunk:
            """Press, and let the row come before what was compressed takes the place of the pieces."""
            made = compressed(layouts, pieces)
            if not came:
                came.append(chunks(tmp_path))
                append(store, late)
            return made

        monkeypatch.setattr(compaction, "merge", disturbed)
        filled(store)
        assert max(came[0]) == HEAD_LIMITS.head_rows < max(chunks(tmp_path))
        seen = answer(store)
        assert all(len(line) == ROWS + 1 and int(late * STEP) in line for line in seen.values())
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        assert answer(store) == seen


def test_the_first_chunk_after_a_long_gap_is_merged_with_those_that_follow(tmp_path: Path) -> None:
    back = 10 * ROWS + 1
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        for step in [*range(1, 8), *range(back, back + ROWS)]:
            append(store, step)
            store.sync()
            if step < back or step % 5 == 0:  # so that the first look after the gap finds a chunk behind it
                store.maintain(step * STEP)
        after = [rows for start, rows in chunks_by_start(tmp_path) if start >= back * STEP]
        assert after[0] > HEAD_LIMITS.head_rows
        assert all(len(line) == 7 + ROWS for line in answer(store).values())
