"""Recently queried data stays in memory, after a restart too, and leaves it in time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.store.frames import NODE, Samples, answer, frame
from vigie.store.heads.stream import HeadLimits
from vigie.store.retention import Retention
from vigie.store.store import Store

STEP = 10_000
ROWS = 40
LAST = ROWS * STEP
HEAD_LIMITS = HeadLimits(head_rows=4, least_rows=4, head_ms=10**9, keep_ms=20 * STEP, block_ms=10**9)


def stored(directory: Path) -> Samples:
    """Fill a store of short chunks, all of them on disk, and return what it answers."""
    with Store(directory, head_limits=HEAD_LIMITS) as store:
        for step in range(1, ROWS + 1):
            store.append(NODE, frame(step * STEP, ["a", "b"], [step, 1, 2, 3]))
        store.sync()
        store.maintain(LAST)
        return answer(store)


def forget_disk(directory: Path) -> None:
    """Let the disk know of no chunk any more, so that only memory can answer."""
    with closing(sqlite3.connect(directory / "blocks.sqlite")) as blocks, blocks:
        blocks.execute("DELETE FROM chunk")


def within(samples: Samples, start: int) -> Samples:
    return {key: {t: bits for t, bits in line.items() if t >= start} for key, line in samples.items()}


def test_the_newest_hour_is_read_from_disk_once_after_a_restart(tmp_path: Path) -> None:
    expected = stored(tmp_path)
    start = LAST - 15 * STEP
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        assert answer(store, start=start, end=LAST) == within(expected, start)
        forget_disk(tmp_path)
        assert answer(store, start=start, end=LAST) == within(expected, start)


def test_a_query_about_more_takes_the_newest_hour_into_memory_and_nothing_older(tmp_path: Path) -> None:
    expected = stored(tmp_path)
    start = LAST - 15 * STEP
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        assert answer(store, start=STEP, end=LAST) == expected
        forget_disk(tmp_path)
        assert answer(store, start=start, end=LAST) == within(expected, start)
        assert answer(store, start=STEP, end=LAST) != expected


def test_a_query_that_ends_earlier_takes_nothing_into_memory(tmp_path: Path) -> None:
    stored(tmp_path)
    start, end = LAST - 15 * STEP, LAST - 10 * STEP
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        seen = answer(store, start=start, end=end)
        forget_disk(tmp_path)
        assert answer(store, start=start, end=end) != seen


def test_what_was_taken_into_memory_leaves_it_when_its_time_is_over(tmp_path: Path) -> None:
    expected = stored(tmp_path)
    start = LAST - 15 * STEP
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        answer(store, start=start, end=LAST)
        store.maintain(LAST + 30 * STEP)
        assert answer(store, start=start, end=LAST) == within(expected, start)  # from disk again
        store.maintain(LAST + 30 * STEP)
        forget_disk(tmp_path)
        assert answer(store, start=start, end=LAST) != within(expected, start)


def test_late_and_new_rows_find_their_place_beside_it(tmp_path: Path) -> None:
    stored(tmp_path)
    start, late = LAST - 15 * STEP, LAST - 7 * STEP + 1
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        answer(store, start=start, end=LAST)
        for time in (late, LAST + STEP):
            store.append(NODE, frame(time, ["a", "b"], [7, 7, 7, 7]))
        seen = answer(store)
        assert all({late, LAST + STEP} <= line.keys() and len(line) == ROWS + 2 for line in seen.values())
        store.flush()
        assert answer(store) == seen
    with Store(tmp_path, head_limits=HEAD_LIMITS) as store:
        assert answer(store) == seen


def test_what_retention_removes_from_disk_leaves_memory_as_well(tmp_path: Path) -> None:
    stored(tmp_path)
    start = LAST - 15 * STEP
    keeps_nothing = Retention(max_bytes=1)
    with Store(tmp_path, head_limits=HEAD_LIMITS, retention=keeps_nothing) as store:
        assert answer(store, start=start, end=LAST)
        store.maintain(LAST)
        left = answer(store, start=start, end=LAST)  # the head, which is in no block yet
        assert all(len(line) < HEAD_LIMITS.head_rows for line in left.values())
        assert not store.corruption_reports
