"""The Jobs page: what runs, what waits, what has ended."""

from __future__ import annotations

from typing import Any

from vigie.server.bindings.jobs import FINISHED, RUNNING, WAITING
from vigie.server.outlook.job_rows import JobRows
from vigie.server.outlook.picture import Picture
from vigie.server.outlook.seen import Seen
from vigie.server.outlook.shapes import OK, UNKNOWN, WARNING, verdict
from vigie.server.outlook.words import counted

STATES = (RUNNING, WAITING, FINISHED)
MOST = 1000


def jobs_page(picture: Picture, seen: Seen, state: str) -> dict[str, Any]:
    """Return the jobs of a state, or all: those that run by GPUs, those that wait by age, then the newest."""
    rows = JobRows(picture, seen)
    running, waiting = picture.running(), picture.waiting()
    finished = sorted(
        (job for job in picture.jobs.values() if picture.job_state(job) == FINISHED),
        key=lambda job: -(job.end_ms or 0),
    )
    groups = {RUNNING: running, WAITING: waiting, FINISHED: finished}
    wanted = [job for name, jobs in groups.items() if state in ("", name) for job in jobs]
    odd = sum(bool(rows.of(job)["chip"]) for job in running)
    if picture.missing:
        said = verdict(UNKNOWN, f"No job is known: {picture.missing}.")
    elif not picture.jobs:
        said = verdict(UNKNOWN, "No job has been heard of: no source here tells who holds what.")
    else:
        words = f"{counted(len(running), 'job')} running, {len(waiting)} waiting."
        said = verdict(WARNING if odd else OK, words, _odd(odd))
    return {"at_ms": picture.at_ms, "verdict": said, "jobs": [rows.of(job) for job in wanted[:MOST]]}


def _odd(count: int) -> str:
    return f"{counted(count, 'job')} {'are' if count != 1 else 'is'} odd." if count else "None is odd."
