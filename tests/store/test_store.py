from __future__ import annotations

import contextlib
import os
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.frames import EVERYTHING, NODE, POWER, Model, answer, frame, table
from vigie.model import ABSENT, NAN, STALE, Frame, Table, gauge
from vigie.model.nan import NAN_BITS, STALE_BITS, float_to_bits
from vigie.query.storage import Matcher, Storage
from vigie.store.directory_lock import FORMAT
from vigie.store.errors import (
    CorruptionError,
    DirectoryLockedError,
    InvalidInputError,
    NewerFormatError,
    OlderFormatError,
    WriteFailedError,
)
from vigie.store.heads.stream import HeadLimits
from vigie.store.retention import Retention
from vigie.store.store import Store

SMALL = HeadLimits(head_rows=4, keep_ms=20, block_ms=100)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "data", head_limits=SMALL) as store:
        yield store


def line(store: Storage, name: str, sensor: str) -> dict[int, int]:
    matchers = [Matcher("__name__", "=", name), Matcher("sensor", "=", sensor)]
    (samples,) = answer(store, matchers).values()
    return samples


def test_three_kinds_of_nan_stay_apart_through_head_log_and_block(tmp_path: Path) -> None:
    node, expected = NODE, {NAN_BITS, STALE_BITS}
    with Store(tmp_path) as store:
        store.append(node, frame(1000, ["a", "b"], [NAN, STALE, ABSENT, 4.5]))
        before = answer(store)
    with Store(tmp_path) as store:
        assert answer(store) == before
        store.flush()
        assert answer(store) == before
    with Store(tmp_path) as store:
        assert answer(store) == before
        assert store.check() == []
    assert {value for samples in before.values() for value in samples.values()} == expected | {
        float_to_bits(4.5)
    }


def test_series_that_ends_gets_a_stale_marker_at_the_first_frame_without_it(store: Store) -> None:
    store.append(NODE, frame(10, ["a", "b"], [1, 2, 3, 4]))
    store.append(NODE, frame(20, ["a"], [5, 6]))
    store.append(NODE, frame(30, ["a", "c"], [7, 8, 9, 10]))
    assert line(store, "power_watts", "b") == {10: float_to_bits(2), 20: STALE_BITS}
    assert line(store, "power_watts", "a") == {
        10: float_to_bits(1),
        20: float_to_bits(5),
        30: float_to_bits(7),
    }
    assert line(store, "temperature_celsius", "c") == {30: float_to_bits(10)}


def test_table_without_any_series_left_ends_them_all_across_blocks(store: Store) -> None:
    store.append(NODE, frame(10, ["a"], [1, 2]))
    store.flush()
    store.append(NODE, frame(20, [], []))
    store.flush()
    assert line(store, "power_watts", "a") == {10: float_to_bits(1), 20: STALE_BITS}
    assert answer(store, EVERYTHING, 20, 20) == {
        series: {20: STALE_BITS} for series in answer(store, EVERYTHING, 10, 10)
    }


def test_same_frame_again_changes_nothing_not_even_the_log(store: Store) -> None:
    store.append(NODE, frame(10, ["a"], [1, 2]))
    store.append(NODE, frame(20, ["a"], [3, 4]))
    for flushed in (False, True):
        if flushed:
            store.flush()
        store.sync()
        before, size = answer(store), store.bytes_on_disk()
        store.append(NODE, frame(10, ["a"], [8, 9]))
        store.sync()
        assert (answer(store), store.bytes_on_disk()) == (before, size)


def test_late_frames_find_their_place_in_head_chunk_block_and_gap(tmp_path: Path) -> None:
    model = Model()
    with Store(tmp_path, head_limits=SMALL) as store:
        for time in [*range(0, 200, 20), *range(400, 500, 20)]:
            one = frame(time, ["a", "b"], [time, 1, 2, 3])
            store.append(NODE, one)
            model.append(NODE, one)
        store.flush()
        for time in (55, 300, 310, 305, 65, -5, 1000, 445, 900):
            late = frame(time, ["b", "late"], [time, 1, 2, 3])
            store.append(NODE, late)
            model.append(NODE, late)
            assert answer(store) == model.answer()
        store.maintain(1000)
        store.flush()
        assert answer(store) == model.answer()
    with Store(tmp_path, head_limits=SMALL) as store:
        assert answer(store) == model.answer()
        assert store.check() == []


