"""A clock whose hours pass in a moment."""

from __future__ import annotations

import asyncio


class SimulatedClock:
    """Time passes only when somebody sleeps."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def wall(self) -> float:
        return self._now

    def monotonic(self) -> float:
        """Return the same: this clock never steps by itself."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self._now += seconds
        await asyncio.sleep(0)
