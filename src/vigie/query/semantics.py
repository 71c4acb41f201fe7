"""The differences between Prometheus 2 and 3."""

from __future__ import annotations

from enum import Enum


class Semantics(Enum):
    PROMETHEUS_2 = 2
    PROMETHEUS_3 = 3

    @property
    def left_open(self) -> bool:
        """Report whether a sample exactly at the start of a range is outside."""
        return self is Semantics.PROMETHEUS_3

    @property
    def caps_before_zero(self) -> bool:
        """Report whether rate limits the extrapolation before it checks for zero."""
        return self is Semantics.PROMETHEUS_3


DEFAULT = Semantics.PROMETHEUS_3