def test_own_job_and_instance_become_exported(store: Store) -> None:
    metric = gauge("up", "Whether it is.", "job", "instance", "exported_job", "empty")
    store.append(NODE, Frame(1, ((Table("s", 1, ((metric, ("slurm", "x:1", "y", "")),)), (1.0,)),)))
    expected = {
        "__name__": "up",
        **NODE,
        "exported_job": "y",
        "exported_exported_job": "slurm",
        "exported_instance": "x:1",
    }
    assert store.series(EVERYTHING, 0, 9) == [expected]


def test_series_that_two_tables_have_is_answered_once(store: Store) -> None:
    store.append(NODE, frame(10, ["a"], [1, 2], "one"))
    store.append(NODE, frame(20, ["a"], [3, 4], "two"))
    store.append(NODE, frame(10, ["a"], [5, 6], "two"))
    assert line(store, "power_watts", "a") == {10: float_to_bits(1), 20: float_to_bits(3)}


def test_series_that_moves_to_another_table_has_not_ended(store: Store) -> None:
    for time, first, second in ((10, "ax", "y"), (20, "x", "ay")):
        tables = (table(first, 1, "one"), table(second, 1, "two"))
        store.append(NODE, Frame(time, tuple((each, (1.0,) * len(each.series)) for each in tables)))
    assert line(store, "power_watts", "a") == {10: float_to_bits(1), 20: float_to_bits(1)}


def test_frame_that_does_not_fit_its_table_is_refused_and_leaves_nothing(store: Store) -> None:
    with pytest.raises(InvalidInputError, match="2 series, but 1 values"):
        store.append(NODE, frame(10, ["a"], [1]))
    with pytest.raises(InvalidInputError, match="not a time"):
        store.append(NODE, frame(1 << 62, ["a"], [1, 2]))
    with pytest.raises(InvalidInputError, match="Unicode"):
        store.append(NODE, frame(10, ["\ud800"], [1, 2]))
    with pytest.raises(InvalidInputError, match="has labels"):
        store.append(NODE, Frame(10, ((Table("s", 1, ((POWER, ()),)), (1.0,)),)))
    assert answer(store) == {}


def test_labels_are_found_in_memory_and_in_blocks(store: Store) -> None:
    store.append(NODE, frame(10, ["a", "b"], [1, 2, 3, 4]))
    store.flush()
    store.append({"instance": "n2", "job": "node"}, frame(1000, ["c"], [1, 2]))
    assert store.label_names(EVERYTHING, 0, 2000) == ["__name__", "instance", "job", "sensor"]
    assert store.label_values("sensor", EVERYTHING, 0, 2000) == ["a", "b", "c"]
    assert store.label_values("sensor", EVERYTHING, 0, 20) == ["a", "b"]
    assert store.label_values("instance", [Matcher("sensor", "=", "c")], 0, 2000) == ["n2"]
    assert store.label_values("nothing", [], 0, 2000) == []
    assert len(store.series([Matcher("__name__", "=", "power_watts")], 0, 2000)) == 3
    assert store.series(EVERYTHING, 500, 900) == []


def test_deleted_node_is_gone_at_once_and_after_restart_and_may_come_back(tmp_path: Path) -> None:
    other = {"instance": "n2", "job": "node"}
    with Store(tmp_path) as store:
        for node in (NODE, other):
            store.append(node, frame(10, ["a"], [1, 2]))
        store.flush()
        store.append(NODE, frame(20, ["a"], [3, 4]))
        assert store.delete([Matcher("instance", "=", "n1")]) == 1
        assert store.label_values("instance", EVERYTHING, 0, 99) == ["n2"]
    with Store(tmp_path) as store:
        assert store.label_values("instance", EVERYTHING, 0, 99) == ["n2"]
        store.append(NODE, frame(30, ["a"], [5, 6]))
        store.flush()
    with Store(tmp_path) as store:
        assert len(answer(store)) == 4
        with pytest.raises(InvalidInputError):
            store.delete([])


