"""Makes the pages of rollups that are due, beside appends and a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vigie.query.rolled_buckets import FIELDS
from vigie.store.index import Found, Index, Matches
from vigie.store.layout import Layouts
from vigie.store.records import StreamName
from vigie.store.rollup_page import page_of
from vigie.store.rollup_reading import Ask, Read, RollupReader
from vigie.store.rollup_tier import Claim, Guard, Made, Tier
from vigie.store.stream import BEFORE_ALL, Stream

MINUTE = 60_000
GRACE = 10 * MINUTE  # after which nothing more is expected of a time
FEW = 256  # pages made in one turn of the upkeep, or more if there are many streams
TURNS = 64  # in which all streams have one page made
PAGES_A_COMMIT = 64
STREAMS_A_LOOK = 256  # while the guard is held
BETWEEN = MINUTE  # from one turn to the next

Job = tuple[Stream, Claim]


class RollupMaker:
    """Claims a page under the guard, makes it without, and lets nobody remove anything meanwhile."""

    def __init__(self, tiers: Sequence[Tier], layouts: Layouts, raw: Index, reader: RollupReader) -> None:
        self._tiers, self._layouts, self._raw, self._reader = tiers, layouts, raw, reader
        self._next = -(1 << 62)

    def maintain(self, now: int, raw_since: int, guard: Guard, turn: Guard) -> None:
        """Make pages that are due, and remove those that are too old."""
        if now < self._next:
            return
        self._next = now + BETWEEN
        for place, tier in enumerate(self._tiers):
            jobs = self._due(tier, now, raw_since, guard)
            for first in range(0, len(jobs), PAGES_A_COMMIT):
                with turn:
                    tier.remove_doomed()
                    self._make(place, jobs[first : first + PAGES_A_COMMIT], guard)
            with turn:
                tier.expire(now, guard)

    def _due(self, tier: Tier, now: int, raw_since: int, guard: Guard) -> list[Job]:
        with guard:
            streams = list(self._raw)
        most = max(FEW, len(streams) // TURNS)
        jobs: dict[Job, None] = {}
        for first in range(0, len(streams), STREAMS_A_LOOK):
            with guard:
                for stream in streams[first : first + STREAMS_A_LOOK]:
                    if self._is_known(stream):
                        jobs.update(dict.fromkeys(_due_of(tier, stream, now, raw_since)))
            if len(jobs) >= most:
                break
        return list(jobs)[:most]

    def _make(self, place: int, jobs: Sequence[Job], guard: Guard) -> None:
        tier, claims, batch = self._tiers[place], list[Claim](), list[Made]()
        numbers: dict[StreamName, int] = {}
        try:
            for stream, claim in jobs:
                with guard:
                    if not self._is_known(stream) or _is_there(tier, claim):
                        continue
                    ask = Ask(Found(stream, {}, ()), Matches(), FIELDS, guard, prompt=False)
                    read = self._reader.fetched(place, ask, claim.page, claim.stop)
                    claims.append(claim)
                    tier.claim(claim)
                batch.append(self._made(tier, claim, read()))
            if batch:
                numbers = tier.write(batch)
        finally:
            with guard:
                tier.settle(claims, batch, numbers)

    def _is_known(self, stream: Stream) -> bool:
        return self._raw.get(stream.name.target, stream.name.source) is stream

    def _made(self, tier: Tier, claim: Claim, read: Read) -> Made:
        plan, buckets = read
        if plan is None or not (buckets.count > 0).any():
            return Made(claim, None)
        layout = self._layouts.of(tuple(plan.layout.series[i] for i in plan.columns))
        ordered = self._layouts.ordered(layout)
        return Made(claim, page_of(ordered, buckets.rows(layout.by_metric), tier.kind.width))


def _due_of(tier: Tier, stream: Stream, now: int, raw_since: int) -> Iterator[Job]:
    """Yield which pages of a stream to make, each up to when."""
    kind, name = tier.kind, stream.name
    if stream.end == BEFORE_ALL:
        return  # its first row was refused
    closed = min(now, max(stream.end, now - GRACE)) // kind.width * kind.width
    stop = min(closed, -(-stream.end // kind.width) * kind.width)
    for page in sorted(tier.missing.get(name, ())):
        if page < stop:
            yield stream, Claim(name, page, min(stop, page + kind.page))
    until = tier.until.get(name)
    if until is None:
        before_first = (_first_time(stream) - 1) // kind.width * kind.width
        until = tier.until[name] = max(before_first, tier.page_at(raw_since))
    quiet = stream.end < now - GRACE
    if stop > until and (quiet or stop - until >= kind.every * kind.width):
        for page in range(tier.page_at(until + 1), stop, kind.page):
            yield stream, Claim(name, page, min(stop, page + kind.page))


def _is_there(tier: Tier, claim: Claim) -> bool:
    name, page, stop = claim
    stored = tier.pages(name, page, page + tier.kind.page)
    if stored and stored[-1].end >= stop:
        tier.until[name] = max(tier.until[name], stop)
        return True
    return False


def _first_time(stream: Stream) -> int:
    in_memory = [piece.start for piece in stream.pieces[:1]]
    return min([*in_memory, stream.spans.start] if stream.spans else in_memory)
