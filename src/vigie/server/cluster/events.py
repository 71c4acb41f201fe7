"""What happened, kept for months: one row an event, found by node, kind, severity and time."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

from vigie.model import Event
from vigie.server.cluster.database import DAY_MS, SqliteStore, wall_clock

KEEP_DAYS = 90.0
MAX_EVENTS = 1_000_000  # a node that reports the same trouble for ever must not fill the disk
SCHEMA = """
create table if not exists events (
    id integer primary key autoincrement, node text not null, kind text not null, begin_ms integer not null,
    end_ms integer, what text not null, place text not null, severity text not null,
    unique (node, kind, begin_ms, what));
create index if not exists by_begin on events (begin_ms, id);
create index if not exists by_kind on events (kind, begin_ms);
"""
FIELDS = "id, node, kind, begin_ms, end_ms, what, place, severity"


class StoredEvent(NamedTuple):
    """An event and its number, which is a new one whenever the event changes."""

    id: int
    event: Event

    @property
    def json(self) -> dict[str, Any]:
        found = self.event._asdict()
        return {
            "id": self.id,
            "node": self.event.where.get("node", ""),
            **found,
            "where": dict(found["where"]),
        }


class EventFilter(NamedTuple):
    """Which events are asked for; an empty word means any."""

    node: str = ""
    kind: str = ""
    severity: str = ""
    since_ms: int | None = None
    until_ms: int | None = None

    def condition(self) -> tuple[str, list[Any]]:
        """Return the condition and its parameters; an event lasts from its begin to its end."""
        words = {"node": self.node, "kind": self.kind, "severity": self.severity}
        parts = [f"{name} = ?" for name, word in words.items() if word]
        values: list[Any] = [word for word in words.values() if word]
        if self.since_ms is not None:
            parts.append("coalesce(end_ms, begin_ms) >= ?")
            values.append(self.since_ms)
        if self.until_ms is not None:
            parts.append("begin_ms <= ?")
            values.append(self.until_ms)
        return " and ".join(parts) or "1", values


ANY = EventFilter()


class EventStore(SqliteStore):
    """The events of a data directory; any thread may call."""

    def __init__(
        self,
        path: Path,
        keep_days: float = KEEP_DAYS,
        most: int = MAX_EVENTS,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._keep_ms, self._most = int(keep_days * DAY_MS), most
        super().__init__(path, SCHEMA, clock)

    def add(self, event: Event) -> None:
        """Keep an event; one that is there already is left alone, unless it has ended or is worse now."""
        node = event.where.get("node", "")
        key = (node, event.kind, event.begin_ms, event.what)
        rest = (event.end_ms, json.dumps(dict(event.where)), event.severity)
        with self._guard, self._database:
            found = self._database.execute(
                "select end_ms, place, severity from events "
                "where node = ? and kind = ? and begin_ms = ? and what = ?",
                key,
            ).fetchone()
            if found == rest or (found and event.end_ms is None and found[0] is not None):
                return
            self._database.execute(
                "insert or replace into events (node, kind, begin_ms, what, end_ms, place, severity) "
                "values (?, ?, ?, ?, ?, ?, ?)",
                (*key, *rest),
            )
        self._added += 1
        self._prune_if_due()

    def find(
        self, wanted: EventFilter = ANY, limit: int = 100, before: tuple[int, int] | None = None
    ) -> list[StoredEvent]:
        """Return the newest events first, from behind a begin and number on."""
        condition, values = wanted.condition()
        if before is not None:
            condition, values = f"{condition} and (begin_ms, id) < (?, ?)", [*values, *before]
        return self._select(f"{condition} order by begin_ms desc, id desc", values, limit)

    def after(self, number: int, wanted: EventFilter = ANY, limit: int = 100) -> list[StoredEvent]:
        """Return what came or changed after a number, in that order."""
        condition, values = wanted.condition()
        return self._select(f"{condition} and id > ? order by id", [*values, number], limit)

    def lasting(
        self, kinds: Collection[str], since_ms: int, until_ms: int, limit: int = 1000
    ) -> list[StoredEvent]:
        """Return events of some kinds that began until a time, and ended since another or have no end."""
        marks = ", ".join("?" * len(kinds))
        condition = f"kind in ({marks}) and begin_ms <= ? and (end_ms is null or end_ms >= ?)"
        values: list[Any] = [*kinds, until_ms, since_ms]
        return self._select(f"{condition} order by begin_ms desc, id desc", values, limit)

    def last(self) -> int:
        """Return the number of what came last."""
        with self._guard:
            (number,) = self._database.execute("select coalesce(max(id), 0) from events").fetchone()
        return int(number)

    def prune(self, now_ms: int) -> None:
        """Remove what is too old, or too many."""
        with self._guard, self._database:
            self._database.execute("delete from events where begin_ms < ?", [now_ms - self._keep_ms])
            self._database.execute(
                "delete from events where id <= (select max(id) from events) - ?", [self._most]
            )

    def _select(self, condition: str, values: list[Any], limit: int) -> list[StoredEvent]:
        question = f"select {FIELDS} from events where {condition} limit ?"  # noqa: S608 - our own words only
        return [_kept(*row) for row in self.look(question, [*values, limit])]


def _kept(
    number: int, _: str, kind: str, begin: int, end: int | None, what: str, place: str, severity: str
) -> StoredEvent:
    return StoredEvent(number, Event(kind, begin, what, json.loads(place), end, severity))
