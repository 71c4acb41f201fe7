"""The Users page and the User page: what somebody holds, whether it is used, and what it cost."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import UTC, datetime

from vigie.server.cluster.bindings import StoredBinding
from vigie.server.cluster.jobs import FINISHED, RUNNING, WAITING, JobRecord
from vigie.server.pages.cluster_page import summarize_incidents
from vigie.server.pages.gpu_map import GpuCells
from vigie.server.pages.humanize import DAY_MS, HOUR_MS, join_words, pluralize
from vigie.server.pages.incident_rows import IncidentRows
from vigie.server.pages.queries import label_matcher
from vigie.server.pages.query_batch import BatchQuery, BatchResult, QuerySpan
from vigie.server.pages.rows import JobRows
from vigie.server.pages.snapshot import Place, Snapshot
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.pages.widgets import OK, UNKNOWN, WARNING, build_stat, build_verdict
from vigie.server.privacy.redactor import Redactor
from vigie.wire.api.pages import UserPage, UsersPage
from vigie.wire.api.rows import IdleHolder, IncidentRow, Stat, UserDay, UserHolder, UserRow, Verdict

WEEK = 7
MAX_FINISHED = 50
STEP_MS = 900_000
WORKED = (
    "sum(max by (instance, gpu) (vigie_holder_info{%s}) * on (instance, gpu) group_left () "
    "max by (instance, gpu) (vigie_gpu_busy_ratio))"
)
COMMANDS = {"job": "scancel {id}", "environment": "genv devices detach --eid {id}"}


def find_places(snapshot: Snapshot, user: str) -> list[Place]:
    mine = {place for place, held in snapshot.held.items() for stored in held if stored.binding.user == user}
    return [card.place for cards in snapshot.on_node.values() for card in cards if card.place in mine]


async def build_users_page(snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor) -> UsersPage:
    """Return all users, those who hold most first."""
    hours = await asyncio.to_thread(snapshots.cluster.hours, snapshot.at_ms - WEEK * DAY_MS, snapshot.at_ms)
    names = {stored.binding.user for stored in snapshot.bindings if stored.binding.user} | set(hours)
    rows = []
    for name in names:
        places = find_places(snapshot, name)
        rows.append(
            UserRow(
                user=redactor.user(name),
                held=len(places),
                working=sum(snapshot.working(place) is True for place in places),
                idle=sum(snapshot.idle(place) is True for place in places),
                waiting=sum(job.user == name for job in snapshot.waiting()),
                gpu_hours=round(hours.get(name, 0.0), 2),
            )
        )
    rows.sort(key=lambda row: (-row.held, -row.gpu_hours, row.user))
    return UsersPage(snapshot.at_ms, _users_verdict(snapshot, rows), rows, snapshot.missing)


def _users_verdict(snapshot: Snapshot, rows: list[UserRow]) -> Verdict:
    if snapshot.missing:
        return build_verdict(UNKNOWN, f"Who holds what is not known: {snapshot.missing}.")
    holders = sum(row.held > 0 for row in rows)
    held, working = sum(row.held for row in rows), sum(row.working for row in rows)
    idle = sum(row.idle for row in rows)
    if not held:
        return build_verdict(OK, "Nobody holds a GPU.")
    hold = "hold" if holders != 1 else "holds"
    return build_verdict(
        WARNING if idle else OK,
        f"{pluralize(holders, 'user')} {hold} {pluralize(held, 'GPU')}, {working} working, {idle} idle.",
    )


async def build_user_page(
    snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor, user: str
) -> UserPage:
    places, cells, rows = (
        find_places(snapshot, user),
        GpuCells(snapshot, redactor),
        JobRows(snapshot, redactor),
    )
    span = _span(snapshot.at_ms)
    worked = await snapshots.runner.run({"worked": BatchQuery(WORKED % _mine(user), ())}, span)
    held = await asyncio.to_thread(snapshots.cluster.bindings, span.start, snapshot.at_ms, user)
    days = build_days(snapshot.at_ms, held, worked)
    jobs = _jobs(snapshot, user)
    week = round(sum(day.held for day in days), 1)
    idle = _idle(snapshot, cells, places)
    measured = [day for day in days if day.worked is not None]
    incidents = IncidentRows(snapshot, redactor).all(
        lambda incident: any(job.id in incident.jobs for job in jobs)
    )
    return UserPage(
        at_ms=snapshot.at_ms,
        verdict=_verdict(snapshot, redactor.user(user), places, jobs, week, incidents),
        numbers=_numbers(snapshot, redactor.user(user), places, jobs, week, measured),
        cells=[cells.build(place) for place in places],
        idle=idle,
        jobs=[rows.build(job) for job in jobs],
        days=days,
        environments=_holders(snapshot, redactor, user, "environment"),
        containers=_holders(snapshot, redactor, user, "container"),
        incidents=incidents,
        unfinished=snapshot.unfinished,
    )


def _mine(user: str) -> str:
    return f'{label_matcher("user", user)},gpu!=""'


def _span(at_ms: int) -> QuerySpan:
    start = (at_ms // DAY_MS - WEEK + 1) * DAY_MS
    return QuerySpan(start, at_ms, STEP_MS)


def _jobs(snapshot: Snapshot, user: str) -> list[JobRecord]:
    mine = [job for job in snapshot.jobs.values() if job.user == user]
    order = {RUNNING: 0, WAITING: 1, FINISHED: 2}
    mine.sort(key=lambda job: (order[snapshot.job_state(job)], -(job.end_ms or job.start_ms)))
    over = [job for job in mine if snapshot.job_state(job) == FINISHED]
    return [job for job in mine if job not in over[MAX_FINISHED:]]


def _verdict(
    snapshot: Snapshot,
    name: str,
    places: list[Place],
    jobs: list[JobRecord],
    week: float,
    incidents: list[IncidentRow],
) -> Verdict:
    if snapshot.missing:
        return build_verdict(UNKNOWN, f"What {name} holds is not known: {snapshot.missing}.")
    working = sum(snapshot.working(place) is True for place in places)
    idle = sum(snapshot.idle(place) is True for place in places)
    waiting = sum(snapshot.job_state(job) == WAITING for job in jobs)
    holds = f"{name} holds {pluralize(len(places), 'GPU')}" if places else f"{name} holds no GPU"
    uses = f", {working} working, {idle} idle" if places else ""
    waits = f" {pluralize(waiting, 'job')} {'wait' if waiting != 1 else 'waits'}." if waiting else ""
    state, hit = summarize_incidents(incidents)
    if state == OK:
        state, hit = (WARNING if idle else OK), ""
    return build_verdict(state, f"{holds}{uses}.{waits} {week:g} GPU-hours this week.", hit)


def _numbers(
    snapshot: Snapshot,
    user: str,
    places: list[Place],
    jobs: list[JobRecord],
    week: float,
    measured: list[UserDay],
) -> list[Stat]:
    held = f"max by (instance, gpu) (vigie_holder_info{{{_mine(user)}}})"
    idle = sum(snapshot.idle(place) is True for place in places)
    why = snapshot.missing
    count = None if why else len(places)
    return [
        build_stat(
            "held", "GPUs held", count, query=f"count({held}) or 0 * count(vigie_gpu_info)", reason=why
        ),
        build_stat(
            "working",
            "Working",
            None if why else sum(snapshot.working(place) is True for place in places),
            of=count,
            reason=why,
        ),
        build_stat(
            "idle",
            "Held but idle",
            None if why else idle,
            of=count,
            state=WARNING if idle else OK,
            reason=why,
        ),
        build_stat(
            "waiting",
            "Pending jobs",
            None if why else sum(snapshot.job_state(job) == WAITING for job in jobs),
            reason=why,
        ),
        build_stat("gpu_hours", "GPU-hours this week", None if why else week, reason=why),
        build_stat(
            "worked",
            "Worked, where measured",
            round(sum(day.worked or 0.0 for day in measured), 1) if measured else None,
            of=round(sum(day.held for day in measured), 1) or None,
            reason="no sample tells how busy the GPUs were while they were held",
        ),
    ]


def build_days(at_ms: int, held: list[StoredBinding], worked: BatchResult) -> list[UserDay]:
    """Return the last days, each with the GPU-hours that were held and that were worked."""
    today = at_ms // DAY_MS
    done: dict[int, float] = defaultdict(float)
    for row in worked.rows.get("worked", ()):
        for moment, value in zip(row.times, row.values, strict=True):
            done[moment // DAY_MS] += value * min(STEP_MS, at_ms - moment) / HOUR_MS
    rows = []
    for day in range(today - WEEK + 1, today + 1):
        begin, end = day * DAY_MS, min((day + 1) * DAY_MS, at_ms)
        spans: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for stored in held:
            first = max(stored.binding.from_ms, begin)
            last = end if stored.binding.to_ms is None else min(stored.binding.to_ms, end)
            if stored.binding.gpu and last > first:
                spans[stored.node, stored.binding.gpu].append((first, last))
        name = datetime.fromtimestamp(begin / 1000, UTC).strftime("%Y-%m-%d")
        hours = round(sum(map(_cover, spans.values())) / HOUR_MS, 2)
        rows.append(UserDay(name, hours, round(done[day], 2) if day in done else None))
    return rows


def _cover(spans: list[tuple[int, int]]) -> int:
    """Return how long any of some spans lasted: a job and its container hold one GPU together."""
    total, until = 0, 0
    for first, last in sorted(spans):
        total += max(last - max(first, until), 0)
        until = max(until, last)
    return total


def _idle(snapshot: Snapshot, cells: GpuCells, places: list[Place]) -> list[IdleHolder]:
    """Return what is held and does nothing, with the command that gives it back."""
    groups: dict[tuple[str, str, str], list[Place]] = defaultdict(list)
    for place in places:
        holder = cells.find_holder(place)
        if holder and snapshot.idle(place):
            groups[holder.kind, holder.id, holder.name].append(place)
    return [
        IdleHolder(
            f"{kind.capitalize()} {name} holds {pluralize(len(mine), 'GPU')} and does not use "
            f"{'them' if len(mine) > 1 else 'it'}: {join_words([f'{node}:{gpu}' for node, gpu in mine])}.",
            COMMANDS.get(kind, "").format(id=identity),
            [cells.build(place) for place in mine],
        )
        for (kind, identity, name), mine in sorted(groups.items())
    ]


def _holders(snapshot: Snapshot, redactor: Redactor, user: str, kind: str) -> list[UserHolder]:
    holders: dict[tuple[str, str], UserHolder] = {}
    for stored in snapshot.bindings:
        if stored.binding.user == user and stored.binding.holder_kind == kind:
            row = redactor.binding(stored)
            first = UserHolder(row["holder"], stored.node, row["from_ms"], [])
            holders.setdefault((stored.node, row["holder"]), first).gpus.extend(filter(None, [row["gpu"]]))
    return [holders[key] for key in sorted(holders)]
