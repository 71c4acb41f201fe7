"""A sighting: one diagnosis held at one place for a while, as the samples or an event tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vigie.findings.core.finding import LABELS, PLACE, RANK, Finding
from vigie.model import Event

Labels = Mapping[str, str]


class Occurrence(NamedTuple):
    """From when to when a diagnosis held at a place; without an end it still does."""

    finding: Finding
    labels: Labels  # of PLACE and more, only those that say something
    begin_ms: int
    end_ms: int | None
    value: float | None = None
    told: str = ""  # the words of an event
    severity: str = ""  # of the event, where it is known better

    @property
    def place(self) -> tuple[str, ...]:
        """Return where it is; two sightings of one finding at one place are the same thing."""
        return tuple(self.labels.get(name, "") for name in PLACE)


def labels_of(values: Sequence[str]) -> Labels:
    """Return the labels of a row that was asked for with LABELS."""
    return {name: text for name, text in zip(LABELS, values, strict=True) if text}


def from_events(findings: Iterable[Finding], events: Iterable[Event], at_ms: int) -> Iterator[Occurrence]:
    """Yield what events tell up to a moment."""
    by_kind = [(kind, finding) for finding in findings for kind in finding.events]
    for event in events:
        for kind, finding in by_kind:
            # One kind tells of corrected errors as a warning, and of others as critical.
            if kind == event.kind and RANK.get(event.severity, 0) >= RANK[finding.severity]:
                yield _told(finding, event, at_ms)


def _told(finding: Finding, event: Event, at_ms: int) -> Occurrence:
    end = event.end_ms
    if end is None and not finding.lasts:
        end = event.begin_ms + finding.fresh_ms
    if end is not None and end > at_ms:
        end = None
    where = dict(event.where)
    labels = {"instance": where.pop("node", ""), **where}
    known = {name: text for name, text in labels.items() if text}
    return Occurrence(finding, known, event.begin_ms, end, None, event.what, event.severity)
