from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.store.frames import NODE, answer, frame
from vigie.cli import main
from vigie.store.backup import backup
from vigie.store.check import check
from vigie.store.errors import StoreError
from vigie.store.filesystem import STORE_DIRECTORY
from vigie.store.heads.stream import HeadLimits
from vigie.store.store import Store

pytestmark = pytest.mark.process

SMALL = HeadLimits(head_rows=4, keep_ms=40, block_ms=100)
SENSORS = [str(i) for i in range(20)]


def test_copy_of_a_running_store_has_all_that_was_acknowledged_before(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    stop = threading.Event()

    def ingest(store: Store) -> None:
        for time in range(10, 1_000_000, 10):
            if stop.is_set():
                return
            store.append(NODE, frame(time, SENSORS, [float(time)] * 40))
            store.sync()
            acknowledged.append(time)
            store.maintain(time)

    with Store(tmp_path / "data", head_limits=SMALL, segment_bytes=3000) as store:
        writer = threading.Thread(target=ingest, args=[store])
        writer.start()
        try:
            for number in range(3):
                while len(acknowledged) < 25 * (number + 1):
                    stop.wait(0.001)
                before = list(acknowledged)
                # A process of its own, as the command is: SQLite's locks are a process's.
                copy = tmp_path / f"copy{number}"
                subprocess.run(command(tmp_path / "data", copy), check=True, timeout=120)
                with Store(copy / STORE_DIRECTORY, head_limits=SMALL) as copied:
                    times = {time for samples in answer(copied).values() for time in samples}
                    assert set(before) <= times
                    assert copied.check() == []
                assert list(check(tmp_path / "data")) == []
        finally:
            stop.set()
            writer.join()


def command(data: Path, copy: Path) -> list[str]:
    return [sys.executable, "-m", "vigie", "store", "backup", str(copy), "--data", str(data), "--json"]


def test_backup_goes_only_into_a_new_directory_and_only_from_a_store(tmp_path: Path) -> None:
    with Store(tmp_path / "data"):
        pass
    with pytest.raises(StoreError, match="exists"):
        backup(tmp_path / "data", tmp_path, lambda *_: None)
    with pytest.raises(StoreError, match="not a data directory"):
        backup(tmp_path, tmp_path / "new", lambda *_: None)


def test_check_names_what_is_damaged_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(tmp_path) as store:
        store.append(NODE, frame(10, ["a"], [1, 2]))
    assert main(["store", "check", str(tmp_path)]) == 0
    assert "no corruption found" in capsys.readouterr().out
    segment = min((tmp_path / "log").iterdir())
    content = bytearray(segment.read_bytes())
    content[-3] ^= 1
    segment.write_bytes(content)
    assert main(["store", "check", str(tmp_path), "--json"]) == 1
    assert segment.name in capsys.readouterr().out
    assert main(["store", "check", str(tmp_path / "nothing")]) == 1
    assert "not a data directory" in capsys.readouterr().err


def test_check_reads_rollups_too(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for time in range(60_000, 6 * 3_600_000, 60_000):
            store.append(NODE, frame(time, ["a"], [1, 2]))
        store.maintain(6 * 3_600_000)
    assert list(check(tmp_path)) == []
    with contextlib.closing(sqlite3.connect(tmp_path / "rollups-5m.sqlite")) as database, database:
        database.execute("UPDATE blob SET content = zeroblob(length(content))")
    assert any("rollups-5m.sqlite" in wrong for wrong in check(tmp_path))


def test_check_sees_one_moment_while_a_server_removes_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path, head_limits=SMALL) as store:
        store.append(NODE, frame(10, SENSORS, [1.0] * 40))
        store.flush()
    connect = sqlite3.connect

    class Late(sqlite3.Connection):
        """Values go right before they are read."""

        def execute(self, query: str, *values: Any) -> sqlite3.Cursor:
            if "FROM blob" in query:
                with contextlib.closing(connect(tmp_path / "blocks.sqlite")) as other, other:
                    other.execute("DELETE FROM blob")
                    other.execute("DELETE FROM chunk")
            return super().execute(query, *values)

    monkeypatch.setattr("vigie.store.check.sqlite3.connect", partial(connect, factory=Late))
    assert list(check(tmp_path)) == []
