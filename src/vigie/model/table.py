"""The ordered series of one source on one node."""

from __future__ import annotations

from typing import NamedTuple

from vigie.model.metric import Metric

Series = tuple[Metric, tuple[str, ...]]


class Table(NamedTuple):
    """Names travel once a version; a frame then carries only the numbers, in this order."""

    source: str
    version: int
    series: tuple[Series, ...]


class TableValues(NamedTuple):
    """A table and its numbers, swapped as one so that no reader sees half of each."""

    table: Table
    numbers: tuple[float, ...]
    plain: bool = False  # whether every number is finite, so that it can be printed as it is
