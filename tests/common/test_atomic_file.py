"""A file is written whole or not at all, also by several at once."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vigie.common.atomic_file import write_atomically


def test_file_is_replaced_whole_and_for_its_owner_and_group(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.stat(path).st_mode & 0o007 == 0
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_several_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    texts = [bytes([65 + number]) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: write_atomically(path, text), texts * 5))
    assert path.read_bytes() in texts
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]
