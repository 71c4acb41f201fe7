"""A file that is cut, zeroed or spoilt in part: it is said, and the rest answers."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from tests.store.frames import EVERYTHING, answer, frame
from vigie.store.check import check
from vigie.store.damages import MOST, Damages
from vigie.store.errors import StoreError
from vigie.store.store import Store

NODES = [{"instance": f"n{number}", "job": "node"} for number in range(20)]
SENSORS = [str(number) for number in range(40)]


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
def test_truncated_blocks_are_said_and_what_is_left_of_them_answers(tmp_path: Path, left: float) -> None:
    filled(tmp_path)
    path = tmp_path / "blocks.sqlite"
    os.truncate(path, int(path.stat().st_size * left) // 4096 * 4096)
    assert any("malformed" in wrong for wrong in check(tmp_path))
    with Store(tmp_path) as store:
        assert any("put aside as blocks.damaged" in damage for damage in store.damages)
        found = instances(store)
        assert 0.5 * left * len(NODES) < len(found) < len(NODES)
        assert len(store.label_values("instance", EVERYTHING, 0, 2000)) == len(found)
        assert store.check() == []
        store.append(NODES[0], frame(2000, SENSORS, [1.0] * 80))
        store.flush()
    with Store(tmp_path) as store:
        assert store.damages == []
        assert instances(store) == found | {"n0"}


def test_blocks_that_are_no_database_are_put_aside_and_the_log_answers(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(NODES[0], frame(1000, ["a"], [1.0, 2.0]))
    (tmp_path / "blocks.sqlite").write_bytes(b"\0" * 65536)
    for ending in ("-wal", "-shm"):
        (tmp_path / f"blocks.sqlite{ending}").unlink(missing_ok=True)
    with Store(tmp_path) as store:
        assert any("put aside" in damage for damage in store.damages)
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
        (damage,) = store.damages
        assert "torn or damaged" in damage
        times = {time for samples in answer(store).values() for time in samples}
        assert times == set(range(1000, 1000 + 10 * len(times), 10))
        assert 3 <= len(times) < 10
    with Store(tmp_path) as store:
        assert store.damages == [], "it is cut, and said once"


def spoil(directory: Path, table: str, column: str, number: int) -> None:
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
    spoil(tmp_path, "layout", "series", 1)
    with Store(tmp_path) as store:
        assert instances(store) == {"n1"}
        assert store.label_values("sensor", EVERYTHING, 0, 2000) == ["b"]
        assert len(store.series(EVERYTHING, 0, 2000)) == 2
        assert any("layout 1" in damage for damage in store.damages)
        assert any("layout 1" in wrong for wrong in store.check())
        store.append(NODES[0], frame(2000, ["a"], [1.0, 2.0]))
        store.flush()
        assert instances(store) == {"n0", "n1"}


def test_damaged_outline_costs_nothing(tmp_path: Path) -> None:
    two_layouts(tmp_path)
    spoil(tmp_path, "outline", "content", 1)
    with Store(tmp_path) as store:
        assert instances(store) == {"n0", "n1"}
        assert store.label_values("sensor", EVERYTHING, 0, 2000) == ["a", "b"]
        assert any("outline 1" in wrong for wrong in store.check())


def test_damage_that_a_question_meets_is_noted_once(tmp_path: Path) -> None:
    two_layouts(tmp_path)
    spoil(tmp_path, "blob", "content", 1)
    with Store(tmp_path) as store:
        assert store.damages == []
        for _ in range(3):
            answer(store)
        (damage,) = store.damages
        assert "'instance': 'n0'" in damage
        assert "from 1000 to 1000 is not readable" in damage


def test_damages_are_bounded() -> None:
    damages = Damages()
    for number in range(2 * MOST):
        damages.add(f"chunk {number}")
    assert len(list(damages)) == MOST
