"""What waits for the server: kept until acknowledged, within its bounds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from vigie.agent.link.buffer import WINDOW, LinkBuffer
from vigie.agent.link.buffer_memory import BYTES_PER_SERIES
from vigie.agent.link.entries import EncodedFrame, estimate_size, pack_values
from vigie.common.spool import Spool
from vigie.model import Table, gauge

TABLE = Table("t", 1, tuple((gauge("a", "A.", "x"), (str(i),)) for i in range(500)))


def entry(time_ms: int) -> EncodedFrame:
    return EncodedFrame(time_ms, time_ms, ((TABLE, pack_values([float(time_ms)] * len(TABLE.series))),))


ONE = estimate_size(entry(0))


def sent(buffer: LinkBuffer) -> list[int]:
    """Send everything, acknowledging as it goes, and return the times in that order."""
    times = []
    while out := buffer.next_live() or buffer.next_waiting():
        assert isinstance(out[1], EncodedFrame)
        times.append(out[1].time_ms)
        buffer.acknowledge(out[0])
    return times


def test_live_goes_before_what_waited() -> None:
    buffer = LinkBuffer(None, "boot")
    buffer.put(entry(1))
    buffer.disconnect()
    buffer.reconnect(0)
    buffer.put(entry(2))
    assert sent(buffer) == [2, 1]
    assert buffer.bytes == 0


def test_what_was_not_acknowledged_is_sent_again_and_the_rest_is_not() -> None:
    buffer = LinkBuffer(None, "boot")
    for time in (1, 2, 3):
        buffer.put(entry(time))
    for _ in range(3):
        buffer.next_live()
    buffer.acknowledge(1)
    buffer.disconnect()
    buffer.reconnect(2)  # that acknowledgement was lost with the connection
    assert sent(buffer) == [3]


def test_no_more_is_on_its_way_than_the_window_holds() -> None:
    buffer = LinkBuffer(None, "boot")
    for time in range(WINDOW + 5):
        buffer.put(entry(time))
    while buffer.next_live():
        pass
    assert buffer.in_flight == WINDOW
    buffer.acknowledge(1)
    assert buffer.next_live() is not None


def test_memory_runs_over_to_the_disk_and_comes_back_whole(tmp_path: Path) -> None:
    buffer = LinkBuffer(Spool(tmp_path, 64 << 20), "boot", memory=10 * ONE)
    for time in range(2000):
        buffer.put(entry(time))
        assert buffer.bytes <= 10 * ONE
    assert buffer.disk_bytes
    buffer.disconnect()
    buffer.reconnect(0)
    assert sent(buffer) == list(range(2000))
    assert (buffer.disk_bytes, buffer.dropped, buffer.has_waiting) == (0, 0, False)


def test_what_waits_at_the_end_is_there_at_the_next_start(tmp_path: Path) -> None:
    buffer = LinkBuffer(Spool(tmp_path, 64 << 20), "boot")
    for time in range(5):
        buffer.put(entry(time))
    buffer.next_live()  # on its way, and never acknowledged
    buffer.close()
    again = LinkBuffer(Spool(tmp_path, 64 << 20), "boot")
    assert again.has_waiting
    assert sent(again) == [0, 1, 2, 3, 4]
    again.close()


def test_cut_in_the_middle_of_a_piece_sends_the_piece_again(tmp_path: Path) -> None:
    buffer = LinkBuffer(Spool(tmp_path, 64 << 20), "boot", memory=2 * ONE)
    for time in range(6):
        buffer.put(entry(time))
    buffer.disconnect()
    buffer.reconnect(0)
    buffer.next_waiting()
    buffer.disconnect()
    buffer.reconnect(0)
    assert sorted(set(sent(buffer))) == [0, 1, 2, 3, 4, 5]
    assert buffer.disk_bytes == 0


def test_without_a_disk_the_oldest_is_dropped_and_counted() -> None:
    buffer = LinkBuffer(None, "boot", memory=3 * (1 << 20))
    for time in range(5000):
        buffer.put(entry(time))
    kept = sent(buffer)
    assert kept == list(range(5000 - len(kept), 5000))
    assert buffer.dropped == 5000 - len(kept) > 0


def test_full_disk_queue_drops_the_oldest_and_counts(tmp_path: Path) -> None:
    buffer = LinkBuffer(Spool(tmp_path, 4000), "boot", memory=2 * ONE)
    for time in range(3000):
        buffer.put(entry(time))
    buffer.disconnect()
    buffer.reconnect(0)
    kept = sent(buffer)
    assert kept[-1] == 2999
    assert buffer.dropped + len(kept) == 3000
    assert buffer.dropped > 0


def test_disk_that_takes_nothing_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    buffer = LinkBuffer(Spool(tmp_path / "gone", 4000), "boot", memory=2 * ONE)
    shutil.rmtree(tmp_path / "gone")
    for time in range(100):
        buffer.put(entry(time))
    assert [text for text in caplog.messages if "No such file" in text] == caplog.messages
    assert len(caplog.messages) == 1


def test_damaged_piece_costs_only_itself(tmp_path: Path) -> None:
    from vigie.common.spool import SpoolRecord

    spool = Spool(tmp_path, 64 << 20)
    spool.put(SpoolRecord(9, 0, b"junk"))
    buffer = LinkBuffer(spool, "boot")
    buffer.put(entry(1))
    buffer.disconnect()
    buffer.reconnect(0)
    assert sent(buffer) == [1]
    assert buffer.dropped == 9


def changing(version: int, label: str = "x") -> EncodedFrame:
    """Return an entry whose names are its own, as where containers come and go."""
    series = tuple((gauge("a", "A.", "x"), (f"{label}{version}.{i}",)) for i in range(500))
    return EncodedFrame(version, version, ((Table("t", version, series), pack_values([0.0] * len(series))),))


def test_names_that_change_with_each_frame_count_as_memory() -> None:
    buffer = LinkBuffer(None, "boot", memory=1 << 20)
    for version in range(1, 100):
        buffer.put(changing(version))
        assert buffer.in_memory * 500 * BYTES_PER_SERIES <= (2 << 20)
    assert buffer.dropped == 99 - buffer.in_memory > 0
    assert sent(buffer) == list(range(buffer.dropped + 1, 100))
    assert buffer.bytes == 0


def test_names_that_stay_count_nothing() -> None:
    buffer = LinkBuffer(None, "boot")
    for time in range(3):
        buffer.put(entry(time))
    assert buffer.bytes == 3 * ONE


def test_long_names_that_change_with_each_frame_come_back_from_the_disk(tmp_path: Path) -> None:
    buffer = LinkBuffer(Spool(tmp_path, 64 << 20), "boot", memory=1 << 20)
    for version in range(1, 400):
        buffer.put(changing(version, "x" * 300))
    buffer.disconnect()
    buffer.reconnect(0)
    assert sent(buffer) == list(range(1, 400))
    assert buffer.dropped == 0
    buffer.close()
