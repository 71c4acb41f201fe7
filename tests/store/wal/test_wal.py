from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vigie.store.recovery import order_rows
from vigie.store.series.layout import Layouts
from vigie.store.wal.records import KEY_INTERVAL, RowSet, StreamName, WalBatch, WalRow
from vigie.store.wal.segments import MAGIC, SegmentDamage
from vigie.store.wal.wal import WriteAheadLog

LAYOUTS = Layouts()
series = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6)
names = st.sampled_from([StreamName((("instance", "n1"),), source, True) for source in ("cpu", "gpu")])


@st.composite
def rows(draw: st.DrawFn) -> WalRow:
    layout = LAYOUTS.of(tuple((("__name__", name),) for name in draw(series)))
    words = draw(st.lists(st.integers(0, 2**64 - 1), min_size=len(layout), max_size=len(layout)))
    values = np.array(words, dtype=np.uint64).view(np.float64)
    return WalRow(draw(names), layout, draw(st.integers(-(2**62), 2**62)), values)


batches = st.lists(
    st.lists(rows(), min_size=1, max_size=2, unique_by=lambda row: row.stream), min_size=1, max_size=12
)


def batched(some: list[list[WalRow]]) -> Iterator[WalBatch]:
    """Yield them so that some say that they come again, and of these some in two forms, and others do not."""
    forms: dict[object, RowSet] = {}
    for i, rows in enumerate(some):
        batch = WalBatch.of(rows)
        again = forms.setdefault(
            (i % 5 == 4, *batch.row_set.streams), RowSet(batch.row_set.streams, recurs=True)
        )
        yield batch if i % 3 == 2 else batch._replace(row_set=again)


def written(directory: Path, some: list[list[WalRow]]) -> Path:
    log = WriteAheadLog(directory, LAYOUTS)
    log.start(1)
    for batch in batched(some):
        log.append_rows(batch)
    log.close()
    (path,) = directory.glob("*.log")
    return path


Plain = list[tuple[StreamName, object, int, list[int]]]


def plain(some: list[list[WalRow]]) -> Plain:
    """Every row, sorted by stream; a stream's rows in the order of the log."""
    rows = [
        (row.stream, row.layout.series, row.time, row.values.view(np.uint64).tolist())
        for batch in some
        for row in batch
    ]
    return sorted(rows, key=lambda row: row[0])


def read(directory: Path) -> tuple[Plain, list[SegmentDamage]]:
    damaged: list[SegmentDamage] = []
    found: Plain = []
    for entry in WriteAheadLog(directory, LAYOUTS).replay(damaged):
        assert isinstance(entry, list)
        for rows in order_rows(entry):
            assert (np.diff(rows.positions) > 0).all()
            words = rows.values.view(np.uint64).tolist()
            series = rows.layout.series
            found += [
                (rows.stream, series, time, line)
                for time, line in zip(rows.times.tolist(), words, strict=True)
            ]
    return sorted(found, key=lambda row: row[0]), damaged


@settings(max_examples=50)  # files, on a machine that may be busy
@given(batches)
def test_rows_come_back_bit_for_bit_whatever_the_layouts_do(some: list[list[WalRow]]) -> None:
    with TemporaryDirectory() as directory:
        written(Path(directory), some)
        assert read(Path(directory)) == (plain(some), [])


@settings(max_examples=40)
@given(batches, st.data())
def test_cut_anywhere_the_log_gives_the_records_before_the_cut(
    some: list[list[WalRow]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as directory:
        path = written(Path(directory), some)
        ends = record_ends(some)
        cut = data.draw(st.integers(0, path.stat().st_size))
        os.truncate(path, cut)
        found, damaged = read(Path(directory))
        whole = sum(end <= cut for end in ends)
        assert found == plain(some[:whole])
        assert all("torn" in damage.reason or damage.offset == 0 for damage in damaged)
        assert read(Path(directory)) == (found, []), "once cut, it is whole"


@settings(max_examples=40)
@given(batches, st.data())
def test_flipped_bit_anywhere_costs_nothing_before_it_and_is_reported(
    some: list[list[WalRow]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as directory:
        path = written(Path(directory), some)
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) * 8 - 1))
        content[at // 8] ^= 1 << at % 8
        path.write_bytes(content)
        found, damaged = read(Path(directory))
        whole = sum(end <= at // 8 for end in record_ends(some))
        sure, read_back, logged = (
            Counter(map(repr, rows)) for rows in (plain(some[:whole]), found, plain(some))
        )
        assert sure <= read_back <= logged, "what is read is never anything else"
        assert damaged
        assert min(damage.offset for damage in damaged if damage.lost) <= at // 8


def test_flipped_bit_costs_rows_only_up_to_the_next_key(tmp_path: Path) -> None:
    layout = LAYOUTS.of(((("__name__", "a"),),))
    streams = [StreamName((("instance", name),), "cpu", True) for name in ("n1", "n2")]
    count = 4 * KEY_INTERVAL
    some = [[WalRow(s, layout, time, np.array([time + 0.5]))] for time in range(count) for s in streams]
    path = written(tmp_path, some)
    content = bytearray(path.read_bytes())
    content[record_ends(some)[KEY_INTERVAL] + 20] ^= 1
    path.write_bytes(content)
    found, damaged = read(tmp_path)
    for stream in streams:
        times = {row[2] for row in found if row[0] == stream}
        assert len(times) >= count - KEY_INTERVAL
    assert "a record is damaged" in str(damaged[0])


@settings(max_examples=50)
@given(st.binary(max_size=200), st.booleans())
def test_garbage_is_cut_and_reported(garbage: bytes, with_magic: bool) -> None:
    with TemporaryDirectory() as directory:
        assume(with_magic or not garbage.startswith(MAGIC))
        log = WriteAheadLog(Path(directory), LAYOUTS)
        (Path(directory) / "000000000007.log").write_bytes((MAGIC if with_magic else b"") + garbage)
        damaged: list[SegmentDamage] = []
        assert [entry for entry in log.replay(damaged) if entry] == []
        assert bool(damaged) == bool(garbage)


def test_damage_in_one_segment_costs_nothing_in_the_next(tmp_path: Path) -> None:
    layout = LAYOUTS.of(((("__name__", "a"),),))
    stream = StreamName((("instance", "n1"),), "cpu", True)
    log = WriteAheadLog(tmp_path, LAYOUTS, segment_bytes=1)
    log.start(1)
    for time in range(3):
        log.append_rows(WalBatch.of([WalRow(stream, layout, time, np.array([float(time)]))]))
        log.sync()
    log.close()
    first = min(tmp_path.glob("*.log"))
    first.write_bytes(first.read_bytes()[:-1])
    found, damaged = read(tmp_path)
    assert [time for _, _, time, _ in found] == [1, 2]
    assert [damage.path for damage in damaged] == [first]


def record_ends(some: list[list[WalRow]]) -> list[int]:
    """Where in the file each batch ends."""
    with TemporaryDirectory() as directory:
        log = WriteAheadLog(Path(directory), LAYOUTS)
        log.start(1)
        ends = []
        for batch in batched(some):
            log.append_rows(batch)
            ends.append(log.position & (1 << 40) - 1)
        log.close()
    return ends
