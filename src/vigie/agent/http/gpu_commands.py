"""Commands for GPUs: release the driver or pause profiling for a time, and resume."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from vigie.agent.http.server import Request, Response
from vigie.agent.http.unix_socket import UnixPeer
from vigie.agent.source_reader import SourceReader
from vigie.sources.core.driver import PausableProfiler
from vigie.sources.core.host import Host
from vigie.sources.core.source import Unavailable
from vigie.sources.core.tree import to_printable
from vigie.wire.commands import GPUS_RELEASE, GPUS_TAKE, CommandHandler, CommandOutcome

RELEASE, TAKE, PAUSE, RESUME = "/gpus/release", "/gpus/take", "/gpus/pause", "/gpus/resume"
COMMANDS = (RELEASE, TAKE, PAUSE, RESUME)
MAX_SECONDS = 7 * 86_400.0
MAX_CALLER = 200  # characters of the caller's name


class GpuCommands:
    """Runs commands on the driver that the agent's sources share."""

    def __init__(self, readers: Sequence[SourceReader]) -> None:
        self._hosts = [reader.host for reader in readers if reader.host.nvml]

    async def answer(self, request: Request, peer: UnixPeer) -> Response:
        """Run the command and return its result."""
        value = parse_qs(request.query).get("seconds", [None])[0]
        return await self._run(request.path, value, lambda: peer.name or f"uid {peer.uid}")

    def handlers(self) -> dict[str, CommandHandler]:
        """Return the commands a server may send."""
        return {GPUS_RELEASE: partial(self._handle, RELEASE), GPUS_TAKE: partial(self._handle, TAKE)}

    async def pause_profiling(self, seconds: float, by: str) -> bool:
        """Give DCGM's counters to another profiler for a while; return whether there were any."""
        return (await self._run(PAUSE, seconds, lambda: by)).status == 200

    async def resume_profiling(self) -> bool:
        return (await self._run(RESUME, None, lambda: "")).status == 200

    async def _handle(self, path: str, arguments: Mapping[str, Any]) -> CommandOutcome:
        by = to_printable(str(arguments.get("by", ""))[:MAX_CALLER]) or "the server"
        response = await self._run(path, arguments.get("seconds"), lambda: by)
        return CommandOutcome(response.status == 200, response.body.decode().rstrip())

    async def _run(self, path: str, value: Any, by: Callable[[], str]) -> Response:
        if not self._hosts:
            return Response(404, b"this agent monitors no GPU\n")
        seconds = _parse_seconds(value) if path in (RELEASE, PAUSE) else 0.0
        if seconds is None:
            return Response(
                400, f"invalid seconds: use a number above 0 and at most {MAX_SECONDS:g}\n".encode()
            )
        do: dict[str, Callable[[float, str], Response]]
        do = {RELEASE: self._release, TAKE: self._take, PAUSE: self._pause, RESUME: self._resume}
        return await asyncio.to_thread(
            lambda: do[path](seconds, by())
        )  # looking up the name may query a network directory

    def _release(self, seconds: float, by: str) -> Response:
        host, driver = self._hosts[0], self._hosts[0].nvml
        assert driver
        refused = driver.release(seconds, by)
        if refused:
            return Response(409, f"{refused}\n".encode())
        host.report_event("gpus_released", driver.released, severity="info")
        return Response(200, f"{driver.released}; no driver handle is open\n".encode())

    def _take(self, *_: object) -> Response:
        driver = self._hosts[0].nvml
        assert driver
        driver.resume()
        return Response(200, b"the driver is used again from the next read\n")

    def _pause(self, seconds: float, by: str) -> Response:
        host, profiler = self._profiler()
        if host is None or profiler is None:
            return Response(409, b"this agent has no DCGM profiling counters\n")
        try:
            message = profiler.pause(seconds, by)
        except Unavailable as why:
            return Response(409, f"{why}\n".encode())
        host.report_event("profiling_paused", message, severity="info")
        return Response(200, f"{message}\n".encode())

    def _resume(self, *_: object) -> Response:
        profiler = self._profiler()[1]
        try:
            if profiler:
                profiler.resume()
        except Unavailable as why:
            return Response(409, f"{why}\n".encode())
        return Response(200, b"profiling resumed\n")

    def _profiler(self) -> tuple[Host | None, PausableProfiler | None]:
        for host in self._hosts:
            if "profiler" in host.cache:
                return host, host.cache["profiler"]
        return None, None


def _parse_seconds(value: Any) -> float | None:
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and 0 < seconds <= MAX_SECONDS else None
