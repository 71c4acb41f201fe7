"""Jobs, as the bindings of all nodes tell of them: one row a job, kept up to date as bindings change."""

from __future__ import annotations

import json
import sqlite3
import threading
from typing import Any, NamedTuple

from vigie.model.binding import GPU
from vigie.server.cluster.database import Look
from vigie.server.cluster.filters import ANY, JOB, QUEUE, UNHEARD, BindingFilter

STATES = WAITING, RUNNING, FINISHED, UNKNOWN = "waiting", "running", "finished", "unknown"
JOBS_SCHEMA = """
create table if not exists jobs (
    number integer primary key autoincrement, id text not null unique, user text not null,
    state text not null, queued_ms integer, start_ms integer not null, end_ms integer, nodes text not null,
    gpus text not null, source text not null, facts text not null);
create index if not exists jobs_by_start on jobs (start_ms, number);
create index if not exists jobs_by_user on jobs (user);
"""
FIELDS = "number, id, user, state, queued_ms, start_ms, end_ms, nodes, gpus, source, facts"


class JobRecord(NamedTuple):
    """A job; before it starts, its start is when it began to wait."""

    number: int
    id: str
    user: str
    state: str
    queued_ms: int | None
    start_ms: int
    end_ms: int | None
    nodes: list[str]
    gpus: list[str]  # as node:index
    source: str
    facts: dict[str, str]

    @property
    def json(self) -> dict[str, Any]:
        found = self._asdict()
        del found["number"]
        return {"name": self.facts.get("name", ""), **found}


class JobStore:
    """The jobs in the database of bindings."""

    def __init__(self, database: sqlite3.Connection, guard: threading.Lock, look: Look) -> None:
        self._database, self._guard, self._look = database, guard, look

    def update(self, job: str) -> None:
        """Make the row of a job anew; within a transaction of whoever changed its bindings."""
        rows = self._database.execute(
            "select node, resource, from_ms, to_ms, how, user, source, facts from bindings "
            "where kind = ? and holder = ? order by from_ms, id",
            (JOB, job),
        ).fetchall()
        fields = _told([_Row(*row) for row in rows])
        self._database.execute(
            "insert into jobs (id, user, state, queued_ms, start_ms, end_ms, nodes, gpus, source, facts) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do update set user = excluded.user, "
            "state = excluded.state, queued_ms = excluded.queued_ms, start_ms = excluded.start_ms, "
            "end_ms = excluded.end_ms, nodes = excluded.nodes, gpus = excluded.gpus, "
            "source = excluded.source, facts = excluded.facts",
            (job, *fields),
        )

    def forget(self) -> None:
        """Remove jobs of which no binding is left; within a transaction."""
        self._database.execute(
            "delete from jobs where not exists "
            "(select 1 from bindings where holder = jobs.id and kind = 'job')"
        )

    def find(
        self, wanted: BindingFilter = ANY, limit: int = 100, before: tuple[int, int] | None = None
    ) -> list[JobRecord]:
        """Return the newest jobs first, from behind a start and number on."""
        parts, values = wanted.during("start_ms", "end_ms")
        for name, word in (("id", wanted.job), ("user", wanted.user), ("state", wanted.state)):
            if word:
                parts.append(f"{name} = ?")
                values.append(word)
        if wanted.node or wanted.gpu:
            where, more = BindingFilter(node=wanted.node, gpu=wanted.gpu, kind=JOB).condition()
            parts.append(f"id in (select holder from bindings where {where})")  # noqa: S608
            values += more
        if before is not None:
            parts.append("(start_ms, number) < (?, ?)")
            values += before
        condition = " and ".join(parts) or "1"
        rows = self._look(
            f"select {FIELDS} from jobs where {condition} "  # noqa: S608 - our own words only
            "order by start_ms desc, number desc limit ?",
            [*values, limit],
        )
        return [_job(row) for row in rows]

    def of(self, user: str) -> frozenset[str]:
        """Return which jobs a user has or had; it waits for no longer question."""
        with self._guard:
            rows = self._database.execute("select id from jobs where user = ?", [user]).fetchall()
        return frozenset(job for (job,) in rows)


def _job(row: tuple[Any, ...]) -> JobRecord:
    job = JobRecord(*row)
    return job._replace(nodes=json.loads(row[7]), gpus=json.loads(row[8]), facts=json.loads(row[10]))


class _Row(NamedTuple):
    node: str
    resource: str
    from_ms: int
    to_ms: int | None
    how: int
    user: str
    source: str
    facts: str


def _told(rows: list[_Row]) -> tuple[Any, ...]:
    """Return what bindings tell of their job; they come by beginning, so the newest word is the last."""
    held = [row for row in rows if row.resource != QUEUE]
    queued = [row.from_ms for row in rows if row.resource == QUEUE]
    ends = [row.to_ms for row in rows if row.to_ms is not None]
    facts: dict[str, str] = {}
    for row in rows:
        facts.update(json.loads(row.facts))
    gpus = {f"{row.node}:{row.resource.removeprefix(GPU)}" for row in held if row.resource.startswith(GPU)}
    return (
        next((row.user for row in reversed(rows) if row.user), ""),
        _state(rows),
        min(queued) if queued else None,
        min(row.from_ms for row in held or rows),
        max(ends) if len(ends) == len(rows) else None,
        json.dumps(sorted({row.node for row in held})),
        json.dumps(sorted(gpus)),
        rows[-1].source,
        json.dumps(facts),
    )


def _state(rows: list[_Row]) -> str:
    opened = [row.resource for row in rows if row.to_ms is None]
    if opened:
        return WAITING if set(opened) == {QUEUE} else RUNNING
    return UNKNOWN if any(row.how == UNHEARD for row in rows) else FINISHED
