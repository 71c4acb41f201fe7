"""Users: what each holds now, and for how many GPU-hours over a span of time."""

from __future__ import annotations

from typing import Any

from vigie.model.binding import GPU
from vigie.server.cluster.database import Look
from vigie.server.cluster.filters import ENDED, HELD, JOB, QUEUE, BindingFilter

HOUR_MS = 3_600_000
# A job, its container and its environment hold one GPU together: of spans that overlap, only what an
# earlier one did not cover is counted.
HOURS = """
with spans as (
    select user, node, resource, max(from_ms, ?) as begin, min(coalesce(to_ms, ?), ?) as end
    from bindings where user != '' and {condition}),
fresh as (
    select user, resource, end, max(begin, coalesce(max(end) over (
        partition by user, node, resource order by begin rows between unbounded preceding and 1 preceding
    ), begin)) as begin from spans)
select user, sum(case when resource like 'gpu:%' then max(0, end - begin) else 0 end) from fresh group by user
"""


class UserRecord:
    """What bindings tell of one user."""

    def __init__(self, name: str, held_ms: int = 0) -> None:
        self.name, self.held_ms = name, held_ms
        self._gpus: set[str] = set()
        self._nodes: set[str] = set()
        self._jobs: dict[bool, set[str]] = {True: set(), False: set()}  # by whether they wait

    def hold(self, node: str, resource: str, kind: str, holder: str) -> None:
        """Take what the user holds now."""
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
    """The users in the database of bindings."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def find(self, wanted: BindingFilter, start_ms: int, end_ms: int) -> list[UserRecord]:
        """Return every user of the wanted bindings, with hours between two times."""
        condition, values = wanted.condition()
        held, more = wanted._replace(state=HELD).condition()
        hours = self._look(HOURS.format(condition=condition), [start_ms, end_ms, end_ms, *values])
        now = self._look(
            f"select user, node, resource, kind, holder from bindings where {held}",  # noqa: S608
            more,
        )
        found = {name: UserRecord(name, held_ms) for name, held_ms in hours}
        for name, *holding in now if wanted.state != ENDED else ():
            if name in found:
                found[name].hold(*holding)
        return list(found.values())
