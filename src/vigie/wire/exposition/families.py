"""Merges metric families that several sources expose, such as those of GPUs of two vendors."""

from __future__ import annotations

from collections import Counter

from vigie.model import Table
from vigie.model.table import TableValues


class FamilyTable:
    """Merges tables that share a family. Recomputed only when a table changes."""

    def __init__(self) -> None:
        self._tables: tuple[Table, ...] = ()
        self._shared: list[int] = []
        self._indexes: list[int] = []
        self._merged = Table("", 0, ())

    def merge(self, parts: list[TableValues]) -> list[TableValues]:
        """Return the tables such that no two share a family."""
        tables = tuple([part.table for part in parts])
        if tables != self._tables:
            self._tables = tables
            self._find_shared(tables)
        if not self._shared:
            return parts
        shared = [parts[place] for place in self._shared]
        numbers = [number for part in shared for number in part.numbers]
        merged = TableValues(
            self._merged, tuple(numbers[place] for place in self._indexes), all(part.plain for part in shared)
        )
        return [*(part for place, part in enumerate(parts) if place not in self._shared), merged]

    def _find_shared(self, tables: tuple[Table, ...]) -> None:
        families = [{metric.family for metric, _ in table.series} for table in tables]
        times = Counter(family for found in families for family in found)
        self._shared = [
            place for place, found in enumerate(families) if any(times[family] > 1 for family in found)
        ]
        series = [one for place in self._shared for one in tables[place].series]
        rank: dict[str, int] = {}
        for place, (metric, _) in enumerate(series):
            rank.setdefault(metric.family, place)
        self._indexes = sorted(range(len(series)), key=lambda place: rank[series[place][0].family])
        name = "+".join(tables[place].source for place in self._shared)
        self._merged = Table(name, self._merged.version + 1, tuple(series[place] for place in self._indexes))
