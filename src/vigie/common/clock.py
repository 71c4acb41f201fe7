"""Time, injected: a simulated day passes in a moment."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the loop needs of time."""

    def wall(self) -> float:
        """Return the wall clock in seconds since 1970."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never steps."""

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds of this clock."""


class SystemClock:
    wall = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)
