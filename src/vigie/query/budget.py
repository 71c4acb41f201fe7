"""How much a query may cost, and the errors it gets when it costs more."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vigie.query.errors import QueryTimeout, TooManySamples


class Limits(NamedTuple):
    """What one query may use: samples held in memory, points in each series of its answer, and seconds."""

    samples: int = 50_000_000
    points: int = 11_000
    seconds: float = 120.0


class Budget:
    """What is left of the limits for one query."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self._clock = clock
        self._deadline = clock() + limits.seconds
        self._used = 0

    def spend(self, samples: int) -> None:
        """Count samples that the query loads or makes."""
        self._used += samples
        if self._used > self.limits.samples:
            raise TooManySamples
        self.check_time()

    def check_time(self) -> None:
        """Raise when the query has run too long."""
        if self._clock() > self._deadline:
            raise QueryTimeout("query timed out in expression evaluation")
