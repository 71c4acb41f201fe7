"""What was unpacked stays for a while: within bounds and never stale; a damaged chunk costs only itself."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.store.frames import EVERYTHING, NODE, answer, frame
from vigie.store.heads.stream import HeadLimits
from vigie.store.read.chunk_cache import CachedValues, ChunkCache
from vigie.store.store import Store

SMALL = HeadLimits(head_rows=4, head_ms=1000, keep_ms=50, block_ms=10_000)
SENSORS = ["a", "b", "c"]


def lines(number: float) -> CachedValues:
    return CachedValues(np.full((1, 128), number), sparse=False)  # 1 KiB


def fill(store: Store, first: int, last: int) -> None:
    for time in range(first, last, 10):
        store.append(NODE, frame(time, SENSORS, [float(time * number % 97) for number in range(6)]))
    store.flush()


def test_what_was_not_used_for_longest_goes_first() -> None:
    unpacked = ChunkCache(3 * 1024)
    for number in (1, 2, 3):
        unpacked.put((number, b""), lines(number))
    assert unpacked.find([(1, b"")]) != [None]
    unpacked.put((4, b""), lines(4))
    kept = unpacked.find([(number, b"") for number in (1, 2, 3, 4)])
    assert [lines and lines.values[0, 0] for lines in kept] == [1, None, 3, 4]


def test_what_is_requested_once_is_not_cached_and_what_is_requested_again_is() -> None:
    unpacked = ChunkCache()
    assert [unpacked.is_repeated((number, b"")) for number in (1, 2, 1)] == [False, False, True]


def test_what_was_requested_once_is_remembered_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vigie.store.read.chunk_cache.MAX_SEEN", 2)
    unpacked = ChunkCache()
    assert [unpacked.is_repeated((number, b"")) for number in (1, 2, 3, 1, 3)] == [
        False,
        False,
        False,
        False,
        True,
    ]


def test_what_is_kept_cannot_be_changed() -> None:
    unpacked = ChunkCache()
    unpacked.put((1, b""), lines(1))
    (kept,) = unpacked.find([(1, b"")])
    assert kept is not None
    with pytest.raises(ValueError, match="read-only"):
        kept.values[0, 0] = 2


def test_a_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    unpacked = ChunkCache()
    held = threading.Thread(target=unpacked._lock.acquire)
    held.start()
    held.join()
    unpacked.after_fork()
    unpacked.put((1, b""), lines(1))
    assert unpacked.find([(1, b"")]) == [None]  # a child's only query needs no memory


def test_answers_stay_right_while_chunks_come_and_are_merged(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "one", head_limits=SMALL) as store,
        Store(tmp_path / "other", head_limits=SMALL) as other,
    ):
        for first in range(0, 2000, 200):
            fill(store, first, first + 200)
            fill(other, first, first + 200)
            for start in (0, first - 55, first + 35):
                answer(store, start=start, end=first + 195)  # asked only here, so kept only here
            store.maintain(first + 200)
            other.maintain(first + 200)
            assert answer(store, start=first - 55) == answer(store, start=first - 55)
        late = frame(555, SENSORS, [1.0] * 6)
        for each in (store, other):
            each.append(NODE, late)
            each.flush()
        assert answer(store) == answer(other)


def test_one_damaged_chunk_of_many_costs_only_itself(tmp_path: Path) -> None:
    with Store(tmp_path, head_limits=SMALL) as store:
        for first in range(0, 400, 100):
            fill(store, first, first + 100)
        whole = answer(store)
    with sqlite3.connect(tmp_path / "blocks.sqlite") as database:
        chunks = database.execute("SELECT first_blob, start, stop FROM chunk ORDER BY start").fetchall()
        spoilt, start, stop = chunks[len(chunks) // 2]
        database.execute("UPDATE blob SET content = zeroblob(length(content)) WHERE number = ?", (spoilt,))
    database.close()
    assert len(chunks) > 2
    with Store(tmp_path, head_limits=SMALL) as store:
        left = answer(store)
        assert any(f"from {start} to {stop} is not readable" in damage for damage in store.corruption_reports)
    for series, samples in whole.items():
        there = {time: bits for time, bits in samples.items() if not start <= time <= stop}
        assert there.items() <= left.get(series, {}).items()


def test_looking_for_series_stops_when_there_are_enough(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store, 0, 50)
        assert len(store.first_series(EVERYTHING, 0, 100, 4)) == 4
        assert len(store.first_series(EVERYTHING, 0, 100, 10)) == 6
        assert store.series_up_to(EVERYTHING, 0, 100, 5) is None
        assert len(store.series_up_to(EVERYTHING, 0, 100, 6) or []) == 6
