from __future__ import annotations

import array
import asyncio
import functools
import os
import pwd
import resource
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ParamSpec

import pytest

from vigie._report import Reporter
from vigie.agent.reports.receiver import ReportReceiver
from vigie.common.unix_listen import UnixSocketError
from vigie.model import format_series

SECONDS = 20.0
P = ParamSpec("P")


def in_loop(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """Run a test in an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*arguments, **named))

    return run


@asynccontextmanager
async def _receiving() -> AsyncIterator[tuple[ReportReceiver, Path]]:
    with tempfile.TemporaryDirectory() as directory:  # short enough for a socket's address
        receiver, path = ReportReceiver([]), Path(directory) / "report.sock"
        receiver.open(path)
        try:
            yield receiver, path
        finally:
            receiver.close()


def _series(receiver: ReportReceiver) -> dict[str, float]:
    table, values = receiver.table()
    return {format_series(*series): value for series, value in zip(table.series, values, strict=True)}


async def _until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not claim():
            await asyncio.sleep(0.005)


def _values(receiver: ReportReceiver) -> dict[str, float]:
    return {name: value for name, value in _series(receiver).items() if name.startswith("vigie_report_value")}


def _send(path: Path, *datagrams: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
        for datagram in datagrams:
            sending.sendto(datagram, str(path))


@in_loop
async def test_report_of_another_process_carries_its_pid_and_user() -> None:
    async with _receiving() as (receiver, path):
        program = (
            "import vigie, sys; vigie.report(loss=0.25, step=7); print(flush=True); sys.stdin.readline()"
        )
        environment = {**os.environ, "VIGIE_REPORT_SOCKET": str(path), "RANK": "3", "SLURM_JOB_ID": "4711"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        await _until(lambda: len(_values(receiver)) == 2)
        labels = f'rank="3",pid="{process.pid}",job_id="4711",user="{_me()}"'
        assert _values(receiver) == {
            f'vigie_report_value{{measure="loss",{labels}}}': 0.25,
            f'vigie_report_value{{measure="step",{labels}}}': 7.0,
        }
        await process.communicate(b"\n")
        await _until(lambda: not _values(receiver))


def _me() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


@in_loop
async def test_socket_is_open_to_every_user_and_gone_afterwards() -> None:
    async with _receiving() as (_, path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert not path.exists()


@in_loop
async def test_second_receiver_leaves_the_first_alone() -> None:
    async with _receiving() as (receiver, path):
        with pytest.raises(UnixSocketError, match="another agent listens"):
            ReportReceiver([]).open(path)
        _send(path, b'{"x": 1}')
        await _until(lambda: len(_values(receiver)) == 1)


@in_loop
async def test_garbage_is_counted_and_the_next_good_report_is_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with _receiving() as (receiver, path):
        await asyncio.to_thread(_send, path, b"garbage", b"", b"x" * 20_000, b'{"loss": 1}')
        await _until(lambda: len(_values(receiver)) == 1)
        found = _series(receiver)
        assert found["vigie_agent_reports_refused_total"] == 3
        assert found["vigie_agent_reports_received_total"] == 1
        assert caplog.text.count("is left out: it is not JSON") == 1


@in_loop
async def test_descriptors_that_come_with_a_datagram_are_not_kept() -> None:
    async with _receiving() as (receiver, path):
        before = len(os.listdir("/proc/self/fd"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            passed = array.array("i", [0, 1, 2])
            sending.connect(str(path))
            sending.sendmsg([b'{"x": 1}'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
        await _until(lambda: len(_values(receiver)) == 1)
        assert len(os.listdir("/proc/self/fd")) == before


@in_loop
async def test_flood_of_garbage_leaves_memory_flat_and_the_loop_alive() -> None:
    async with _receiving() as (receiver, path):
        flood = [os.urandom(40) for _ in range(100)]
        sending = asyncio.create_task(asyncio.to_thread(_send, path, *flood * 10))
        await _until(lambda: _series(receiver)["vigie_agent_reports_refused_total"] >= 500)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await sending
        await _until(lambda: _series(receiver)["vigie_agent_reports_refused_total"] == 1000)
        _send(path, b'{"loss": 1}')
        await _until(lambda: len(_values(receiver)) == 1)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KiB


@pytest.fixture
def reporters() -> Iterator[Callable[[], Reporter]]:
    """Return a maker of programs that report."""
    made: list[Reporter] = []

    def make() -> Reporter:
        made.append(Reporter())
        return made[-1]

    yield make
    for reporter in made:
        reporter.close()


def test_reporting_without_an_agent_raises_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reporters: Callable[[], Reporter]
) -> None:
    monkeypatch.setenv("VIGIE_REPORT_SOCKET", str(tmp_path / "none"))
    reporters().report({"loss": 1})
    reporters().report({"loss": object()})
    monkeypatch.setenv("VIGIE_REPORT_SOCKET", "x" * 5000)
    reporters().report({"loss": 1})


def test_full_queue_does_not_block_a_program(
    monkeypatch: pytest.MonkeyPatch, reporters: Callable[[], Reporter]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "report.sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf:  # it never reads
            deaf.bind(str(path))
            monkeypatch.setenv("VIGIE_REPORT_SOCKET", str(path))
            for number in range(600):  # more than any kernel keeps by default
                reporters().report({"step": number})


@in_loop
async def test_reports_in_quick_succession_are_merged(
    monkeypatch: pytest.MonkeyPatch, reporters: Callable[[], Reporter]
) -> None:
    async with _receiving() as (receiver, path):
        monkeypatch.setenv("VIGIE_REPORT_SOCKET", str(path))
        reporter = reporters()
        reporter.report({"loss": 2.0})
        for step in range(1000):
            reporter.report({"step": step})

        def later() -> bool:
            reporter.report({"loss": 1.0})
            return len(_values(receiver)) == 2 and 1.0 in _values(receiver).values()

        await _until(later)
        found = _series(receiver)
        assert 999.0 in found.values()
        assert found["vigie_agent_reports_received_total"] < 100


def test_importing_vigie_imports_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import vigie; print(*sorted(set(sys.modules) - before))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).split() == ["vigie"]


def test_reporting_imports_only_the_standard_library() -> None:
    program = (
        "import sys; before = set(sys.modules); from vigie import report; report(loss=1);"
        "added = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(*added - set(sys.stdlib_module_names))"
    )
    environment = {**os.environ, "VIGIE_REPORT_SOCKET": "/nonexistent"}
    assert subprocess.check_output([sys.executable, "-c", program], text=True, env=environment) == "vigie\n"
