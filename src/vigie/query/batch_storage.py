"""Selections of one round that are read together: each stream of the store once, and not once a question."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from promql_parser import Expr, MatrixSelector, VectorSelector

from vigie.query.errors import TooManySamplesError
from vigie.query.eval_context import to_ms
from vigie.query.label_table import NAME, ConcatLabelTable, LabelTable, column_of, take_rows
from vigie.query.parser.grammar import nodes
from vigie.query.rollups.evaluator import RollupGroup, RollupStorage
from vigie.query.selectors import matchers_of
from vigie.query.storage import Labels, Load, Matcher, ScannableStorage, SeriesGroup, Storage
from vigie.query.vectors import Indices

LONGEST_MS = 600_000  # longer ranges are read for themselves, a few streams at a time
_LITERAL = re.compile(r"[\w:]+(\|[\w:]+)*", re.ASCII)
Further = tuple[Matcher, ...]  # what a selector demands beside names


class BatchReadable(Storage, ScannableStorage, Protocol):
    """A store that gives its groups one by one."""


class BatchedSelection(NamedTuple):
    """Metrics that are asked for at one time under the same further conditions, and how far back."""

    names: frozenset[str]
    reach: int


class _Stream(NamedTuple):
    """A group that was read, and where its rows stand among those of all groups."""

    group: SeriesGroup
    everything: ConcatLabelTable | None
    first: int

    def cut(self, rows: Indices, start: int, end: int) -> SeriesGroup | None:
        """Return some rows in a span."""
        times = self.group.times
        low, high = int(times.searchsorted(start)), int(times.searchsorted(end, side="right"))
        if low >= high:
            return None
        if self.everything is None:
            labels = take_rows(self.group.labels, rows)
        else:
            labels = self.everything.taken(rows + self.first)
        return SeriesGroup(labels, times[low:high], self.group.values[rows, low:high])


Read = dict[str, dict[int, tuple[_Stream, Indices]]]  # by name and number of the stream


class BatchStorage:
    """A store, asked at one time; what several questions need of it is read once."""

    def __init__(
        self, storage: BatchReadable, wishes: dict[Further, BatchedSelection], at: int, most: int
    ) -> None:
        self._storage, self._wishes, self._at = storage, wishes, at
        self._left = most  # samples that may still be held
        self._read: dict[Further, Read] = {}

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        """Return the samples of the series that the matchers fit."""
        return [group for load in self.scan(matchers, start, end) if (group := load()) is not None]

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read a group each, in any thread; no series is in two of these groups."""
        names, further = _names(matchers)
        wish = self._wishes.get(further)
        if wish is None or not names or not names <= wish.names:
            return self._storage.scan(matchers, start, end)
        if start < self._at - wish.reach or end > self._at:
            return self._storage.scan(matchers, start, end)
        if further not in self._read:
            self._read[further] = self._by_name(wish, further)
        return _cuts([self._read[further].get(name, {}) for name in sorted(names)], start, end)

    def _by_name(self, wish: BatchedSelection, further: Further) -> Read:
        named = Matcher(NAME, "=~", "|".join(sorted(wish.names)))
        loads = self._storage.scan([named, *further], self._at - wish.reach, self._at)
        groups = [self._counted(group) for load in loads if (group := load()) is not None]
        labels = [group.labels for group in groups if isinstance(group.labels, LabelTable)]
        everything = ConcatLabelTable.of(labels) if groups and len(labels) == len(groups) else None
        found: Read = {name: {} for name in wish.names}
        first = 0
        for number, group in enumerate(groups):
            stream = _Stream(group, everything, first)
            first += len(group.labels)
            for name, rows in _rows(group.labels).items():
                found[name][number] = stream, rows
        return found

    def _counted(self, group: SeriesGroup) -> SeriesGroup:
        self._left -= group.values.size
        if self._left < 0:
            raise TooManySamplesError
        return group

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of the series that have samples between the two times."""
        return self._storage.series(matchers, start, end)

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted names of their labels."""
        return self._storage.label_names(matchers, start, end)

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted values of one of their labels."""
        return self._storage.label_values(name, matchers, start, end)


class _WithRollups(BatchStorage):
    """The same over a store that also keeps rollups."""

    def __init__(
        self,
        storage: BatchReadable,
        rolled: RollupStorage,
        wishes: dict[Further, BatchedSelection],
        at: int,
        most: int,
    ) -> None:
        super().__init__(storage, wishes, at, most)
        self._rolled = rolled

    def raw_since(self) -> int:
        """Return from when on every raw sample is still there."""
        return self._rolled.raw_since()

    def rollup_widths(self) -> Sequence[int]:
        """Return how wide the buckets are that it keeps, finest first."""
        return self._rolled.rollup_widths()

    def rolled_since(self, width: int) -> int:
        """Return how far back buckets of this width go."""
        return self._rolled.rolled_since(width)

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        """Yield the buckets between two multiples of the width, with at least these fields and all times."""
        return self._rolled.rollups(matchers, start, end, width, fields)


def batch_reads(storage: Storage, expressions: Iterable[Expr], at: int, lookback: int, most: int) -> Storage:
    """Return a store that reads once what these questions need at one time, and holds so many samples."""
    if not isinstance(storage, ScannableStorage):
        return storage
    reaches: dict[Further, dict[str, int]] = defaultdict(dict)
    for selector, reach in _selectors(expressions, lookback):
        names, further = _names(matchers_of(selector))
        for name in names:
            reaches[further][name] = max(reach, reaches[further].get(name, 0))
    wishes = {
        further: BatchedSelection(frozenset(found), max(found.values()))
        for further, found in reaches.items()
        if len(found) > 1
    }
    if isinstance(storage, RollupStorage):
        return _WithRollups(storage, storage, wishes, at, most)
    return BatchStorage(storage, wishes, at, most)


def _selectors(expressions: Iterable[Expr], lookback: int) -> Iterator[tuple[VectorSelector, int]]:
    for node in (node for expression in expressions for node in nodes(expression)):
        if isinstance(node, MatrixSelector) and to_ms(node.range) <= LONGEST_MS:
            yield node.vector_selector, to_ms(node.range)
        elif isinstance(node, VectorSelector) and node.offset is None and node.at is None:
            yield node, lookback


def _names(matchers: Sequence[Matcher]) -> tuple[frozenset[str], Further]:
    """Return the names that matchers demand, if they can be listed, and what else they demand."""
    further = tuple(matcher for matcher in matchers if matcher.label != NAME)
    named = [matcher for matcher in matchers if matcher.label == NAME]
    if len(named) == 1:
        if named[0].operator == "=":
            return frozenset((named[0].value,)), further
        if named[0].operator == "=~" and _LITERAL.fullmatch(named[0].value):
            return frozenset(named[0].value.split("|")), further
    return frozenset(), further


def _rows(labels: Sequence[Labels]) -> dict[str, Indices]:
    values, codes = column_of(labels, NAME)
    if codes is None:
        return {values[0]: np.arange(len(labels))}
    found: dict[str, list[int]] = defaultdict(list)
    for row, code in enumerate(codes.tolist()):
        found[values[code]].append(row)
    return {name: np.array(rows, dtype=np.intp) for name, rows in found.items()}


def _cuts(read: Sequence[dict[int, tuple[_Stream, Indices]]], start: int, end: int) -> Iterator[Load]:
    if len(read) == 1:
        for stream, rows in read[0].values():
            yield partial(stream.cut, rows, start, end)
        return
    for number in sorted({number for each in read for number in each}):
        some = [each[number] for each in read if number in each]
        rows = np.concatenate([rows for _, rows in some])
        yield partial(some[0][0].cut, rows, start, end)
