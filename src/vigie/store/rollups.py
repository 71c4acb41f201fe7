"""Rollups of every series: made when their time has passed, and made again when late samples come.

Each tier is made from the finer one, the finest from raw samples. A question reads the pages that are there
and makes the other buckets on the spot, so its answer never depends on how far the upkeep has come.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from vigie.query.rolled import RolledGroup
from vigie.query.rolled_buckets import FIELDS, Buckets, nothing, spans
from vigie.query.storage import Group, Matcher
from vigie.store.codec import Times
from vigie.store.errors import Damaged
from vigie.store.index import Found, Index, Matches, Plan, Target
from vigie.store.labels import StoredLabels
from vigie.store.layout import Columns, Layout, Layouts
from vigie.store.records import StreamName
from vigie.store.retention import Retention
from vigie.store.rollup import grid, roll
from vigie.store.rollup_page import buckets_of, page_of
from vigie.store.rollup_tier import Kind, Made, Tier
from vigie.store.stream import Stream

log = logging.getLogger(__name__)

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
FIVE_MINUTES = Kind("5m", 5 * MINUTE, 72, 24, Retention(90 * DAY))
ONE_HOUR = Kind("1h", HOUR, 72, 24, Retention(730 * DAY))
KINDS = (FIVE_MINUTES, ONE_HOUR)
GRACE = 10 * MINUTE  # after which nothing more is expected of a time
JOBS = 500  # pages made in one turn of the upkeep
PAGES_A_COMMIT = 64
BETWEEN = MINUTE  # from one turn to the next
RAW = StreamName((), "raw since", framed=True)  # stands where no stream does: it has no target

ReadRaw = Callable[[Found, Matches, int, int], Group | None]
Part = tuple[Layout, Buckets]
Job = tuple[Stream, int, int]  # which page to make, and up to when


class Rollups:
    """All tiers of a store, finest first."""

    def __init__(
        self, directory: Path, layouts: Layouts, raw: Index, read_raw: ReadRaw, kinds: Sequence[Kind] = KINDS
    ) -> None:
        self._layouts, self._raw, self._read_raw = layouts, raw, read_raw
        self.tiers = [Tier(directory, kind, layouts) for kind in kinds]
        self.raw_since = self.tiers[0].until.pop(RAW, -(1 << 62))
        self._next = -(1 << 62)

    @property
    def damages(self) -> list[str]:
        """Return what was found damaged on opening."""
        return [damage for tier in self.tiers for damage in tier.damages]

    def close(self) -> None:
        """Let go of the files; which pages late samples made wrong is known again from the log."""
        for tier in self.tiers:
            tier.blocks.close()

    def note(self, name: StreamName, time: int) -> None:
        """Take note of a row; a late one makes pages wrong, unless raw data of their time have gone."""
        for tier in self.tiers:
            if tier is not self.tiers[0] or tier.page_at(time) >= self.raw_since:
                tier.note(name, time)

    def note_all(self, name: StreamName, times: Times) -> None:
        """Take note of rows that are read back from the log."""
        late = times[times <= max(tier.reach(name) for tier in self.tiers)]
        for minute in np.unique((late - 1) // MINUTE).tolist():
            self.note(name, minute * MINUTE + 1)

    def keep_notes(self) -> None:
        """Make durable which pages are wrong; to be called before the rows leave the log."""
        for tier in self.tiers:
            tier.keep_notes()

    def raw_expired(self, before: int) -> None:
        """Take note that raw data older than this may have gone."""
        if before > self.raw_since:
            self.raw_since = before
            with self.tiers[0].blocks.transaction():
                self.tiers[0].blocks.keep_stream(RAW, before)

    def targets(self, matchers: Sequence[Matcher]) -> list[Target]:
        """Return the targets whose own labels fit."""
        return [target for tier in self.tiers for target in tier.index.targets(matchers)]

    def remove(self, targets: Collection[Target]) -> None:
        """Forget all streams of some targets."""
        for tier in self.tiers:
            tier.remove([stream.name for target in targets for stream in tier.index.streams_of(target)])

    def since(self, width: int) -> int:
        """Return how far back buckets of a width go."""
        tier = next(tier for tier in self.tiers if tier.kind.width == width)
        starts = [start for stream in tier.index for start, _ in stream.spans.values()]
        return min(starts, default=self.raw_since)

    def verify(self) -> Iterator[str]:
        """Yield what is damaged, after reading every page."""
        for tier in self.tiers:
            yield from (f"rollups of {tier.kind.name}: {wrong}" for wrong in tier.blocks.verify())

    @contextmanager
    def still(self) -> Iterator[None]:
        """Hold the locks of the files, so that a process forked inside finds nothing half done."""
        with ExitStack() as held:
            for tier in self.tiers:
                held.enter_context(tier.blocks.database.writing)
                held.enter_context(tier.blocks.database.reading)
            yield

    def reborn(self) -> None:
        """Go on in a forked child."""
        for tier in self.tiers:
            tier.blocks.reborn()

    def maintain(self, now: int, guard: AbstractContextManager[object]) -> None:
        """Make pages that are due, a bounded number of them, and remove those that are too old."""
        if now < self._next:
            return
        self._next = now + BETWEEN
        for place, tier in enumerate(self.tiers):
            with guard:
                jobs = list(dict.fromkeys(islice(self._due(tier, now), JOBS)))
            for first in range(0, len(jobs), PAGES_A_COMMIT):
                self._make(place, jobs[first : first + PAGES_A_COMMIT], guard)
            with guard:
                tier.expire(now)

    def _make(self, place: int, jobs: Sequence[Job], guard: AbstractContextManager[object]) -> None:
        tier, batch, done = self.tiers[place], list[Made](), False
        try:
            for job in jobs:
                with guard:
                    made = self._made(place, *job)
                    if made is not None:
                        batch.append(made)
                        tier.claim(made)
            tier.write(batch)
            done = True
        finally:
            with guard:
                tier.settle(batch, done)

    def groups(
        self,
        guard: AbstractContextManager[object],
        matchers: Sequence[Matcher],
        start: int,
        end: int,
        width: int,
        wanted: Collection[str],
    ) -> Iterator[RolledGroup]:
        """Yield, target by target, the buckets of fitting series between two multiples of the width."""
        place = [tier.kind.width for tier in self.tiers].index(width)
        matches = Matches()
        with guard:
            indexes = [self._raw, *(tier.index for tier in self.tiers[place::-1])]
            found = {one.stream.name: one for index in indexes for one in index.find(matchers)}
        for one in found.values():
            with guard:
                plan, buckets = self._read(place, one, matches, start, end, wanted)
            if plan is not None and len(plan.columns):
                yield RolledGroup(StoredLabels(one.target, plan.layout, plan.columns), buckets)

    def _due(self, tier: Tier, now: int) -> Iterator[Job]:
        """Yield which pages to make, each up to when."""
        kind = tier.kind
        for stream in self._raw:
            name = stream.name
            closed = min(now, max(stream.end, now - GRACE)) // kind.width * kind.width
            stop = min(closed, -(-stream.end // kind.width) * kind.width)
            for page in sorted(tier.missing.get(name, ())):
                yield stream, page, min(stop, page + kind.page)
            until = tier.until.get(name)
            if until is None:
                until = tier.until[name] = max(
                    tier.page_at(_first_time(stream)), tier.page_at(self.raw_since)
                )
            quiet = stream.end < now - GRACE
            if stop > until and (quiet or stop - until >= kind.every * kind.width):
                for page in range(tier.page_at(until + 1), stop, kind.page):
                    yield stream, page, min(stop, page + kind.page)

    def _made(self, place: int, stream: Stream, page: int, stop: int) -> Made | None:
        """Return a page made of what there is now; None if it is there already."""
        tier = self.tiers[place]
        stored = tier.pages(stream.name, page, page + tier.kind.page)
        if stored and stored[-1].end >= stop:
            tier.until[stream.name] = max(tier.until[stream.name], stop)
            return None
        plan, buckets = self._read(place, Found(stream, {}, ()), Matches(), page, stop, FIELDS)
        if plan is None or not (buckets.count > 0).any():
            return Made(stream.name, page, None, stop)
        layout = self._layouts.of(tuple(plan.layout.series[i] for i in plan.columns))
        ordered = self._layouts.ordered(layout)
        chunk = page_of(ordered, buckets.rows(layout.by_metric), tier.kind.width)
        return Made(stream.name, page, chunk, stop)

    def _read(
        self, place: int, found: Found, matches: Matches, start: int, stop: int, wanted: Collection[str]
    ) -> tuple[Plan | None, Buckets]:
        width = self.tiers[place].kind.width
        parts = list(self._parts(place, found, matches, start, stop, wanted))
        ends = grid(start, stop, width)
        if not parts:
            return None, Buckets(ends, **{name: nothing(name, 1, len(ends)) for name in FIELDS})
        plan = matches.plan(tuple({layout: None for layout, _ in parts}), found.conditions)
        lines = [(plan.lines[layout], buckets) for layout, buckets in parts]
        return plan, joined(lines, len(plan.columns), ends)

    def _parts(
        self, place: int, found: Found, matches: Matches, start: int, stop: int, wanted: Collection[str]
    ) -> Iterator[Part]:
        """Yield what is known of a stream, in order of time."""
        tier, at = self.tiers[place], start
        kind = tier.kind
        for page in tier.pages(found.stream.name, tier.page_at(start + 1), stop):
            columns = matches.columns(page.layout, found.conditions)
            try:
                buckets = buckets_of(page, columns, kind.width, wanted) if len(columns) else None
            except Damaged as error:
                log.warning(
                    "rollups of %s from %d on are made again: %s", found.stream.name, page.start, error
                )
                tier.spoil(found.stream.name, page.start)
                continue
            if page.end <= at:
                continue
            if page.start > at:
                yield from self._finer(place, found, matches, at, page.start, wanted)
            inside = slice(max(0, (at - page.start) // kind.width), (stop - page.start) // kind.width)
            if buckets is not None:
                yield page.layout, buckets.columns(inside)
            at = min(page.end, stop)
        if at < stop:
            yield from self._finer(place, found, matches, at, stop, wanted)

    def _finer(
        self, place: int, found: Found, matches: Matches, start: int, stop: int, wanted: Collection[str]
    ) -> Iterator[Part]:
        """Yield buckets made of the next finer tier, or of raw samples."""
        if place:
            plan, buckets = self._read(place - 1, found, matches, start, stop, wanted)
            ratio = self.tiers[place].kind.width // self.tiers[place - 1].kind.width
            low = np.arange(0, len(buckets.ends), ratio)
            if plan is not None:
                yield plan.layout, spans(buckets, low, low + ratio)
            return
        name = found.stream.name
        stream = self._raw.get(name.target, name.source)
        if stream is None:
            return
        group = self._read_raw(Found(stream, {}, found.conditions), matches, start + 1, stop)
        if group is not None:
            layout = self._layouts.of(tuple(tuple(sorted(labels.items())) for labels in group.labels))
            yield layout, roll(group.times, group.values, grid(start, stop, self.tiers[0].kind.width))


def joined(parts: Sequence[tuple[Columns | None, Buckets]], height: int, ends: Times) -> Buckets:
    """Return buckets that follow one another as one, each part in its lines."""
    if len(parts) == 1 and parts[0][0] is None and len(parts[0][1].ends) == len(ends):
        return parts[0][1]
    places = [np.searchsorted(ends, buckets.ends) for _, buckets in parts]
    in_order = all(lines is None for lines, _ in parts)
    cells = {}
    for name in FIELDS:
        shared = in_order and all(len(getattr(buckets, name)) == 1 for _, buckets in parts)
        cells[name] = nothing(name, 1 if shared else height, len(ends))
        for (lines, buckets), columns in zip(parts, places, strict=True):
            inside = slice(int(columns[0]), int(columns[-1]) + 1)
            cells[name][slice(None) if lines is None else lines, inside] = getattr(buckets, name)
    return Buckets(ends, **cells)


def _first_time(stream: Stream) -> int:
    starts = [piece.start for piece in stream.pieces[:1]] + [start for start, _ in stream.spans.values()]
    return min(starts)
