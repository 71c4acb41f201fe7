"""A directory of the format before this one is taken over as it is, and goes on in the new one."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.store import older
from tests.store.frames import EVERYTHING, Model, Samples, answer
from tests.store.older import MINUTE, NODE, START, STEPS
from vigie.model import Frame
from vigie.query.rolled.buckets import FIELDS
from vigie.store.lock import FORMAT
from vigie.store.store import Store

pytestmark = pytest.mark.process

HOUR = 60 * MINUTE
WRITTEN = Path(__file__).with_name("format3.tar.xz")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with tarfile.open(WRITTEN) as written:
        for member in written.getmembers():  # Python 3.11.2 knows no filters, later ones want one
            if member.isfile():
                path = tmp_path / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                content = written.extractfile(member)
                assert content
                path.write_bytes(content.read())
    return tmp_path / "store"


def expected(frames: Iterator[Frame]) -> Samples:
    model = Model()
    for frame in frames:
        model.append(NODE, frame)
    return model.answer()


def rolled(store: Store, width: int) -> dict[tuple[str, str], dict[str, list[float]]]:
    until = START + STEPS * MINUTE // width * width
    found = {}
    for group in store.rollups(EVERYTHING, START, until, width, FIELDS):
        shape = (len(group.labels), len(group.buckets.ends))
        cells = {name: np.broadcast_to(getattr(group.buckets, name), shape) for name in FIELDS}
        for i, labels in enumerate(group.labels):
            name = labels["__name__"], labels.get("device", labels.get("core", ""))
            found[name] = {field: cells[field][i].tolist() for field in FIELDS}
    return found


def test_format_three_says_what_was_stored_and_is_format_four_from_then_on(directory: Path) -> None:
    assert (directory / "format").read_text() == "3\n"
    with Store(directory) as store:
        assert answer(store) == expected(older.frames())
        assert store.check() == []
        assert store.damages == []
    assert (directory / "format").read_text() == f"{FORMAT}\n"


@pytest.mark.parametrize("width", [5 * MINUTE, HOUR])
def test_rollups_of_format_three_say_what_raw_data_say(directory: Path, width: int, tmp_path: Path) -> None:
    with Store(directory) as store, Store(tmp_path / "fresh") as fresh:
        for frame in older.frames():
            fresh.append(NODE, frame)
        said, made = rolled(store, width), rolled(fresh, width)
    assert said.keys() == made.keys()
    for name, fields in said.items():
        for field in FIELDS:
            np.testing.assert_allclose(fields[field], made[name][field], rtol=1e-7, err_msg=f"{name} {field}")


def test_what_format_three_wrote_is_merged_with_what_comes(directory: Path) -> None:
    late = Frame(START + 90 * MINUTE + 1, next(older.frames()).parts)
    with Store(directory) as store:
        store.append(NODE, late)
        for hour in range(STEPS // 60, STEPS // 60 + 8):
            store.maintain(START + hour * HOUR)
        chunks = [len(store._blocks.small(stream.number, 1 << 62)) for stream in store._index]
        assert chunks == [0]
        assert store.check() == []
        assert answer(store) == expected(iter([*older.frames(), late]))
    with Store(directory) as store:
        assert answer(store) == expected(iter([*older.frames(), late]))
