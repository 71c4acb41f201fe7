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
from vigie.store.rollups.tier import InvalidPages, Lock, Tier, TierConfig
from vigie.store.series.label_table import StoredLabelTable
from vigie.store.series.layout import Layouts, Target
from vigie.store.series.match_cache import MatchCache
from vigie.store.throttle import MaintenanceThrottle
from vigie.store.wal.records import StreamName

HOUR, DAY = 60 * MINUTE, 1440 * MINUTE
FIVE_MINUTES = TierConfig("5m", 5 * MINUTE, 72, 24, Retention(90 * DAY))
ONE_HOUR = TierConfig("1h", HOUR, 72, 24, Retention(730 * DAY))
TIERS = (FIVE_MINUTES, ONE_HOUR)
RAW = StreamName((), "raw since", framed=True)  # a name without a target, used by no stream


class RollupStore:
    """All tiers of a store, finest first."""

    def __init__(
        self,
        directory: Path,
        layouts: Layouts,
        raw: Index,
        fetch_raw: FetchRaw,
        corruption_log: CorruptionLog,
        max_bytes: int | None,
        position: Callable[[], int],
        configs: Sequence[TierConfig] = TIERS,
    ) -> None:
        self._raw = raw
        configs = [config._replace(retention=config.retention.quarter_of(max_bytes)) for config in configs]
        self.tiers = [Tier(directory, config, layouts, corruption_log) for config in configs]
        self.raw_since = self.tiers[0].built_until.pop(RAW, -(1 << 62))
        for tier in self.tiers:
            if tier.blocks.repaired:
                tier.built_until.clear()  # so that lost pages are rebuilt
        self._reader = RollupReader(self.tiers, layouts, raw, fetch_raw, self._can_build)
        self._builder = RollupBuilder(self.tiers, layouts, raw, self._reader, position)

    def close(self) -> None:
        """Close the files; pages invalidated by late samples are found again in the log."""
        for tier in self.tiers:
            tier.blocks.close()

    def invalidate_if_late(self, stream: Stream, time: int) -> None:
        if stream.rollup_limit is None:
            stream.rollup_limit = max(tier.late_until(stream.name) for tier in self.tiers)
        if time <= stream.rollup_limit:
            self.invalidate_late(stream.name, time)

    def invalidate_late(self, name: StreamName, time: int) -> None:
        """Invalidate the pages of a late row, unless their raw data have expired."""
        for tier in self.tiers:
            self._invalidate(tier, name, time)

    def invalidate_late_rows(self, name: StreamName, times: Times, positions: Times) -> None:
        """Invalidate pages for rows replayed from the log; most were there when pages were built."""
        for tier in self.tiers:
            for minute in np.unique((tier.late_times(name, times, positions) - 1) // MINUTE).tolist():
                self._invalidate(tier, name, minute * MINUTE + 1)

    def _invalidate(self, tier: Tier, name: StreamName, time: int) -> None:
        if tier is not self.tiers[0] or tier.page_at(time) >= self.raw_since:
            tier.invalidate_late(name, time)

    @property
    def newest_log_position(self) -> int:
        """Return the last log position that pages refer to."""
        return max((position for tier in self.tiers for position in tier.built_positions.values()), default=0)

    def invalid_pages(self) -> list[InvalidPages]:
        """Return the pages that are invalid and still on disk."""
        return [tier.invalid_pages() for tier in self.tiers]

    def save_invalid_pages(self, invalid_pages: Sequence[InvalidPages], lock: Lock) -> None:
        """Save which pages are invalid; called before their late rows leave the log."""
        for tier, some in zip(self.tiers, invalid_pages, strict=True):
            tier.save_invalid_pages(some, lock)

    def set_raw_since(self, before: int) -> None:
        """Record that raw data older than this may have been deleted."""
        if before > self.raw_since:
            self.raw_since = before
            with self.tiers[0].blocks.transaction():
                self.tiers[0].blocks.upsert_stream(RAW, before)

    def targets(self, matchers: Sequence[Matcher]) -> list[Target]:
        return [target for tier in self.tiers for target in tier.index.targets(matchers)]

    def forget(self, targets: Collection[Target]) -> None:
        """Remove all streams of some targets; `delete_pending` deletes their pages."""
        gone = set(targets)
        for tier in self.tiers:  # also streams without a page, whose first may be in progress
            tier.forget([name for name in tier.names() if name.target in gone])

    def delete_pending(self) -> None:
        for tier in self.tiers:
            tier.delete_pending()

    def size(self) -> int:
        """Return the bytes in use on disk."""
        total = 0
        for tier in self.tiers:
            with tier.blocks.database.write_lock:
                total += tier.blocks.size()
        return total

    def since(self, width: int) -> int:
        """Return how far back buckets of a width go."""
        tier = next(tier for tier in self.tiers if tier.config.width == width)
        starts = [stream.spans.start for stream in tier.index if stream.spans]
        return min(starts, default=self.raw_since)

    def verify(self) -> Iterator[str]:
        """Yield what is damaged, after reading every page."""
        for tier in self.tiers:
            yield from (f"rollups of {tier.config.name}: {fault}" for fault in tier.blocks.verify())

    @contextmanager
    def block_writes(self) -> Iterator[None]:
        """Block writes to the files; taken before the store's lock, because a commit is slow."""
        with ExitStack() as held:
            for tier in self.tiers:
                held.enter_context(tier.blocks.database.write_lock)
            yield

    @contextmanager
    def block_reads(self) -> Iterator[None]:
        with ExitStack() as held:
            for tier in self.tiers:
                held.enter_context(tier.blocks.database.read_lock)
            yield

    def after_fork(self) -> None:
        for tier in self.tiers:
            tier.blocks.after_fork()

    def maintain(self, now: int, lock: Lock, work_lock: Lock, throttle: MaintenanceThrottle) -> None:
        """Build pages that are due, a bounded number of them, and delete expired ones."""
        self._builder.maintain(now, self.raw_since, lock, work_lock, throttle)

    def groups(
        self,
        lock: Lock,
        matchers: Sequence[Matcher],
        start: int,
        end: int,
        width: int,
        wanted: Collection[str],
    ) -> Iterator[RollupGroup]:
        """Yield the buckets of matching series between two multiples of the width, one group per stream."""
        level = [tier.config.width for tier in self.tiers].index(width)
        matches = MatchCache()
        with lock:
            indexes = [self._raw, *(tier.index for tier in self.tiers[level::-1])]
            found = {one.stream.name: one for index in indexes for one in index.find(matchers)}
        tasks = (
            self._fetch(lock, level, RollupQuery(one, matches, wanted, lock, eager=True), start, end)
            for one in found.values()
        )
        yield from filter(None, parallel_map(tasks, worth=lambda: True))

    def _can_build(self, tier: Tier, page: int) -> bool:
        """Report whether all data that a page is built from still exists."""
        level = self.tiers.index(tier)
        return page >= (self.since(self.tiers[level - 1].config.width) if level else self.raw_since)

    def _fetch(
        self, lock: Lock, level: int, query: RollupQuery, start: int, end: int
    ) -> Callable[[], RollupGroup | None]:
        """Fetch the buckets of a stream's matching series; the result decompresses them in any thread."""
        with lock:
            return partial(_group, query.found, self._reader.fetch(level, query, start, end))


def _group(found: StreamMatch, read: Callable[[], Read]) -> RollupGroup | None:
    plan, buckets = read()
    if plan is None or not len(plan.columns):
        return None
    return RollupGroup(StoredLabelTable(found.target, plan.layout, plan.columns), buckets)
