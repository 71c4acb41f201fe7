"""A row about a job: what it holds, how much of that works, and what is odd about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from vigie.server.cluster.jobs import UNKNOWN, WAITING, JobRecord
from vigie.server.pages.humanize import format_duration
from vigie.server.pages.incident_rows import by_severity
from vigie.server.pages.snapshot import UNHEARD, Place, Snapshot, parse_place
from vigie.server.privacy.redactor import Redactor
from vigie.wire.api.rows import JobLadder, JobRow, NodeRow, SlurmState

WHY = {
    "added": "expected, and never heard yet",
    "late": "nothing is heard for a moment",
    "lost": "nothing is heard of it",
    "stopped": "its agent was stopped",
    UNHEARD: "no sample of that moment",
}
WHY_NOW = {
    "late": "nothing has been heard of it for {}",
    "lost": "nothing has been heard of it for {}",
    "stopped": "its agent was stopped {} ago",
}
LIMIT = re.compile(r"(?:(\d+)-)?(\d+):(\d+)(?::(\d+))?")  # as Slurm writes it: days-hours:minutes:seconds
SHORT = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
WAITS = {  # Slurm's reasons, or how a family of them begins
    "Resources": "too little is free for it",
    "Priority": "others come before it",
    "Dependency": "another job has to end first",
    "ReqNodeNotAvail": "a node that it wants is down, drained or reserved",
    "Reservation": "its reservation has not begun",
    "BeginTime": "it is to start later",
    "JobHeldUser": "its user holds it back",
    "JobHeldAdmin": "an administrator holds it back",
    "Licenses": "a licence that it wants is in use",
    "Partition": "a limit or the state of its partition",
    "QOS": "a limit of its quality of service",
    "Assoc": "a limit of its account or user",
}
N = TypeVar("N", bound=NodeRow)


class NodeRows:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._slurm = {key[0]: key[1] for key in snapshot.all("slurm")}
        self._drained = {
            incident.nodes[0]: incident.facts.get("reason", "")
            for incident in snapshot.incidents
            if incident.finding.name == "node-drained" and incident.end_ms is None
        }

    def build(self, name: str) -> NodeRow:
        return self.extend(NodeRow, name)

    def extend(self, kind: type[N], name: str, **more: Any) -> N:
        """Return the row of a node as a kind that has further fields."""
        snapshot, node = self._snapshot, self._snapshot.nodes[name]
        state = snapshot.node_state(name)
        return kind(
            name=name,
            state=state,
            why=self._why(name, state),
            labels=node.labels,
            slurm=self._slurm_state(name),
            cpu=snapshot.number("cpu", name),
            memory=snapshot.number("ram", name),
            **more,
        )

    def _slurm_state(self, name: str) -> SlurmState | None:
        state = self._slurm.get(name)
        return SlurmState(state, self._drained.get(name, "")) if state else None

    def _why(self, name: str, state: str) -> str:
        last = self._snapshot.nodes[name].last_seen_ms
        if state in WHY_NOW and last and self._snapshot.live:
            return WHY_NOW[state].format(format_duration(self._snapshot.at_ms - last))
        return WHY.get(state, "")


class JobRows:
    """Makes the rows of a snapshot as one caller sees them."""

    def __init__(self, snapshot: Snapshot, redactor: Redactor) -> None:
        self._snapshot, self._redactor = snapshot, redactor
        worst_last = [one for one in reversed(by_severity(snapshot.incidents)) if one.finding.badge]
        self._ever = {job: incident.finding for incident in worst_last for job in incident.jobs}
        self._now = {job: one.finding for one in worst_last if one.end_ms is None for job in one.jobs}

    def build(self, job: JobRecord) -> JobRow:
        row, state = self._redactor.job(job), self._snapshot.job_state(job)
        facts = row["facts"]
        odd = {"running": self._now, "finished": self._ever}.get(state, {}).get(job.id)
        return JobRow(
            id=row["id"],
            name=row["name"] or row["id"],
            user=row["user"],
            account=facts.get("account", ""),
            partition=facts.get("partition", ""),
            state=state,
            reason=_reason(job, state, facts),
            queued_ms=job.queued_ms,
            start_ms=None if state == "waiting" else job.start_ms,
            end_ms=job.end_ms if state == "finished" else None,
            limit_seconds=parse_time_limit(facts.get("limit", "")),
            nodes=job.nodes,
            gpus=job.gpus,
            wanted_gpus=_parse_count(facts.get("gpus", "")),
            array=facts.get("array", ""),
            restarts=_parse_count(facts.get("restarts", "")) or 0,
            ladder=self.build_ladder(job) if state == "running" else JobLadder(),
            badge=odd.badge if odd else "",
            why=explain_wait(facts.get("reason", "")) if state == WAITING else odd.title if odd else "",
        )

    def build_ladder(self, job: JobRecord) -> JobLadder:
        """Return of how many GPUs a job makes use, step by step; a step that nobody measures is absent."""
        places, snapshot = [parse_place(text) for text in job.gpus], self._snapshot

        def total(of: Callable[[Place], float | None]) -> float | None:
            parts = [of(place) for place in places]
            known = [part for part in parts if part is not None]
            return round(sum(known), 2) if known else None

        def process(place: Place) -> float | None:
            count = snapshot.number("processes", *place)
            return None if count is None else float(count > 0)

        return JobLadder(
            held=len(places),
            process=total(process),
            busy=total(lambda place: snapshot.number("busy_5m", *place)),
            sm=total(lambda place: snapshot.number("sm_5m", *place)),
            tensor=total(lambda place: snapshot.number("tensor_5m", *place)),
        )


def explain_wait(reason: str) -> str:
    """Return what a reason of Slurm means, where that is known.

    >>> explain_wait("Priority"), explain_wait("QOSMaxGRESPerUser"), explain_wait("")
    ('others come before it', 'a limit of its quality of service', '')
    """
    return next((words for begin, words in WAITS.items() if reason.startswith(begin)), "")


def parse_time_limit(text: str) -> int | None:
    """Return a time limit in seconds.

    >>> [parse_time_limit(text) for text in ("24h", "1-12:00:00", "30:00", "UNLIMITED")]
    [86400, 129600, 1800, None]
    """
    short, long = SHORT.fullmatch(text), LIMIT.fullmatch(text)
    if short:
        return round(float(short[1]) * UNITS[short[2]])
    if not long:
        return None
    days, first, second, third = (int(part or 0) for part in long.groups())
    hours, minutes, seconds = (first, second, third) if long[4] or long[1] else (0, first, second)
    return days * 86_400 + hours * 3600 + minutes * 60 + seconds


def _reason(job: JobRecord, state: str, facts: dict[str, str]) -> str:
    if job.state == UNKNOWN:
        return "nothing is heard of its nodes any more"
    if state == "waiting":
        return facts.get("reason", "")
    return (
        format_final_state(facts.get("state", ""), facts.get("exit_code", "")) if state == "finished" else ""
    )


def format_final_state(state: str, exit_code: str) -> str:
    """Return how a job ended, with Slurm's exit code where it says more.

    >>> format_final_state("FAILED", "3:0"), format_final_state("FAILED", "0:11")
    ('FAILED, exit code 3', 'FAILED, signal 11')
    >>> format_final_state("COMPLETED", "0:0")
    'COMPLETED'
    """
    code, _, signal = exit_code.partition(":")
    if _parse_count(signal):
        return f"{state}, signal {signal}"
    return f"{state}, exit code {code}" if _parse_count(code) else state


def _parse_count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else None
