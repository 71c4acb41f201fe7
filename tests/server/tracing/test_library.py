"""Traces are kept by age and size, and no name from outside leads elsewhere."""

from pathlib import Path

import pytest

from vigie.server.tracing.library import TraceLibrary
from vigie.wire.api.trace_session import RankTrace, TraceSelection, TraceSession, TraceSwitches

DAY_MS = 86_400_000


def build_session(session_id: str, created_ms: int, state: str = "done") -> TraceSession:
    return TraceSession(
        id=session_id,
        owner="alice",
        created_ms=created_ms,
        selection=TraceSelection(job="7"),
        switches=TraceSwitches(),
        duration_ms=500,
        state=state,
        ranks=[RankTrace(node="n1", pid=1, inner_pid=1, uid=1000, path="/tmp/x.json", rank=0)],
    )


def open_library(directory: Path, max_bytes: int = 1 << 20) -> TraceLibrary:
    library = TraceLibrary(directory, max_bytes=max_bytes, max_age_ms=30 * DAY_MS)
    library.open()
    return library


def test_sessions_are_there_again_after_a_restart_newest_first(tmp_path: Path) -> None:
    library = open_library(tmp_path)
    for number, name in enumerate(("a", "b")):
        library.save(build_session(name, number))
    assert [session.id for session in open_library(tmp_path).sessions()] == ["b", "a"]


def test_folder_that_is_damaged_or_foreign_is_left_alone(tmp_path: Path) -> None:
    open_library(tmp_path).save(build_session("good", 1))
    for name, text in (("bad", b"{"), ("other", (tmp_path / "good" / "session.json").read_bytes())):
        (tmp_path / name).mkdir()
        (tmp_path / name / "session.json").write_bytes(text)
    assert [session.id for session in open_library(tmp_path).sessions()] == ["good"]
    assert (tmp_path / "bad").exists()


def test_old_sessions_go_then_the_oldest_until_the_rest_fits(tmp_path: Path) -> None:
    library = open_library(tmp_path, max_bytes=25_000)
    for day, name in enumerate(("old", "first", "second", "third")):
        library.save(build_session(name, (0 if name == "old" else 100 + day) * DAY_MS))
        library.trace_path(name, "rank0").write_bytes(b"x" * 10_000)
    assert library.expire(105 * DAY_MS) == ["old", "first"]
    assert not (tmp_path / "first").exists()


def test_session_under_way_is_never_removed_by_age(tmp_path: Path) -> None:
    library = open_library(tmp_path)
    library.save(build_session("running", 0, state="open"))
    assert library.expire(1000 * DAY_MS) == []


@pytest.mark.parametrize("name", ["..", "a/b", "", "A", "x" * 65])
def test_invalid_session_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="invalid"):
        open_library(tmp_path).trace_path(name, "rank0")


@pytest.mark.parametrize("label", ["..", ".hidden", "a/b", "", "x\0"])
def test_invalid_rank_is_refused(tmp_path: Path, label: str) -> None:
    with pytest.raises(ValueError, match="invalid"):
        open_library(tmp_path).trace_path("s1", label)


def test_removed_session_leaves_nothing(tmp_path: Path) -> None:
    library = open_library(tmp_path)
    library.save(build_session("s1", 1))
    assert library.remove("s1")
    assert not library.remove("s1")
    assert list(tmp_path.iterdir()) == []
