from __future__ import annotations

import json
import logging
import threading
from pathlib import Path

import pytest

from vigie.model import ABSENT, NAN, Frame, Table, gauge
from vigie.sinks.core.background_sink import MAX_FRAMES, BackgroundSink
from vigie.sinks.jsonl import JsonLines

METRIC = gauge("g", "G.", "n")


def frame(*values: float, time_ms: int = 1000) -> Frame:
    series = tuple((METRIC, (str(i),)) for i in range(len(values)))
    return Frame(time_ms, ((Table("t", 1, series), values),))


def test_frame_is_one_line_in_the_documented_shape(tmp_path: Path) -> None:
    sink = JsonLines(str(tmp_path / "log"), "n1")
    sink.write(frame(1.5, time_ms=1500))
    sink.write(frame(2, time_ms=2500))
    lines = (tmp_path / "log").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"time": 1.5, "node": "n1", "tables": {"t": {'g{n="0"}': 1.5}}},
        {"time": 2.5, "node": "n1", "tables": {"t": {'g{n="0"}': 2}}},
    ]


def test_absent_is_left_out_and_odd_numbers_are_strings(tmp_path: Path) -> None:
    JsonLines(str(tmp_path / "log"), "n").write(frame(ABSENT, NAN, float("-inf"), 0.0))
    table = json.loads((tmp_path / "log").read_text())["tables"]["t"]
    assert table == {'g{n="1"}': "nan", 'g{n="2"}': "-inf", 'g{n="3"}': 0.0}


def test_rotated_file_is_made_anew(tmp_path: Path) -> None:
    sink = JsonLines(str(tmp_path / "log"), "n")
    sink.write(frame(1))
    (tmp_path / "log").rename(tmp_path / "log.1")
    sink.write(frame(2))
    assert (tmp_path / "log").exists()


def test_blocked_destination_costs_the_oldest_frames_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    written: list[int] = []
    go, entered = threading.Event(), threading.Event()

    def write(given: Frame) -> None:
        entered.set()
        go.wait()
        written.append(given.time_ms)

    feeder = BackgroundSink("test", write)
    with caplog.at_level(logging.INFO):
        feeder(frame(0, time_ms=0))
        entered.wait()
        for n in range(1, MAX_FRAMES + 6):
            feeder(frame(0, time_ms=n))
        go.set()
        feeder.close()
    assert feeder.dropped == 5
    assert written == [0, *range(6, MAX_FRAMES + 6)]
    assert "dropping the oldest" in caplog.text


def test_failing_destination_is_complained_of_once_and_recovers(caplog: pytest.LogCaptureFixture) -> None:
    full = [True]

    def write(_: Frame) -> None:
        if full[0]:
            raise OSError(28, "No space left on device")

    feeder = BackgroundSink("test", write)
    with caplog.at_level(logging.INFO):
        feeder(frame(0))
        feeder(frame(0))
        feeder.close()
        full[0] = False
        second = BackgroundSink("test", write)
        second(frame(0))
        second.close()
    assert caplog.text.count("No space left") == 1
