"""What stands before a store and changes its answers, but not how far back they go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reaching(Protocol):
    """A store that keeps rollups beside raw samples."""

    def raw_since(self) -> int:
        """Return from when on every raw sample is still there."""

    def rollup_widths(self) -> Sequence[int]:
        """Return how wide the buckets are that it keeps."""

    def rolled_since(self, width: int) -> int:
        """Return how far back buckets of this width go."""


class SameReach:
    """Goes back as far as the store behind it."""

    def __init__(self, behind: Reaching) -> None:
        self._behind = behind

    def raw_since(self) -> int:
        """Return from when on every raw sample is still there."""
        return self._behind.raw_since()

    def rollup_widths(self) -> Sequence[int]:
        """Return how wide the buckets are that it keeps."""
        return self._behind.rollup_widths()

    def rolled_since(self, width: int) -> int:
        """Return how far back buckets of this width go."""
        return self._behind.rolled_since(width)
