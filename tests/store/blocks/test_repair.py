"""A block file that is cut, zeroed or damaged in part is reported, and the rest stays readable."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from tests.store.frames import EVERYTHING, answer, frame
from vigie.store.check import check
from vigie.store.corruption import MAX_REPORTS, CorruptionLog
from vigie.store.errors import StoreError, WriteFailedError
from vigie.store.heads.stream import HeadLimits
from vigie.store.retention import Retention
from vigie.store.store import Store

NODES = [{"instance": f"n{number}", "job": "node"} for number in range(20)]
SENSORS = [str(number) for number in range(40)]
TABLE_LEAF = 13  # what such a page of SQLite begins with


def filled(directory: Path) -> None:
    """Nodes one after the other, so that a cut costs the last ones."""
    with Store(directory) as store:
        for node in NODES:
            for time in range(1000, 1300, 10):
                values = [float(time * number % 977) ** 0.5 for number in range(80)]
                store.append(node, frame(time, SENSORS, values))
            store.flush()


def instances(store: Store) -> set[str]:
    return {dict(series)["instance"] for series in answer(store)}


@pytest.mark.parametrize("left", [0.9, 0.5])
def test_truncated_blocks_are_reported_and_what_is_left_of_them_answers(tmp_path: Path, left: float) -> None:
    filled(tmp_path)
    path = tmp_path / "blocks.sqlite"
    os.truncate(path, int(path.stat().st_size * left) // 4096 * 4096)
    assert any("malformed" in wrong for wrong in check(tmp_path))
    with Store(tmp_path) as store:
        assert any("moved to blocks.damaged" in damage for damage in store.corruption_reports)
        found = instances(store)
        assert 0.5 * left * len(NODES) < len(found) < len(NODES)
        assert len(store.label_values("instance", EVERYTHING, 0, 2000)) == len(found)
        assert store.check() == []
        store.append(NODES[0], frame(2000, SENSORS, [1.0] * 80))
        store.flush()
    with Store(tmp_path) as store:
        assert store.corruption_reports == []
        assert instances(store) == found | {"n0"}


def test_blocks_that_are_no_database_are_put_aside_and_the_log_answers(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(NODES[0], frame(1000, ["a"], [1.0, 2.0]))
    (tmp_path / "blocks.sqlite").write_bytes(b"\0" * 65536)
    for ending in ("-wal", "-shm"):
        (tmp_path / f"blocks.sqlite{ending}").unlink(missing_ok=True)
    with Store(tmp_path) as store:
        assert any("moved to" in damage for damage in store.corruption_reports)
        assert instances(store) == {"n0"}


def test_blocks_that_may_not_be_opened_are_an_error_and_stay_where_they_are(tmp_path: Path) -> None:
    with Store(tmp_path):
        pass
    (tmp_path / "blocks.sqlite").unlink()
    (tmp_path / "blocks.sqlite").mkdir()
    with pytest.raises(StoreError, match="cannot open"):
        Store(tmp_path)
    assert (tmp_path / "blocks.sqlite").is_dir()


def test_zeroed_end_of_the_log_costs_what_stood_there(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for time in range(1000, 1100, 10):
            store.append(NODES[0], frame(time, SENSORS, [float(time)] * 80))
            store.sync()
    (segment,) = (tmp_path / "log").iterdir()
    size = segment.stat().st_size
    os.truncate(segment, size * 2 // 3)
    os.truncate(segment, size)  # zeros, as after a power cut
    with Store(tmp_path) as store:
        (damage,) = store.corruption_reports
        assert "torn or damaged" in damage
        times = {time for samples in answer(store).values() for time in samples}
        assert times == set(range(1000, 1000 + 10 * len(times), 10))
        assert 3 <= len(times) < 10
    with Store(tmp_path) as store:
        assert store.corruption_reports == [], "it is cut, and reported once"


def invalidate_page(directory: Path, table: str, column: str, number: int) -> None:
    with sqlite3.connect(directory / "blocks.sqlite") as database:
        ((content,),) = database.execute(f"SELECT {column} FROM {table} WHERE number = ?", (number,))
        wrong = content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]
        database.execute(f"UPDATE {table} SET {column} = ? WHERE number = ?", (wrong, number))
    database.close()


def two_layouts(directory: Path) -> None:
    with Store(directory) as store:
        for node, sensor in zip(NODES, ("a", "b"), strict=False):
            store.append(node, frame(1000, [sensor], [1.0, 2.0]))
        store.flush()


def test_damaged_layout_costs_only_its_chunks(tmp_path: Path) -> None:
    two_layouts(tmp_path)
    invalidate_page(tmp_path, "layout", "series", 1)
    with Store(tmp_path) as store:
        assert instances(store) == {"n1"}
        assert store.label_values("sensor", EVERYTHING, 0, 2000) == ["b"]
        assert len(store.series(EVERYTHING, 0, 2000)) == 2
        assert any("layout 1" in damage for damage in store.corruption_reports)
        assert any("layout 1" in wrong for wrong in store.check())
        store.append(NODES[0], frame(2000, ["a"], [1.0, 2.0]))
        store.flush()
        assert instances(store) == {"n0", "n1"}


def test_damaged_schema_costs_nothing(tmp_path: Path) -> None:
    two_layouts(tmp_path)
    invalidate_page(tmp_path, "schema", "content", 1)
    with Store(tmp_path) as store:
        assert instances(store) == {"n0", "n1"}
        assert store.label_values("sensor", EVERYTHING, 0, 2000) == ["a", "b"]
        assert any("schema 1" in wrong for wrong in store.check())


def test_damage_that_a_query_meets_is_noted_once(tmp_path: Path) -> None:
    two_layouts(tmp_path)
    invalidate_page(tmp_path, "blob", "content", 1)
    with Store(tmp_path) as store:
        assert store.corruption_reports == []
        for _ in range(3):
            answer(store)
        (damage,) = store.corruption_reports
        assert "'instance': 'n0'" in damage
        assert "from 1000 to 1000 is not readable" in damage


def zero_page(path: Path, content: bytes, kind: int | None = None) -> None:
    """Zero the page of a database that holds some bytes, and begins with the number of a kind of pages."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((size,),) = database.execute("PRAGMA page_size").fetchall()
    whole = path.read_bytes()
    starts = range(0, len(whole), size)
    at = next(
        start for start in starts if content in whole[start : start + size] and kind in (None, whole[start])
    )
    path.write_bytes(whole[:at] + bytes(size) + whole[at + size :])


