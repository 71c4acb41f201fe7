"""Merges reports of one event by several sources: driver and kernel log both report an XID."""

from __future__ import annotations

from collections import OrderedDict, deque

from vigie.model import Event

# Labels that identify an event, per kind. Other kinds have only one source.
IDENTITY_LABELS = {"xid": ("pci_bus_id", "xid"), "memory_error": ("controller",)}
WINDOW_MS = 70_000  # the driver gives no time: events are read once per interval, up to a minute
MAX_KEYS, MAX_EVENTS_PER_KEY = 256, 64


class _RecentEvent:
    """An event and the sources that reported it."""

    def __init__(self, event: Event, source: str) -> None:
        self.event, self.sources = event, {source}

    def is_near(self, event: Event) -> bool:
        """Return whether the event is close enough in time to be the same."""
        return abs(self.event.begin_ms - event.begin_ms) <= WINDOW_MS

    def add_report(self, source: str, event: Event) -> Event:
        """Add another source's report, and return the merged event."""
        self.sources.add(source)
        self.event = self.event._replace(where={**event.where, **self.event.where})
        return self.event


class EventDedup:
    """Recent events and their sources."""

    def __init__(self) -> None:
        self._recent: OrderedDict[tuple[str, ...], deque[_RecentEvent]] = OrderedDict()

    def merge(self, source: str, event: Event) -> tuple[Event, bool]:
        """Return the event with all known labels, and whether it is new.

        Two sources that report the same event at about the same time mean one event. One source that
        reports it twice means two.
        """
        labels = IDENTITY_LABELS.get(event.kind)
        if labels is None:
            same = self._find_recent((event.kind, event.what))
        else:
            same = self._find_recent(
                (event.kind, event.severity, *(event.where.get(label, "") for label in labels))
            )
            for recent in same:
                if source not in recent.sources and recent.is_near(event):
                    return recent.add_report(source, event), False
        # A log may have whole seconds only: events with equal times are spaced by 1 ms.
        taken = {recent.event.begin_ms for recent in same}
        while event.begin_ms in taken:
            event = event._replace(begin_ms=event.begin_ms + 1)
        same.append(_RecentEvent(event, source))
        return event, True

    def _find_recent(self, key: tuple[str, ...]) -> deque[_RecentEvent]:
        same = self._recent.setdefault(key, deque(maxlen=MAX_EVENTS_PER_KEY))
        self._recent.move_to_end(key)
        if len(self._recent) > MAX_KEYS:
            self._recent.popitem(last=False)
        return same
