"""When each node sent frames, in memory and saved, so that a restart loses no gap."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import structs

from vigie.query.storage import Matcher, SeriesGroup
from vigie.server.staleness.gaps import LATE_MS, REMOVED, SILENT, STOPPED, Gap, NodeActivity
from vigie.wire.messages import DECODE_ERRORS

SAVE_MS = 300_000  # how stale the newest times may be on disk; the store knows better after a crash
FUTURE = 1 << 60
JOB = "node"


class SavedActivity(Protocol):
    """Where the activity of nodes is saved."""

    def load(self) -> Mapping[str, str]: ...

    def save(self, rows: Iterable[tuple[str, str]]) -> None: ...


class StoredTimes(Protocol):
    """A store of the nodes' frames."""

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]: ...


class ActivityLog:
    """One thread writes, any reads: values are replaced, never changed.

    Readers take no lock: a process forked to read could find it taken for ever.
    """

    def __init__(self, saved: SavedActivity, store: StoredTimes, now_ms: Callable[[], int]) -> None:
        self._now, self._since = now_ms, now_ms()
        self._guard = threading.Lock()
        self._saved = saved
        self._nodes = {node: one for node, facts in saved.load().items() for one in _decode(facts)}
        self._changed: set[str] = set()
        self._saved_ms = self._since
        self._catch_up(store)

    def close(self) -> None:
        self._saved_ms = 0
        self.save()

    def add_frame(self, node: str, time: int, cadence: float | None = None, jobs: Sequence[str] = ()) -> None:
        """Note a frame of a node, and the jobs of its samples."""
        with self._guard:
            before = self._nodes.get(node)
            step = round(1000 * cadence) if cadence else before.step if before else 10_000
            activity = before or NodeActivity(time, time, step)
            if activity.step != step or not set(jobs) <= set(activity.jobs):
                activity = structs.replace(
                    activity, step=step, jobs=tuple(dict.fromkeys([*activity.jobs, *jobs]))
                )
            self._nodes[node] = activity = activity.with_frame(time)
            if before is None or (activity.gaps, activity.jobs) != (before.gaps, before.jobs):
                self._changed.add(node)

    def expect(self, node: str, time: int) -> None:
        """Expect frames of a node from now on."""
        activity = self._nodes.get(node)
        if activity is None or activity.why == REMOVED:
            self.add_frame(node, time)

    def mark_stopped(self, node: str) -> None:
        """Note that no frame follows, as the agent stops or starts again."""
        self._mark_ended(node, STOPPED)

    def mark_removed(self, node: str) -> None:
        """Note that the node is no longer a member."""
        self._mark_ended(node, REMOVED)

    def save(self) -> None:
        """Save what changed; a frame may be acknowledged once that is synced."""
        with self._guard:
            now = self._now()
            whole = now - self._saved_ms > SAVE_MS
            nodes = self._nodes if whole else self._changed
            rows = [(node, msgspec.json.encode(self._nodes[node]).decode()) for node in nodes]
            if rows:
                self._saved.save(rows)
            self._changed.clear()
            self._saved_ms = now if whole else self._saved_ms

    def between(self, start: int, end: int) -> dict[tuple[str, str], list[Gap]]:
        """Return the gaps that reach into a time span, by node and job."""
        now = self._now()
        recent = now - LATE_MS
        found: dict[tuple[str, str], list[Gap]] = {}
        for node, activity in self._nodes.copy().items():
            is_over = not activity.gaps or activity.gaps[-1].end < start
            if is_over and activity.newest >= recent and activity.why == SILENT:
                continue  # as nearly all are, at each query
            gaps = [gap for gap in activity.until(now, self._since) if gap.start <= end and gap.end >= start]
            found.update(((node, job), gaps) for job in self.jobs(node) if gaps)
        return found

    def jobs(self, node: str) -> Sequence[str]:
        activity = self._nodes.get(node)
        return (JOB, *activity.jobs) if activity else (JOB,)

    def _catch_up(self, store: StoredTimes) -> None:
        """Note the frames in the store that are newer than what was saved."""
        newest = max((activity.newest for activity in self._nodes.values()), default=0)
        wanted = [Matcher("__name__", "=", "up"), Matcher("job", "=", JOB)]
        for group in store.select(wanted, newest - 2 * SAVE_MS, FUTURE) if self._nodes else ():
            for labels, values in zip(group.labels, group.values, strict=True):
                node = labels["instance"]
                if node in self._nodes:
                    there = (values == 1.0) & (group.times > self._nodes[node].newest)
                    for time in group.times[there].tolist():
                        self.add_frame(node, time)

    def _mark_ended(self, node: str, why: str) -> None:
        with self._guard:
            if node in self._nodes:
                self._nodes[node] = structs.replace(self._nodes[node], why=why)
                self._changed.add(node)


def _decode(facts: str) -> Iterator[NodeActivity]:
    try:
        yield msgspec.json.decode(facts, type=NodeActivity)
    except DECODE_ERRORS:
        return  # the next frame of the node starts it again
