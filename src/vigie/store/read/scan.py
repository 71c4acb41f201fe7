"""Scans the streams that match a selector, so that only a few are decompressed at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice

from vigie.query.storage import Load, Matcher, SeriesGroup
from vigie.store.blocks.block_store import BlockStore
from vigie.store.heads.index import Index, StreamMatch
from vigie.store.read.chunk_cache import ChunkCache
from vigie.store.read.group_reader import FetchedGroup, disjoint, fetch_group, pieces_of
from vigie.store.series.layout import Target
from vigie.store.series.match_cache import MatchCache, MergedLayout

TARGETS_A_LOOK = 8  # per acquisition of the lock
# Values of one query up to which chunks are cached: half of the cache, and the same chunks each time.
MOST_KEPT = 4 << 20


class Scan:
    """One selection; the lock is held while bytes are fetched, not while they are decompressed."""

    def __init__(
        self,
        guard: AbstractContextManager[object],
        index: Index,
        blocks: BlockStore,
        start: int,
        end: int,
        unpacked: ChunkCache,
    ) -> None:
        self._guard, self._index, self._blocks, self._unpacked = guard, index, blocks, unpacked
        self._start, self._end = start, end
        self._matches = MatchCache()
        self._size = 0  # values fetched so far
        self._apart: dict[tuple[int, ...], bool] = {}  # by ids of plans, which the match cache holds

    def loads(self, matchers: Sequence[Matcher]) -> Iterator[Load]:
        """Yield functions that read the groups; no series is in two of them."""
        targets: dict[Target, list[StreamMatch]] = {}
        with self._guard:
            for found in self._index.find(matchers):
                targets.setdefault(found.stream.name.target, []).append(found)
        shapes = {tuple(name for name, _ in target) for target in targets}
        if len(shapes) > 1:  # a label may be on the target in one, and on the series in another
            everything = [found for some in targets.values() for found in some]
            yield from map(_ready, disjoint(_read(map(self._fetched_alone, everything))))
            return
        for batch in _batches(targets.values()):
            with self._guard:
                fetched = [[self._fetched(found) for found in some] for some in batch]
            for each in fetched:
                yield from self._of_one_target(each)

    def _of_one_target(self, fetched: Sequence[FetchedGroup]) -> Iterator[Load]:
        if self._are_apart([each.plan for each in fetched if each.plan is not None]):
            yield from (each.load for each in fetched)
        else:
            yield from map(_ready, disjoint(_read(fetched)))

    def _fetched_alone(self, found: StreamMatch) -> FetchedGroup:
        with self._guard:
            return self._fetched(found)

    def _fetched(self, found: StreamMatch) -> FetchedGroup:
        """Fetch a stream's samples; the caller holds the lock."""
        pieces = pieces_of(found.stream, self._blocks, self._start, self._end)
        newest = next((piece for piece in reversed(pieces) if piece.number), None)
        if newest is not None:
            self._blocks.layouts.hold(newest.layout)
        kept = self._unpacked if self._size < MOST_KEPT else None
        fetched = fetch_group(found, pieces, self._matches, self._start, self._end, kept)
        self._size += fetched.size
        return fetched

    def _are_apart(self, plans: Sequence[MergedLayout]) -> bool:
        """Report whether no series is in two streams of a target, cached for similar nodes."""
        if len(plans) < 2:
            return True
        key = tuple(map(id, plans))
        if key not in self._apart:
            series = [plan.layout.series[i] for plan in plans for i in plan.columns.tolist()]
            self._apart[key] = len(set(series)) == len(series)
        return self._apart[key]


def _batches(targets: Iterable[list[StreamMatch]]) -> Iterator[list[list[StreamMatch]]]:
    """Yield a few targets at a time, because appends wait."""
    rest = iter(targets)
    while batch := list(islice(rest, TARGETS_A_LOOK)):
        yield batch


def _read(fetched: Iterable[FetchedGroup]) -> list[SeriesGroup]:
    return [group for each in fetched if (group := each.load()) is not None]


def _ready(group: SeriesGroup) -> Load:
    return partial(_same, group)


def _same(group: SeriesGroup) -> SeriesGroup | None:
    return group
