"""Files are written whole or not at all, what did not change is not touched, and others' files stay."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vigie.publishing.managed_directory import NOTES, ManagedFile, write_files

FILES = [
    ManagedFile("a/one.yml", "1\n"),
    ManagedFile("two.yml", "2\n"),
    ManagedFile("secret/three", "3\n", private=True),
]


def _times(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}


def test_second_time_nothing_is_touched(tmp_path: Path) -> None:
    assert write_files(tmp_path, FILES).written == ("a/one.yml", "secret/three", "two.yml")
    before = _times(tmp_path)
    assert write_files(tmp_path, FILES) == ((), (), ())
    assert _times(tmp_path) == before


def test_only_what_changed_is_written_and_only_what_was_ours_is_removed(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    (tmp_path / "a" / "theirs.yml").write_text("theirs")
    before = _times(tmp_path)
    assert write_files(tmp_path, [ManagedFile("two.yml", "22\n"), FILES[2]]) == (
        ("two.yml",),
        ("a/one.yml",),
        (),
    )
    assert not (tmp_path / "a" / "one.yml").exists()
    assert (tmp_path / "a" / "theirs.yml").read_text() == "theirs"
    assert _times(tmp_path)[str(tmp_path / "secret" / "three")] == before[str(tmp_path / "secret" / "three")]


def test_file_that_was_there_before_is_left_alone_until_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "two.yml").write_text("theirs")
    assert write_files(tmp_path, FILES).foreign == ("two.yml",)
    assert (tmp_path / "two.yml").read_text() == "theirs"
    assert write_files(tmp_path, FILES, overwrite=True).written == ("two.yml",)
    assert (tmp_path / "two.yml").read_text() == "2\n"


def test_file_that_somebody_changed_is_left_alone_also_when_it_is_no_longer_wanted(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    (tmp_path / "two.yml").write_text("edited")
    changed = [FILES[0], ManagedFile("two.yml", "22\n"), FILES[2]]
    assert write_files(tmp_path, changed).foreign == ("two.yml",)
    assert write_files(tmp_path, [FILES[0]]).removed == ("secret/three",)
    assert (tmp_path / "two.yml").read_text() == "edited"


def test_file_that_was_deleted_is_written_again(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    (tmp_path / "two.yml").unlink()
    assert write_files(tmp_path, FILES).written == ("two.yml",)


def test_private_file_and_its_folder_are_for_their_owner(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    assert (tmp_path / "secret" / "three").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o700
    (tmp_path / "secret" / "three").chmod(0o644)
    write_files(tmp_path, FILES)
    assert (tmp_path / "secret" / "three").stat().st_mode & 0o777 == 0o600


def test_stopped_between_two_files_the_rest_is_still_ours(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    blocked = tmp_path / f".two.yml.{os.getpid()}"
    blocked.mkdir()  # the first file can be written, the last one cannot
    with pytest.raises(OSError, match=r"two\.yml"):
        write_files(tmp_path, [ManagedFile("a/one.yml", "11\n"), ManagedFile("two.yml", "22\n"), FILES[2]])
    blocked.rmdir()
    again = [ManagedFile("a/one.yml", "111\n"), ManagedFile("two.yml", "22\n"), FILES[2]]
    assert write_files(tmp_path, again) == (("a/one.yml", "two.yml"), (), ())
    assert [path.name for path in tmp_path.rglob(".*")] == [NOTES]


@settings(max_examples=30)
@given(garbage=st.binary(max_size=60) | st.just(b'{"../../etc/passwd": ["x"], "/x": 3, "two.yml": "no"}'))
def test_garbled_notes_make_nothing_ours(tmp_path_factory: pytest.TempPathFactory, garbage: bytes) -> None:
    root = tmp_path_factory.mktemp("garbled")
    (root / NOTES).write_bytes(garbage)
    (root / "two.yml").write_text("theirs")
    outcome = write_files(root, FILES)
    assert outcome.foreign == ("two.yml",)
    assert outcome.removed == ()
    assert set(json.loads((root / NOTES).read_text())) == {"a/one.yml", "secret/three"}
