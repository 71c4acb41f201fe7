"""A past that is loaded in bulk answers like one that came frame by frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vigie.model import ABSENT, NAN, Frame, Table, gauge
from vigie.query.storage import Matcher
from vigie.store.bulk_load import BulkLoader
from vigie.store.errors import InvalidInputError
from vigie.store.store import Store

NODE = {"instance": "n1", "job": "node"}
TABLE = Table("t", 1, tuple((gauge("m", "A number.", "i"), (str(i),)) for i in range(3)))
START, STEP, ROWS = 1_700_000_000_000, 15_000, 1200
TIMES = np.arange(START, START + ROWS * STEP, STEP, dtype=np.int64)
VALUES = np.random.default_rng(1).integers(0, 100, (ROWS, 3)).astype(np.float64)
VALUES[5, 0], VALUES[6, 1] = ABSENT, NAN
EVERY = [Matcher("__name__", "=", "m")]


def read_all(store: Store) -> list[tuple[dict[str, str], bytes, bytes]]:
    found = []
    for group in store.select(EVERY, START, START + ROWS * STEP):
        for row, labels in enumerate(group.labels):
            found.append(
                (dict(labels), group.times.tobytes(), np.ascontiguousarray(group.values[row]).tobytes())
            )
    return sorted(found, key=lambda one: one[0]["i"])


def test_loaded_rows_are_those_that_were_appended_bit_for_bit(tmp_path: Path) -> None:
    with BulkLoader(tmp_path / "loaded") as loader:
        loader.load(NODE, TABLE, TIMES[:700], VALUES[:700])
        loader.load(NODE, TABLE, TIMES[700:], VALUES[700:])
    with Store(tmp_path / "appended") as appended, Store(tmp_path / "loaded") as loaded:
        for time, row in zip(TIMES.tolist(), VALUES.tolist(), strict=True):
            appended.append(NODE, Frame(time, ((TABLE, tuple(row)),)))
        assert read_all(loaded) == read_all(appended)
        assert loaded.check() == []


def test_frames_follow_a_loaded_past(tmp_path: Path) -> None:
    with BulkLoader(tmp_path) as loader:
        loader.load(NODE, TABLE, TIMES, VALUES)
    later = int(TIMES[-1]) + STEP
    with Store(tmp_path) as store:
        store.append(NODE, Frame(later, ((TABLE, (1.0, 2.0, 3.0)),)))
        store.sync()
        store.maintain(later)
    with Store(tmp_path) as store:
        groups = store.select(EVERY, START, later)
        assert sum(int((group.times == later).sum()) for group in groups) >= 1
        assert sum(len(group.labels) for group in groups) == 3


def test_directory_with_data_is_refused(tmp_path: Path) -> None:
    BulkLoader(tmp_path).close()
    with pytest.raises(InvalidInputError, match="has data already"):
        BulkLoader(tmp_path)
