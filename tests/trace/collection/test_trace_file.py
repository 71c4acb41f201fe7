"""Only a trainer's own regular file is opened, however its user tries."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from vigie.trace.collection.trace_file import TraceFileError, TraceFileMissingError, TrainerRoot

LIMIT = 1 << 20


@pytest.fixture
def root() -> Iterator[TrainerRoot]:
    with TrainerRoot(os.getpid()) as root:
        yield root


def read(root: TrainerRoot, path: object, *, uid: int | None = None, limit: int = LIMIT) -> bytes:
    with root.open_file(str(path), os.getuid() if uid is None else uid, limit) as file:
        return file.read()


def test_regular_file_of_the_trainer_is_read(root: TrainerRoot, tmp_path: Path) -> None:
    (tmp_path / "trace_7.json").write_text("{}")
    assert read(root, tmp_path / "trace_7.json") == b"{}"
    assert read(root, f"{tmp_path}/.//trace_7.json") == b"{}"


def test_link_is_refused_at_any_component(root: TrainerRoot, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "trace.json").symlink_to(tmp_path / "secret")
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "trace.json").write_text("{}")
    (tmp_path / "directory").symlink_to(tmp_path / "real")
    for path in ("trace.json", "directory/trace.json"):
        with pytest.raises(TraceFileError, match="link"):
            read(root, tmp_path / path)


def test_file_with_a_second_name_is_refused(root: TrainerRoot, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    os.link(tmp_path / "secret", tmp_path / "trace.json")
    with pytest.raises(TraceFileError, match="2 names"):
        read(root, tmp_path / "trace.json")


def test_fifo_is_refused_without_waiting_for_a_writer(root: TrainerRoot, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trace.json")
    with pytest.raises(TraceFileError, match="regular"):
        read(root, tmp_path / "trace.json")


def test_file_of_another_user_is_refused(root: TrainerRoot, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text("{}")
    with pytest.raises(TraceFileError, match="belongs to uid"):
        read(root, tmp_path / "trace.json", uid=os.getuid() + 1)


@pytest.mark.parametrize(
    "path", ["", "trace.json", "/", "/tmp/../etc/passwd", "/..", "/a\0b", "/" + "d/" * 100]
)
def test_path_that_is_not_plain_is_refused(root: TrainerRoot, path: str) -> None:
    with pytest.raises(TraceFileError, match=r"path|outside"):
        read(root, path)


def test_directory_and_device_are_no_traces(root: TrainerRoot, tmp_path: Path) -> None:
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(TraceFileError, match="regular"):
            read(root, path)


def test_larger_file_than_the_limit_is_refused_with_advice(root: TrainerRoot, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(b"x" * (LIMIT + 1))
    with pytest.raises(TraceFileError, match="shorter"):
        read(root, tmp_path / "trace.json")


def test_file_that_is_not_there_yet_is_told_apart(root: TrainerRoot, tmp_path: Path) -> None:
    for path in ("trace.json", "missing/trace.json"):
        with pytest.raises(TraceFileMissingError):
            read(root, tmp_path / path)
    with pytest.raises(TraceFileMissingError, match="ended"):
        TrainerRoot(2**22 + 1)
