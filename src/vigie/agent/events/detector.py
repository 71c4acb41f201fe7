"""Detects events by comparing a frame with the previous ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vigie.agent.events.rules import BY_METRIC, CounterRule, Labels, StateRule
from vigie.model import Event, EventChange, Frame, Phase, Table

Key = tuple[str, tuple[str, ...]]  # metric name, location
MAX_COUNTERS = 4096  # beyond it, counters of series that are gone are dropped


class WatchedSeries(NamedTuple):
    """A series with a rule, its column in the table, and the column of the rule's other metric."""

    rule: CounterRule | StateRule
    where: Labels
    key: Key
    column: int
    other_column: int | None


class _CounterState:
    """A counter as last reported. A GPU's counter continues after a time without data, such as a reset."""

    def __init__(self, value: float, where: Labels) -> None:
        self.reported, self.reported_ms = value, 0
        self.survives_reset = "uuid" in where or "UUID" in where  # the uuid identifies the same device


class ChangeDetector:
    def __init__(self) -> None:
        self._watched: dict[str, tuple[Table, list[WatchedSeries]]] = {}
        self._counters: dict[Key, _CounterState] = {}
        self._states: dict[Key, bool] = {}

    def __call__(self, frame: Frame) -> Iterator[EventChange]:
        for table, numbers in frame.parts:
            for one in self._watch(table):
                value = numbers[one.column]
                if value != value:
                    continue  # absent
                if isinstance(one.rule, CounterRule):
                    yield from self._check_counter(one.rule, one, value, frame.time_ms)
                    continue
                holds = one.rule.holds(value, 0.0 if one.other_column is None else numbers[one.other_column])
                if holds is not self._states.get(one.key):
                    yield from self._check_state(one.rule, one, holds, frame.time_ms)

    def _watch(self, table: Table) -> list[WatchedSeries]:
        kept = self._watched.get(table.source)
        if kept is None or kept[0] is not table:
            kept = self._watched[table.source] = (table, list(_find_watched(table)))
            self._drop_gone()
        return kept[1]

    def _drop_gone(self) -> None:
        """Drop the state of series that are gone."""
        here = {one.key for _, watched in self._watched.values() for one in watched}
        few = len(self._counters) <= MAX_COUNTERS
        self._counters = {
            key: count
            for key, count in self._counters.items()
            if key in here or (few and count.survives_reset)
        }
        self._states = {key: holds for key, holds in self._states.items() if key in here}

    def _check_counter(
        self, rule: CounterRule, one: WatchedSeries, value: float, now: int
    ) -> Iterator[EventChange]:
        count = self._counters.setdefault(one.key, _CounterState(value, one.where))
        if value < count.reported:
            count.reported = 0.0 if count.survives_reset else value  # the counter was reset
        by = value - count.reported
        if by > 0 and now - count.reported_ms >= rule.min_interval_ms:
            count.reported, count.reported_ms = value, now
            yield EventChange(
                Event(rule.kind, now, rule.what.format(by=by), one.where, severity=rule.severity)
            )

    def _check_state(
        self, rule: StateRule, one: WatchedSeries, holds: bool, now: int
    ) -> Iterator[EventChange]:
        """Yield begin or end. Also on the first frame: a state from before a restart may have ended."""
        before = self._states.get(one.key)
        self._states[one.key] = holds
        if holds and before is None and rule.only_after_good:
            return
        what = rule.what + (f": {one.where['reason']}" if "reason" in one.where else "")
        event = Event(rule.kind, now, what, one.where, severity=rule.severity)
        yield EventChange(event, Phase.BEGINS if holds else Phase.ENDS)


def _find_watched(table: Table) -> Iterator[WatchedSeries]:
    indexes = {(metric.name, labels): index for index, (metric, labels) in enumerate(table.series)}
    for index, (metric, values) in enumerate(table.series):
        rule = BY_METRIC.get(metric.name)
        if rule is None:
            continue
        labels = dict(zip(metric.labels, values, strict=True))
        other_index = (
            indexes.get((rule.other_metric, values))
            if isinstance(rule, StateRule) and rule.other_metric
            else None
        )
        if rule.applies(labels) and not (
            isinstance(rule, StateRule) and rule.other_metric and other_index is None
        ):
            where = {name: labels[name] for name in rule.where_labels if labels.get(name)}
            yield WatchedSeries(rule, where, (rule.metric, tuple(where.values())), index, other_index)
