"""Which series an exporter gives, in which order; targets that give the same share it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

from vigie.model import Table
from vigie.model.nan import ABSENT
from vigie.model.table import Series
from vigie.server.ingest.metadata import MetadataCache

SOURCE = "scrape"
MAX_KNOWN = 200_000  # series texts, about 80 MB

Pairs = tuple[tuple[str, str], ...]


class LabelPolicy(NamedTuple):
    """Where a target's series are filed: under which source, and which labels of its own they may replace."""

    source: str = SOURCE
    replaceable: frozenset[str] = frozenset()


PLAIN = LabelPolicy()


class LabelGroup(NamedTuple):
    """Series that replace the same labels of their target by the same values."""

    replaced: Pairs
    table: Table
    columns: tuple[int, ...] | None  # of the layout; None for all


class ScrapeLayout:
    """The texts of the series as the exporter spells them, up to the value, and the tables that they make."""

    def __init__(self, texts: tuple[str, ...], groups: tuple[LabelGroup, ...]) -> None:
        self.texts, self.groups = texts, groups
        self.lengths = tuple(map(len, texts))

    def __len__(self) -> int:
        return len(self.texts)

    def absent(self) -> tuple[float, ...]:
        """Return a row that ends every series."""
        return (ABSENT,) * len(self.texts)

    def parts(self, row: Sequence[float]) -> Iterator[tuple[Pairs, Table, tuple[float, ...]]]:
        """Yield the row's tables, each with the labels that it replaces."""
        for group in self.groups:
            values = row if group.columns is None else [row[column] for column in group.columns]
            yield group.replaced, group.table, tuple(values)


class ScrapeCache:
    """Every series text met lately, and the layouts in use; one for all targets."""

    def __init__(self, most: int = MAX_KNOWN) -> None:
        self.known: dict[str, Series] = {}
        self._most = most
        self._layouts: WeakValueDictionary[tuple[LabelPolicy, tuple[str, ...]], ScrapeLayout] = (
            WeakValueDictionary()
        )
        self._versions = itertools.count(1)
        self.described = MetadataCache()

    def learn(self, text: str, series: Series) -> None:
        """Keep what a text means; when there are too many, all are forgotten."""
        if len(self.known) >= self._most:
            self.known.clear()
        self.known[text] = series

    def layout(self, found: dict[str, Series], shelf: LabelPolicy) -> ScrapeLayout:
        texts = tuple(map(sys.intern, found))  # most stand in many layouts
        layout = self._layouts.get((shelf, texts))
        if layout is None:
            groups = tuple(self._groups(list(found.values()), shelf, next(self._versions)))
            layout = self._layouts[shelf, texts] = ScrapeLayout(texts, groups)
        return layout

    def _groups(self, all_series: list[Series], shelf: LabelPolicy, version: int) -> Iterator[LabelGroup]:
        columns: dict[Pairs, list[int]] = {}
        for column, series in enumerate(all_series):
            columns.setdefault(_replacing(series, shelf.replaceable), []).append(column)
        for replaced, places in columns.items() or [((), [])]:
            names = {name for name, _ in replaced}
            rows = tuple(_without(all_series[place], names) for place in places)
            everything = len(columns) < 2
            table = Table(shelf.source, version, rows)
            yield LabelGroup(replaced, table, None if everything else tuple(places))


def _replacing(series: Series, replaceable: Iterable[str]) -> Pairs:
    if not replaceable:
        return ()
    metric, values = series
    return tuple(
        sorted(
            (name, value) for name, value in zip(metric.labels, values, strict=True) if name in replaceable
        )
    )


def _without(series: Series, names: set[str]) -> Series:
    if not names:
        return series
    metric, values = series
    kept = [(n, v) for n, v in zip(metric.labels, values, strict=True) if n not in names]
    return metric._replace(labels=tuple(n for n, _ in kept)), tuple(v for _, v in kept)
