"""Where Prometheus 2 and 3 answer differently: the one parameter that says which of them we follow."""

from __future__ import annotations

from enum import Enum


class Semantics(Enum):
    PROMETHEUS_2 = 2
    PROMETHEUS_3 = 3

    @property
    def left_open(self) -> bool:
        """Tell whether a sample exactly at the start of a range lies outside it."""
        return self is Semantics.PROMETHEUS_3

    @property
    def caps_before_zero(self) -> bool:
        """Tell whether rate limits how far it extrapolates before it looks where the counter was zero."""
        return self is Semantics.PROMETHEUS_3


DEFAULT = Semantics.PROMETHEUS_3
