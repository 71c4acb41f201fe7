"""Tells whether two sources speak of one event: a driver and the kernel's log both report an XID."""

from __future__ import annotations

from collections import OrderedDict, deque

from vigie.model import Event

# By which labels events of a kind are the same; other kinds are never said by two sources.
IDENTITY_LABELS = {"xid": ("pci_bus_id", "xid"), "memory_error": ("controller",)}
WINDOW_MS = 70_000  # the driver tells no time: it is asked once a cadence, which may be a minute
MOST_KEYS, MOST_EACH = 256, 64


class _RecentEvent:
    """An event, and who has spoken of it."""

    def __init__(self, event: Event, source: str) -> None:
        self.event, self.sources = event, {source}

    def is_near(self, event: Event) -> bool:
        """Tell whether another report may be about this."""
        return abs(self.event.begin_ms - event.begin_ms) <= WINDOW_MS

    def add_report(self, source: str, event: Event) -> Event:
        """Note that another source speaks of it too, and return all that is known."""
        self.sources.add(source)
        self.event = self.event._replace(where={**event.where, **self.event.where})
        return self.event


class EventDedup:
    """What was seen of late, and by whom."""

    def __init__(self) -> None:
        self._recent: OrderedDict[tuple[str, ...], deque[_RecentEvent]] = OrderedDict()

    def merge(self, source: str, event: Event) -> tuple[Event, bool]:
        """Return the event with all that is known of it, and whether it is a new one.

        Two sources that report the same thing at nearly the same time mean one event; one source
        that reports it twice means two.
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
        # A log may tell whole seconds only: two at one moment are told a millisecond apart.
        taken = {recent.event.begin_ms for recent in same}
        while event.begin_ms in taken:
            event = event._replace(begin_ms=event.begin_ms + 1)
        same.append(_RecentEvent(event, source))
        return event, True

    def _find_recent(self, key: tuple[str, ...]) -> deque[_RecentEvent]:
        same = self._recent.setdefault(key, deque(maxlen=MOST_EACH))
        self._recent.move_to_end(key)
        if len(self._recent) > MOST_KEYS:
            self._recent.popitem(last=False)
        return same
