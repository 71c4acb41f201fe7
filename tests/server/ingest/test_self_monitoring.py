"""The server keeps its own metrics under its name, and goes on when it cannot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.real.waiting import until
from vigie.model import Frame
from vigie.query.engine import Engine
from vigie.query.limits import QueryLimits
from vigie.server.ingest.self_monitoring import SelfMonitor
from vigie.server.metrics import ServerMetrics
from vigie.store.store import Store

NOW = 1_794_808_800_000


class Passed:
    """Where else frames go."""

    def __init__(self) -> None:
        self.frames: list[tuple[dict[str, str], Frame]] = []

    def write_frame(self, target: Mapping[str, str], frame: Frame) -> None:
        self.frames.append((dict(target), frame))

    def end(self, target: Mapping[str, str]) -> None:
        raise AssertionError(target)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as opened:
        yield opened


def own_of(store: Store) -> ServerMetrics:
    return ServerMetrics(
        lambda: (*store.bytes_on_disk(), len(store.corruption_reports), store.series_count()), lambda: 0
    )


def clock(start: int = NOW) -> Callable[[], int]:
    return lambda: start


def test_what_the_server_says_of_itself_is_stored_and_passed_on(store: Store) -> None:
    passed = Passed()
    watch = SelfMonitor(own_of(store), store, clock(), "head", passed)
    until(lambda: passed.frames, "its metrics are stored")
    watch.close()
    answer = Engine(store, QueryLimits()).instant("vigie_server_build_info", NOW)
    assert [(series.labels["instance"], series.labels["job"]) for series in answer.series] == [
        ("head", "vigie")
    ]
    assert Engine(store, QueryLimits()).instant('process_open_fds{job="vigie"}', NOW).series
    assert passed.frames[0][0] == {"instance": "head", "job": "vigie"}


def test_store_that_refuses_is_told_once_and_tried_again(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        watch = SelfMonitor(own_of(store), store, clock(1 << 62), "head")  # no store takes such a time
        until(lambda: caplog.messages, "it is told")
        watch.close()
    assert len(caplog.messages) == 1
    assert "cannot keep its own metrics" in caplog.messages[0]
