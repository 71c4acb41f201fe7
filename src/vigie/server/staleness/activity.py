"""Keeps when each node was heard, in memory and in SQLite, so that a restart forgets no absence."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import structs

from vigie.query.storage import Matcher, SeriesGroup
from vigie.server.staleness.gaps import LATE_MS, REMOVED, SILENT, STOPPED, Gap, NodeActivity
from vigie.wire.messages import DECODE_ERRORS

SAVE_MS = 300_000  # how stale the newest times may be on disk; the store knows better after a crash
FUTURE = 1 << 60
JOB = "node"


class StoredTimes(Protocol):
    """What can be asked for the frames that it has."""

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]: ...


class ActivityLog:
    """One writes, any thread reads: what is read is never changed, only replaced.

    Readers take no lock, as a process that is forked to read could find it taken for ever.
    """

    def __init__(self, path: Path, store: StoredTimes, now_ms: Callable[[], int]) -> None:
        self._now, self._since = now_ms, now_ms()
        self._guard = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False, timeout=10)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = full")  # a frame is acknowledged after that
        self._database.execute("create table if not exists heard (node text primary key, facts text)")
        rows = self._database.execute("select node, facts from heard").fetchall()
        self._heard = {node: heard for node, facts in rows for heard in _read(facts)}
        self._changed: set[str] = set()
        self._saved_ms = self._since
        self._catch_up(store)

    def close(self) -> None:
        """Write everything, and let go of the file."""
        self._saved_ms = 0
        with contextlib.closing(self._database):
            self.sync()

    def frame(self, node: str, time: int, cadence: float | None = None, jobs: Sequence[str] = ()) -> None:
        """Note that there is a frame of a node, and which jobs it has samples of."""
        with self._guard:
            before = self._heard.get(node)
            step = round(1000 * cadence) if cadence else before.step if before else 10_000
            heard = before or NodeActivity(time, time, step)
            if heard.step != step or not set(jobs) <= set(heard.jobs):
                heard = structs.replace(heard, step=step, jobs=tuple(dict.fromkeys([*heard.jobs, *jobs])))
            self._heard[node] = heard = heard.with_frame(time)
            if before is None or (heard.gaps, heard.jobs) != (before.gaps, before.jobs):
                self._changed.add(node)

    def expected(self, node: str, time: int) -> None:
        """Note that a node is to be heard from now on; one that is heard already is."""
        heard = self._heard.get(node)
        if heard is None or heard.why == REMOVED:
            self.frame(node, time)

    def stopped(self, node: str) -> None:
        """Note that no frame will follow, as the agent ends, or that what follows is of another start."""
        self._ended(node, STOPPED)

    def removed(self, node: str) -> None:
        """Note that the node is none of ours any more."""
        self._ended(node, REMOVED)

    def sync(self) -> None:
        """Return when everything noted before survives."""
        with self._guard:
            now = self._now()
            whole = now - self._saved_ms > SAVE_MS
            nodes = self._heard if whole else self._changed
            rows = [(node, msgspec.json.encode(self._heard[node]).decode()) for node in nodes]
            if rows:
                with self._database:
                    self._database.executemany("insert or replace into heard values (?, ?)", rows)
            self._changed.clear()
            self._saved_ms = now if whole else self._saved_ms

    def between(self, start: int, end: int) -> dict[tuple[str, str], list[Gap]]:
        """Return the gaps that reach into a time span, by node and job."""
        now = self._now()
        recent = now - LATE_MS
        found: dict[tuple[str, str], list[Gap]] = {}
        for node, heard in self._heard.copy().items():
            is_over = not heard.gaps or heard.gaps[-1].end < start
            if is_over and heard.newest >= recent and heard.why == SILENT:
                continue  # as nearly all are, at each question
            gaps = [gap for gap in heard.until(now, self._since) if gap.start <= end and gap.end >= start]
            found.update(((node, job), gaps) for job in self.jobs(node) if gaps)
        return found

    def jobs(self, node: str) -> Sequence[str]:
        heard = self._heard.get(node)
        return (JOB, *heard.jobs) if heard else (JOB,)

    def _catch_up(self, store: StoredTimes) -> None:
        """Note the frames that came after what is on disk: a node that was silent for longer has none."""
        newest = max((heard.newest for heard in self._heard.values()), default=0)
        wanted = [Matcher("__name__", "=", "up"), Matcher("job", "=", JOB)]
        for group in store.select(wanted, newest - 2 * SAVE_MS, FUTURE) if self._heard else ():
            for labels, values in zip(group.labels, group.values, strict=True):
                node = labels["instance"]
                if node in self._heard:
                    there = (values == 1.0) & (group.times > self._heard[node].newest)
                    for time in group.times[there].tolist():
                        self.frame(node, time)

    def _ended(self, node: str, why: str) -> None:
        with self._guard:
            if node in self._heard:
                self._heard[node] = structs.replace(self._heard[node], why=why)
                self._changed.add(node)


def _read(facts: str) -> Iterator[NodeActivity]:
    try:
        yield msgspec.json.decode(facts, type=NodeActivity)
    except DECODE_ERRORS:
        return  # the next frame of the node begins it anew
