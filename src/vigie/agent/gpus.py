"""Lets go of the GPUs' driver for a while on command, and takes it again: for a reset or another driver."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from urllib.parse import parse_qs

from vigie.agent.http import Request, Response
from vigie.agent.local import Peer
from vigie.agent.reading import Reading

RELEASE, TAKE = "/gpus/release", "/gpus/take"
LONGEST = 7 * 86_400.0


class Gpus:
    """Answers commands about the driver that the sources of this agent share."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._hosts = [reading.host for reading in readings if reading.host.nvml]

    async def answer(self, request: Request, peer: Peer) -> Response:
        """Release the driver or take it again, and say what came of it."""
        if not self._hosts or self._hosts[0].nvml is None:
            return Response(404, b"this agent reads no GPU\n")
        host, driver = self._hosts[0], self._hosts[0].nvml
        if request.path == TAKE:
            driver.resume()
            return Response(200, b"the driver is used again from the next reading on\n")
        seconds = _seconds(request.query)
        if seconds is None:
            return Response(400, f"seconds should be above 0 and at most {LONGEST:g}\n".encode())
        by = await asyncio.to_thread(lambda: peer.name or f"uid {peer.uid}")
        refused = await asyncio.to_thread(driver.release, seconds, by)
        if refused:
            return Response(409, f"{refused}\n".encode())
        host.happened("gpus_released", driver.released, severity="info")
        return Response(200, f"{driver.released}; no handle of the driver is open\n".encode())


def _seconds(query: str) -> float | None:
    try:
        seconds = float(parse_qs(query)["seconds"][0])
    except (KeyError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and 0 < seconds <= LONGEST else None
