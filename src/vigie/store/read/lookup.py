"""Series and label lookups, without reading values: a chunk that overlaps the time range counts.

Schemas answer what they can, since there are few of them; otherwise each layout is read once. For streams
with churn, layouts are read from disk and not cached. The lock is taken for a few streams at a time, so that
appends do not wait for the whole lookup.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import NamedTuple

import numpy as np

from vigie.query.storage import Labels
from vigie.store.blocks.block_store import BlockStore
from vigie.store.errors import CorruptionError, MissingDataError
from vigie.store.heads.index import Index, StreamMatch
from vigie.store.series.layout import NAME, Columns, Key, Layout, Target
from vigie.store.series.matcher import CompiledMatcher
from vigie.store.series.schema import Schema, only_names

STREAMS_A_LOOK = 256  # per acquisition of the lock

Conditions = tuple[CompiledMatcher, ...]
Guard = AbstractContextManager[object]
Place = Layout | int | Schema  # in memory, its number on disk, or a schema where that is enough


class StreamFit(NamedTuple):
    """What a schema tells about its matching series."""

    metrics: list[str]
    labels: frozenset[str]
    surely: bool  # all series of these metrics match
    whole: bool  # and there are no other metrics


class Lookup:
    """One lookup in one index, and in the block file with its older layouts."""

    def __init__(
        self,
        index: Index,
        found: Sequence[StreamMatch],
        blocks: BlockStore,
        guard: Guard,
        start: int,
        end: int,
    ) -> None:
        self._index, self._found, self._blocks, self._guard = index, found, blocks, guard
        self._start, self._end = start, end
        self._fits: dict[tuple[Schema, Conditions], StreamFit | None] = {}
        self._columns: dict[tuple[Place, Conditions], Columns] = {}
        self._fitting_places: dict[tuple[tuple[Place, ...], Conditions], list[tuple[Place, StreamFit]]] = {}

    def series(self) -> Iterator[tuple[Target, Key]]:
        """Yield matching series as target and key, some more than once."""
        for one, places in self._fitting(None):
            target = one.stream.name.target
            for place, fit in places:
                layout = self._layout(place)
                for i in self._match(place, layout, fit, one.conditions).tolist():
                    yield target, layout.series[i]

    def label_names(self) -> set[str]:
        names: set[str] = set()
        for one, places in self._fitting(NAME):
            for place, fit in places:
                if names >= fit.labels and names >= one.target.keys():
                    continue
                if fit.surely:
                    names.update(fit.labels, one.target)
                    continue
                layout = self._layout(place)
                columns = self._match(place, layout, fit, one.conditions)
                if len(columns):
                    names.update(layout.names_of_labels(columns), one.target)
        return names

    def label_values(self, name: str) -> set[str]:
        values: set[str] = set()
        asked: set[tuple[object, Conditions]] = set()
        for one, places in self._fitting(name):
            own = one.target.get(name)
            if own is None:
                for place, fit in places:
                    if name in fit.labels and (place, one.conditions) not in asked:
                        asked.add((place, one.conditions))
                        values |= self._values(name, place, fit, one.conditions)
            elif own not in values and any(self._any(one, *each) for each in places):
                values.add(own)
        return values

    def _values(self, name: str, place: Place, fit: StreamFit, conditions: Conditions) -> set[str]:
        if name == NAME and fit.surely:
            return set(fit.metrics)
        layout = self._layout(place)
        return layout.values_of(name, self._match(place, layout, fit, conditions))

    def _any(self, found: StreamMatch, place: Place, fit: StreamFit) -> bool:
        return fit.surely or bool(len(self._match(place, self._layout(place), fit, found.conditions)))

    def _match(self, place: Place, layout: Layout, fit: StreamFit, conditions: Conditions) -> Columns:
        if fit.whole:
            return np.arange(len(layout))
        columns = self._columns.get((place, conditions))
        if columns is None:
            columns = self._columns[place, conditions] = layout.match(conditions)
        return columns

    def _fitting(self, label: str | None) -> Iterator[tuple[StreamMatch, list[tuple[Place, StreamFit]]]]:
        """Yield each stream with its matching layouts, or schemas if only values of `label` are needed."""
        for first in range(0, len(self._found), STREAMS_A_LOOK):
            some = self._found[first : first + STREAMS_A_LOOK]
            with self._guard:
                places = [self._places(one, label) for one in some]
            yield from zip(some, places, strict=True)

    def _places(self, found: StreamMatch, label: str | None) -> list[tuple[Place, StreamFit]]:
        """Return the distinct layouts of a stream that may match."""
        stream, start, end = found.stream, self._start, self._end
        places: dict[Place, None] = {
            piece.layout: None for piece in stream.pieces if piece.start <= end and piece.end >= start
        }
        places.update(dict.fromkeys(self._stored(found, label)))
        key = tuple(places), found.conditions
        fitting = self._fitting_places.get(key)
        if fitting is None:  # similar nodes have the same layouts
            fitting = self._fitting_places[key] = self._fits_of(key[0], found.conditions)
        return fitting

    def _may_have(self, found: StreamMatch, label: str | None) -> bool:
        """Report, from memory, whether a stream ever had matching series."""
        fits = [self._fit(outline, found.conditions) for outline in self._index.outlines(found.stream)]
        known = label is None or label in found.target
        return any(fit is not None and (known or label in fit.labels) for fit in fits)

    def _fits_of(self, places: Iterable[Place], conditions: Conditions) -> list[tuple[Place, StreamFit]]:
        fitting = []
        for place in places:
            try:
                outline = self._outline(place)
            except CorruptionError as error:
                self._blocks.damages.add(str(error))
                continue
            fit = self._fit(outline, conditions)
            if fit is not None:
                fitting.append((place, fit))
        return fitting

    def _fit(self, outline: Schema, conditions: Conditions) -> StreamFit | None:
        key = (outline, conditions)
        if key not in self._fits:
            metrics = outline.match(conditions)
            surely = only_names(conditions)
            self._fits[key] = (
                StreamFit(
                    metrics,
                    outline.names_of_labels(metrics),
                    surely,
                    surely and len(metrics) == len(outline.metrics),
                )
                if metrics
                else None
            )
        return self._fits[key]

    def _outline(self, place: Place) -> Schema:
        if isinstance(place, Schema):
            return place
        return self._blocks.layouts.outline(place) if isinstance(place, int) else place.outline

    def _layout(self, place: Place) -> Layout:
        assert not isinstance(place, Schema)  # a schema is used only where it is enough
        if isinstance(place, Layout):
            return place
        try:
            return self._blocks.layouts.layout(place)
        except MissingDataError:
            return Layout(())  # deleted in the meantime, with its last chunk
        except CorruptionError as error:
            self._blocks.damages.add(str(error))
            return Layout(())

    def _stored(self, found: StreamMatch, label: str | None) -> Collection[Place]:
        """Return the layouts on disk, or schemas, or one layout per schema, where these are enough."""
        stream, spans = found.stream, found.stream.spans
        if not spans or (stream.pieces and self._start >= stream.complete_from):
            return ()
        outlined = (label == NAME or label in found.target) and only_names(found.conditions)
        if outlined and self._start <= spans.start and spans.end <= self._end:
            return self._index.outlines(stream)
        if self._start >= spans.known_from:
            return spans.between(self._start, self._end)
        if not self._may_have(found, label):
            return ()
        if outlined:
            return self._blocks.unlike_layouts(stream.number, self._start, self._end)
        return [span.layout for span in self._blocks.spans(stream.number, self._start, self._end)]


def series(lookups: Iterable[Lookup], most: int | None = None) -> list[Labels]:
    """Return distinct label sets, at most `limit`."""
    seen: dict[tuple[Target, Key], None] = {}
    for each in chain.from_iterable(lookup.series() for lookup in lookups):
        if most is not None and len(seen) >= most:
            break
        seen[each] = None
    shapes = {tuple(name for name, _ in target) for target in {target for target, _ in seen}}
    made: list[Labels] = [dict(target + key) for target, key in seen]
    if len(shapes) > 1:  # a label may be on the target in one, and on the series in another
        return list({frozenset(labels.items()): labels for labels in made}.values())
    return made


def label_names(lookups: Iterable[Lookup]) -> list[str]:
    return sorted(set[str]().union(*(lookup.label_names() for lookup in lookups)))


def label_values(name: str, lookups: Iterable[Lookup]) -> list[str]:
    return sorted(set[str]().union(*(lookup.label_values(name) for lookup in lookups)))
