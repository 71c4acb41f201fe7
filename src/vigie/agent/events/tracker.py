"""Reports each event on this node once: sources may overlap, and states begin and end."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Protocol

from vigie.agent.events.dedup import EventDedup
from vigie.agent.events.detector import ChangeDetector
from vigie.agent.events.state_file import EventStateFile
from vigie.agent.source_reader import SourceReader
from vigie.model import Event, EventChange, Frame, Phase, Table
from vigie.model.table import Series
from vigie.sources.core.tree import to_printable
from vigie.wire.agent_series import EVENTS, XIDS

log = logging.getLogger(__name__)

MAX_OPEN, MAX_SERIES = 1024, 512
WORD, SENTENCE, WORDS = 253, 1000, 32  # characters of a name, characters of a sentence, labels of a location

# Labels that are added to the sentence, and the prefix of each.
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
    def record_event(self, event: Event) -> None:
        """Take an event. It is reported again when it ends, or when more is known."""


class EventTracker:
    """Reports, after each tick, the events since the previous one."""

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
        """Collect events from the sources and from the values of a frame."""
        # Read before collecting: a position may be saved only after all events before it are reported.
        persistent = {r.source.name: kept for r in self._readers if (kept := dict(r.host.persistent))}
        self._collect()
        for change in self._detector(frame):
            self._apply("", change)
        self._state_file.save(persistent, list(self._open.values()))

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return the event counters, including events not collected yet."""
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
    """Shorten texts to what fits into a message, and add the location to the sentence.

    A server identifies an event by node, kind, begin and sentence: two GPUs may fail at the same time.
    """
    event = change.event
    where = {_trim_name(name): _trim_name(text) for name, text in list(event.where.items())[:WORDS] if text}
    places = [f"{PLACES[name]} {text}".strip() for name, text in where.items() if name in PLACES]
    what = _clean(event.what[:SENTENCE]) + (f" ({', '.join(places)})" if places else "")
    return change._replace(event=event._replace(kind=_trim_name(event.kind), what=what, where=where))


def _trim_name(text: str) -> str:
    return _clean(text[:WORD])


def _clean(text: str) -> str:
    """Replace control characters: a process may have any name."""
    return "".join(letter if letter.isprintable() else "?" for letter in to_printable(text))
