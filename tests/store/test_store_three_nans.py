"""A stored NaN, a stale marker and an absent cell, all the way from append to another system."""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path

import numpy as np

from tests.sinks.peer import Peer
from tests.store.frames import EVERYTHING, NODE, Model, Samples, answer, frame
from tests.store.heads.test_ungrouped import series
from vigie.common.endpoint import Endpoint
from vigie.model import ABSENT, NAN, STALE
from vigie.model.nan import ABSENT_BITS, NAN_BITS, STALE_BITS, float_to_bits
from vigie.sinks._remote_write.sender import RemoteWrite, RemoteWriteOptions
from vigie.store.compression.codec import absent
from vigie.store.heads.stream import HeadLimits
from vigie.store.store import Store

SHORT = HeadLimits(head_rows=10, keep_ms=5, block_ms=50)
ROWS = 200
VALUES = (1.5, NAN, STALE, ABSENT, -0.0, ABSENT, NAN, 2.5, ABSENT, STALE)


def values_of(number: int) -> list[float]:
    """Return what a series has at each time: the same for all, each a step ahead of the one before."""
    return list(islice(cycle(VALUES), number, number + ROWS))


def append(store: Store, first: int, last: int, expected: Model, ungrouped: Samples) -> None:
    lines = [values_of(number) for number in range(4)]
    for time in range(first, last):
        one = frame(time, ["a", "b"], [line[time] for line in lines])
        store.append(NODE, one)
        expected.append(NODE, one)
        store.append_series([series(f"ungrouped{n}", [time], [line[time]]) for n, line in enumerate(lines)])
        for n, line in enumerate(lines):
            if float_to_bits(line[time]) != ABSENT_BITS:
                key = frozenset(series(f"ungrouped{n}", [], []).labels.items())
                ungrouped.setdefault(key, {})[time] = float_to_bits(line[time])
    store.sync()


def longest_chunk(store: Store) -> int:
    (limit,) = store._blocks.database.read("SELECT max(count) FROM chunk")[0]
    return int(limit or 0)


def test_nan_stale_marker_and_absent_cell_stay_distinct_all_the_way(tmp_path: Path) -> None:
    frames, ungrouped = Model(), Samples()
    with Store(tmp_path / "store", head_limits=SHORT) as store:
        append(store, 0, 8, frames, ungrouped)
        assert answer(store) == {**frames.answer(), **ungrouped}  # in the head
    with Store(tmp_path / "store", head_limits=SHORT) as store:
        assert answer(store) == {**frames.answer(), **ungrouped}  # from the log
        for first in range(8, ROWS - 8, 8):
            append(store, first, first + 8, frames, ungrouped)
            store.maintain(first + 8)
        assert longest_chunk(store) > SHORT.head_rows  # some were merged
        assert answer(store) == {**frames.answer(), **ungrouped}
        append(store, ROWS - 8, ROWS, frames, ungrouped)
    with Store(tmp_path / "store", head_limits=SHORT) as store:
        store.flush()
    with Store(tmp_path / "store", head_limits=SHORT) as store:  # all of it from blocks
        found = answer(store)
        assert found == {**frames.answer(), **ungrouped}
        bits = {word for samples in found.values() for word in samples.values()}
        assert {NAN_BITS, STALE_BITS} < bits
        assert ABSENT_BITS not in bits
        assert passed_on(store, tmp_path / "queue") == found


def passed_on(store: Store, queue: Path) -> Samples:
    """Return what a peer has of all that the store has."""
    arrived: Samples = {}
    with Peer() as peer:
        sink = RemoteWrite(Endpoint(peer.url), queue, RemoteWriteOptions(batch_seconds=0.0))
        for group in store.select(EVERYTHING, 0, ROWS):
            for labels, line in zip(group.labels, group.values, strict=True):
                there = np.flatnonzero(~absent(np.ascontiguousarray(line)))
                sink.write_series([(labels, group.times[there].tolist(), line[there].tolist())])
        sink.close()
        assert sink.state().dropped == {}
        for key, time, word in peer.taken:
            arrived.setdefault(key, {})[time] = word
    return arrived
