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
    rows: Mapping[Layout, Columns | None]  # None for all, in the same order


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
            self._plans[key] = self._build_plan(layouts, conditions)
        return self._plans[key]

    def _build_plan(
        self, layouts: tuple[Layout, ...], conditions: tuple[CompiledMatcher, ...]
    ) -> MergedLayout:
        if len(layouts) == 1:
            return MergedLayout(layouts[0], self.columns(layouts[0], conditions), {layouts[0]: None})
        keys = {layout: match_layout(layout, conditions).keys for layout in layouts}
        widest = max(layouts, key=lambda layout: len(keys[layout]))
        if all(keys_of_layout == keys[widest] for keys_of_layout in keys.values()):
            return MergedLayout(widest, self.columns(widest, conditions), dict.fromkeys(layouts))
        merged_keys = unique(key for layout in (widest, *layouts) for key in keys[layout])
        row = {key: i for i, key in enumerate(merged_keys)}
        rows = {
            layout: None
            if keys_of_layout == merged_keys
            else np.array([row[key] for key in keys_of_layout], dtype=np.intp)
            for layout, keys_of_layout in keys.items()
        }
        if len(merged_keys) == len(keys[widest]):
            return MergedLayout(widest, self.columns(widest, conditions), rows)
        return MergedLayout(Layout(merged_keys), np.arange(len(merged_keys)), rows)
