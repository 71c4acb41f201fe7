from __future__ import annotations

import contextlib
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vigie.common.spool import Spool, SpoolRecord

MANY = 1_000_000
WRITER = """
import sys
from pathlib import Path
from vigie.common.spool import SpoolRecord, Spool
spool = Spool(Path(sys.argv[1]), 100_000_000)
for n in range(int(sys.argv[2]), 10**9):
    spool.put(SpoolRecord(n, n, b"%d" % n * 50))
    print(n, flush=True)
"""


def record(n: int) -> SpoolRecord:
    return SpoolRecord(n, 1000 + n, b"%d" % n * 20)


def drained(spool: Spool) -> list[SpoolRecord]:
    found = []
    while each := spool.peek():
        found.append(each)
        spool.take(each)
    return found


def test_what_is_put_comes_out_in_order_also_after_a_restart(tmp_path: Path) -> None:
    for start in (0, 10):
        spool = Spool(tmp_path, MANY)
        for n in range(start, start + 10):
            spool.put(record(n))
        spool.close()
    spool = Spool(tmp_path, MANY)
    assert drained(spool) == [record(n) for n in range(20)]
    assert spool.bytes == 0
    spool.close()


def test_what_was_taken_does_not_come_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path, MANY)
    for n in range(5):
        spool.put(record(n))
    for n in range(3):
        spool.take(record(n))
    spool.close()
    spool = Spool(tmp_path, MANY)
    assert drained(spool) == [record(3), record(4)]
    spool.put(record(5))
    assert drained(spool) == [record(5)]
    spool.close()
    spool = Spool(tmp_path, MANY)
    assert drained(spool) == []
    spool.close()


def test_full_queue_drops_the_oldest_and_counts_their_samples(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 3000)
    first = record(0)
    spool.put(first)
    assert spool.peek() == first
    for n in range(1, 200):
        spool.put(record(n))
        assert spool.bytes <= 3000
    spool.take(first)  # it was dropped meanwhile: nothing else goes in its place
    rest = drained(spool)
    assert rest == [record(n) for n in range(200 - len(rest), 200)]
    assert spool.dropped == sum(range(200 - len(rest)))
    assert sum(path.stat().st_size for path in tmp_path.glob("*.queue")) < 3000
    spool.close()


def test_every_cut_of_a_segment_leaves_the_whole_records_before_it(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "whole", MANY)
    for n in range(3):
        spool.put(record(n))
    spool.close()
    content = next((tmp_path / "whole").glob("*.queue")).read_bytes()
    size = len(content) // 3
    for length in range(len(content)):
        directory = tmp_path / str(length)
        directory.mkdir()
        (directory / "000000000001.queue").write_bytes(content[:length])
        cut = Spool(directory, MANY)
        cut.put(record(9))
        assert drained(cut) == [*(record(n) for n in range(length // size)), record(9)]
        assert cut.damaged == length % size
        cut.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(segment=st.binary(max_size=200), position=st.binary(max_size=40))
def test_garbage_on_disk_costs_only_itself(
    tmp_path_factory: pytest.TempPathFactory, segment: bytes, position: bytes
) -> None:
    directory = tmp_path_factory.mktemp("garbage")
    (directory / "000000000003.queue").write_bytes(segment)
    (directory / "position").write_bytes(position)
    (directory / "notes.queue").write_bytes(b"not ours")
    spool = Spool(directory, MANY)
    spool.put(record(1))
    assert drained(spool)[-1] == record(1)
    spool.close()


def test_flipped_bit_is_never_given_out(tmp_path: Path) -> None:
    spool = Spool(tmp_path, MANY)
    for n in range(3):
        spool.put(record(n))
    spool.close()
    path = next(tmp_path.glob("*.queue"))
    content = path.read_bytes()
    for place in range(0, len(content), 3):
        spoiled = bytearray(content)
        spoiled[place] ^= 1 << place % 8
        path.write_bytes(spoiled)
        (tmp_path / "position").unlink()
        spool = Spool(tmp_path, MANY)
        assert all(each in [record(n) for n in range(3)] for each in drained(spool))
        spool.close()


@contextlib.contextmanager
def _full_disk() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_full_queue_on_a_disk_that_takes_nothing_still_goes_on_and_says_so(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 3000)
    for n in range(100):
        spool.put(record(n))
    with _full_disk():
        dropped = spool.dropped
        for n in range(100, 110):
            spool.put(record(n))
        assert spool.dropped > dropped
        assert "File too large" in spool.trouble
        oldest = spool.peek()
        assert oldest is not None
        spool.take(oldest)
        assert spool.peek() == record(oldest.samples + 1)
    spool.close()


def test_while_the_disk_takes_nothing_records_wait_in_memory(tmp_path: Path) -> None:
    spool = Spool(tmp_path, MANY)
    spool.put(record(0))
    with _full_disk():
        spool.put(record(1))
        spool.put(record(2))
        trouble, oldest = spool.trouble, spool.peek()
    assert "File too large" in trouble
    assert oldest == record(0)
    spool.take(record(0))
    assert spool.peek() == record(1)
    spool.put(record(3))  # the disk is well again
    assert spool.trouble == ""
    assert drained(spool) == [record(1), record(2), record(3)]
    spool.close()


def test_kill_at_any_time_loses_nothing_that_was_put(tmp_path: Path) -> None:
    chance, start = random.Random(1), 1
    for _ in range(4):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(start)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout
        wanted = start + chance.randrange(1, 400)
        for line in process.stdout:
            if int(line) >= wanted:
                break
        process.kill()
        said = [*(int(line) for line in process.stdout if line.endswith("\n")), wanted]
        process.wait()
        process.stdout.close()
        spool = Spool(tmp_path, 100_000_000)
        found = [each.samples for each in drained(spool)]
        spool.close()
        assert found == list(range(start, found[-1] + 1))
        assert found[-1] >= max(said)
        start = found[-1] + 1


def test_second_process_on_the_directory_is_refused(tmp_path: Path) -> None:
    spool = Spool(tmp_path, MANY)
    with pytest.raises(BlockingIOError, match="in use"):
        Spool(tmp_path, MANY)
    spool.close()
