"""Builds the rollup pages that are due, a bounded number per run, without blocking appends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from vigie.query.buckets import FIELDS
from vigie.store.blocks.block_store import Extent
from vigie.store.heads.index import Index, StreamMatch
from vigie.store.heads.stream import BEFORE_ALL, Stream
from vigie.store.rollups.page_split import PagePiece, split_page
from vigie.store.rollups.reader import RollupQuery, RollupReader
from vigie.store.rollups.tier import BuiltPages, Lock, Tier, TierClaim
from vigie.store.series.layout import Layouts
from vigie.store.series.match_cache import MatchCache
from vigie.store.throttle import MaintenanceThrottle
from vigie.store.wal.records import StreamName

MINUTE = 60_000
GRACE = 10 * MINUTE  # after which no more samples of a time are expected
MIN_PAGES = 256  # built per round, or more if there are many streams
ROUNDS = 64  # in which every stream has one page built
PAGES_PER_COMMIT = 64
STREAMS_PER_LOCK = 256  # per acquisition of the lock
INTERVAL = MINUTE  # from one round to the next

Job = tuple[Stream, TierClaim]


class RollupBuilder:
    """Claims a page under the lock, builds it without, while deletions are blocked."""

    def __init__(
        self,
        tiers: Sequence[Tier],
        layouts: Layouts,
        raw: Index,
        reader: RollupReader,
        position: Callable[[], int],
    ) -> None:
        self._tiers, self._layouts, self._raw, self._reader = tiers, layouts, raw, reader
        self._position = position  # of the log
        self._next = -(1 << 62)

    def maintain(
        self, now: int, raw_since: int, lock: Lock, work_lock: Lock, throttle: MaintenanceThrottle
    ) -> None:
        """Build pages that are due, and delete expired ones."""
        if self._next - INTERVAL <= now < self._next:  # not if the clock was set back
            return
        self._next = now + INTERVAL
        for level, tier in enumerate(self._tiers):
            jobs = self._find_due(tier, now, raw_since, lock)
            for first in range(0, len(jobs), PAGES_PER_COMMIT):
                if not throttle.may_continue():
                    return
                with work_lock:
                    tier.delete_pending()
                    self._build(level, jobs[first : first + PAGES_PER_COMMIT], lock, throttle)
            with work_lock:
                tier.expire(now, lock)

    def _find_due(self, tier: Tier, now: int, raw_since: int, lock: Lock) -> list[Job]:
        with lock:
            streams = list(self._raw)
        limit = max(MIN_PAGES, len(streams) // ROUNDS)
        jobs: dict[Job, None] = {}
        for first in range(0, len(streams), STREAMS_PER_LOCK):
            some = streams[first : first + STREAMS_PER_LOCK]
            if not tier.missing:
                some = [each for each in some if each.next_rollup.get(tier.config.width, now) <= now]
            with lock:
                for stream in some:
                    if self._is_live(stream):
                        found = dict.fromkeys(_due_pages(tier, stream, now, raw_since))
                        jobs.update(found)
                        _schedule_next(tier, stream, bool(found), now)
            if len(jobs) >= limit:
                break
        return list(jobs)[:limit]

    def _build(self, level: int, jobs: Sequence[Job], lock: Lock, throttle: MaintenanceThrottle) -> None:
        tier, claims, batch = self._tiers[level], list[TierClaim](), list[BuiltPages]()
        numbers: dict[StreamName, int] = {}
        try:
            for stream, claim in jobs:
                if not throttle.may_continue():
                    break
                with lock:
                    if not self._is_live(stream) or _is_built(tier, claim):
                        continue
                    query = RollupQuery(StreamMatch(stream, {}, ()), MatchCache(), FIELDS, lock, eager=False)
                    runs, kept = self._runs(level, query, claim)
                    claims.append(claim)
                    tier.claim(claim)
                    stream.rollup_limit = None
                    position = self._position() if tier.is_valid(claim.name) else None
                page = split_page(self._layouts, runs, tier.config.width)
                batch.append(BuiltPages(claim, page.chunks, [*kept, *page.kept], position))
            if batch:
                numbers = tier.write(batch)
        finally:
            with lock:
                tier.publish(claims, batch, numbers)

    def _is_live(self, stream: Stream) -> bool:
        return self._raw.get(stream.name.target, stream.name.source) is stream

    def _runs(
        self, level: int, query: RollupQuery, claim: TierClaim
    ) -> tuple[list[list[PagePiece]], list[int]]:
        """Return consecutive pieces that may share a chunk of the page, and which stored chunks stay.

        A stored chunk followed by another one stays: they were split before. Its layout is not read again.
        """
        tier = self._tiers[level]
        runs: list[list[PagePiece]] = [[]]
        stored = tier.extents(claim.name, claim.page)
        kept = [chunk.number for chunk, after in pairwise(stored) if chunk.end == after.start]
        at = claim.page
        for extent in stored:
            runs[-1] += self._pieces(level, query, at, extent.start)
            if extent.number in kept:
                runs.append([])
            else:
                runs[-1] += self._stored(level, query, extent)
            at = extent.end
        runs[-1] += self._pieces(level, query, at, claim.stop)
        return runs, kept

    def _pieces(self, level: int, query: RollupQuery, start: int, stop: int) -> Iterator[PagePiece]:
        """Yield new pieces of a few hours each."""
        finer = self._tiers[max(0, level - 1)].config
        step = max(self._tiers[level].config.width, finer.every * finer.width)
        for at in range(start, stop, step):
            end = min(at + step, stop)
            yield PagePiece(at, end, self._reader.fetch(level, query, at, end), None)

    def _stored(self, level: int, query: RollupQuery, extent: Extent) -> Iterator[PagePiece]:
        """Yield stored pieces, rebuilt if their layout is damaged."""
        start, stop = extent.start, extent.end
        chunks = self._tiers[level].chunks(query.found.stream.name, start, stop)
        if not chunks:
            yield from self._pieces(level, query, start, stop)
        for chunk in chunks:
            yield PagePiece(start, stop, self._reader.fetch(level, query, start, stop), chunk)


def _due_pages(tier: Tier, stream: Stream, now: int, raw_since: int) -> Iterator[Job]:
    """Yield the pages of a stream to build, each with its end."""
    config, name = tier.config, stream.name
    if stream.end == BEFORE_ALL:
        return  # its first row was rejected
    closed = min(now, max(stream.end, now - GRACE)) // config.width * config.width
    stop = min(closed, -(-stream.end // config.width) * config.width)
    for page in sorted(tier.missing.get(name, ())):
        if page < stop:
            yield stream, TierClaim(name, page, min(stop, page + config.page))
    until = tier.built_until.get(name)
    if until is None:
        before_first = (_first_time(stream) - 1) // config.width * config.width
        until = tier.built_until[name] = max(before_first, tier.page_at(raw_since))
        stream.rollup_limit = None
    quiet = stream.end < now - GRACE
    if stop > until and (quiet or stop - until >= config.every * config.width):
        for page in range(tier.page_at(until + 1), stop, config.page):
            yield stream, TierClaim(name, page, min(stop, page + config.page))


def _schedule_next(tier: Tier, stream: Stream, due: bool, now: int) -> None:
    """Set the next time to check a stream: when a page is full, or the stream is quiet."""
    config, until = tier.config, tier.built_until.get(stream.name)
    soon = due or until is None or stream.end < now - GRACE
    full = BEFORE_ALL if soon or until is None else until + config.every * config.width
    stream.next_rollup[config.width] = min(full, stream.end + GRACE)


def _is_built(tier: Tier, claim: TierClaim) -> bool:
    name, page, stop = claim
    stored = tier.extents(name, page)
    if stored and stored[-1].end >= stop:
        tier.built_until[name] = max(tier.built_until[name], stop)
        return True
    return False


def _first_time(stream: Stream) -> int:
    in_memory = [piece.start for piece in stream.pieces[:1]]
    return min([*in_memory, stream.spans.start] if stream.spans else in_memory)
