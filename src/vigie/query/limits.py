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
        self._kept = 0
        self._passing = 0
        self._guard = threading.Lock()

    def spend(self, samples: int) -> None:
        """Count samples that the query loads or creates."""
        with self._guard:
            self._kept += samples
            self._note(samples)
        self._check()

    @contextmanager
    def held(self, samples: int) -> Iterator[None]:
        """Count samples that are released at the end."""
        with self._guard:
            self._passing += samples
            self._note(samples)
        try:
            self._check()
            yield
        finally:
            with self._guard:
                self._passing -= samples

    def check_time(self) -> None:
        """Raise when the query has run too long."""
        if self._clock() > self._deadline:
            raise QueryTimeoutError("query timed out in expression evaluation")

    def _note(self, samples: int) -> None:
        self.total += samples
        self.peak = max(self.peak, self._kept + self._passing)

    def _check(self) -> None:
        if self._kept + self._passing > self.limits.samples:
            raise TooManySamplesError
        self.check_time()
