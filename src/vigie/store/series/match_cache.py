"""Which columns of layouts match a selector, and how several layouts combine, cached for one query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from vigie.store.series.layout import ColumnCut, Columns, Layout, match_layout, unique
from vigie.store.series.matcher import CompiledMatcher


class MergedLayout(NamedTuple):
    """The union of several layouts' matching series, and the rows that each layout fills."""

    layout: Layout
    columns: Columns
    lines: Mapping[Layout, Columns | None]  # None for all, in the same order


class MatchCache:
    """Caches, for one query, matching columns and merged layouts."""

    def __init__(self) -> None:
        self._plans: dict[tuple[tuple[Layout, ...], tuple[CompiledMatcher, ...]], MergedLayout] = {}

    def columns(self, layout: Layout, conditions: tuple[CompiledMatcher, ...]) -> Columns:
        """Return the columns that meet the conditions."""
        return match_layout(layout, conditions).columns

    def cuts(self, layout: Layout, conditions: tuple[CompiledMatcher, ...]) -> list[ColumnCut]:
        """Return the columns of an ordered layout by group."""
        return match_layout(layout, conditions).cuts(layout)

    def plan(self, layouts: tuple[Layout, ...], conditions: tuple[CompiledMatcher, ...]) -> MergedLayout:
        """Return how the matching columns of these layouts fit into one matrix."""
        key = (layouts, conditions)
        if key not in self._plans:
            self._plans[key] = self._planned(layouts, conditions)
        return self._plans[key]

    def _planned(self, layouts: tuple[Layout, ...], conditions: tuple[CompiledMatcher, ...]) -> MergedLayout:
        if len(layouts) == 1:
            return MergedLayout(layouts[0], self.columns(layouts[0], conditions), {layouts[0]: None})
        keys = {layout: match_layout(layout, conditions).keys for layout in layouts}
        most = max(layouts, key=lambda layout: len(keys[layout]))
        if all(some == keys[most] for some in keys.values()):
            return MergedLayout(most, self.columns(most, conditions), dict.fromkeys(layouts))
        together = unique(key for layout in (most, *layouts) for key in keys[layout])
        line = {key: i for i, key in enumerate(together)}
        lines = {
            layout: None if some == together else np.array([line[key] for key in some], dtype=np.intp)
            for layout, some in keys.items()
        }
        if len(together) == len(keys[most]):
            return MergedLayout(most, self.columns(most, conditions), lines)
        return MergedLayout(Layout(together), np.arange(len(together)), lines)
