"""Limits of a query, and its budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from vigie.query.errors import QueryTimeoutError, TooManySamplesError


class QueryLimits(NamedTuple):
    """Per query: samples in memory, points per series of the result, and seconds."""

    samples: int = 50_000_000
    points: int = 11_000
    seconds: float = 120.0


class QueryBudget:
    """Tracks what one query has used."""

    def __init__(self, limits: QueryLimits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self._clock = clock
        self._deadline = clock() + limits.seconds
        self.total = 0  # samples counted so far
        self.peak = 0  # highest number held at once
        self._held = 0
        self._temporary = 0
        self._guard = threading.Lock()

    def spend(self, samples: int) -> None:
        """Count samples that the query loads or creates."""
        with self._guard:
            self._held += samples
            self._count(samples)
        self._check()

    @contextmanager
    def hold(self, samples: int) -> Iterator[None]:
        """Count samples that are released at the end."""
        with self._guard:
            self._temporary += samples
            self._count(samples)
        try:
            self._check()
            yield
        finally:
            with self._guard:
                self._temporary -= samples

    def check_time(self) -> None:
        """Raise when the query has run too long."""
        if self._clock() > self._deadline:
            raise QueryTimeoutError("query timed out in expression evaluation")

    def _count(self, samples: int) -> None:
        self.total += samples
        self.peak = max(self.peak, self._held + self._temporary)

    def _check(self) -> None:
        if self._held + self._temporary > self.limits.samples:
            raise TooManySamplesError
        self.check_time()
