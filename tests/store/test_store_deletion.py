"""What was deleted stays deleted: beside maintenance, on a disk that takes nothing, and through a kill."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store.frames import EVERYTHING, NODE, answer, frame
from vigie.query.buckets import FIELDS
from vigie.query.storage import Matcher
from vigie.store.errors import WriteFailedError
from vigie.store.retention import Retention
from vigie.store.store import Store

N1 = [Matcher("instance", "=", "n1")]
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
START = 1_700_000_000_000 // (3 * DAY) * 3 * DAY
END = START + 13 * HOUR


def fails(*_: object) -> None:
    raise OSError(28, "No space left on device")


def waited(condition: Callable[[], object]) -> None:
    while not condition():
        threading.Event().wait(0.001)


def hours(store: Store) -> None:
    for time in range(START + MINUTE, END + 1, MINUTE):
        store.append(NODE, frame(time, ["a"], [float(time % 977), 5.0]))


def pages(store: Store) -> list[int]:
    return [len(tier.blocks.oldest(1000)) for tier in store._rollups.tiers]


def test_deletion_that_could_not_be_synced_is_done_by_the_next_maintenance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path) as store:
        store.append(NODE, frame(10, ["a"], [1, 2]))
        store.flush()
        with monkeypatch.context() as full:
            full.setattr(os, "fdatasync", fails)
            with pytest.raises(WriteFailedError):
                store.delete(N1)
        store.append(NODE, frame(30, ["a"], [3, 4]))  # it comes back, under the same name
        store.maintain(30)
        store.flush()
        expected = answer(store)
        assert [list(samples) for samples in expected.values()] == [[30], [30]]
    with Store(tmp_path) as store:
        assert answer(store) == expected


def test_node_that_is_deleted_while_its_first_block_is_written_is_gone(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(NODE, frame(10, ["a"], [1, 2]))
        (stream,) = store._index
        flushing = threading.Thread(target=store.flush)
        deleting = threading.Thread(target=store.delete, args=(N1,))
        with store._blocks.database.write_lock:
            flushing.start()
            waited(stream.chunks_to_flush)
            deleting.start()
            waited(lambda: not store.series(EVERYTHING, 0, 99))
        flushing.join()
        deleting.join()
        assert store._blocks.streams() == []
        assert store._blocks.oldest(9) == []


def test_node_that_is_deleted_while_its_first_rollups_are_made_has_none(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        hours(store)
        tier = store._rollups.tiers[0]
        making = threading.Thread(target=store.maintain, args=(END,))
        deleting = threading.Thread(target=store.delete, args=(N1,))
        with tier.blocks.database.write_lock:
            making.start()
            waited(lambda: tier._building)
            deleting.start()
            waited(lambda: not store.series(EVERYTHING, START, END))
        making.join()
        deleting.join()
        assert pages(store) == [0, 0]
        assert not list(store.rollups(EVERYTHING, START, END, 300_000, FIELDS))


def test_kill_in_a_deletion_leaves_no_rollups_of_what_has_no_raw_data_left(tmp_path: Path) -> None:
    with Store(tmp_path / "data", retention=Retention(age_ms=2 * HOUR)) as store:
        hours(store)
        store.maintain(END)
        store.flush()
        store.maintain(END + DAY)
        assert not list(store._index)
        assert pages(store) != [0, 0]
        with store._maintenance.work_lock:  # so that it comes no further than its place in the log
            deleting = threading.Thread(target=store.delete, args=(N1,))
            deleting.start()
            waited(lambda: not store.series(EVERYTHING, START, END))
            waited(lambda: store._log.waiting == 0 and not store._log._unsynced)
            store.sync()  # returns when that of the deletion has
            shutil.copytree(tmp_path / "data", tmp_path / "killed")
        deleting.join()
    with Store(tmp_path / "killed") as store:
        assert pages(store) == [0, 0]
        assert store.series(EVERYTHING, START, END) == []
