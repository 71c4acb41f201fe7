"""Reads the buckets of a stream in a time range: from pages where they exist, otherwise from finer data.

Bytes are fetched under the lock; decompression and downsampling run later, without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from vigie.query.buckets import FIELDS, Buckets, empty_buckets, spans
from vigie.query.storage import SeriesGroup
from vigie.store.blocks.chunk import Chunk
from vigie.store.compression.codec import Times
from vigie.store.errors import CorruptionError
from vigie.store.heads.index import Index, StreamMatch
from vigie.store.rollups.downsampling import downsample, grid
from vigie.store.rollups.page_codec import buckets_of
from vigie.store.rollups.tier import Guard, Tier
from vigie.store.series.layout import Columns, Layout, Layouts
from vigie.store.series.match_cache import MatchCache, MergedLayout
from vigie.store.wal.records import StreamName

log = logging.getLogger(__name__)

ALWAYS = ("count", "first_at", "last_at")
Part = tuple[Layout, Buckets]
Load = Callable[[], Iterator[Part]]
Read = tuple[MergedLayout | None, Buckets]


class FetchRaw(Protocol):
    """Fetches raw samples under the lock; the result decompresses them later."""

    def __call__(
        self, found: StreamMatch, matches: MatchCache, start: int, end: int, *, prompt: bool
    ) -> Callable[[], SeriesGroup | None]:
        """Fetch bytes now if eager; otherwise later, and then no deletion may run before."""


class RollupQuery(NamedTuple):
    """The stream, columns and fields to read, and how."""

    found: StreamMatch
    matches: MatchCache
    wanted: Collection[str]
    guard: Guard
    prompt: bool


class RollupReader:
    """Reads tiers, finest first, and raw samples where there is no page."""

    def __init__(
        self,
        tiers: Sequence[Tier],
        layouts: Layouts,
        raw: Index,
        fetch_raw: FetchRaw,
        can_make: Callable[[Tier, int], bool],
    ) -> None:
        self._tiers, self._layouts, self._raw, self._fetch_raw = tiers, layouts, raw, fetch_raw
        self._can_make = can_make  # reports whether all data that a page is built from still exists

    def fetched(self, place: int, ask: RollupQuery, start: int, stop: int) -> Callable[[], Read]:
        """Fetch the buckets of a time range; the caller holds the lock."""
        return partial(self._read, place, ask, self._loads(place, ask, start, stop), start, stop)

    def _read(self, place: int, ask: RollupQuery, loads: Sequence[Load], start: int, stop: int) -> Read:
        parts = [part for load in loads for part in load()]
        ends = grid(start, stop, self._tiers[place].kind.width)
        if not parts:
            return None, Buckets(ends, **{name: empty_buckets(name, 1, len(ends)) for name in FIELDS})
        plan = ask.matches.plan(tuple({layout: None for layout, _ in parts}), ask.found.conditions)
        lines = [(plan.lines[layout], buckets) for layout, buckets in parts]
        return plan, join_buckets(lines, len(plan.columns), ends, ask.wanted)

    def _loads(self, place: int, ask: RollupQuery, start: int, stop: int) -> list[Load]:
        """Return functions that read the parts, in time order."""
        tier, at = self._tiers[place], start
        loads: list[Load] = []
        for page in tier.chunks(ask.found.stream.name, start, stop):
            if page.start > at:
                loads += self._finer(place, ask, at, page.start)
            begin, at = max(at, page.start), min(page.end, stop)
            if ask.prompt:
                tier.blocks.layouts.hold(page.layout)
            loads.append(partial(self._of_page, place, ask, _held(page, ask), begin, at))
        return loads + self._finer(place, ask, at, stop) if at < stop else loads

    def _of_page(self, place: int, ask: RollupQuery, page: Chunk, start: int, stop: int) -> Iterator[Part]:
        tier, name = self._tiers[place], ask.found.stream.name
        width = tier.kind.width
        columns = ask.matches.columns(page.layout, ask.found.conditions)
        if not len(columns):
            return
        try:
            buckets = buckets_of(page, columns, width, ask.wanted)
        except CorruptionError as error:
            with ask.guard:
                self._say(tier, name, page, error)
                loads = self._finer(place, ask, start, stop)
            for load in loads:
                yield from load()
            return
        yield page.layout, buckets.columns(slice((start - page.start) // width, (stop - page.start) // width))

    def _say(self, tier: Tier, name: StreamName, chunk: Chunk, error: CorruptionError) -> None:
        """Report a damaged chunk, and have its page rebuilt, unless that would lose the rest of it."""
        page, what = tier.page_at(chunk.start + 1), f"rollups of {dict(name.target)} from {chunk.start} on"
        if self._can_make(tier, page):
            log.warning("%s are made again: %s", what, error)
            tier.spoil(name, page)
        else:
            tier.blocks.damages.add(f"{what} are not readable: {error}")

    def _finer(self, place: int, ask: RollupQuery, start: int, stop: int) -> list[Load]:
        """Return functions that build buckets from the next finer tier, or from raw samples."""
        pieces = self._pieces(place, ask, start, stop)
        if place:
            return [partial(self._of_finer, place, self.fetched(place - 1, ask, *each)) for each in pieces]
        name = ask.found.stream.name
        stream = self._raw.get(name.target, name.source)
        if stream is None:
            return []
        found = StreamMatch(stream, {}, ask.found.conditions)
        return [
            partial(
                self._of_raw, self._fetch_raw(found, ask.matches, at + 1, till, prompt=ask.prompt), at, till
            )
            for at, till in pieces
        ]

    def _pieces(self, place: int, ask: RollupQuery, start: int, stop: int) -> list[tuple[int, int]]:
        """Split the range of background reads: where series churn, a long range has too many of them."""
        if ask.prompt:
            return [(start, stop)]
        finer = self._tiers[max(0, place - 1)].kind
        step = max(self._tiers[place].kind.width, finer.every * finer.width)
        return [(at, min(at + step, stop)) for at in range(start, stop, step)]

    def _of_finer(self, place: int, read: Callable[[], Read]) -> Iterator[Part]:
        plan, buckets = read()
        ratio = self._tiers[place].kind.width // self._tiers[place - 1].kind.width
        low = np.arange(0, len(buckets.ends), ratio)
        if plan is not None:
            yield plan.layout, spans(buckets, low, low + ratio)

    def _of_raw(self, read: Callable[[], SeriesGroup | None], start: int, stop: int) -> Iterator[Part]:
        group = read()
        if group is not None:
            layout = self._layouts.of(tuple(tuple(sorted(labels.items())) for labels in group.labels))
            yield layout, downsample(group.times, group.values, grid(start, stop, self._tiers[0].kind.width))


def _held(page: Chunk, ask: RollupQuery) -> Chunk:
    """Fetch the bytes of a page now, if they might be deleted later."""
    if not ask.prompt:
        return page
    try:
        cuts = ask.matches.cuts(page.layout, ask.found.conditions)
        blobs = {cut.band: page.blob(cut.band) for cut in cuts}
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
    in_order = all(lines is None for lines, _ in parts)
    cells = {}
    for name in FIELDS:
        if name not in wanted and name not in ALWAYS:
            cells[name] = empty_buckets(name, 1, len(ends))
            continue
        shared = in_order and all(len(getattr(buckets, name)) == 1 for _, buckets in parts)
        cells[name] = empty_buckets(name, 1 if shared else height, len(ends))
        for (lines, buckets), columns in zip(parts, places, strict=True):
            inside = slice(int(columns[0]), int(columns[-1]) + 1)
            cells[name][slice(None) if lines is None else lines, inside] = getattr(buckets, name)
    return Buckets(ends, **cells)
