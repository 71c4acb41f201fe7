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
from vigie.store.read.group_reader import FetchedGroup, fetch_group, find_pieces, merge_overlapping
from vigie.store.series.layout import Target
from vigie.store.series.match_cache import MatchCache, MergedLayout

TARGETS_PER_LOCK = 8  # per acquisition of the lock
# Values of one query up to which chunks are cached: half of the cache, and the same chunks each time.
MAX_CACHED_VALUES = 4 << 20


class Scan:
    """One selection; the lock is held while bytes are fetched, not while they are decompressed."""

    def __init__(
        self,
        lock: AbstractContextManager[object],
        index: Index,
        blocks: BlockStore,
        start: int,
        end: int,
        cache: ChunkCache,
    ) -> None:
        self._lock, self._index, self._blocks, self._cache = lock, index, blocks, cache
        self._start, self._end = start, end
        self._matches = MatchCache()
        self._size = 0  # values fetched so far
        self._disjoint: dict[tuple[int, ...], bool] = {}  # by ids of plans, which the match cache holds

    def loads(self, matchers: Sequence[Matcher]) -> Iterator[Load]:
        """Yield functions that read the groups; no series is in two of them."""
        targets: dict[Target, list[StreamMatch]] = {}
        with self._lock:
            for found in self._index.find(matchers):
                targets.setdefault(found.stream.name.target, []).append(found)
        shapes = {tuple(name for name, _ in target) for target in targets}
        if len(shapes) > 1:  # a label may be on the target in one, and on the series in another
            everything = [found for some in targets.values() for found in some]
            yield from map(_as_load, merge_overlapping(_load_all(map(self._fetch_locked, everything))))
            return
        for batch in _batches(targets.values()):
            with self._lock:
                fetched = [[self._fetch(found) for found in some] for some in batch]
            for each in fetched:
                yield from self._loads_of_target(each)

    def _loads_of_target(self, fetched: Sequence[FetchedGroup]) -> Iterator[Load]:
        if self._are_disjoint([each.plan for each in fetched if each.plan is not None]):
            yield from (each.load for each in fetched)
        else:
            yield from map(_as_load, merge_overlapping(_load_all(fetched)))

    def _fetch_locked(self, found: StreamMatch) -> FetchedGroup:
        with self._lock:
            return self._fetch(found)

    def _fetch(self, found: StreamMatch) -> FetchedGroup:
        """Fetch a stream's samples; the caller holds the lock."""
        pieces = find_pieces(found.stream, self._blocks, self._start, self._end)
        newest = next((piece for piece in reversed(pieces) if piece.number), None)
        if newest is not None:
            self._blocks.layouts.pin(newest.layout)
        cache = self._cache if self._size < MAX_CACHED_VALUES else None
        fetched = fetch_group(found, pieces, self._matches, self._start, self._end, cache)
        self._size += fetched.size
        return fetched

    def _are_disjoint(self, plans: Sequence[MergedLayout]) -> bool:
        """Report whether no series is in two streams of a target, cached for similar nodes."""
        if len(plans) < 2:
            return True
        key = tuple(map(id, plans))
        if key not in self._disjoint:
            series = [plan.layout.series[i] for plan in plans for i in plan.columns.tolist()]
            self._disjoint[key] = len(set(series)) == len(series)
        return self._disjoint[key]


def _batches(targets: Iterable[list[StreamMatch]]) -> Iterator[list[list[StreamMatch]]]:
    """Yield a few targets at a time, because appends wait."""
    rest = iter(targets)
    while batch := list(islice(rest, TARGETS_PER_LOCK)):
        yield batch


def _load_all(fetched: Iterable[FetchedGroup]) -> list[SeriesGroup]:
    return [group for each in fetched if (group := each.load()) is not None]


def _as_load(group: SeriesGroup) -> Load:
    return partial(_identity, group)


def _identity(group: SeriesGroup) -> SeriesGroup | None:
    return group