def test_age_and_size_remove_the_oldest_first(tmp_path: Path) -> None:
    def filled(name: str, retention: Retention) -> Store:
        store = Store(tmp_path / name, head_limits=SMALL, retention=retention)
        for block in range(10):
            for time in range(block * 1000, block * 1000 + 100, 10):
                values = [float((time * 7919 + i * 104729) % 1009) ** 0.5 for i in range(400)]
                store.append(NODE, frame(time, [str(i) for i in range(200)], values))
            store.flush()
        return store

    with filled("age", Retention(age_ms=5000)) as store:
        store.maintain(10_000)
        times = {time for samples in answer(store).values() for time in samples}
        assert (min(times), max(times)) == (5000, 9090)
        store.maintain(10**12)
        assert answer(store) == {}
        assert store.label_names([], 0, 10**12) == []
    with filled("size", Retention(age_ms=10**12)) as store:
        whole = store.bytes_on_disk()[0]
    with Store(tmp_path / "size", head_limits=SMALL, retention=Retention(10**12, whole // 2)) as store:
        store.maintain(10_000)
        times = {time for samples in answer(store).values() for time in samples}
        assert min(times) > 2000
        assert max(times) == 9090
        assert store.bytes_on_disk()[0] <= whole // 2


def test_log_is_dropped_once_its_rows_are_in_blocks(tmp_path: Path) -> None:
    with Store(tmp_path, head_limits=SMALL, segment_bytes=500) as store:
        for time in range(0, 1000, 10):
            store.append(NODE, frame(time, ["a"], [time, 2]))
            store.sync()
            store.maintain(time)
        assert len(list((tmp_path / "log").iterdir())) < 10
        assert len(line(store, "power_watts", "a")) == 100
    with Store(tmp_path, head_limits=SMALL) as store:
        assert len(line(store, "power_watts", "a")) == 100


def test_second_store_on_the_directory_is_refused_by_name(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(DirectoryLockedError, match=f"process {os.getpid()};"):
        Store(tmp_path)
    with Store(tmp_path):
        pass


def test_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "format").write_text(f"{FORMAT + 1}\n")
    with pytest.raises(NewerFormatError, match=f"format {FORMAT + 1}, this vigie reads format {FORMAT}"):
        Store(tmp_path)


def test_metrics_are_compressed_in_groups_of_columns(tmp_path: Path) -> None:
    metrics = tuple((gauge(f"m{n:03}", "A metric."), ()) for n in range(100))
    for _ in range(2):  # new, and opened again
        with Store(tmp_path, head_limits=SMALL) as store:
            for time in range(10, 200, 10):
                store.append(NODE, Frame(time, ((Table("many", 1, metrics), tuple(map(float, range(100)))),)))
            store.sync()
            store.flush()
            seen = answer(store)
            assert len(seen) == 100
            assert all(len(samples) == 19 for samples in seen.values())
            assert not store.corruption_reports
    with contextlib.closing(sqlite3.connect(tmp_path / "blocks.sqlite")) as database:
        groups = {len(places) // 4 for (places,) in database.execute("SELECT places FROM chunk")}
    assert groups == {4}
    assert (tmp_path / "format").read_text() == f"{FORMAT}\n"


@pytest.mark.parametrize("version", [1, 4, FORMAT - 1])
def test_older_format_is_refused_with_what_to_type_and_left_alone(tmp_path: Path, version: int) -> None:
    (tmp_path / "format").write_text(f"{version}\n")
    with pytest.raises(OlderFormatError, match=f"format {version}, .* mv {tmp_path} {tmp_path}.old"):
        Store(tmp_path)
    assert (tmp_path / "format").read_text() == f"{version}\n"
    assert not list(tmp_path.glob("*.sqlite"))


def spoil_values(directory: Path) -> None:
    path = directory / "blocks.sqlite"
    with sqlite3.connect(path) as database:
        ((values,),) = database.execute("SELECT content FROM blob WHERE number = 1")
    database.close()
    content = path.read_bytes()
    at = content.rindex(values) + 8  # SQLite fills a page from its end
    path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])


def test_damaged_chunk_is_found_by_check_reported_on_reading_and_costs_only_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Store(tmp_path) as store:
        for name in ("n1", "n2"):
            store.append({"instance": name, "job": "node"}, frame(10, ["a"], [1.5, 2.5]))
        store.flush()
    spoil_values(tmp_path)
    with Store(tmp_path) as store:
        assert any("checksum is wrong" in problem for problem in store.check())
        assert store.label_values("sensor", EVERYTHING, 0, 99) == ["a"]
        rest = answer(store)
        assert {dict(series)["instance"] for series in rest} == {"n2"}
        assert "not readable: a blob's checksum is wrong" in caplog.text


def test_late_frame_for_a_damaged_block_costs_only_itself(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(NODE, frame(10, ["a"], [1.5, 2.5]))
        store.append(NODE, frame(20, ["a"], [1.5, 2.5]))
        store.flush()
    spoil_values(tmp_path)
    with Store(tmp_path) as store:
        with pytest.raises(CorruptionError, match="checksum"):
            store.append(NODE, frame(15, ["a"], [1, 2]))
        store.append(NODE, frame(30, ["a"], [1, 2]))
    with Store(tmp_path) as store:
        assert any(
            "late frame" in damage and "at 15 is lost" in damage for damage in store.corruption_reports
        )
        assert len(store.series(EVERYTHING, 30, 30)) == 2


def test_late_frame_for_a_damaged_block_costs_none_of_its_other_tables(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for source in ("one", "two"):
            for time in (10, 20):
                store.append(NODE, frame(time, [source], [1.5, 2.5], source))
            store.flush()
    spoil_values(tmp_path)
    parts = [frame(15, [source], [1, 2], source).parts[0] for source in ("one", "two")]
    with Store(tmp_path) as store:
        with pytest.raises(CorruptionError, match=r"a late frame of .* at 15 is lost"):
            store.append(NODE, Frame(15, tuple(parts)))
        assert line(store, "power_watts", "two") == {
            10: float_to_bits(1.5),
            15: float_to_bits(1),
            20: float_to_bits(1.5),
        }
        assert any("late frames of" in damage for damage in store.corruption_reports)


def test_number_of_a_chunk_that_was_rolled_back_is_not_used_again(store: Store) -> None:
    store.append(NODE, frame(10, ["a"], [1, 2]))
    store.flush()
    (chunk,) = store._blocks.overlapping(1, 0, 99)
    with contextlib.suppress(KeyError), store._blocks.transaction():
        number = store._blocks.write(1, chunk, small=True)
        raise KeyError("so that it is rolled back")
    store.append(NODE, frame(500, ["a"], [1, 2]))
    store.flush()
    assert {each.number for each in store._blocks.overlapping(1, 0, 999)} == {chunk.number, number + 1}


def test_torn_log_is_cut_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Store(tmp_path) as store:
        store.append(NODE, frame(10, ["a"], [1, 2]))
        store.append(NODE, frame(20, ["a"], [3, 4]))
    (segment,) = (tmp_path / "log").iterdir()
    os.truncate(segment, segment.stat().st_size - 3)
    with Store(tmp_path) as store:
        assert line(store, "power_watts", "a") == {10: float_to_bits(1)}
        assert len(store.corruption_reports) == 1
        assert "the last record is torn" in store.corruption_reports[0]
        assert "at byte" in caplog.text


def test_full_disk_is_a_clear_error_and_nothing_is_forgotten(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(tmp_path) as store:
        store.append(NODE, frame(10, ["a"], [1, 2]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))
        try:
            with pytest.raises(WriteFailedError, match="File too large"):
                store.sync()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        store.sync()
    with Store(tmp_path) as store:
        assert line(store, "power_watts", "a") == {10: float_to_bits(1)}


def test_failed_sync_acknowledges_nothing_and_the_next_one_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = os.fdatasync, [2]

    def fails_twice(file: int) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(5, "Input/output error")
        real(file)

    with Store(tmp_path) as store:
        store.append(NODE, frame(10, ["a"], [1, 2]))
        store.sync()
        monkeypatch.setattr(os, "fdatasync", fails_twice)
        for time in (20, 30):
            store.append(NODE, frame(time, ["a"], [time, 2]))
            with pytest.raises(WriteFailedError, match="Input/output error"):
                store.sync()
        store.append(NODE, frame(40, ["a"], [40, 2]))
        store.sync()
        expected = answer(store)
    with Store(tmp_path) as store:
        assert answer(store) == expected
        assert len(line(store, "power_watts", "a")) == 4
        assert store.corruption_reports == []


def test_table_of_a_restarted_agent_may_reuse_a_version(store: Store) -> None:
    store.append(NODE, Frame(10, ((table(["a"], 1), (1.0, 2.0)),)))
    store.append(NODE, Frame(20, ((table(["b"], 1), (3.0, 4.0)),)))
    assert line(store, "power_watts", "a") == {10: float_to_bits(1), 20: STALE_BITS}
    assert line(store, "power_watts", "b") == {20: float_to_bits(3)}
