"""When each diagnosis held where, over the last hours: found once for the past, then carried on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from vigie.findings.core.finding import HOUR_MS, MINUTE_MS, Finding
from vigie.findings.core.occurrence import Occurrence, labels_of

STEP_MS = MINUTE_MS
GAP_MS = 2 * STEP_MS + STEP_MS // 2  # what is seen again within this never ended
KEEP_MS = 6 * HOUR_MS
MOST = 20_000  # stretches; a rule that fires everywhere and flickers must not fill the memory

Key = tuple[str, tuple[str, ...]]  # the name of a finding and the values of its labels


class Interval:
    """A while in which a diagnosis held."""

    __slots__ = ("begin_ms", "last_ms", "value")

    def __init__(self, begin_ms: int, value: float) -> None:
        self.begin_ms = self.last_ms = begin_ms
        self.value = value


class History:
    """Knows from one moment to another when diagnoses held."""

    def __init__(self, findings: Iterable[Finding], from_ms: int) -> None:
        self.from_ms = self.until_ms = from_ms
        self._findings = {finding.name: finding for finding in findings}
        self._stretches: dict[Key, list[Interval]] = defaultdict(list)

    def take(self, name: str, labels: tuple[str, ...], times: Iterable[int], values: Iterable[float]) -> None:
        """Take the moments at which a diagnosis held at a place; they come after all that were taken."""
        stretches = self._stretches[name, labels]
        for moment, value in zip(times, values, strict=True):
            if not stretches or moment - stretches[-1].last_ms > GAP_MS:
                stretches.append(Interval(moment, value))
            stretches[-1].last_ms, stretches[-1].value = moment, value

    def reached(self, until_ms: int) -> None:
        """Note that everything up to a moment was taken, and forget what is long over."""
        self.until_ms = until_ms
        self.from_ms = max(self.from_ms, until_ms - 2 * KEEP_MS)
        for key, stretches in list(self._stretches.items()):
            kept = [one for one in stretches if one.last_ms >= self.from_ms]
            if kept:
                self._stretches[key] = kept
            else:
                del self._stretches[key]
        while len(self._stretches) > MOST:
            self._stretches.pop(next(iter(self._stretches)))

    def covers(self, at_ms: int) -> bool:
        """Tell whether a moment is known."""
        return self.from_ms <= at_ms <= self.until_ms

    def sightings(self, at_ms: int) -> Iterator[Occurrence]:
        """Yield what held at a moment, and what held within the hours before."""
        seen = min(at_ms, self.until_ms)  # what came later nobody has looked at yet
        for (name, labels), stretches in self._stretches.items():
            finding, known = self._findings[name], labels_of(labels)
            for one in stretches:
                if one.begin_ms <= at_ms and one.last_ms >= at_ms - KEEP_MS:
                    begin = one.begin_ms - finding.lag_ms
                    over = max(one.last_ms - finding.tail_ms, begin)
                    end = None if one.last_ms > seen - GAP_MS else over
                    yield Occurrence(finding, known, begin, end, one.value)


def history_queries(findings: Iterable[Finding]) -> Mapping[str, str]:
    """Return what has to be asked of the samples, by the name of each diagnosis."""
    return {finding.name: finding.when for finding in findings if finding.when}
