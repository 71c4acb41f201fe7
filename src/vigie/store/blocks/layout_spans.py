"""The newest layouts of a stream on disk, with their time spans; older ones are read from disk."""

from __future__ import annotations

from typing import NamedTuple

BEFORE_ALL = -(1 << 63)
MAX_LISTED = 4  # layouts per stream; a stream with stable series has one


class LayoutSpan(NamedTuple):
    """A layout of a stream, both by number, with the first and last time of its chunks."""

    stream: int
    layout: int
    start: int
    end: int


class LayoutSpans:
    """Bounded memory per stream, even if its series churn."""

    def __init__(self) -> None:
        self.start = self.end = BEFORE_ALL  # of all chunks on disk
        self.listed_from = BEFORE_ALL  # layouts that ended before are not listed here
        self._newest: dict[int, tuple[int, int]] = {}

    def __bool__(self) -> bool:
        return self.end != BEFORE_ALL

    def add(self, layout: int, start: int, end: int) -> None:
        self.start = min(self.start, start) if self else start
        self.end = max(self.end, end)
        first, last = self._newest.get(layout, (start, end))
        self._newest[layout] = (min(first, start), max(last, end))
        if len(self._newest) > MAX_LISTED:
            oldest = min(self._newest, key=lambda layout: self._newest[layout][1])
            self.listed_from = max(self.listed_from, self._newest.pop(oldest)[1] + 1)

    def newest(self) -> int | None:
        return max(self._newest, key=lambda layout: self._newest[layout][1], default=None)

    def between(self, start: int, end: int) -> list[int]:
        """Return the listed layouts that overlap a time range."""
        return [layout for layout, (first, last) in self._newest.items() if first <= end and last >= start]
