"""Keeps up what the diagnoses found: the last hours once, then only what is new since somebody looked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from vigie.findings.core.finding import HOUR_MS, LABELS, MINUTE_MS
from vigie.findings.core.history import KEEP_MS, STEP_MS, History, history_queries
from vigie.findings.core.incident import Incident, build_incidents
from vigie.findings.core.occurrence import Occurrence, from_events
from vigie.findings.core.registry import all_findings
from vigie.query.errors import QueryError
from vigie.server.cluster.bindings import StoredBinding
from vigie.server.pages.cluster_state import ClusterState
from vigie.server.pages.query_batch import BatchQuery, BatchRunner, QuerySpan
from vigie.server.pages.snapshot import Snapshot

log = logging.getLogger(__name__)

SOON_MS = 30_000  # how old the newest look may be
REST = 10  # times what a look took it is good, so that a large cluster is not asked all the time
LATE_MS = 120_000  # older than this is worth waiting for
PATIENCE = 2.0  # seconds
FIRST_PATIENCE = 0.2  # without the first look a page tells half, and says so: better than nothing for seconds
UNFINISHED = "the samples of the last hours are still being looked at"
LOOK_SECONDS = 60.0  # of one look; beside it pages are answered
PAST = 4  # other histories that are stored, for those who look at the past
TURN_MS = 30 * MINUTE_MS  # of the past, whose looks are shared
# How far back is looked at first, by how many nodes there are: it reads every sample of that time.
REACH = ((64, 6 * HOUR_MS), (256, HOUR_MS), (1 << 30, 10 * MINUTE_MS))
AROUND_MS = 10 * MINUTE_MS  # who held a place so soon after the beginning is hit by it


class IncidentReport(NamedTuple):
    """What is or was wrong, and why not all of it is known; nothing if it is."""

    incidents: list[Incident]
    missing: str


class IncidentMonitor:
    """Tells what is wrong at a moment; made within an event loop."""

    def __init__(
        self,
        runner: BatchRunner,
        cluster: ClusterState,
        clock: Callable[[], int],
        *,
        patience: float = FIRST_PATIENCE,
    ) -> None:
        self._patience = patience  # how many seconds a page waits for the first look
        self._error = ""  # why the samples could not be looked at
        self._runner, self._cluster, self._clock = runner, cluster, clock
        self._findings = all_findings()
        self._queries = {
            name: BatchQuery(query, LABELS) for name, query in history_queries(self._findings).items()
        }
        self._kinds = {kind for finding in self._findings for kind in finding.events}
        self._cost = 0.0  # milliseconds of the last look
        self._live: History | None = None
        self._refresh: asyncio.Task[None] | None = None
        self._past: OrderedDict[int, History] = OrderedDict()

    def close(self) -> None:
        if self._refresh:
            self._refresh.cancel()

    async def incidents(self, snapshot: Snapshot) -> IncidentReport:
        """Return what is or was wrong, as it was to be occurrences at the moment of a snapshot."""
        history = await self._history(snapshot.at_ms, len(snapshot.nodes))
        missing = self._error  # of this history: a look that ends from here on tells of another one
        occurrences = list(history.occurrences(snapshot.at_ms))
        return IncidentReport(await asyncio.to_thread(self._build_incidents, occurrences, snapshot), missing)

    def _build_incidents(self, occurrences: list[Occurrence], snapshot: Snapshot) -> list[Incident]:
        at_ms = snapshot.at_ms
        found = self._cluster.events(self._kinds, at_ms - KEEP_MS, at_ms)
        events = [stored.event for stored in found]
        occurrences = [
            one._replace(end_ms=at_ms) if _is_back(one, snapshot) else one for one in occurrences
        ] + [
            sighting
            for sighting in from_events(self._findings, events, at_ms)
            if sighting.end_ms is None or sighting.end_ms >= at_ms - KEEP_MS
        ]
        held = self._cluster.bindings(min(one.begin_ms for one in occurrences), at_ms) if occurrences else []
        return build_incidents(occurrences, JobLookup(held, at_ms).jobs)

    async def _history(self, at_ms: int, nodes: int) -> History:
        reach = next(reach for most, reach in REACH if nodes <= most)
        live = self._live
        if live and live.covers(at_ms):
            return live
        if at_ms < (live.from_ms if live else self._clock() - reach):
            return await self._past_history(at_ms, reach)
        behind = at_ms - live.until_ms if live else reach
        if behind >= max(SOON_MS, REST * self._cost) and (self._refresh is None or self._refresh.done()):
            self._refresh = asyncio.ensure_future(self._read_samples(max(at_ms, self._clock()), reach))
        if (live is None or behind > LATE_MS + REST * self._cost) and self._refresh:
            await asyncio.wait([self._refresh], timeout=PATIENCE if live else self._patience)
        if self._live is None:
            self._error = self._error or UNFINISHED
        return self._live or History(self._findings, at_ms)

    async def _read_samples(self, at_ms: int, reach: int) -> None:
        """Bring the history up to a moment, beside those who ask for pages."""
        live, begun = self._live, time.monotonic()
        try:
            if live and at_ms - live.until_ms <= reach:
                await self._extend(live, at_ms)
            else:
                self._live = await self._start_history(at_ms, reach)
            self._cost, self._error = (time.monotonic() - begun) * 1000, ""
        except QueryError as error:
            if str(error) != self._error:
                self._error = str(error)
                log.warning("the samples could not be looked at for what is wrong: %s", error)

    async def _past_history(self, at_ms: int, reach: int) -> History:
        turn = at_ms // TURN_MS
        if turn not in self._past:
            self._past[turn] = await self._start_history(min((turn + 1) * TURN_MS, self._clock()), reach)
            while len(self._past) > PAST:
                self._past.popitem(last=False)
        return self._past[turn]

    async def _start_history(self, at_ms: int, reach: int) -> History:
        first = at_ms - reach
        history = History(self._findings, first)
        history.until_ms = first - STEP_MS
        await self._extend(history, at_ms)
        return history

    async def _extend(self, history: History, at_ms: int) -> None:
        """Ask about the time since the last look, up to now at any rate."""
        missed = at_ms - history.until_ms
        step = min(STEP_MS, missed)
        span = QuerySpan(at_ms - (missed - 1) // step * step, at_ms, step)
        found = await self._runner.run(self._queries, span, LOOK_SECONDS)
        for name, rows in found.rows.items():
            for row in rows:
                history.add(name, row.labels, row.times, row.values)
        history.advance(at_ms)


def _is_back(one: Occurrence, snapshot: Snapshot) -> bool:
    """Tell whether the node that samples of the last minutes call lost is there again."""
    node = one.labels.get("instance", "")
    return one.finding.while_silent and one.end_ms is None and snapshot.is_up(node)


class JobLookup:
    """Finds the jobs that a incident hits."""

    def __init__(self, held: Sequence[StoredBinding], at_ms: int) -> None:
        self._at = at_ms
        self._on: dict[tuple[str, str], list[StoredBinding]] = defaultdict(list)
        for stored in held:
            if stored.binding.holder_kind == "job" and stored.binding.resource != "queue":
                self._on[stored.node, ""].append(stored)
                if stored.binding.gpu:
                    self._on[stored.node, stored.binding.gpu].append(stored)

    def jobs(self, node: str, gpu: str, begin_ms: int, end_ms: int | None) -> list[str]:
        """Return who held a node or a GPU when it began, or holds it while it lasts."""
        soon = min(begin_ms + AROUND_MS, self._at if end_ms is None else max(end_ms, begin_ms))
        found: dict[str, None] = {}
        for stored in self._on.get((node, gpu), ()):
            begin, end = stored.binding.from_ms, stored.binding.to_ms
            then = begin <= soon and (end is None or end >= begin_ms)
            now = end_ms is None and begin <= self._at and (end is None or end > self._at)
            if then or now:
                found[stored.binding.holder] = None
        return list(found)
