"""Who held what, kept for months: one row a binding, and one a job that is made of them.

A binding is known by node, resource, holder and beginning, so whatever comes twice is kept once. An end that
a node told stands. One that we had to guess (the node is lost, or came back without the binding) is taken
back when the node says that the binding goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from vigie.model import Binding
from vigie.server.cluster.database import DAY_MS, SqliteStore, wall_clock
from vigie.server.cluster.filters import ANY, GUESSED, JOB, TOLD, UNHEARD, BindingFilter
from vigie.server.cluster.jobs import JOBS_SCHEMA, JobStore
from vigie.server.cluster.users import UserStore

KEEP_DAYS = 90.0
MAX_BINDINGS = 1_000_000  # a node that binds and lets go for ever must not fill the disk
ENDS = {TOLD: "told", GUESSED: "guessed", UNHEARD: "unheard"}
SCHEMA = f"""
create table if not exists bindings (
    id integer primary key autoincrement, node text not null, resource text not null, kind text not null,
    holder text not null, from_ms integer not null, to_ms integer, how integer not null, user text not null,
    source text not null, facts text not null, unique (node, resource, kind, holder, from_ms));
create index if not exists by_from on bindings (from_ms, id);
create index if not exists by_holder on bindings (holder, kind);
create index if not exists by_open on bindings (node) where to_ms is null;
create index if not exists held on bindings (from_ms, id) where to_ms is null;
{JOBS_SCHEMA}
"""
FIELDS = "id, node, resource, kind, holder, from_ms, to_ms, how, user, source, facts"
SAME = "node = ? and resource = ? and kind = ? and holder = ? and from_ms = ?"


class StoredBinding(NamedTuple):
    """A binding, its number, its node, and how its end is known."""

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
    """The bindings of a data directory; any thread may call."""

    def __init__(
        self,
        path: Path,
        keep_days: float = KEEP_DAYS,
        most: int = MAX_BINDINGS,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._keep_ms, self._most = int(keep_days * DAY_MS), most
        super().__init__(path, SCHEMA, clock)
        self.jobs = JobStore(self._database, self._guard, self.look)
        self.users = UserStore(self.look)

    def add(self, node: str, binding: Binding) -> None:
        """Keep a binding, or what is new about it."""
        with self._guard, self._database:
            self._add(node, binding)
        self._prune_if_due()

    def hold(self, node: str, held: Iterable[Binding], now_ms: int) -> None:
        """Take all that a node holds now: whatever else it held has ended."""
        with self._guard, self._database:
            there = {self._add(node, binding) for binding in held}
            for number, kind, holder in self._database.execute(
                "select id, kind, holder from bindings where node = ? and (to_ms is null or how = ?)",
                (node, UNHEARD),
            ).fetchall():
                if number not in there:
                    self._end(number, kind, holder, now_ms, GUESSED)
        self._prune_if_due()

    def part(self, node: str, at_ms: int) -> None:
        """Note that a node is heard no more: until it is, what it held counts as ended."""
        with self._guard, self._database:
            for number, kind, holder in self._database.execute(
                "select id, kind, holder from bindings where node = ? and to_ms is null", [node]
            ).fetchall():
                self._end(number, kind, holder, at_ms, UNHEARD)

    def find(
        self, wanted: BindingFilter = ANY, limit: int = 100, before: tuple[int, int] | None = None
    ) -> list[StoredBinding]:
        """Return the newest bindings first, from behind a beginning and number on."""
        condition, values = wanted.condition()
        if before is not None:
            condition, values = f"{condition} and (from_ms, id) < (?, ?)", [*values, *before]
        return self._select(f"{condition} order by from_ms desc, id desc limit ?", [*values, limit])

    def words(self, column: str) -> list[str]:
        """Return every user, or every holder, that there is."""
        assert column in ("user", "holder")
        return [word for (word,) in self.look(f"select distinct {column} from bindings")]  # noqa: S608

    def prune(self, now_ms: int) -> None:
        """Remove what ended too long ago, or is too much; what is held stays."""
        with self._guard, self._database:
            self._database.execute("delete from bindings where to_ms < ?", [now_ms - self._keep_ms])
            self._database.execute(
                "delete from bindings where to_ms is not null and id <= (select max(id) from bindings) - ?",
                [self._most],
            )
            self.jobs.forget()

    def _add(self, node: str, binding: Binding) -> int:
        """Keep what is new, and return the number of the row."""
        key = (node, binding.resource, binding.holder_kind, binding.holder, binding.from_ms)
        found = self._database.execute(
            f"select id, to_ms, how, user, source, facts from bindings where {SAME}",  # noqa: S608
            key,
        ).fetchone()
        rest = (binding.user, binding.source, json.dumps(dict(binding.facts)))
        if found is None:
            number = self._database.execute(
                "insert into bindings "
                "(node, resource, kind, holder, from_ms, to_ms, how, user, source, facts) "
                "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, binding.to_ms, TOLD, *rest),
            ).lastrowid
        else:
            number, end, how = found[:3]
            over = end is not None and how == TOLD
            if found[1:] == (binding.to_ms, TOLD, *rest) or (over and binding.to_ms is None):
                return int(number)  # nothing new; a late copy does not take an end back
            self._database.execute(
                "update bindings set to_ms = ?, how = ?, user = ?, source = ?, facts = ? where id = ?",
                (binding.to_ms, TOLD, *rest, number),
            )
        self._changed(binding.holder_kind, binding.holder)
        return int(number or 0)

    def _end(self, number: int, kind: str, holder: str, at_ms: int, how: int) -> None:
        """End a row that is open; one that counted as ended keeps its time."""
        self._database.execute(
            "update bindings set to_ms = coalesce(to_ms, max(from_ms, ?)), how = ? where id = ?",
            (at_ms, how, number),
        )
        self._changed(kind, holder)

    def _changed(self, kind: str, holder: str) -> None:
        self._added += 1
        if kind == JOB:
            self.jobs.update(holder)

    def _select(self, condition: str, values: list[Any]) -> list[StoredBinding]:
        question = f"select {FIELDS} from bindings where {condition}"  # noqa: S608 - our own words only
        return [_kept(*row) for row in self.look(question, values)]


def _kept(
    number: int, node: str, resource: str, kind: str, holder: str, begin: int, end: int | None, how: int,
    user: str, source: str, facts: str,
) -> StoredBinding:  # fmt: skip
    return StoredBinding(
        number, node, Binding(resource, kind, holder, begin, end, user, source, json.loads(facts)), how
    )
