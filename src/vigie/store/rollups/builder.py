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
from vigie.store.rollups.tier import BuiltPages, Guard, Tier, TierClaim
from vigie.store.series.layout import Layouts
from vigie.store.series.match_cache import MatchCache
from vigie.store.throttle import MaintenanceThrottle
from vigie.store.wal.records import StreamName

MINUTE = 60_000
GRACE = 10 * MINUTE  # after which no more samples of a time are expected
FEW = 256  # built per round, or more if there are many streams
TURNS = 64  # in which every stream has one page built
PAGES_A_COMMIT = 64
STREAMS_A_LOOK = 256  # per acquisition of the lock
BETWEEN = MINUTE  # from one round to the next

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
        self, now: int, raw_since: int, guard: Guard, turn: Guard, pace: MaintenanceThrottle
    ) -> None:
        """Build pages that are due, and delete expired ones."""
        if self._next - BETWEEN <= now < self._next:  # not if the clock was set back
            return
        self._next = now + BETWEEN
        for place, tier in enumerate(self._tiers):
            jobs = self._due(tier, now, raw_since, guard)
            for first in range(0, len(jobs), PAGES_A_COMMIT):
                if not pace.goes_on():
                    return
                with turn:
                    tier.remove_doomed()
                    self._make(place, jobs[first : first + PAGES_A_COMMIT], guard, pace)
            with turn:
                tier.expire(now, guard)

    def _due(self, tier: Tier, now: int, raw_since: int, guard: Guard) -> list[Job]:
        with guard:
            streams = list(self._raw)
        most = max(FEW, len(streams) // TURNS)
        jobs: dict[Job, None] = {}
        for first in range(0, len(streams), STREAMS_A_LOOK):
            some = streams[first : first + STREAMS_A_LOOK]
            if not tier.missing:
                some = [each for each in some if each.roll_at.get(tier.kind.width, now) <= now]
            with guard:
                for stream in some:
                    if self._is_known(stream):
                        found = dict.fromkeys(_due_of(tier, stream, now, raw_since))
                        jobs.update(found)
                        _note_next(tier, stream, bool(found), now)
            if len(jobs) >= most:
                break
        return list(jobs)[:most]

    def _make(self, place: int, jobs: Sequence[Job], guard: Guard, pace: MaintenanceThrottle) -> None:
        tier, claims, batch = self._tiers[place], list[TierClaim](), list[BuiltPages]()
        numbers: dict[StreamName, int] = {}
        try:
            for stream, claim in jobs:
                if not pace.goes_on():
                    break
                with guard:
                    if not self._is_known(stream) or _is_there(tier, claim):
                        continue
                    ask = RollupQuery(StreamMatch(stream, {}, ()), MatchCache(), FIELDS, guard, prompt=False)
                    runs, kept = self._runs(place, ask, claim)
                    claims.append(claim)
                    tier.claim(claim)
                    stream.rolled = None
                    position = self._position() if tier.is_right(claim.name) else None
                made = split_page(self._layouts, runs, tier.kind.width)
                batch.append(BuiltPages(claim, made.chunks, [*kept, *made.kept], position))
            if batch:
                numbers = tier.write(batch)
        finally:
            with guard:
                tier.settle(claims, batch, numbers)

    def _is_known(self, stream: Stream) -> bool:
        return self._raw.get(stream.name.target, stream.name.source) is stream

    def _runs(
        self, place: int, ask: RollupQuery, claim: TierClaim
    ) -> tuple[list[list[PagePiece]], list[int]]:
        """Return consecutive pieces that may share a chunk of the page, and which stored chunks stay.

        A stored chunk followed by another one stays: they were split before. Its layout is not read again.
        """
        tier = self._tiers[place]
        runs: list[list[PagePiece]] = [[]]
        stored = tier.extents(claim.name, claim.page)
        kept = [chunk.number for chunk, after in pairwise(stored) if chunk.end == after.start]
        at = claim.page
        for extent in stored:
            runs[-1] += self._pieces(place, ask, at, extent.start)
            if extent.number in kept:
                runs.append([])
            else:
                runs[-1] += self._stored(place, ask, extent)
            at = extent.end
        runs[-1] += self._pieces(place, ask, at, claim.stop)
        return runs, kept

    def _pieces(self, place: int, ask: RollupQuery, start: int, stop: int) -> Iterator[PagePiece]:
        """Yield new pieces of a few hours each."""
        finer = self._tiers[max(0, place - 1)].kind
        step = max(self._tiers[place].kind.width, finer.every * finer.width)
        for at in range(start, stop, step):
            till = min(at + step, stop)
            yield PagePiece(at, till, self._reader.fetched(place, ask, at, till), None)

    def _stored(self, place: int, ask: RollupQuery, extent: Extent) -> Iterator[PagePiece]:
        """Yield stored pieces, rebuilt if their layout is damaged."""
        start, stop = extent.start, extent.end
        chunks = self._tiers[place].chunks(ask.found.stream.name, start, stop)
        if not chunks:
            yield from self._pieces(place, ask, start, stop)
        for chunk in chunks:
            yield PagePiece(start, stop, self._reader.fetched(place, ask, start, stop), chunk)


def _due_of(tier: Tier, stream: Stream, now: int, raw_since: int) -> Iterator[Job]:
    """Yield the pages of a stream to build, each with its end."""
    kind, name = tier.kind, stream.name
    if stream.end == BEFORE_ALL:
        return  # its first row was rejected
    closed = min(now, max(stream.end, now - GRACE)) // kind.width * kind.width
    stop = min(closed, -(-stream.end // kind.width) * kind.width)
    for page in sorted(tier.missing.get(name, ())):
        if page < stop:
            yield stream, TierClaim(name, page, min(stop, page + kind.page))
    until = tier.until.get(name)
    if until is None:
        before_first = (_first_time(stream) - 1) // kind.width * kind.width
        until = tier.until[name] = max(before_first, tier.page_at(raw_since))
        stream.rolled = None
    quiet = stream.end < now - GRACE
    if stop > until and (quiet or stop - until >= kind.every * kind.width):
        for page in range(tier.page_at(until + 1), stop, kind.page):
            yield stream, TierClaim(name, page, min(stop, page + kind.page))


def _note_next(tier: Tier, stream: Stream, due: bool, now: int) -> None:
    """Set the next time to check a stream: when a page is full, or the stream is quiet."""
    kind, until = tier.kind, tier.until.get(stream.name)
    soon = due or until is None or stream.end < now - GRACE
    full = BEFORE_ALL if soon or until is None else until + kind.every * kind.width
    stream.roll_at[kind.width] = min(full, stream.end + GRACE)


def _is_there(tier: Tier, claim: TierClaim) -> bool:
    name, page, stop = claim
    stored = tier.extents(name, page)
    if stored and stored[-1].end >= stop:
        tier.until[name] = max(tier.until[name], stop)
        return True
    return False


def _first_time(stream: Stream) -> int:
    in_memory = [piece.start for piece in stream.pieces[:1]]
    return min([*in_memory, stream.spans.start] if stream.spans else in_memory)
