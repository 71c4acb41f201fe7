"""dynolog's calls over TCP: same bytes, same failure cases, and nothing that hurts the agent."""

import asyncio
import json
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest

from vigie.trace.dyno.client import DynoCallError, call
from vigie.trace.dyno.functions import DynoFunctions
from vigie.trace.dyno.server import LOOPBACK_ADDRESSES, DynoServer
from vigie.trace.kineto.datagrams import Poll
from vigie.trace.kineto.trainers import TrainerRegistry

NO_MATCH = (
    b'{"activityProfilersBusy":0,"activityProfilersTriggered":[],"eventProfilersBusy":0,'
    b'"eventProfilersTriggered":[],"processesMatched":[]}'
)


class Profiling:
    """Counters that can be paused."""

    def __init__(self) -> None:
        self.paused_for: float | None = None

    async def pause_profiling(self, seconds: float, by: str) -> bool:
        assert by
        self.paused_for = seconds
        return True

    async def resume_profiling(self) -> bool:
        self.paused_for = None
        return True


def frame(text: bytes) -> bytes:
    return struct.pack("<i", len(text)) + text


def exchange(port: int, data: bytes, host: str = "127.0.0.1", *, half_close: bool = False) -> bytes:
    with socket.create_connection((host, port), timeout=30) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65536):
            received += part
        return received


def serve(act: Callable[[int], Any], registry: TrainerRegistry | None = None) -> Any:
    """Run `act` in a thread beside a server on loopback."""
    registry = registry or TrainerRegistry(lambda: 1000.0)
    functions = DynoFunctions(registry, version="1.2.3", profiling=Profiling())

    async def run() -> Any:
        server = DynoServer(functions.call, LOOPBACK_ADDRESSES, 0)
        await server.start()
        try:
            return await asyncio.to_thread(act, server.port)
        finally:
            await server.close()

    return asyncio.run(run())


def test_status_and_version_have_dynolog_s_bytes() -> None:
    assert serve(lambda port: exchange(port, frame(b'{"fn":"getStatus"}'))) == frame(b'{"status":1}')
    assert serve(lambda port: exchange(port, frame(b'{"fn":"getVersion"}'))) == frame(b'{"version":"1.2.3"}')


def test_request_that_matches_nobody_has_its_133_bytes() -> None:
    request = (
        b'\n{\n    "fn": "setKinetOnDemandRequest",\n    "config": "A=1",\n'
        b'    "job_id": 0,\n    "pids": [0],\n    "process_limit": 3\n}'
    )
    assert len(NO_MATCH) == 133
    assert serve(lambda port: exchange(port, frame(request))) == frame(NO_MATCH)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        struct.pack("<i", 0),
        struct.pack("<i", -5) + b"{}",
        struct.pack("<i", 2**31 - 1) + b"x",
        frame(b"not json"),
        frame(b"[" * 100_000),
        frame(b"[]"),
        frame(b"{}"),
        frame(b'{"fn": 7}'),
        frame(b'{"fn": "unknown"}'),
        frame(b'{"fn":"getStatus"}')[:-2],
    ],
)
def test_what_dynolog_drops_is_closed_without_a_byte_and_the_next_call_answered(data: bytes) -> None:
    def act(port: int) -> tuple[bytes, bytes]:
        return exchange(port, data, half_close=True), exchange(port, frame(b'{"fn":"getStatus"}'))

    assert serve(act) == (b"", frame(b'{"status":1}'))


def test_both_loopback_addresses_answer_since_dyno_tries_only_the_first() -> None:
    if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("no IPv6 on this machine")
    answer = serve(lambda port: exchange(port, frame(b'{"fn":"getStatus"}'), "::1"))
    assert answer == frame(b'{"status":1}')


def test_client_that_hangs_delays_nobody() -> None:
    def act(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as idle:
            idle.sendall(b"\x10")
            return exchange(port, frame(b'{"fn":"getStatus"}'))

    assert serve(act) == frame(b'{"status":1}')


def test_caller_s_uid_decides_whose_trainers_are_matched() -> None:
    registry = TrainerRegistry(lambda: 1000.0)
    registry.record_poll(50, os.getuid(), Poll(2, 0, (50,)), b"\0a")
    request = {"fn": "setKinetOnDemandRequest", "config": "A=1", "pids": [0]}
    answer = serve(lambda port: call("127.0.0.1", port, request), registry)
    assert answer["activityProfilersTriggered"] == [50]


def test_client_says_why_there_is_no_answer() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(DynoCallError, match="refused"):
            call("127.0.0.1", port, {"fn": "getStatus"})
    with pytest.raises(DynoCallError, match="closed"):
        serve(lambda port: call("127.0.0.1", port, {"fn": "unknown"}))


def test_answers_are_json_of_one_line_in_order() -> None:
    text = serve(lambda port: exchange(port, frame(b'{"fn":"getTrainers"}')))[4:]
    assert json.loads(text) == {"trainers": []}
