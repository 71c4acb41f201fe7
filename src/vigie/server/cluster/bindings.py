"""Bindings, one row each, and the jobs and users that follow from them.

A binding is identified by node, resource, holder and begin, so a repeated one is stored once. An end that
the node reported is final. An end that the server guessed (the node is unreachable, or came back without the
binding) is revoked when the node reports that the binding goes on.

The scheduler's node also reports what is held on others. What it and the processes of a node both report is
one binding, with the scheduler's times and facts.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from vigie.model import Binding
from vigie.model.binding import SCHEDULER
from vigie.server.cluster.database import DAY_MS, ClusterDatabase, SqliteStore, wall_clock
from vigie.server.cluster.filters import (
    ANY,
    GUESSED,
    HELD_GPUS,
    JOB,
    NODE,
    TOLD,
    UNHEARD,
    BindingFilter,
)
from vigie.server.cluster.jobs import JobStore
from vigie.server.cluster.users import UserStore

KEEP_DAYS = 90.0
MAX_BINDINGS = 1_000_000  # a node that binds for ever must not fill the disk
ENDS = {TOLD: "told", GUESSED: "guessed", UNHEARD: "unheard"}
FIELDS = "id, node, resource, kind, holder, from_ms, to_ms, how, user, source, facts"
SUBJECT = "node = ? and resource = ? and kind = ? and holder = ?"
SAME = f"{SUBJECT} and from_ms = ?"
REPORTED = "((node = ? and reporter = '') or reporter = ?)"
OVERLAPS = "from_ms <= ? and (to_ms is null or to_ms >= ?)"
FOREVER_MS = 1 << 62
SLUID = re.compile(r"s[0-9A-Z]{13}")  # a job's name in the cgroups of Slurm 26.05 and later
NO_OTHERS: Mapping[tuple[str, ...], str] = {}

Subject = tuple[str, str, str, str]
Span = tuple[int, int]  # its end, its begin


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

    def add(self, reporter: str, binding: Binding, node: str = "") -> None:
        """Store a binding, or what changed about it; `node` is where it is, if not on the reporter."""
        with self._database.transaction() as connection:
            self._add(connection, reporter, binding, node)
        self._prune_if_due()

    def replace_held(
        self,
        reporter: str,
        held: Iterable[Binding],
        now_ms: int,
        nodes: Mapping[tuple[str, ...], str] = NO_OTHERS,  # by their names, where not on the reporter
    ) -> None:
        """Store all that a node reports as held now, and end whatever else it reported."""
        with self._database.transaction() as connection:
            numbers = {
                self._add(connection, reporter, binding, nodes.get(binding.node_names, ""))
                for binding in held
            }
            for row in connection.execute(
                f"select id, kind, holder from bindings where {REPORTED} "  # noqa: S608
                "and (to_ms is null or how = ?)",
                (reporter, reporter, UNHEARD),
            ).fetchall():
                if row["id"] not in numbers:
                    self._end(connection, row, now_ms, GUESSED)
        self._prune_if_due()

    def end_all(self, reporter: str, at_ms: int) -> None:
        """End what an unreachable node reported as held, until it reports again."""
        with self._database.transaction() as connection:
            for row in connection.execute(
                f"select id, kind, holder from bindings where {REPORTED} and to_ms is null",  # noqa: S608
                [reporter, reporter],
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

    def has_user(self, node: str, user: str) -> bool:
        """Tell whether a user holds something on a node now."""
        query = "select 1 from bindings where node = ? and to_ms is null and user = ? limit 1"
        return bool(self._query(query, [node, user]))

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
                connection.execute("delete from job_aliases where job not in (select id from jobs)")

    def _add(self, connection: sqlite3.Connection, reporter: str, binding: Binding, other: str) -> int:
        """Store what changed, and return the number of the row."""
        node = other or reporter
        binding = self._with_job_id(connection, binding)
        subject = (node, binding.resource, binding.holder_kind, binding.holder)
        span = (binding.to_ms if binding.to_ms is not None else FOREVER_MS, binding.from_ms)
        if binding.source == SCHEDULER:
            _remove_others(connection, subject, span)
            if number := self._end_gpus(connection, node, binding, span):
                return number
        elif number := _find_scheduled(connection, subject, span):
            return number
        return self._store(connection, subject, binding, "" if node == reporter else reporter)

    def _store(
        self, connection: sqlite3.Connection, subject: Subject, binding: Binding, reporter: str
    ) -> int:
        row = connection.execute(
            f"select id, to_ms, how, user, source, facts, reporter from bindings where {SAME}",  # noqa: S608
            (*subject, binding.from_ms),
        ).fetchone()
        rest = (binding.user, binding.source, json.dumps(dict(binding.facts)), reporter)
        if row is None:
            number = connection.execute(
                "insert into bindings "
                "(node, resource, kind, holder, from_ms, to_ms, how, user, source, facts, reporter) "
                "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*subject, binding.from_ms, binding.to_ms, TOLD, *rest),
            ).lastrowid
        else:
            number = row["id"]
            if tuple(row)[1:] == (binding.to_ms, TOLD, *rest) or _is_outdated(row, binding, reporter):
                return int(number)
            connection.execute(
                "update bindings set to_ms = ?, how = ?, user = ?, source = ?, facts = ?, reporter = ? "
                "where id = ?",
                (binding.to_ms, TOLD, *rest, number),
            )
        self._count_change(connection, binding.holder_kind, binding.holder)
        return int(number or 0)

    def _end_gpus(self, connection: sqlite3.Connection, node: str, binding: Binding, span: Span) -> int:
        """End the GPUs of a job whose end came without their indices; return one of the rows, or 0."""
        if binding.resource != NODE or binding.to_ms is None:
            return 0
        rows = connection.execute(
            "select id from bindings where node = ? and kind = ? and holder = ? "  # noqa: S608
            f"and resource like 'gpu:%' and source = ? and {OVERLAPS}",
            (node, binding.holder_kind, binding.holder, SCHEDULER, *span),
        ).fetchall()
        if not rows:
            return 0
        facts = json.dumps({name: text for name, text in binding.facts.items() if name != HELD_GPUS})
        connection.executemany(
            "update bindings set to_ms = ?, how = ?, facts = ? where id = ?",
            [(binding.to_ms, TOLD, facts, row["id"]) for row in rows],
        )
        self._count_change(connection, binding.holder_kind, binding.holder)
        return int(rows[0]["id"])

    def _with_job_id(self, connection: sqlite3.Connection, binding: Binding) -> Binding:
        """Return a job's binding under its id, where cgroups name it otherwise."""
        if binding.holder_kind != JOB:
            return binding
        alias = binding.facts.get("sluid", "")
        if alias and binding.source == SCHEDULER:
            self._add_alias(connection, alias, binding.holder)
        elif SLUID.fullmatch(binding.holder):
            row = connection.execute(
                "select job from job_aliases where alias = ?", [binding.holder]
            ).fetchone()
            return binding._replace(holder=row["job"]) if row else binding
        return binding

    def _add_alias(self, connection: sqlite3.Connection, alias: str, job: str) -> None:
        """Store by what else a job is known, and move there what was reported under that name."""
        new = connection.execute("insert or ignore into job_aliases values (?, ?)", (alias, job)).rowcount
        if new < 1:
            return
        moved = connection.execute(
            "update or replace bindings set holder = ? where kind = ? and holder = ?", (job, JOB, alias)
        ).rowcount
        if moved > 0:
            connection.execute("delete from jobs where id = ?", [alias])
            self._count_change(connection, JOB, job)

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


