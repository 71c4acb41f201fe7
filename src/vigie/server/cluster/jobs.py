"""Jobs, one row each, derived from the bindings of all nodes as they change."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, NamedTuple

from vigie.model.binding import GPU
from vigie.server.cluster.database import ClusterDatabase, Query
from vigie.server.cluster.filters import ANY, JOB, QUEUE, UNHEARD, BindingFilter

STATES = WAITING, RUNNING, FINISHED, UNKNOWN = "waiting", "running", "finished", "unknown"
COLUMNS = ("id", "user", "state", "queued_ms", "start_ms", "end_ms", "nodes", "gpus", "source", "facts")
UPSERT = f"""
insert into jobs ({", ".join(COLUMNS)}) values ({", ".join(f":{name}" for name in COLUMNS)})
on conflict (id) do update set {", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:])}
"""  # noqa: S608 - our own words only


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
        fields = self._asdict()
        del fields["number"]
        return {"name": self.facts.get("name", ""), **fields}


class JobStore:
    def __init__(self, database: ClusterDatabase, query: Query) -> None:
        self._database, self._query = database, query

    def update(self, connection: sqlite3.Connection, job: str) -> None:
        """Derive the row of a job from its bindings, within the transaction that changed them."""
        rows = connection.execute(
            "select node, resource, from_ms, to_ms, how, user, source, facts from bindings "
            "where kind = ? and holder = ? order by from_ms, id",
            (JOB, job),
        ).fetchall()
        connection.execute(UPSERT, {"id": job, **_derive(rows)})

    def remove_orphans(self, connection: sqlite3.Connection) -> None:
        """Remove jobs without any binding."""
        connection.execute(
            "delete from jobs where not exists "
            "(select 1 from bindings where holder = jobs.id and kind = 'job')"
        )

    def find(
        self, wanted: BindingFilter = ANY, limit: int = 100, before: tuple[int, int] | None = None
    ) -> list[JobRecord]:
        """Return the newest jobs first, those before a start and number."""
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
        rows = self._query(
            f"select number, {', '.join(COLUMNS)} from jobs where {condition} "  # noqa: S608 - our own words only
            "order by start_ms desc, number desc limit ?",
            [*values, limit],
        )
        return [_from_row(row) for row in rows]

    def of(self, user: str) -> frozenset[str]:
        """Return which jobs a user has or had, without waiting for a longer query."""
        rows = self._database.query("select id from jobs where user = ?", [user])
        return frozenset(row["id"] for row in rows)


def _from_row(row: sqlite3.Row) -> JobRecord:
    fields = dict(row)
    return JobRecord(**fields | {name: json.loads(fields[name]) for name in ("nodes", "gpus", "facts")})


def _derive(rows: list[sqlite3.Row]) -> dict[str, Any]:
    """Return the columns of a job from its bindings, which are ordered by begin: the newest is the last."""
    held = [row for row in rows if row["resource"] != QUEUE]
    queued = [row["from_ms"] for row in rows if row["resource"] == QUEUE]
    ends = [row["to_ms"] for row in rows if row["to_ms"] is not None]
    facts: dict[str, str] = {}
    for row in rows:
        facts.update(json.loads(row["facts"]))
    gpus = {
        f"{row['node']}:{row['resource'].removeprefix(GPU)}"
        for row in held
        if row["resource"].startswith(GPU)
    }
    return {
        "user": next((row["user"] for row in reversed(rows) if row["user"]), ""),
        "state": _derive_state(rows),
        "queued_ms": min(queued) if queued else None,
        "start_ms": min(row["from_ms"] for row in held or rows),
        "end_ms": max(ends) if len(ends) == len(rows) else None,
        "nodes": json.dumps(sorted({row["node"] for row in held})),
        "gpus": json.dumps(sorted(gpus)),
        "source": rows[-1]["source"],
        "facts": json.dumps(facts),
    }


def _derive_state(rows: list[sqlite3.Row]) -> str:
    held = {row["resource"] for row in rows if row["to_ms"] is None}
    if held:
        return WAITING if held == {QUEUE} else RUNNING
    return UNKNOWN if any(row["how"] == UNHEARD for row in rows) else FINISHED
