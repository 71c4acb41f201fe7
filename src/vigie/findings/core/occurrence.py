"""One finding at one place for a time, from samples or an event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vigie.findings.core.finding import LABELS, PLACE, RANK, Finding
from vigie.model import Event

Labels = Mapping[str, str]


class Occurrence(NamedTuple):
    """When a finding held at a place; without an end it still does."""

    finding: Finding
    labels: Labels  # of LABELS, without the empty ones
    begin_ms: int
    end_ms: int | None
    value: float | None = None
    told: str = ""  # the text of the event
    severity: str = ""  # of the event

    @property
    def place(self) -> tuple[str, ...]:
        """Return where it is: two occurrences at one place are the same thing."""
        return tuple(self.labels.get(name, "") for name in PLACE)


def name_labels(values: Sequence[str]) -> Labels:
    """Return the labels whose values a query gave in the order of LABELS."""
    return {name: text for name, text in zip(LABELS, values, strict=True) if text}


def from_events(findings: Iterable[Finding], events: Iterable[Event], at_ms: int) -> Iterator[Occurrence]:
    """Yield the occurrences that events up to a moment report."""
    by_kind = [(kind, finding) for finding in findings for kind in finding.events]
    for event in events:
        for kind, finding in by_kind:
            # One kind covers corrected errors (warning) and uncorrectable ones (critical).
            if kind == event.kind and RANK.get(event.severity, 0) >= RANK[finding.severity]:
                yield _from_event(finding, event, at_ms)


def _from_event(finding: Finding, event: Event, at_ms: int) -> Occurrence:
    end = event.end_ms
    if end is None and not finding.lasts:
        end = event.begin_ms + finding.fresh_ms
    if end is not None and end > at_ms:
        end = None
    place = dict(event.where)
    labels = {"instance": place.pop("node", ""), **place}
    known = {name: text for name, text in labels.items() if text}
    return Occurrence(finding, known, event.begin_ms, end, None, event.what, event.severity)
