"""When each finding held where, over the last hours: queried once for the past, then extended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from vigie.findings.core.finding import HOUR_MS, MINUTE_MS, Finding
from vigie.findings.core.occurrence import Occurrence, name_labels

STEP_MS = MINUTE_MS
GAP_MS = 2 * STEP_MS + STEP_MS // 2  # a finding that holds again within this never ended
KEEP_MS = 6 * HOUR_MS
MAX_PLACES = 20_000  # a query that matches everywhere must not fill the memory

Key = tuple[str, tuple[str, ...]]  # name of a finding, values of its labels


class Interval:
    """A time during which a finding held."""

    __slots__ = ("begin_ms", "last_ms", "value")

    def __init__(self, begin_ms: int, value: float) -> None:
        self.begin_ms = self.last_ms = begin_ms
        self.value = value


class History:
    """When findings held, from `from_ms` to `until_ms`."""

    def __init__(self, findings: Iterable[Finding], from_ms: int) -> None:
        self.from_ms = self.until_ms = from_ms
        self._findings = {finding.name: finding for finding in findings}
        self._intervals: dict[Key, list[Interval]] = defaultdict(list)

    def add(self, name: str, labels: tuple[str, ...], times: Iterable[int], values: Iterable[float]) -> None:
        """Add the times at which a finding held at a place, later than all that were added."""
        intervals = self._intervals[name, labels]
        for moment, value in zip(times, values, strict=True):
            if not intervals or moment - intervals[-1].last_ms > GAP_MS:
                intervals.append(Interval(moment, value))
            intervals[-1].last_ms, intervals[-1].value = moment, value

    def advance(self, until_ms: int) -> None:
        """Note that all times up to a moment were added, and drop old intervals."""
        self.until_ms = until_ms
        self.from_ms = max(self.from_ms, until_ms - 2 * KEEP_MS)
        for key, intervals in list(self._intervals.items()):
            recent = [one for one in intervals if one.last_ms >= self.from_ms]
            if recent:
                self._intervals[key] = recent
            else:
                del self._intervals[key]
        while len(self._intervals) > MAX_PLACES:
            self._intervals.pop(next(iter(self._intervals)))

    def covers(self, at_ms: int) -> bool:
        """Tell whether a moment lies within the history."""
        return self.from_ms <= at_ms <= self.until_ms

    def occurrences(self, at_ms: int) -> Iterator[Occurrence]:
        """Yield what held at a moment or in the hours before."""
        newest = min(at_ms, self.until_ms)
        for (name, labels), intervals in self._intervals.items():
            finding, known = self._findings[name], name_labels(labels)
            for one in intervals:
                if one.begin_ms <= at_ms and one.last_ms >= at_ms - KEEP_MS:
                    begin = one.begin_ms - finding.lag_ms
                    over = max(one.last_ms - finding.tail_ms, begin)
                    end = None if one.last_ms > newest - GAP_MS else over
                    yield Occurrence(finding, known, begin, end, one.value)


def history_queries(findings: Iterable[Finding]) -> Mapping[str, str]:
    return {finding.name: finding.query for finding in findings if finding.query}
