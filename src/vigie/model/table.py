"""The ordered series of one source on one node."""

from __future__ import annotations

from typing import NamedTuple

from vigie.model.metric import Metric

Series = tuple[Metric, tuple[str, ...]]


class Table(NamedTuple):
    """Series names are sent once per version. A frame then carries only the values, in this order."""

    source: str
    version: int
    series: tuple[Series, ...]


class TableValues(NamedTuple):
    """A table and its values, replaced together so that no thread sees a mix."""

    table: Table
    numbers: tuple[float, ...]
    plain: bool = False  # every value is finite and can be formatted with %s
