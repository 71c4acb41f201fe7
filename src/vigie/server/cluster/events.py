"""Events, one row each, found by node, kind, severity and time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from vigie.model import Event
from vigie.model.node import normalize_pci_bus_id
from vigie.server.cluster.database import DAY_MS, ClusterDatabase, SqliteStore, wall_clock

KEEP_DAYS = 90.0
MAX_EVENTS = 1_000_000  # a node that reports the same fault for ever must not fill the disk
FIELDS = "id, kind, begin_ms, end_ms, what, place, severity"


class StoredEvent(NamedTuple):
    """An event and its number, which is a new one whenever the event changes."""

    id: int
    event: Event

    @property
    def json(self) -> dict[str, Any]:
        fields = self.event._asdict()
        return {
            "id": self.id,
            "node": self.event.where.get("node", ""),
            **fields,
            "where": dict(fields["where"]),
        }


class EventFilter(NamedTuple):
    """Which events to find; an empty field means any."""

    node: str = ""
    kind: str = ""
    severity: str = ""
    since_ms: int | None = None
    until_ms: int | None = None

    def condition(self) -> tuple[str, list[Any]]:
        """Return the SQL condition and its parameters."""
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
    """The events of the cluster; any thread may call."""

    def __init__(
        self,
        database: ClusterDatabase,
        keep_days: float = KEEP_DAYS,
        max_events: int = MAX_EVENTS,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._keep_ms, self._max_events = int(keep_days * DAY_MS), max_events
        super().__init__(database, clock)

    def add(self, event: Event) -> None:
        """Store an event; one that is there already changes only if it has ended or its severity changed."""
        node = event.where.get("node", "")
        key = (node, event.kind, event.begin_ms, event.what)
        rest = (event.end_ms, json.dumps(dict(event.where)), event.severity)
        with self._database.transaction() as connection:
            row = connection.execute(
                "select end_ms, place, severity from events "
                "where node = ? and kind = ? and begin_ms = ? and what = ?",
                key,
            ).fetchone()
            if row and (tuple(row) == rest or (event.end_ms is None and row["end_ms"] is not None)):
                return
            connection.execute(
                "insert or replace into events (node, kind, begin_ms, what, end_ms, place, severity) "
                "values (?, ?, ?, ?, ?, ?, ?)",
                (*key, *rest),
            )
        self._changed_rows += 1
        self._prune_if_due()

    def add_gpu_indexes(self, node: str, gpus: Mapping[str, str]) -> None:
        """Complete the events of a node that were stored before its GPUs were known."""
        with self._database.transaction() as connection:
            for row in connection.execute("select id, place from events where node = ?", [node]).fetchall():
                place = json.loads(row["place"])
                located = add_gpu_index(place, gpus)
                if located != place:
                    connection.execute(
                        "update events set place = ? where id = ?", (json.dumps(located), row["id"])
                    )

    def find(
        self, wanted: EventFilter = ANY, limit: int = 100, before: tuple[int, int] | None = None
    ) -> list[StoredEvent]:
        """Return the newest events first, those before a begin and number."""
        condition, values = wanted.condition()
        if before is not None:
            condition, values = f"{condition} and (begin_ms, id) < (?, ?)", [*values, *before]
        return self._select(f"{condition} order by begin_ms desc, id desc", values, limit)

    def after(self, number: int, wanted: EventFilter = ANY, limit: int = 100) -> list[StoredEvent]:
        """Return what was added or changed after a number, in that order."""
        condition, values = wanted.condition()
        return self._select(f"{condition} and id > ? order by id", [*values, number], limit)

    def overlapping(
        self, kinds: Collection[str], since_ms: int, until_ms: int, limit: int = 1000
    ) -> list[StoredEvent]:
        """Return events of some kinds that overlap a span, or have no end."""
        marks = ", ".join("?" * len(kinds))
        condition = f"kind in ({marks}) and begin_ms <= ? and (end_ms is null or end_ms >= ?)"
        values: list[Any] = [*kinds, until_ms, since_ms]
        return self._select(f"{condition} order by begin_ms desc, id desc", values, limit)

    def last(self) -> int:
        (row,) = self._database.query("select coalesce(max(id), 0) as last from events")
        return int(row["last"])

    def prune(self, now_ms: int) -> None:
        with self._database.transaction() as connection:
            connection.execute("delete from events where begin_ms < ?", [now_ms - self._keep_ms])
            connection.execute(
                "delete from events where id <= (select max(id) from events) - ?", [self._max_events]
            )

    def _select(self, condition: str, values: list[Any], limit: int) -> list[StoredEvent]:
        statement = f"select {FIELDS} from events where {condition} limit ?"  # noqa: S608 - our own words only
        return [_from_row(row) for row in self._query(statement, [*values, limit])]


def add_gpu_index(where: Mapping[str, str], gpus: Mapping[str, str]) -> dict[str, str]:
    """Return a place with the index of the GPU at its PCI address, if it has one and lacks the other."""
    gpu = gpus.get(normalize_pci_bus_id(where.get("pci_bus_id", "")), "")
    return {"gpu": gpu, **where} if gpu else dict(where)


def _from_row(row: sqlite3.Row) -> StoredEvent:
    where = json.loads(row["place"])
    event = Event(row["kind"], row["begin_ms"], row["what"], where, row["end_ms"], row["severity"])
    return StoredEvent(row["id"], event)
