"""Reads the selections of a batch of queries together: each stream once, not once per query."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from promql_parser import Expr, MatrixSelector, VectorSelector

from vigie.query.arrays import Indices
from vigie.query.errors import TooManySamplesError
from vigie.query.eval_context import to_milliseconds
from vigie.query.label_table import NAME, ConcatLabelTable, LabelTable, encode_column, take_rows
from vigie.query.matchers import matchers_of
from vigie.query.parser.grammar import nodes
from vigie.query.storage import Labels, Load, Matcher, QueryableStorage, SeriesGroup, Storage, StorageView

MAX_RANGE_MS = 600_000  # longer ranges are read alone, a few streams at a time
_LITERAL = re.compile(r"[\w:]+(\|[\w:]+)*", re.ASCII)
OtherMatchers = tuple[Matcher, ...]  # matchers other than those of the name


class BatchedSelection(NamedTuple):
    """Metrics selected at one time with the same further matchers, and how far back."""

    names: frozenset[str]
    lookback_ms: int


class _Stream(NamedTuple):
    """A group that was read, and the position of its rows among those of all groups."""

    group: SeriesGroup
    all_labels: ConcatLabelTable | None
    first: int

    def cut(self, rows: Indices, start: int, end: int) -> SeriesGroup | None:
        times = self.group.times
        low, high = int(times.searchsorted(start)), int(times.searchsorted(end, side="right"))
        if low >= high:
            return None
        if self.all_labels is None:
            labels = take_rows(self.group.labels, rows)
        else:
            labels = self.all_labels.take(rows + self.first)
        return SeriesGroup(labels, times[low:high], self.group.values[rows, low:high])


Read = dict[str, dict[int, tuple[_Stream, Indices]]]  # by name and stream number


class BatchStorage(StorageView):
    """A view of a store at one time, which reads what several queries need once."""

    def __init__(
        self,
        storage: QueryableStorage,
        selections: dict[OtherMatchers, BatchedSelection],
        at: int,
        limit: int,
    ) -> None:
        super().__init__(storage)
        self._selections, self._at = selections, at
        self._left = limit  # samples that may still be held
        self._read: dict[OtherMatchers, Read] = {}

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read a group each, in any thread; no series is in two of these groups."""
        names, others = _split_matchers(matchers)
        selection = self._selections.get(others)
        if selection is None or not names or not names <= selection.names:
            return self._storage.scan(matchers, start, end)
        if start < self._at - selection.lookback_ms or end > self._at:
            return self._storage.scan(matchers, start, end)
        if others not in self._read:
            self._read[others] = self._read_by_name(selection, others)
        return _cut_streams([self._read[others].get(name, {}) for name in sorted(names)], start, end)

    def _read_by_name(self, selection: BatchedSelection, others: OtherMatchers) -> Read:
        named = Matcher(NAME, "=~", "|".join(sorted(selection.names)))
        loads = self._storage.scan([named, *others], self._at - selection.lookback_ms, self._at)
        groups = [self._count_samples(group) for load in loads if (group := load()) is not None]
        labels = [group.labels for group in groups if isinstance(group.labels, LabelTable)]
        all_labels = ConcatLabelTable.of(labels) if groups and len(labels) == len(groups) else None
        found: Read = {name: {} for name in selection.names}
        first = 0
        for number, group in enumerate(groups):
            stream = _Stream(group, all_labels, first)
            first += len(group.labels)
            for name, rows in _rows_by_name(group.labels).items():
                found[name][number] = stream, rows
        return found

    def _count_samples(self, group: SeriesGroup) -> SeriesGroup:
        self._left -= group.values.size
        if self._left < 0:
            raise TooManySamplesError
        return group


def batch_reads(storage: Storage, expressions: Iterable[Expr], at: int, lookback: int, limit: int) -> Storage:
    """Return a view that reads once what these queries need at one time, holding at most `limit` samples."""
    if not isinstance(storage, QueryableStorage):
        return storage
    reaches: dict[OtherMatchers, dict[str, int]] = defaultdict(dict)
    for selector, lookback_ms in _find_selectors(expressions, lookback):
        names, others = _split_matchers(matchers_of(selector))
        for name in names:
            reaches[others][name] = max(lookback_ms, reaches[others].get(name, 0))
    selections = {
        others: BatchedSelection(frozenset(found), max(found.values()))
        for others, found in reaches.items()
        if len(found) > 1
    }
    return BatchStorage(storage, selections, at, limit)


def _find_selectors(expressions: Iterable[Expr], lookback: int) -> Iterator[tuple[VectorSelector, int]]:
    for node in (node for expression in expressions for node in nodes(expression)):
        if isinstance(node, MatrixSelector) and to_milliseconds(node.range) <= MAX_RANGE_MS:
            yield node.vector_selector, to_milliseconds(node.range)
        elif isinstance(node, VectorSelector) and node.offset is None and node.at is None:
            yield node, lookback


def _split_matchers(matchers: Sequence[Matcher]) -> tuple[frozenset[str], OtherMatchers]:
    """Return the metric names that matchers select, if they can be listed, and the other matchers."""
    others = tuple(matcher for matcher in matchers if matcher.label != NAME)
    named = [matcher for matcher in matchers if matcher.label == NAME]
    if len(named) == 1:
        if named[0].operator == "=":
            return frozenset((named[0].value,)), others
        if named[0].operator == "=~" and _LITERAL.fullmatch(named[0].value):
            return frozenset(named[0].value.split("|")), others
    return frozenset(), others


def _rows_by_name(labels: Sequence[Labels]) -> dict[str, Indices]:
    values, codes = encode_column(labels, NAME)
    if codes is None:
        return {values[0]: np.arange(len(labels))}
    found: dict[str, list[int]] = defaultdict(list)
    for row, code in enumerate(codes.tolist()):
        found[values[code]].append(row)
    return {name: np.array(rows, dtype=np.intp) for name, rows in found.items()}


def _cut_streams(read: Sequence[dict[int, tuple[_Stream, Indices]]], start: int, end: int) -> Iterator[Load]:
    if len(read) == 1:
        for stream, rows in read[0].values():
            yield partial(stream.cut, rows, start, end)
        return
    for number in sorted({number for each in read for number in each}):
        some = [each[number] for each in read if number in each]
        rows = np.concatenate([rows for _, rows in some])
        yield partial(some[0][0].cut, rows, start, end)
