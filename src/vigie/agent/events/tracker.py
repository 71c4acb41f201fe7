"""What happened on this node, told once: sources may repeat each other, states begin and end."""

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
MOST_OPEN, MOST_SERIES = 1024, 512
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

    def event(self, event: Event) -> None:
        """Take an event; one that was told before comes again when it has ended, or more is known."""


class EventTracker:
    """Tells, after each tick, what has happened since the last."""

    def __init__(
        self, readings: Sequence[SourceReader], listeners: Sequence[EventListener], memory: EventStateFile
    ) -> None:
        self._readings, self._listeners, self._memory = readings, listeners, memory
        self._changes, self._sightings = ChangeDetector(), EventDedup()
        self._kinds: Counter[str] = Counter()
        self._xids: Counter[tuple[str, str]] = Counter()
        self._table = Table("events", 0, ())
        lasting, states = memory.load()
        self._open: OrderedDict[Key, Event] = OrderedDict((EventChange(s).key, s) for s in states)
        for reading in readings:
            reading.host.persistent.update(lasting.get(reading.source.name, {}))

    def __call__(self, frame: Frame) -> None:
        """Take what the sources have said, and what the numbers say; a frame has just been made."""
        # Before what they said is taken: a position may be kept only when all before it is told.
        lasting = {r.source.name: kept for r in self._readings if (kept := dict(r.host.persistent))}
        self._hear()
        for happening in self._changes(frame):
            self._take("", happening)
        self._memory.save(lasting, list(self._open.values()))

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return how often what happened, as series; what was just said counts."""
        self._hear()
        counts: dict[Series, int] = {(EVENTS, (kind,)): times for kind, times in self._kinds.items()}
        counts.update({(XIDS, where): times for where, times in self._xids.items()})
        series = tuple(counts)
        if series != self._table.series:
            self._table = Table("events", self._table.version + 1, series)
        return self._table, tuple(map(float, counts.values()))

    def _hear(self) -> None:
        for reading in self._readings:
            said = reading.host.event_changes
            while said:
                self._take(reading.source.name, said.popleft())

    def _take(self, source: str, happening: EventChange) -> None:
        happening = _trimmed(happening)
        if happening.phase is Phase.ENDS:
            self._end(happening)
        elif happening.phase is Phase.BEGINS:
            self._begin(happening)
        else:
            told, is_new = self._sightings.seen(source, happening.event)
            if is_new:
                self._count(told)
            self._tell(told)

    def _begin(self, happening: EventChange) -> None:
        if happening.key in self._open:
            return
        self._open[happening.key] = happening.event
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        self._count(happening.event)
        self._tell(happening.event)

    def _end(self, happening: EventChange) -> None:
        begun = self._open.pop(happening.key, None)
        if begun is not None:
            self._tell(begun._replace(end_ms=max(happening.event.begin_ms, begun.begin_ms)))

    def _count(self, event: Event) -> None:
        log.log(
            logging.WARNING if event.severity == "critical" else logging.INFO,
            "%s: %s%s",
            event.kind,
            event.what,
            f" ({', '.join(f'{name} {text}' for name, text in event.where.items())})" if event.where else "",
        )
        if event.kind in self._kinds or len(self._kinds) < MOST_SERIES:
            self._kinds[event.kind] += 1
        where = (event.where.get("pci_bus_id", ""), event.where.get("xid", ""))
        if event.kind == "xid" and (where in self._xids or len(self._xids) < MOST_SERIES):
            self._xids[where] += 1

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener.event(event)


def _trimmed(happening: EventChange) -> EventChange:
    """Return the happening with words that fit into a message, and its place in the sentence.

    A server knows an event by node, kind, begin and sentence: two cards may fail at one moment.
    """
    event = happening.event
    where = {_word(name): _word(text) for name, text in list(event.where.items())[:WORDS] if text}
    places = [f"{PLACES[name]} {text}".strip() for name, text in where.items() if name in PLACES]
    what = _clean(event.what[:SENTENCE]) + (f" ({', '.join(places)})" if places else "")
    return happening._replace(event=event._replace(kind=_word(event.kind), what=what, where=where))


def _word(text: str) -> str:
    return _clean(text[:WORD])


def _clean(text: str) -> str:
    """Return the text without what a terminal would obey: a process may have any name."""
    return "".join(letter if letter.isprintable() else "?" for letter in to_printable(text))
