"""Rollups of every series: made when their time has passed, and made again when late samples come.

Each tier is made from the finer one, the finest from raw samples. A question reads the pages that are there
and makes the other buckets on the spot, so its answer never depends on how far the upkeep has come.
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
RAW = StreamName((), "raw since", framed=True)  # stands where no stream does: it has no target


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
                tier.until.clear()  # so that pages that are lost are made again
        self._reader = RollupReader(self.tiers, layouts, raw, fetch_raw, self._can_make)
        self._maker = RollupBuilder(self.tiers, layouts, raw, self._reader, position)

    def close(self) -> None:
        """Let go of the files; which pages late samples made wrong is known again from the log."""
        for tier in self.tiers:
            tier.blocks.close()

    def note_row(self, stream: Stream, time: int) -> None:
        if stream.rolled is None:
            stream.rolled = max(tier.reach(stream.name) for tier in self.tiers)
        if time <= stream.rolled:
            self.note(stream.name, time)

    def note(self, name: StreamName, time: int) -> None:
        """Take note of a row; a late one makes pages wrong, unless raw data of their time have gone."""
        for tier in self.tiers:
            self._note(tier, name, time)

    def note_all(self, name: StreamName, times: Times, positions: Times) -> None:
        """Take note of rows that are read back from the log; most were there when pages were made."""
        for tier in self.tiers:
            for minute in np.unique((tier.late(name, times, positions) - 1) // MINUTE).tolist():
                self._note(tier, name, minute * MINUTE + 1)

    def _note(self, tier: Tier, name: StreamName, time: int) -> None:
        if tier is not self.tiers[0] or tier.page_at(time) >= self.raw_since:
            tier.note(name, time)

    @property
    def newest_position(self) -> int:
        """Return the last position of the log that pages speak of."""
        return max((position for tier in self.tiers for position in tier.made.values()), default=0)

    def notes(self) -> list[Notes]:
        """Return which pages are wrong and still on disk."""
        return [tier.notes() for tier in self.tiers]

    def keep_notes(self, notes: Sequence[Notes], guard: Guard) -> None:
        """Make durable which pages are wrong; to be called before the rows leave the log."""
        for tier, some in zip(self.tiers, notes, strict=True):
            tier.keep_notes(some, guard)

    def raw_expired(self, before: int) -> None:
        """Take note that raw data older than this may have gone."""
        if before > self.raw_since:
            self.raw_since = before
            with self.tiers[0].blocks.transaction():
                self.tiers[0].blocks.keep_stream(RAW, before)

    def targets(self, matchers: Sequence[Matcher]) -> list[Target]:
        """Return the targets whose own labels fit."""
        return [target for tier in self.tiers for target in tier.index.targets(matchers)]

    def forget(self, targets: Collection[Target]) -> None:
        """Forget all streams of some targets; `remove_doomed` takes their pages away."""
        gone = set(targets)
        for tier in self.tiers:  # also of what is known but has no page yet, as its first may just be made
            tier.forget([name for name in tier.names() if name.target in gone])

    def remove_doomed(self) -> None:
        """Remove the pages of what was forgotten."""
        for tier in self.tiers:
            tier.remove_doomed()

    def size(self) -> int:
        """Return how many bytes are in use on disk."""
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
        """Let nobody write to the files; taken before the store's guard, since a commit takes its time."""
        with ExitStack() as held:
            for tier in self.tiers:
                held.enter_context(tier.blocks.database.writing)
            yield

    @contextmanager
    def unread(self) -> Iterator[None]:
        """Let nobody read the files."""
        with ExitStack() as held:
            for tier in self.tiers:
                held.enter_context(tier.blocks.database.reading)
            yield

    def reborn(self) -> None:
        """Go on in a forked child."""
        for tier in self.tiers:
            tier.blocks.reborn()

    def maintain(self, now: int, guard: Guard, turn: Guard, pace: MaintenanceThrottle) -> None:
        """Make pages that are due, a bounded number of them, and remove those that are too old."""
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
        """Yield, target by target, the buckets of fitting series between two multiples of the width."""
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
        """Tell whether all that a page is made of is still there."""
        place = self.tiers.index(tier)
        return page >= (self.since(self.tiers[place - 1].kind.width) if place else self.raw_since)

    def _fetched(
        self, guard: Guard, place: int, ask: RollupQuery, start: int, end: int
    ) -> Callable[[], RollupGroup | None]:
        """Return what unpacks the buckets of a stream's fitting series, in any thread."""
        with guard:
            return partial(_group, ask.found, self._reader.fetched(place, ask, start, end))


def _group(found: StreamMatch, read: Callable[[], Read]) -> RollupGroup | None:
    plan, buckets = read()
    if plan is None or not len(plan.columns):
        return None
    return RollupGroup(StoredLabelTable(found.target, plan.layout, plan.columns), buckets)