def zero_values(path: Path, stream: int) -> None:
    """Zero a page among the values of a stream's first chunk."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        query = (
            "SELECT content FROM chunk JOIN blob ON blob.number = first_blob WHERE stream = ? ORDER BY start"
        )
        (content,) = database.execute(query, (stream,)).fetchone()
    zero_page(path, content[:100])


def test_values_that_sqlite_cannot_read_cost_only_themselves_and_hold_up_nobody(tmp_path: Path) -> None:
    filled(tmp_path)
    zero_values(tmp_path / "blocks.sqlite", 1)
    with Store(tmp_path) as store:
        found: set[str] = set()
        asking = threading.Thread(target=lambda: found.update(instances(store)))
        asking.start()
        asking.join()
        assert len(NODES) / 2 < len(found) < len(NODES), "a page has values of a few chunks"
        assert "n0" not in found
        assert any(
            "'instance': 'n0'" in damage and "malformed" in damage for damage in store.corruption_reports
        )
        appending = threading.Thread(target=store.append, args=(NODES[0], frame(2000, ["a"], [1.0, 2.0])))
        appending.start()
        appending.join(30)
        assert not appending.is_alive(), "the query let go of every lock"


def maintained(store: Store, now: int) -> None:
    """Have maintenance done that may fail once for each chunk that it cannot remove."""
    for turn in range(4):
        with contextlib.suppress(WriteFailedError):
            store.maintain(now + turn * 61_000)


def test_maintenance_goes_on_where_values_cannot_be_removed(tmp_path: Path) -> None:
    filled(tmp_path)
    zero_values(tmp_path / "blocks.sqlite", 1)
    with Store(tmp_path, retention=Retention(age_ms=300_000), head_limits=HeadLimits(head_rows=1)) as store:
        store.append(NODES[0], frame(500_000, ["a"], [1.0, 2.0]))
        with pytest.raises(WriteFailedError, match="malformed"):
            store.maintain(500_000)
        assert [stop for _, _, stop in store._blocks.oldest(99)][-1] == 500_000, "what is new is written"
        maintained(store, 500_000)
        assert [stop for _, _, stop in store._blocks.oldest(99)] == [500_000]
        assert any("cannot be removed" in damage for damage in store.corruption_reports)


def test_maintenance_goes_on_where_rollups_cannot_be_written(tmp_path: Path) -> None:
    hour, node = 3_600_000, NODES[0]
    with Store(tmp_path) as store:
        for each in NODES:
            for time in range(60_000, 6 * hour, 60_000):
                store.append(each, frame(time, SENSORS, [float(time * number % 977) for number in range(80)]))
        store.maintain(6 * hour)
    zero_values(tmp_path / "rollups-5m.sqlite", 1)
    with Store(tmp_path, head_limits=HeadLimits(head_rows=1)) as store:
        store.append(node, frame(90_001, SENSORS, [1.0] * 80))  # late, so that its page is rebuilt
        store.append(node, frame(6 * hour, SENSORS, [1.0] * 80))
        maintained(store, 6 * hour)
        store.maintain(7 * hour)
        assert not any(stream.chunks_to_flush() for stream in store._index)
        assert any("cannot be removed" in damage for damage in store.corruption_reports)


def test_streams_that_cannot_be_read_cost_only_themselves(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for number in range(200):
            store.append({"instance": f"n{number}", "job": "node"}, frame(1000, ["a"], [1.0, 2.0]))
        store.flush()
    zero_page(tmp_path / "blocks.sqlite", b'"n100"', TABLE_LEAF)
    with Store(tmp_path) as store:
        assert any("moved to blocks.damaged" in damage for damage in store.corruption_reports)
        found = instances(store)
        assert 100 < len(found) < 200
        assert "n100" not in found


def test_number_of_a_layout_that_is_lost_is_never_given_to_another(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for number in range(100):
            store.append({"instance": f"n{number}"}, frame(1000, [f"s{number}"], [1.0, 2.0]))
        store.flush()
    with contextlib.closing(sqlite3.connect(tmp_path / "blocks.sqlite")) as database:
        ((last,),) = database.execute("SELECT series FROM layout ORDER BY number DESC LIMIT 1").fetchall()
    zero_page(tmp_path / "blocks.sqlite", last, TABLE_LEAF)
    with Store(tmp_path) as store:
        kept = answer(store)
        assert 0 < len(kept) < 200
        store.append({"instance": "other"}, frame(1000, ["other"], [1.0, 2.0]))
        store.flush()
        assert len(answer(store)) == len(kept) + 2


def test_what_is_whole_of_spoilt_rollups_is_kept_where_raw_data_have_gone(tmp_path: Path) -> None:
    hour, nodes = 3_600_000, [{"instance": f"n{number}"} for number in range(120)]
    with Store(tmp_path, retention=Retention(age_ms=hour)) as store:
        for node in nodes:
            for time in range(300_000, 6 * hour, 300_000):
                store.append(node, frame(time, ["a"], [1.0, 2.0]))
        store.maintain(6 * hour)
        store.flush()
        store.maintain(9 * hour)
        assert not list(store._index)
    zero_page(tmp_path / "rollups-5m.sqlite", b'"n20"', TABLE_LEAF)
    with Store(tmp_path, retention=Retention(age_ms=hour)) as store:
        left = store.label_values("instance", EVERYTHING, 0, 6 * hour)
        (tier, _) = store._rollups.tiers
        assert any("rollups-5m.damaged" in damage for damage in store.corruption_reports)
        assert 40 < len({stream.name for stream in tier.index}) < 120
        assert len(left) == 120, "the other tier is whole"


def test_damages_are_bounded() -> None:
    corruption_log = CorruptionLog()
    for number in range(2 * MAX_REPORTS):
        corruption_log.add(f"chunk {number}")
    assert len(list(corruption_log)) == MAX_REPORTS
