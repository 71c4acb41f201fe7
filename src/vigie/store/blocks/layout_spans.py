"""Which layouts a stream has on disk and from when to when: the newest few, older ones the disk knows."""

from __future__ import annotations

from typing import NamedTuple

BEFORE_ALL = -(1 << 63)
KEPT = 4  # layouts of a stream; one whose series stay the same has but one


class LayoutSpan(NamedTuple):
    """A layout of a stream, by their numbers on disk, and the first and last time of its chunks."""

    stream: int
    layout: int
    start: int
    end: int


class LayoutSpans:
    """Needs no more memory for a stream whose series come and go than for one whose series stay."""

    def __init__(self) -> None:
        self.start = self.end = BEFORE_ALL  # of all that is on disk
        self.known_from = BEFORE_ALL  # what ended before is not kept here
        self._newest: dict[int, tuple[int, int]] = {}

    def __bool__(self) -> bool:
        return self.end != BEFORE_ALL

    def add(self, layout: int, start: int, end: int) -> None:
        """Note that there is a chunk on disk."""
        self.start = min(self.start, start) if self else start
        self.end = max(self.end, end)
        first, last = self._newest.get(layout, (start, end))
        self._newest[layout] = (min(first, start), max(last, end))
        if len(self._newest) > KEPT:
            oldest = min(self._newest, key=lambda each: self._newest[each][1])
            self.known_from = max(self.known_from, self._newest.pop(oldest)[1] + 1)

    def newest(self) -> int | None:
        """Return the layout of the last chunk."""
        return max(self._newest, key=lambda each: self._newest[each][1], default=None)

    def between(self, start: int, end: int) -> list[int]:
        """Return the layouts that are known to reach into a time span."""
        return [layout for layout, (first, last) in self._newest.items() if first <= end and last >= start]
