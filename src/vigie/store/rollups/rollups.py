"""Rollups of all series, built when their time has passed, and rebuilt when late samples arrive.

Each tier is built from the finer one, the finest from raw samples. A query reads existing pages and computes
the other buckets itself, so its result does not depend on the progress of maintenance.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from vigie.query.parallel import parallel_map
from vigie.query.storage import Matcher, RollupGroup
from vigie.store.compression.codec import Times
from vigie.store.corruption import CorruptionLog
from vigie.store.heads.index import Index, StreamMatch
from vigie.store.heads.stream import Stream
from vigie.store.retention import Retention
from vigie.store.rollups.builder import MINUTE, RollupBuilder
from vigie.store.rollups.reader import FetchRaw, Read, RollupQuery, RollupReader
from vigie.store.rollups.tier import Guard, Notes, Tier, TierConfig
from vigie.store.series.label_table import StoredLabelTable
from vigie.store.series.layout import Layouts, Target
from vigie.store.series.match_cache import MatchCache
from vigie.store.throttle import MaintenanceThrottle
from vigie.store.wal.records import StreamName

HOUR, DAY = 60 * MINUTE, 1440 * MINUTE
FIVE_MINUTES = TierConfig("5m", 5 * MINUTE, 72, 24, Retention(90 * DAY))
ONE_HOUR = TierConfig("1h", HOUR, 72, 24, Retention(730 * DAY))
KINDS = (FIVE_MINUTES, ONE_HOUR)
RAW = StreamName((), "raw since", framed=True)  # a name without a target, used by no stream


class RollupStore:
    """All tiers of a store, finest first."""

    def __init__(
        self,
        directory: Path,
        layouts: Layouts,
        raw: Index,
        fetch_raw: FetchRaw,
        damages: CorruptionLog,
        max_bytes: int | None,
        position: Callable[[], int],
        kinds: Sequence[TierConfig] = KINDS,
    ) -> None:
        self._raw = raw
        kinds = [kind._replace(retention=kind.retention.sharing(max_bytes)) for kind in kinds]
        self.tiers = [Tier(directory, kind, layouts, damages) for kind in kinds]
        self.raw_since = self.tiers[0].until.pop(RAW, -(1 << 62))
        for tier in self.tiers:
            if tier.blocks.salvaged:
                tier.until.clear()  # so that lost pages are rebuilt
        self._reader = RollupReader(self.tiers, layouts, raw, fetch_raw, self._can_make)
        self._maker = RollupBuilder(self.tiers, layouts, raw, self._reader, position)

    def close(self) -> None:
        """Close the files; pages invalidated by late samples are found again in the log."""
        for tier in self.tiers:
            tier.blocks.close()

    def note_row(self, stream: Stream, time: int) -> None:
        if stream.rolled is None:
            stream.rolled = max(tier.reach(stream.name) for tier in self.tiers)
        if time <= stream.rolled:
            self.note(stream.name, time)

    def note(self, name: StreamName, time: int) -> None:
        """Invalidate the pages of a late row, unless their raw data have expired."""
        for tier in self.tiers:
            self._note(tier, name, time)

    def note_all(self, name: StreamName, times: Times, positions: Times) -> None:
        """Invalidate pages for rows replayed from the log; most were there when pages were built."""
        for tier in self.tiers:
            for minute in np.unique((tier.late(name, times, positions) - 1) // MINUTE).tolist():
                self._note(tier, name, minute * MINUTE + 1)

    def _note(self, tier: Tier, name: StreamName, time: int) -> None:
        if tier is not self.tiers[0] or tier.page_at(time) >= self.raw_since:
            tier.note(name, time)

    @property
    def newest_position(self) -> int:
        """Return the last log position that pages refer to."""
        return max((position for tier in self.tiers for position in tier.made.values()), default=0)

    def notes(self) -> list[Notes]:
        """Return the pages that are invalid and still on disk."""
        return [tier.notes() for tier in self.tiers]

    def keep_notes(self, notes: Sequence[Notes], guard: Guard) -> None:
        """Save which pages are invalid; called before their late rows leave the log."""
        for tier, some in zip(self.tiers, notes, strict=True):
            tier.keep_notes(some, guard)

    def raw_expired(self, before: int) -> None:
        """Record that raw data older than this may have been deleted."""
        if before > self.raw_since:
            self.raw_since = before
            with self.tiers[0].blocks.transaction():
                self.tiers[0].blocks.keep_stream(RAW, before)

    def targets(self, matchers: Sequence[Matcher]) -> list[Target]:
        """Return the targets whose labels match."""
        return [target for tier in self.tiers for target in tier.index.targets(matchers)]

    def forget(self, targets: Collection[Target]) -> None:
        """Remove all streams of some targets; `delete_pending` deletes their pages."""
        gone = set(targets)
        for tier in self.tiers:  # also streams without a page, whose first may be in progress
            tier.forget([name for name in tier.names() if name.target in gone])

    def remove_doomed(self) -> None:
        """Delete the pages of removed streams."""
        for tier in self.tiers:
            tier.remove_doomed()

    def size(self) -> int:
        """Return the bytes in use on disk."""
        total = 0
        for tier in self.tiers:
            with tier.blocks.database.writing:
                total += tier.blocks.size()
        return total

    def since(self, width: int) -> int:
        """Return how far back buckets of a width go."""
        tier = next(tier for tier in self.tiers if tier.kind.width == width)
        starts = [stream.spans.start for stream in tier.index if stream.spans]
        return min(starts, default=self.raw_since)

    def verify(self) -> Iterator[str]:
        """Yield what is damaged, after reading every page."""
        for tier in self.tiers:
            yield from (f"rollups of {tier.kind.name}: {wrong}" for wrong in tier.blocks.verify())

    @contextmanager
    def unwritten(self) -> Iterator[None]:
        """Block writes to the files; taken before the store's lock, because a commit is slow."""
        with ExitStack() as held:
            for tier in self.tiers:
                held.enter_context(tier.blocks.database.writing)
            yield

    @contextmanager
    def unread(self) -> Iterator[None]:
        """Block reads of the files."""
        with ExitStack() as held:
            for tier in self.tiers:
                held.enter_context(tier.blocks.database.reading)
            yield

    def reborn(self) -> None:
        for tier in self.tiers:
            tier.blocks.reborn()

    def maintain(self, now: int, guard: Guard, turn: Guard, pace: MaintenanceThrottle) -> None:
        """Build pages that are due, a bounded number of them, and delete expired ones."""
        self._maker.maintain(now, self.raw_since, guard, turn, pace)

    def groups(
        self,
        guard: Guard,
        matchers: Sequence[Matcher],
        start: int,
        end: int,
        width: int,
        wanted: Collection[str],
    ) -> Iterator[RollupGroup]:
        """Yield the buckets of matching series between two multiples of the width, one group per stream."""
        place = [tier.kind.width for tier in self.tiers].index(width)
        matches = MatchCache()
        with guard:
            indexes = [self._raw, *(tier.index for tier in self.tiers[place::-1])]
            found = {one.stream.name: one for index in indexes for one in index.find(matchers)}
        tasks = (
            self._fetched(guard, place, RollupQuery(one, matches, wanted, guard, prompt=True), start, end)
            for one in found.values()
        )
        yield from filter(None, parallel_map(tasks, worth=lambda: True))

    def _can_make(self, tier: Tier, page: int) -> bool:
        """Report whether all data that a page is built from still exists."""
        place = self.tiers.index(tier)
        return page >= (self.since(self.tiers[place - 1].kind.width) if place else self.raw_since)

    def _fetched(
        self, guard: Guard, place: int, ask: RollupQuery, start: int, end: int
    ) -> Callable[[], RollupGroup | None]:
        """Fetch the buckets of a stream's matching series; the result decompresses them in any thread."""
        with guard:
            return partial(_group, ask.found, self._reader.fetched(place, ask, start, end))


def _group(found: StreamMatch, read: Callable[[], Read]) -> RollupGroup | None:
    plan, buckets = read()
    if plan is None or not len(plan.columns):
        return None
    return RollupGroup(StoredLabelTable(found.target, plan.layout, plan.columns), buckets)
