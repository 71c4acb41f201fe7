"""What happened on this node, event once: sources may repeat each other, states begin and end."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Protocol

from vigie.agent.events.dedup import EventDedup
from vigie.agent.events.detector import ChangeDetector
from vigie.agent.events.state_file import EventStateFile
from vigie.agent.source_reader import SourceReader
from vigie.model import Event, EventChange, Frame, Phase, Table, counter
from vigie.model.table import Series
from vigie.sources.core.tree import to_printable

log = logging.getLogger(__name__)

METRICS = (
    EVENTS := counter("vigie_agent_events_total", "Events since the agent started, by kind.", "kind"),
    XIDS := counter(
        "vigie_xid_errors_total",
        "XIDs of NVIDIA's driver since the agent started.",
        *("pci_bus_id", "xid"),
    ),
)
MAX_OPEN, MAX_SERIES = 1024, 512
WORD, SENTENCE, WORDS = 253, 1000, 32  # letters of a word, letters of a sentence, words about where

# Words about where that stand in the sentence too, and what is written before each.
PLACES = {
    "gpu": "GPU",
    "pci_bus_id": "",
    "device": "",
    "port": "port",
    "link": "link",
    "interface": "",
    "controller": "controller",
    "block": "",
    "ring": "ring",
    "cpu": "CPU",
    "sxid": "SXid",
}

Key = tuple[str, tuple[tuple[str, str], ...]]


class EventListener(Protocol):
    """What wants to know what happened."""

    def record_event(self, event: Event) -> None:
        """Take an event; one that was event before comes again when it has ended, or more is known."""


class EventTracker:
    """Tells, after each tick, what has happened since the last."""

    def __init__(
        self, readers: Sequence[SourceReader], listeners: Sequence[EventListener], state_file: EventStateFile
    ) -> None:
        self._readers, self._listeners, self._state_file = readers, listeners, state_file
        self._detector, self._dedup = ChangeDetector(), EventDedup()
        self._kinds: Counter[str] = Counter()
        self._xids: Counter[tuple[str, str]] = Counter()
        self._table = Table("events", 0, ())
        persistent, states = state_file.load()
        self._open: OrderedDict[Key, Event] = OrderedDict((EventChange(s).key, s) for s in states)
        for reader in readers:
            reader.host.persistent.update(persistent.get(reader.source.name, {}))

    def __call__(self, frame: Frame) -> None:
        """Take what the sources have changes, and what the numbers say; a frame has just been made."""
        # Before what they changes is taken: a position may be kept only when all before it is event.
        persistent = {r.source.name: kept for r in self._readers if (kept := dict(r.host.persistent))}
        self._collect()
        for change in self._detector(frame):
            self._apply("", change)
        self._state_file.save(persistent, list(self._open.values()))

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return how often what happened, as series; what was just changes counts."""
        self._collect()
        counts: dict[Series, int] = {(EVENTS, (kind,)): times for kind, times in self._kinds.items()}
        counts.update({(XIDS, where): times for where, times in self._xids.items()})
        series = tuple(counts)
        if series != self._table.series:
            self._table = Table("events", self._table.version + 1, series)
        return self._table, tuple(map(float, counts.values()))

    def _collect(self) -> None:
        for reader in self._readers:
            changes = reader.host.event_changes
            while changes:
                self._apply(reader.source.name, changes.popleft())

    def _apply(self, source: str, change: EventChange) -> None:
        change = _trim(change)
        if change.phase is Phase.ENDS:
            self._end(change)
        elif change.phase is Phase.BEGINS:
            self._begin(change)
        else:
            event, is_new = self._dedup.merge(source, change.event)
            if is_new:
                self._count(event)
            self._notify(event)

    def _begin(self, change: EventChange) -> None:
        if change.key in self._open:
            return
        self._open[change.key] = change.event
        if len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)
        self._count(change.event)
        self._notify(change.event)

    def _end(self, change: EventChange) -> None:
        started = self._open.pop(change.key, None)
        if started is not None:
            self._notify(started._replace(end_ms=max(change.event.begin_ms, started.begin_ms)))

    def _count(self, event: Event) -> None:
        log.log(
            logging.WARNING if event.severity == "critical" else logging.INFO,
            "%s: %s%s",
            event.kind,
            event.what,
            f" ({', '.join(f'{name} {text}' for name, text in event.where.items())})" if event.where else "",
        )
        if event.kind in self._kinds or len(self._kinds) < MAX_SERIES:
            self._kinds[event.kind] += 1
        where = (event.where.get("pci_bus_id", ""), event.where.get("xid", ""))
        if event.kind == "xid" and (where in self._xids or len(self._xids) < MAX_SERIES):
            self._xids[where] += 1

    def _notify(self, event: Event) -> None:
        for listener in self._listeners:
            listener.record_event(event)


def _trim(change: EventChange) -> EventChange:
    """Return the change with words that fit into a message, and its place in the sentence.

    A server knows an event by node, kind, begin and sentence: two cards may fail at one moment.
    """
    event = change.event
    where = {_trim_name(name): _trim_name(text) for name, text in list(event.where.items())[:WORDS] if text}
    places = [f"{PLACES[name]} {text}".strip() for name, text in where.items() if name in PLACES]
    what = _clean(event.what[:SENTENCE]) + (f" ({', '.join(places)})" if places else "")
    return change._replace(event=event._replace(kind=_trim_name(event.kind), what=what, where=where))


def _trim_name(text: str) -> str:
    return _clean(text[:WORD])


def _clean(text: str) -> str:
    """Return the text without what a terminal would obey: a process may have any name."""
    return "".join(letter if letter.isprintable() else "?" for letter in to_printable(text))
