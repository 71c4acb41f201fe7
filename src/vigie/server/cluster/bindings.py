"""Bindings, one row each, and the jobs and users that follow from them.

A binding is identified by node, resource, holder and begin, so a repeated one is stored once. An end that
the node reported is final. An end that the server guessed (the node is unreachable, or came back without the
binding) is revoked when the node reports that the binding goes on.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from vigie.model import Binding
from vigie.server.cluster.database import DAY_MS, ClusterDatabase, SqliteStore, wall_clock
from vigie.server.cluster.filters import ANY, GUESSED, JOB, TOLD, UNHEARD, BindingFilter
from vigie.server.cluster.jobs import JobStore
from vigie.server.cluster.users import UserStore

KEEP_DAYS = 90.0
MAX_BINDINGS = 1_000_000  # a node that binds for ever must not fill the disk
ENDS = {TOLD: "told", GUESSED: "guessed", UNHEARD: "unheard"}
FIELDS = "id, node, resource, kind, holder, from_ms, to_ms, how, user, source, facts"
SAME = "node = ? and resource = ? and kind = ? and holder = ? and from_ms = ?"


class StoredBinding(NamedTuple):
    """A binding with its number and node, and how its end is known."""

    id: int
    node: str
    binding: Binding
    how: int = TOLD

    @property
    def json(self) -> dict[str, Any]:
        held = self.binding
        return {
            "id": self.id,
            "node": self.node,
            "resource": held.resource,
            "gpu": held.gpu,
            "kind": held.holder_kind,
            "holder": held.holder,
            "user": held.user,
            "from_ms": held.from_ms,
            "to_ms": held.to_ms,
            "end": ENDS[self.how] if held.to_ms is not None else "",
            "source": held.source,
            "facts": dict(held.facts),
        }


class BindingStore(SqliteStore):
    """The bindings of the cluster; any thread may call."""

    def __init__(
        self,
        database: ClusterDatabase,
        keep_days: float = KEEP_DAYS,
        max_bindings: int = MAX_BINDINGS,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._keep_ms, self._max_bindings = int(keep_days * DAY_MS), max_bindings
        super().__init__(database, clock)
        self.jobs = JobStore(database, self._query)
        self.users = UserStore(self._query)

    def add(self, node: str, binding: Binding) -> None:
        """Store a binding, or what changed about it."""
        with self._database.transaction() as connection:
            self._add(connection, node, binding)
        self._prune_if_due()

    def replace_held(self, node: str, held: Iterable[Binding], now_ms: int) -> None:
        """Store all that a node holds now, and end whatever else it held."""
        with self._database.transaction() as connection:
            numbers = {self._add(connection, node, binding) for binding in held}
            for row in connection.execute(
                "select id, kind, holder from bindings where node = ? and (to_ms is null or how = ?)",
                (node, UNHEARD),
            ).fetchall():
                if row["id"] not in numbers:
                    self._end(connection, row, now_ms, GUESSED)
        self._prune_if_due()

    def end_all(self, node: str, at_ms: int) -> None:
        """End what an unreachable node held, until it reports again."""
        with self._database.transaction() as connection:
            for row in connection.execute(
                "select id, kind, holder from bindings where node = ? and to_ms is null", [node]
            ).fetchall():
                self._end(connection, row, at_ms, UNHEARD)

    def find(
        self, wanted: BindingFilter = ANY, limit: int = 100, before: tuple[int, int] | None = None
    ) -> list[StoredBinding]:
        """Return the newest bindings first, those before a begin and number."""
        condition, values = wanted.condition()
        if before is not None:
            condition, values = f"{condition} and (from_ms, id) < (?, ?)", [*values, *before]
        return self._select(f"{condition} order by from_ms desc, id desc limit ?", [*values, limit])

    def words(self, column: str) -> list[str]:
        """Return every user, or every holder, that there is."""
        assert column in ("user", "holder")
        return [row[column] for row in self._query(f"select distinct {column} from bindings", ())]  # noqa: S608

    def containers_of(self, user: str) -> frozenset[tuple[str, str]]:
        """Return node and name of the containers that a user has now."""
        rows = self._query(
            "select node, holder from bindings where to_ms is null and kind = 'container' and user = ?",
            [user],
        )
        return frozenset((row["node"], row["holder"]) for row in rows)

    def prune(self, now_ms: int) -> None:
        """Remove what ended too long ago, or is too much; what is held stays."""
        with self._database.transaction() as connection:
            old = connection.execute("delete from bindings where to_ms < ?", [now_ms - self._keep_ms])
            excess = connection.execute(
                "delete from bindings where to_ms is not null and id <= (select max(id) from bindings) - ?",
                [self._max_bindings],
            )
            if old.rowcount or excess.rowcount:
                self.jobs.remove_orphans(connection)

    def _add(self, connection: sqlite3.Connection, node: str, binding: Binding) -> int:
        """Store what changed, and return the number of the row."""
        key = (node, binding.resource, binding.holder_kind, binding.holder, binding.from_ms)
        row = connection.execute(
            f"select id, to_ms, how, user, source, facts from bindings where {SAME}",  # noqa: S608
            key,
        ).fetchone()
        rest = (binding.user, binding.source, json.dumps(dict(binding.facts)))
        if row is None:
            number = connection.execute(
                "insert into bindings "
                "(node, resource, kind, holder, from_ms, to_ms, how, user, source, facts) "
                "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, binding.to_ms, TOLD, *rest),
            ).lastrowid
        else:
            number = row["id"]
            ended = row["to_ms"] is not None and row["how"] == TOLD
            if tuple(row)[1:] == (binding.to_ms, TOLD, *rest) or (ended and binding.to_ms is None):
                return int(number)  # no change; a late copy does not revoke an end
            connection.execute(
                "update bindings set to_ms = ?, how = ?, user = ?, source = ?, facts = ? where id = ?",
                (binding.to_ms, TOLD, *rest, number),
            )
        self._count_change(connection, binding.holder_kind, binding.holder)
        return int(number or 0)

    def _end(self, connection: sqlite3.Connection, row: sqlite3.Row, at_ms: int, how: int) -> None:
        """End a row that is open; one that counted as ended keeps its time."""
        connection.execute(
            "update bindings set to_ms = coalesce(to_ms, max(from_ms, ?)), how = ? where id = ?",
            (at_ms, how, row["id"]),
        )
        self._count_change(connection, row["kind"], row["holder"])

    def _count_change(self, connection: sqlite3.Connection, kind: str, holder: str) -> None:
        self._changed_rows += 1
        if kind == JOB:
            self.jobs.update(connection, holder)

    def _select(self, condition: str, values: list[Any]) -> list[StoredBinding]:
        statement = f"select {FIELDS} from bindings where {condition}"  # noqa: S608 - our own words only
        return [_from_row(row) for row in self._query(statement, values)]


def _from_row(row: sqlite3.Row) -> StoredBinding:
    binding = Binding(
        row["resource"],
        row["kind"],
        row["holder"],
        row["from_ms"],
        row["to_ms"],
        row["user"],
        row["source"],
        json.loads(row["facts"]),
    )
    return StoredBinding(row["id"], row["node"], binding, row["how"])
