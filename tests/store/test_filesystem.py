"""A disk that is short of space, full, or a network file system."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.frames import EVERYTHING, NODE, answer, frame
from vigie.store.errors import StoreError, WriteFailedError
from vigie.store.filesystem import DiskSpace, refuse_remote
from vigie.store.heads.stream import HeadLimits
from vigie.store.store import Store

pytestmark = pytest.mark.process

SENSORS = [str(i) for i in range(500)]
SMALL = HeadLimits(head_rows=8, keep_ms=80, block_ms=200)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=50m", "none", str(place)]
    made = subprocess.run(mount, capture_output=True, text=True, timeout=60, check=False)
    if made.returncode:
        pytest.skip(f"a file system of 50 MB needs root: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], timeout=60, check=True)


def test_file_system_that_fills_is_reported_loses_nothing_acknowledged_and_goes_on(small_disk: Path) -> None:
    chance = random.Random(1)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(44 << 20))
    acknowledged: list[int] = []
    failures = 0
    reasons: set[str] = set()
    with Store(small_disk / "data", head_limits=SMALL) as store:
        for time in range(10, 10_000, 10):
            try:
                store.append(NODE, frame(time, SENSORS, [chance.random() for _ in range(1000)]))
                store.sync()
                acknowledged.append(time)
                store.maintain(time)
            except WriteFailedError as error:
                failures += 1
                reasons.add(str(error))
                assert len(times_of(store)) >= len(acknowledged), "it keeps answering"
            if failures == 5:
                ballast.unlink(missing_ok=True)
                store.maintain(time)
                failures += 1
            if failures > 5 and len(acknowledged) > 2 and acknowledged[-1] == time:
                break
        assert failures > 5
        assert all(str(small_disk) in reason for reason in reasons)
        store.sync()
        expected = answer(store)
        assert set(acknowledged) <= times_of(store)
    with Store(small_disk / "data", head_limits=SMALL) as store:
        assert answer(store) == expected
        assert store.check() == []


def times_of(store: Store) -> set[int]:
    return {time for samples in answer(store).values() for time in samples}


def test_little_room_is_reported_once_and_hardly_any_refuses_until_there_is_some(tmp_path: Path) -> None:
    free, warnings = [50], list[str]()
    with Store(tmp_path, space=lambda _: DiskSpace(free[0], 1000), warn=warnings.append) as store:
        store.append(NODE, frame(10, ["a"], [1, 2]))
        for free[0] in (40, 30, 5):
            store.maintain(10)
        assert len(warnings) == 1
        assert "40 of 1000 bytes are free" in warnings[0]
        with pytest.raises(WriteFailedError, match="5 of 1000 bytes are free"):
            store.append(NODE, frame(20, ["a"], [1, 2]))
        assert len(answer(store, EVERYTHING)) == 2
        free[0] = 500
        store.maintain(20)
        store.append(NODE, frame(20, ["a"], [1, 2]))


@pytest.mark.parametrize("kind", ["nfs4", "lustre"])
def test_data_directory_on_a_network_file_system_is_refused(tmp_path: Path, kind: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"none / ext4 rw 0 0\ngarbage\nserver:/x {tmp_path}/far\\040away {kind} rw 0 0\n")
    with pytest.raises(StoreError, match=f"is on {kind} .mounted at {tmp_path}/far away"):
        refuse_remote(tmp_path / "far away" / "vigie", mounts)
    refuse_remote(tmp_path / "near", mounts)
    assert os.path.exists("/proc/self/mounts")
