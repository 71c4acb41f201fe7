"""Reads the buckets of a stream in a time range: from pages where they exist, otherwise from finer data.

Bytes are fetched under the lock; decompression and downsampling run later, without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from vigie.query.buckets import FIELDS, Buckets, empty_buckets, merge_spans
from vigie.query.storage import SeriesGroup
from vigie.store.blocks.chunk import Chunk
from vigie.store.compression.codec import Times
from vigie.store.errors import CorruptionError
from vigie.store.heads.index import Index, StreamMatch
from vigie.store.rollups.downsampling import bucket_ends, downsample
from vigie.store.rollups.page_codec import decode_page
from vigie.store.rollups.tier import Lock, Tier
from vigie.store.series.layout import Columns, Layout, Layouts
from vigie.store.series.match_cache import MatchCache, MergedLayout
from vigie.store.wal.records import StreamName

log = logging.getLogger(__name__)

ALWAYS_READ = ("count", "first_at", "last_at")
Part = tuple[Layout, Buckets]
Load = Callable[[], Iterator[Part]]
Read = tuple[MergedLayout | None, Buckets]


class FetchRaw(Protocol):
    """Fetches raw samples under the lock; the result decompresses them later."""

    def __call__(
        self, found: StreamMatch, matches: MatchCache, start: int, end: int, *, eager: bool
    ) -> Callable[[], SeriesGroup | None]:
        """Fetch bytes now if eager; otherwise later, and then no deletion may run before."""


class RollupQuery(NamedTuple):
    """The stream, columns and fields to read, and how."""

    found: StreamMatch
    matches: MatchCache
    wanted: Collection[str]
    lock: Lock
    eager: bool


class RollupReader:
    """Reads tiers, finest first, and raw samples where there is no page."""

    def __init__(
        self,
        tiers: Sequence[Tier],
        layouts: Layouts,
        raw: Index,
        fetch_raw: FetchRaw,
        can_build: Callable[[Tier, int], bool],
    ) -> None:
        self._tiers, self._layouts, self._raw, self._fetch_raw = tiers, layouts, raw, fetch_raw
        self._can_build = can_build  # reports whether all data that a page is built from still exists

    def fetch(self, level: int, query: RollupQuery, start: int, stop: int) -> Callable[[], Read]:
        """Fetch the buckets of a time range; the caller holds the lock."""
        return partial(self._read, level, query, self._fetch_parts(level, query, start, stop), start, stop)

    def _read(self, level: int, query: RollupQuery, loads: Sequence[Load], start: int, stop: int) -> Read:
        parts = [part for load in loads for part in load()]
        ends = bucket_ends(start, stop, self._tiers[level].config.width)
        if not parts:
            return None, Buckets(ends, **{name: empty_buckets(name, 1, len(ends)) for name in FIELDS})
        plan = query.matches.plan(tuple({layout: None for layout, _ in parts}), query.found.conditions)
        rows = [(plan.rows[layout], buckets) for layout, buckets in parts]
        return plan, join_buckets(rows, len(plan.columns), ends, query.wanted)

    def _fetch_parts(self, level: int, query: RollupQuery, start: int, stop: int) -> list[Load]:
        """Return functions that read the parts, in time order."""
        tier, at = self._tiers[level], start
        loads: list[Load] = []
        for page in tier.chunks(query.found.stream.name, start, stop):
            if page.start > at:
                loads += self._fetch_finer(level, query, at, page.start)
            begin, at = max(at, page.start), min(page.end, stop)
            if query.eager:
                tier.blocks.layouts.pin(page.layout)
            loads.append(partial(self._read_page, level, query, _prefetch(page, query), begin, at))
        return loads + self._fetch_finer(level, query, at, stop) if at < stop else loads

    def _read_page(
        self, level: int, query: RollupQuery, page: Chunk, start: int, stop: int
    ) -> Iterator[Part]:
        tier, name = self._tiers[level], query.found.stream.name
        width = tier.config.width
        columns = query.matches.columns(page.layout, query.found.conditions)
        if not len(columns):
            return
        try:
            buckets = decode_page(page, columns, width, query.wanted)
        except CorruptionError as error:
            with query.lock:
                self._report(tier, name, page, error)
                loads = self._fetch_finer(level, query, start, stop)
            for load in loads:
                yield from load()
            return
        yield page.layout, buckets.columns(slice((start - page.start) // width, (stop - page.start) // width))

    def _report(self, tier: Tier, name: StreamName, chunk: Chunk, error: CorruptionError) -> None:
        """Report a damaged chunk, and have its page rebuilt, unless that would lose the rest of it."""
        page, what = tier.page_at(chunk.start + 1), f"rollups of {dict(name.target)} from {chunk.start} on"
        if self._can_build(tier, page):
            log.warning("%s are rebuilt: %s", what, error)
            tier.invalidate_page(name, page)
        else:
            tier.blocks.corruption_log.add(f"{what} are not readable: {error}")

    def _fetch_finer(self, level: int, query: RollupQuery, start: int, stop: int) -> list[Load]:
        """Return functions that build buckets from the next finer tier, or from raw samples."""
        pieces = self._split_range(level, query, start, stop)
        if level:
            return [partial(self._read_finer, level, self.fetch(level - 1, query, *each)) for each in pieces]
        name = query.found.stream.name
        stream = self._raw.get(name.target, name.source)
        if stream is None:
            return []
        found = StreamMatch(stream, {}, query.found.conditions)
        return [
            partial(
                self._read_raw, self._fetch_raw(found, query.matches, at + 1, end, eager=query.eager), at, end
            )
            for at, end in pieces
        ]

    def _split_range(self, level: int, query: RollupQuery, start: int, stop: int) -> list[tuple[int, int]]:
        """Split the range of background reads: where series churn, a long range has too many of them."""
        if query.eager:
            return [(start, stop)]
        finer = self._tiers[max(0, level - 1)].config
        step = max(self._tiers[level].config.width, finer.every * finer.width)
        return [(at, min(at + step, stop)) for at in range(start, stop, step)]

    def _read_finer(self, level: int, read: Callable[[], Read]) -> Iterator[Part]:
        plan, buckets = read()
        ratio = self._tiers[level].config.width // self._tiers[level - 1].config.width
        low = np.arange(0, len(buckets.ends), ratio)
        if plan is not None:
            yield plan.layout, merge_spans(buckets, low, low + ratio)

    def _read_raw(self, read: Callable[[], SeriesGroup | None], start: int, stop: int) -> Iterator[Part]:
        group = read()
        if group is not None:
            layout = self._layouts.of(tuple(tuple(sorted(labels.items())) for labels in group.labels))
            yield (
                layout,
                downsample(group.times, group.values, bucket_ends(start, stop, self._tiers[0].config.width)),
            )


def _prefetch(page: Chunk, query: RollupQuery) -> Chunk:
    """Fetch the bytes of a page now, if they might be deleted later."""
    if not query.eager:
        return page
    try:
        cuts = query.matches.cuts(page.layout, query.found.conditions)
        blobs = {cut.group: page.blob(cut.group) for cut in cuts}
    except CorruptionError:
        return page  # reported when it is read
    return page._replace(blob=blobs.__getitem__)


def join_buckets(
    parts: Sequence[tuple[Columns | None, Buckets]],
    height: int,
    ends: Times,
    wanted: Collection[str] = FIELDS,
) -> Buckets:
    """Concatenate buckets, each part in its rows, with at least these fields."""
    if len(parts) == 1 and parts[0][0] is None and len(parts[0][1].ends) == len(ends):
        return parts[0][1]
    places = [np.searchsorted(ends, buckets.ends) for _, buckets in parts]
    in_order = all(rows is None for rows, _ in parts)
    cells = {}
    for name in FIELDS:
        if name not in wanted and name not in ALWAYS_READ:
            cells[name] = empty_buckets(name, 1, len(ends))
            continue
        shared = in_order and all(len(getattr(buckets, name)) == 1 for _, buckets in parts)
        cells[name] = empty_buckets(name, 1 if shared else height, len(ends))
        for (rows, buckets), columns in zip(parts, places, strict=True):
            inside = slice(int(columns[0]), int(columns[-1]) + 1)
            cells[name][slice(None) if rows is None else rows, inside] = getattr(buckets, name)
    return Buckets(ends, **cells)
