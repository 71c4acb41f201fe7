"""Events that are seen by comparing a frame with those before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vigie.agent.events.rules import BY_METRIC, CounterRule, Labels, StateRule
from vigie.model import Event, EventChange, Frame, Phase, Table

Key = tuple[str, tuple[str, ...]]  # a metric, and where
MOST_COUNTS = 4096  # beyond it those of series that are gone are dropped


class WatchedSeries(NamedTuple):
    """One series that a row is about: where its value stands in the table, and that beside it."""

    rule: CounterRule | StateRule
    where: Labels
    key: Key
    place: int
    beside: int | None


class _Count:
    """A count as it was last told; that of a GPU goes on while nobody can read it, as in a reset."""

    def __init__(self, value: float, where: Labels) -> None:
        self.told, self.told_at = value, 0
        self.goes_on = "uuid" in where or "UUID" in where  # what has its name is the same one


class ChangeDetector:
    """Compares each frame with what was before."""

    def __init__(self) -> None:
        self._watched: dict[str, tuple[Table, list[WatchedSeries]]] = {}
        self._counts: dict[Key, _Count] = {}
        self._states: dict[Key, bool] = {}

    def __call__(self, frame: Frame) -> Iterator[EventChange]:
        """Yield what has happened, by this frame."""
        for table, numbers in frame.parts:
            for one in self._of(table):
                value = numbers[one.place]
                if value != value:
                    continue  # absent: nothing is known
                if isinstance(one.rule, CounterRule):
                    yield from self._risen(one.rule, one, value, frame.time_ms)
                    continue
                holds = one.rule.holds(value, 0.0 if one.beside is None else numbers[one.beside])
                if holds is not self._states.get(one.key):
                    yield from self._state(one.rule, one, holds, frame.time_ms)

    def _of(self, table: Table) -> list[WatchedSeries]:
        kept = self._watched.get(table.source)
        if kept is None or kept[0] is not table:
            kept = self._watched[table.source] = (table, list(_watched(table)))
            self._forget()
        return kept[1]

    def _forget(self) -> None:
        """Drop what is known of series that are gone."""
        here = {one.key for _, watched in self._watched.values() for one in watched}
        few = len(self._counts) <= MOST_COUNTS
        self._counts = {
            key: count for key, count in self._counts.items() if key in here or (few and count.goes_on)
        }
        self._states = {key: holds for key, holds in self._states.items() if key in here}

    def _risen(self, rule: CounterRule, one: WatchedSeries, value: float, now: int) -> Iterator[EventChange]:
        count = self._counts.setdefault(one.key, _Count(value, one.where))
        if value < count.told:
            count.told = 0.0 if count.goes_on else value  # it began anew
        by = value - count.told
        if by > 0 and now - count.told_at >= rule.seldom_ms:
            count.told, count.told_at = value, now
            yield EventChange(
                Event(rule.kind, now, rule.what.format(by=by), one.where, severity=rule.severity)
            )

    def _state(self, rule: StateRule, one: WatchedSeries, holds: bool, now: int) -> Iterator[EventChange]:
        """Yield that it begins or ends, at the first look too: a state of before a restart may be over."""
        before = self._states.get(one.key)
        self._states[one.key] = holds
        if holds and before is None and rule.after_good:
            return
        what = rule.what + (f": {one.where['reason']}" if "reason" in one.where else "")
        event = Event(rule.kind, now, what, one.where, severity=rule.severity)
        yield EventChange(event, Phase.BEGINS if holds else Phase.ENDS)


def _watched(table: Table) -> Iterator[WatchedSeries]:
    places = {(metric.name, labels): place for place, (metric, labels) in enumerate(table.series)}
    for place, (metric, values) in enumerate(table.series):
        rule = BY_METRIC.get(metric.name)
        if rule is None:
            continue
        labels = dict(zip(metric.labels, values, strict=True))
        beside = places.get((rule.beside, values)) if isinstance(rule, StateRule) and rule.beside else None
        if rule.only(labels) and not (isinstance(rule, StateRule) and rule.beside and beside is None):
            where = {name: labels[name] for name in rule.places if labels.get(name)}
            yield WatchedSeries(rule, where, (rule.metric, tuple(where.values())), place, beside)
