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

STREAMS_PER_LOCK = 256  # per acquisition of the lock

Conditions = tuple[CompiledMatcher, ...]
Lock = AbstractContextManager[object]
LayoutRef = Layout | int | Schema  # in memory, its number on disk, or a schema where that is enough


class SchemaMatch(NamedTuple):
    """What a schema tells about its matching series."""

    metrics: list[str]
    labels: frozenset[str]
    exact: bool  # all series of these metrics match
    complete: bool  # and there are no other metrics


class Lookup:
    """One lookup in one index, and in the block file with its older layouts."""

    def __init__(
        self,
        index: Index,
        found: Sequence[StreamMatch],
        blocks: BlockStore,
        lock: Lock,
        start: int,
        end: int,
    ) -> None:
        self._index, self._found, self._blocks, self._lock = index, found, blocks, lock
        self._start, self._end = start, end
        self._schema_matches: dict[tuple[Schema, Conditions], SchemaMatch | None] = {}
        self._columns: dict[tuple[LayoutRef, Conditions], Columns] = {}
        self._refs_cache: dict[
            tuple[tuple[LayoutRef, ...], Conditions], list[tuple[LayoutRef, SchemaMatch]]
        ] = {}

    def series(self) -> Iterator[tuple[Target, Key]]:
        """Yield matching series as target and key, some more than once."""
        for match, refs in self._matching_refs(None):
            target = match.stream.name.target
            for ref, schema_match in refs:
                layout = self._layout(ref)
                for i in self._match(ref, layout, schema_match, match.conditions).tolist():
                    yield target, layout.series[i]

    def label_names(self) -> set[str]:
        names: set[str] = set()
        for match, refs in self._matching_refs(NAME):
            for ref, schema_match in refs:
                if names >= schema_match.labels and names >= match.target.keys():
                    continue
                if schema_match.exact:
                    names.update(schema_match.labels, match.target)
                    continue
                layout = self._layout(ref)
                columns = self._match(ref, layout, schema_match, match.conditions)
                if len(columns):
                    names.update(layout.names_of_labels(columns), match.target)
        return names

    def label_values(self, name: str) -> set[str]:
        values: set[str] = set()
        visited: set[tuple[object, Conditions]] = set()
        for match, refs in self._matching_refs(name):
            own = match.target.get(name)
            if own is None:
                for ref, schema_match in refs:
                    if name in schema_match.labels and (ref, match.conditions) not in visited:
                        visited.add((ref, match.conditions))
                        values |= self._values(name, ref, schema_match, match.conditions)
            elif own not in values and any(self._has_any(match, *each) for each in refs):
                values.add(own)
        return values

    def _values(
        self, name: str, ref: LayoutRef, schema_match: SchemaMatch, conditions: Conditions
    ) -> set[str]:
        if name == NAME and schema_match.exact:
            return set(schema_match.metrics)
        layout = self._layout(ref)
        return layout.values_of(name, self._match(ref, layout, schema_match, conditions))

    def _has_any(self, found: StreamMatch, ref: LayoutRef, schema_match: SchemaMatch) -> bool:
        return schema_match.exact or bool(
            len(self._match(ref, self._layout(ref), schema_match, found.conditions))
        )

    def _match(
        self, ref: LayoutRef, layout: Layout, schema_match: SchemaMatch, conditions: Conditions
    ) -> Columns:
        if schema_match.complete:
            return np.arange(len(layout))
        columns = self._columns.get((ref, conditions))
        if columns is None:
            columns = self._columns[ref, conditions] = layout.match(conditions)
        return columns

    def _matching_refs(
        self, label: str | None
    ) -> Iterator[tuple[StreamMatch, list[tuple[LayoutRef, SchemaMatch]]]]:
        """Yield each stream with its matching layouts, or schemas if only values of `label` are needed."""
        for first in range(0, len(self._found), STREAMS_PER_LOCK):
            some = self._found[first : first + STREAMS_PER_LOCK]
            with self._lock:
                refs = [self._find_refs(match, label) for match in some]
            yield from zip(some, refs, strict=True)

    def _find_refs(self, found: StreamMatch, label: str | None) -> list[tuple[LayoutRef, SchemaMatch]]:
        """Return the distinct layouts of a stream that may match."""
        stream, start, end = found.stream, self._start, self._end
        refs: dict[LayoutRef, None] = {
            piece.layout: None for piece in stream.pieces if piece.start <= end and piece.end >= start
        }
        refs.update(dict.fromkeys(self._stored_refs(found, label)))
        key = tuple(refs), found.conditions
        matching = self._refs_cache.get(key)
        if matching is None:  # similar nodes have the same layouts
            matching = self._refs_cache[key] = self._match_refs(key[0], found.conditions)
        return matching

    def _may_contain(self, found: StreamMatch, label: str | None) -> bool:
        """Report, from memory, whether a stream ever had matching series."""
        fits = [self._match_schema(schema, found.conditions) for schema in self._index.schemas(found.stream)]
        known = label is None or label in found.target
        return any(
            schema_match is not None and (known or label in schema_match.labels) for schema_match in fits
        )

    def _match_refs(
        self, refs: Iterable[LayoutRef], conditions: Conditions
    ) -> list[tuple[LayoutRef, SchemaMatch]]:
        matching = []
        for ref in refs:
            try:
                schema = self._schema(ref)
            except CorruptionError as error:
                self._blocks.corruption_log.add(str(error))
                continue
            schema_match = self._match_schema(schema, conditions)
            if schema_match is not None:
                matching.append((ref, schema_match))
        return matching

    def _match_schema(self, schema: Schema, conditions: Conditions) -> SchemaMatch | None:
        key = (schema, conditions)
        if key not in self._schema_matches:
            metrics = schema.match(conditions)
            exact = only_names(conditions)
            self._schema_matches[key] = (
                SchemaMatch(
                    metrics,
                    schema.names_of_labels(metrics),
                    exact,
                    exact and len(metrics) == len(schema.metrics),
                )
                if metrics
                else None
            )
        return self._schema_matches[key]

    def _schema(self, ref: LayoutRef) -> Schema:
        if isinstance(ref, Schema):
            return ref
        return self._blocks.layouts.schema(ref) if isinstance(ref, int) else ref.schema

    def _layout(self, ref: LayoutRef) -> Layout:
        assert not isinstance(ref, Schema)  # a schema is used only where it is enough
        if isinstance(ref, Layout):
            return ref
        try:
            return self._blocks.layouts.layout(ref)
        except MissingDataError:
            return Layout(())  # deleted in the meantime, with its last chunk
        except CorruptionError as error:
            self._blocks.corruption_log.add(str(error))
            return Layout(())

    def _stored_refs(self, found: StreamMatch, label: str | None) -> Collection[LayoutRef]:
        """Return the layouts on disk, or schemas, or one layout per schema, where these are enough."""
        stream, spans = found.stream, found.stream.spans
        if not spans or (stream.pieces and self._start >= stream.complete_from):
            return ()
        schema_is_enough = (label == NAME or label in found.target) and only_names(found.conditions)
        if schema_is_enough and self._start <= spans.start and spans.end <= self._end:
            return self._index.schemas(stream)
        if self._start >= spans.listed_from:
            return spans.between(self._start, self._end)
        if not self._may_contain(found, label):
            return ()
        if schema_is_enough:
            return self._blocks.layouts_by_schema(stream.number, self._start, self._end)
        return [span.layout for span in self._blocks.spans(stream.number, self._start, self._end)]


def series(lookups: Iterable[Lookup], limit: int | None = None) -> list[Labels]:
    """Return distinct label sets, at most `limit`."""
    seen: dict[tuple[Target, Key], None] = {}
    for each in chain.from_iterable(lookup.series() for lookup in lookups):
        if limit is not None and len(seen) >= limit:
            break
        seen[each] = None
    label_names_of_targets = {tuple(name for name, _ in target) for target in {target for target, _ in seen}}
    label_sets: list[Labels] = [dict(target + key) for target, key in seen]
    if len(label_names_of_targets) > 1:  # a label may be on the target in one, and on the series in another
        return list({frozenset(labels.items()): labels for labels in label_sets}.values())
    return label_sets


def label_names(lookups: Iterable[Lookup]) -> list[str]:
    return sorted(set[str]().union(*(lookup.label_names() for lookup in lookups)))


def label_values(name: str, lookups: Iterable[Lookup]) -> list[str]:
    return sorted(set[str]().union(*(lookup.label_values(name) for lookup in lookups)))