def _is_outdated(row: sqlite3.Row, binding: Binding, reporter: str) -> bool:
    """Tell whether a report must not change a row.

    A late copy does not revoke an end. But controllers take over from each other: then the new reporter's
    word counts, and that the old one reports no more, with facts unchanged, ends nothing.
    """
    ended = row["to_ms"] is not None and row["how"] == TOLD
    if row["reporter"] == reporter or binding.source != SCHEDULER:
        return ended and binding.to_ms is None
    return binding.to_ms is not None and row["to_ms"] is None and json.loads(row["facts"]) == binding.facts


def _find_scheduled(connection: sqlite3.Connection, subject: Subject, span: Span) -> int:
    """Return the row in which the scheduler reported the same, or 0."""
    row = connection.execute(
        f"select id from bindings where {SUBJECT} and source = ? and {OVERLAPS} "  # noqa: S608
        "and (to_ms is null or how = ?) limit 1",
        (*subject, SCHEDULER, *span, TOLD),
    ).fetchone()
    return int(row["id"]) if row else 0


def _remove_others(connection: sqlite3.Connection, subject: Subject, span: Span) -> None:
    """Remove what the processes of a node told of the same: the scheduler knows it better."""
    connection.execute(
        f"delete from bindings where {SUBJECT} and source != ? and {OVERLAPS}",  # noqa: S608
        (*subject, SCHEDULER, *span),
    )


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
