"""A clock without waiting."""

from __future__ import annotations

import asyncio


class SimulatedClock:
    """Time passes only in sleep()."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def wall(self) -> float:
        return self._now

    def monotonic(self) -> float:
        """Return the same time: this clock is never stepped."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Advance the clock at once."""
        self._now += seconds
        await asyncio.sleep(0)
