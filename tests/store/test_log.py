from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vigie.store.layout import Layouts
from vigie.store.records import Deletion, Row, StreamName
from vigie.store.wal import MAGIC, Damage, Entry, Log

LAYOUTS = Layouts()
series = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6)
names = st.sampled_from([StreamName((("instance", "n1"),), source, True) for source in ("cpu", "gpu")])


@st.composite
def rows(draw: st.DrawFn) -> Row:
    layout = LAYOUTS.of(tuple((("__name__", name),) for name in draw(series)))
    words = draw(st.lists(st.integers(0, 2**64 - 1), min_size=len(layout), max_size=len(layout)))
    values = np.array(words, dtype=np.uint64).view(np.float64)
    return Row(draw(names), layout, draw(st.integers(-(2**62), 2**62)), values)


batches = st.lists(
    st.lists(rows(), min_size=1, max_size=2, unique_by=lambda row: row.stream), min_size=1, max_size=6
)


def written(directory: Path, some: list[list[Row]]) -> Path:
    log = Log(directory, LAYOUTS)
    log.start(1)
    for batch in some:
        log.rows(batch)
    log.close()
    (path,) = directory.glob("*.log")
    return path


def plain(batch: list[Row] | Deletion) -> object:
    assert not isinstance(batch, Deletion)
    return [(row.stream, row.layout.series, row.time, row.values.view(np.uint64).tolist()) for row in batch]


def read(directory: Path) -> tuple[list[object], list[Damage]]:
    damages: list[Damage] = []
    entries: list[Entry] = list(Log(directory, LAYOUTS).replay(damages))
    assert [entry.position for entry in entries] == sorted({entry.position for entry in entries})
    return [plain(entry.record) for entry in entries], damages


@given(batches)
def test_rows_come_back_bit_for_bit_whatever_the_layouts_do(some: list[list[Row]]) -> None:
    with TemporaryDirectory() as directory:
        written(Path(directory), some)
        assert read(Path(directory)) == ([plain(batch) for batch in some], [])


@settings(max_examples=60)
@given(batches, st.data())
def test_cut_anywhere_the_log_gives_the_records_before_the_cut(
    some: list[list[Row]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as directory:
        path = written(Path(directory), some)
        ends = record_ends(some)
        cut = data.draw(st.integers(0, path.stat().st_size))
        os.truncate(path, cut)
        found, damages = read(Path(directory))
        whole = sum(end <= cut for end in ends)
        assert found == [plain(batch) for batch in some[:whole]]
        assert all("torn" in damage.reason or damage.offset == 0 for damage in damages)
        assert read(Path(directory)) == (found, []), "once cut, it is whole"


@settings(max_examples=60)
@given(batches, st.data())
def test_flipped_bit_anywhere_costs_nothing_before_it_and_is_said(
    some: list[list[Row]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as directory:
        path = written(Path(directory), some)
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) * 8 - 1))
        content[at // 8] ^= 1 << at % 8
        path.write_bytes(content)
        found, damages = read(Path(directory))
        whole = sum(end <= at // 8 for end in record_ends(some))
        assert found == [plain(batch) for batch in some[:whole]]
        assert len(damages) == 1
        assert damages[0].offset <= at // 8


@given(st.binary(max_size=200), st.booleans())
def test_garbage_is_cut_and_said(garbage: bytes, with_magic: bool) -> None:
    with TemporaryDirectory() as directory:
        assume(with_magic or not garbage.startswith(MAGIC))
        log = Log(Path(directory), LAYOUTS)
        (Path(directory) / "000000000007.log").write_bytes((MAGIC if with_magic else b"") + garbage)
        damages: list[Damage] = []
        assert list(log.replay(damages)) == []
        assert len(damages) == (1 if garbage else 0)


def test_damage_in_one_segment_costs_nothing_in_the_next(tmp_path: Path) -> None:
    layout = LAYOUTS.of(((("__name__", "a"),),))
    stream = StreamName((("instance", "n1"),), "cpu", True)
    log = Log(tmp_path, LAYOUTS, segment_bytes=1)
    log.start(1)
    for time in range(3):
        log.rows([Row(stream, layout, time, np.array([float(time)]))])
        log.sync()
    log.close()
    first = min(tmp_path.glob("*.log"))
    first.write_bytes(first.read_bytes()[:-1])
    damages: list[Damage] = []
    again = [entry.record for entry in Log(tmp_path, LAYOUTS).replay(damages)]
    assert [row.time for rows in again if not isinstance(rows, Deletion) for row in rows] == [1, 2]
    assert [damage.path for damage in damages] == [first]


def record_ends(some: list[list[Row]]) -> list[int]:
    """Where in the file each batch ends."""
    with TemporaryDirectory() as directory:
        log = Log(Path(directory), LAYOUTS)
        log.start(1)
        ends = []
        for batch in some:
            log.rows(batch)
            ends.append(log.position & (1 << 40) - 1)
        log.close()
    return ends
