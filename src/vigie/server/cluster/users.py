"""Users: what each holds now, and their GPU-hours over a span of time."""

from __future__ import annotations

from typing import Any

from vigie.model.binding import GPU
from vigie.server.cluster.database import Query
from vigie.server.cluster.filters import ENDED, HELD, JOB, QUEUE, BindingFilter

HOUR_MS = 3_600_000
# A job, its container and its environment hold one GPU together: of spans that overlap, only what an
# earlier one did not cover is counted. A job that ended before anybody saw its GPUs has only their number.
HOURS = """
with spans as (
    select user, node, max(from_ms, ?) as begin, min(coalesce(to_ms, ?), ?) as end,
        case when resource like 'gpu:%' then resource else holder end as thing,
        case when resource like 'gpu:%' then 1
            when resource = 'node' then coalesce(cast(json_extract(facts, '$.held_gpus') as integer), 0)
            else 0 end as gpus
    from bindings where user != '' and {condition}),
fresh as (
    select user, gpus, end, max(begin, coalesce(max(end) over (
        partition by user, node, thing order by begin rows between unbounded preceding and 1 preceding
    ), begin)) as begin from spans)
select user, sum(gpus * max(0, end - begin)) as held_ms from fresh group by user
"""


class UserRecord:
    def __init__(self, name: str, held_ms: int = 0) -> None:
        self.name, self.held_ms = name, held_ms
        self._gpus: set[str] = set()
        self._nodes: set[str] = set()
        self._jobs: dict[bool, set[str]] = {True: set(), False: set()}  # by whether they are pending

    def add(self, node: str, resource: str, kind: str, holder: str) -> None:
        waits = resource == QUEUE
        if kind == JOB:
            self._jobs[waits].add(holder)
        if not waits:
            self._nodes.add(node)
        if resource.startswith(GPU):
            self._gpus.add(f"{node}:{resource.removeprefix(GPU)}")

    @property
    def json(self) -> dict[str, Any]:
        return {
            "user": self.name,
            "gpus": sorted(self._gpus),
            "nodes": sorted(self._nodes),
            "jobs_running": len(self._jobs[False] - self._jobs[True]),
            "jobs_waiting": len(self._jobs[True]),
            "gpu_hours": round(self.held_ms / HOUR_MS, 4),
        }


class UserStore:
    def __init__(self, query: Query) -> None:
        self._query = query

    def find(self, wanted: BindingFilter, start_ms: int, end_ms: int) -> list[UserRecord]:
        """Return every user of the bindings that match, with hours between two times."""
        condition, values = wanted.condition()
        held, more = wanted._replace(state=HELD).condition()
        hours = self._query(HOURS.format(condition=condition), [start_ms, end_ms, end_ms, *values])
        now = self._query(
            f"select user, node, resource, kind, holder from bindings where {held}",  # noqa: S608
            more,
        )
        users = {row["user"]: UserRecord(row["user"], row["held_ms"]) for row in hours}
        for row in now if wanted.state != ENDED else ():
            if row["user"] in users:
                users[row["user"]].add(row["node"], row["resource"], row["kind"], row["holder"])
        return list(users.values())
