"""Takes pictures of the cluster, and keeps each for a moment: many who look cost what one costs."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from vigie.server.cluster.filters import BindingFilter
from vigie.server.pages.cluster_state import ClusterState
from vigie.server.pages.incident_monitor import FIRST_PATIENCE, UNFINISHED, IncidentMonitor
from vigie.server.pages.queries import (
    BEFORE,
    BEFORE_MS,
    GPU_QUERIES,
    HOLDER_QUERY,
    KNOWN_GPUS,
    NODE_QUERIES,
    SLOW,
)
from vigie.server.pages.query_batch import BatchResult, BatchRunner
from vigie.server.pages.result_table import SeriesRow
from vigie.server.pages.snapshot import GpuInfo, Place, Snapshot, bindings_from_samples, gpu_infos

FRESH_SECONDS = 2.0  # so long a snapshot of now is as good as a new one
HALF_SECONDS = 1.0  # one that tells only half, because the samples are still being looked at
PAST_SECONDS = 30.0  # and one of the past
REST = 10  # times what a snapshot took it is good, so that a large cluster is not asked all the time
SLOW_SECONDS = 0.5  # who would wait longer for a new snapshot gets the last one
OLD_SECONDS = 60.0  # unless that is too old
WARM_SECONDS = 0.1  # after the start, so that a page that is opened then finds it done
LIVE_MS = 30_000  # a moment that is not older than this is now, as far as states go
MAX_SNAPSHOTS = 8  # pictures
SEEN_MS = 600_000  # how long it is remembered which GPUs there were
NAMED_MS = 60_000  # how long names of metrics are remembered
SLOW_MS = 60_000  # how old answers about what changes slowly may be in a large cluster
WEEK_MS = 7 * 86_400_000


class _PendingSnapshot(NamedTuple):
    """A snapshot that is being taken, and until when it is good."""

    task: asyncio.Task[Snapshot]
    soon: float  # when an unfinished one is good no more
    until: float
    before: asyncio.Task[Snapshot] | None = None  # the last one, where waiting for this takes long

    @property
    def failed(self) -> bool:
        """Tell whether it came to nothing."""
        return self.task.done() and (self.task.cancelled() or self.task.exception() is not None)

    def good(self, now: float) -> bool:
        """Tell whether it will do for somebody who queries now."""
        if self.failed or now >= self.until:
            return False
        return not self.task.done() or not self.task.result().unfinished or now < self.soon


class SnapshotCache:
    """Gives the snapshot of a moment; made within an event loop."""

    def __init__(
        self,
        runner: BatchRunner,
        cluster: ClusterState,
        clock: Callable[[], int],
        *,
        patience: float = FIRST_PATIENCE,
    ) -> None:
        self.runner, self.cluster, self.clock = runner, cluster, clock
        # Where nobody keeps bindings, samples still tell who holds what now.
        more = {"held": HOLDER_QUERY} if cluster.missing else {}
        self._queries = {**GPU_QUERIES, **NODE_QUERIES, **more}
        self._monitor = IncidentMonitor(runner, cluster, clock, patience=patience)
        self._cost = 0.0  # seconds of the last snapshot
        self._warming: asyncio.TimerHandle | None = None
        self._names: tuple[int, list[str]] = (-1, [])
        self._slow: tuple[int, Mapping[str, Sequence[SeriesRow]]] = (
            0,
            {},
        )  # what changes slowly, and as of when
        self._watched_ms: int | None = None  # the earliest moment of which it is known that it was watched
        self._pending: OrderedDict[int | None, _PendingSnapshot] = OrderedDict()
        self._cards: OrderedDict[int, dict[Place, GpuInfo]] = OrderedDict()

    def warm(self) -> None:
        """Look at the last hours soon, before anybody queries for them."""
        self._warming = asyncio.get_running_loop().call_later(WARM_SECONDS, self._start, None)

    def close(self) -> None:
        """End what is under way; nobody waits for it any more."""
        if self._warming:
            self._warming.cancel()
        self._monitor.close()
        for pending in self._pending.values():
            pending.task.cancel()

    async def at(self, at_ms: int | None = None) -> Snapshot:
        """Return the snapshot of a moment; without one, of now."""
        # Whoever leaves first must not take the snapshot away from the others who wait for it.
        return await asyncio.shield(self._start(at_ms))

    def _start(self, at_ms: int | None) -> asyncio.Task[Snapshot]:
        """Return the snapshot that is being taken or was lately; those who ask share it."""
        now = time.monotonic()
        known = self._pending.get(at_ms)
        if known and known.good(now):
            return known.task if known.task.done() else known.before or known.task
        clock = self.clock()
        task = asyncio.ensure_future(self._take(clock if at_ms is None else min(at_ms, clock)))
        task.add_done_callback(_retrieve_error)
        lasts = PAST_SECONDS if at_ms else max(FRESH_SECONDS, REST * self._cost)
        good = (
            known is not None and known.task.done() and not known.failed and now < known.until + OLD_SECONDS
        )
        before = known.task if known and good and self._cost > SLOW_SECONDS and at_ms is None else None
        self._pending[at_ms] = _PendingSnapshot(task, now + HALF_SECONDS, now + lasts, before)
        while len(self._pending) > MAX_SNAPSHOTS:
            self._pending.popitem(last=False)
        return before or task

    async def names(self, at_ms: int) -> list[str]:
        """Return the names of metrics, as of a while ago at most."""
        turn = at_ms // NAMED_MS
        if self._names[0] != turn:
            self._names = turn, await self.runner.names(at_ms)
        return self._names[1]

    async def _take(self, at_ms: int) -> Snapshot:
        started = time.monotonic()
        found = await self._query(at_ms)
        cards = {**await self._known_cards(at_ms), **gpu_infos(found, "info")}
        snapshot = await asyncio.to_thread(self._build, at_ms, found, cards)
        self._cost = time.monotonic() - started
        snapshot.young = bool(snapshot.all("up")) and await self._is_young(at_ms)
        snapshot.incidents, missing = await self._monitor.incidents(snapshot)
        if missing:
            snapshot.errors["findings"] = missing
            snapshot.unfinished = missing == UNFINISHED
        return snapshot

    async def _query(self, at_ms: int) -> BatchResult:
        """Return all answers; in a large cluster those about what changes slowly may be a minute old."""
        since, slow = self._slow
        if self._cost <= SLOW_SECONDS or not 0 <= at_ms - since < SLOW_MS:
            found = await self.runner.run(self._queries, at_ms)
            self._slow = at_ms, {name: rows for name, rows in found.rows.items() if name in SLOW}
            return found
        queries = {name: ask for name, ask in self._queries.items() if name not in SLOW}
        found = await self.runner.run(queries, at_ms)
        return BatchResult({**slow, **found.rows}, found.errors)

    async def _is_young(self, at_ms: int) -> bool:
        """Tell whether nothing was watched ten minutes before; once something was, nobody queries again."""
        before = at_ms - BEFORE_MS
        if self._watched_ms is None or before < self._watched_ms:
            if not (await self.runner.run({"before": BEFORE}, at_ms)).numbers("before"):
                return True
            self._watched_ms = before
        return False

    def _build(self, at_ms: int, found: BatchResult, cards: dict[Place, GpuInfo]) -> Snapshot:
        live = self.clock() - at_ms <= LIVE_MS
        held = (
            bindings_from_samples(found, "held", at_ms)
            if self.cluster.missing
            else self.cluster.bindings(at_ms, at_ms)
        )
        jobs = self.cluster.jobs(BindingFilter(since_ms=at_ms - WEEK_MS, until_ms=at_ms))
        nodes = self.cluster.nodes()
        return Snapshot(at_ms, found, cards, nodes, held, jobs, live=live, missing=self.cluster.missing)

    async def _known_cards(self, at_ms: int) -> dict[Place, GpuInfo]:
        """Return the GPUs of the last hours; those that are gone are to be seen as lost, not forgotten."""
        turn = at_ms // SEEN_MS
        if turn not in self._cards:
            found = await self.runner.run({"known": KNOWN_GPUS}, at_ms)
            self._cards[turn] = gpu_infos(found, "known")
            while len(self._cards) > MAX_SNAPSHOTS:
                self._cards.popitem(last=False)
        return self._cards[turn]


def _retrieve_error(task: asyncio.Task[Snapshot]) -> None:
    """Look at how a snapshot went, even if everybody who wanted it has left."""
    if not task.cancelled():
        task.exception()
