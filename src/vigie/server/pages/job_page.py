"""The Job page: whether it does useful work, which rank is odd, and what happened."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from vigie.server.cluster.jobs import FINISHED, RUNNING, WAITING, JobRecord
from vigie.server.pages.cluster_page import summarize_incidents
from vigie.server.pages.humanize import format_duration, format_value, pluralize
from vigie.server.pages.incident_rows import IncidentRows
from vigie.server.pages.job_efficiency import (
    build_receipt,
    build_steps,
    ladder_queries,
    receipt_queries,
    sample_times,
)
from vigie.server.pages.job_ranks import build_ranks, rank_queries
from vigie.server.pages.job_reports import rank_reports
from vigie.server.pages.queries import nodes_matcher
from vigie.server.pages.query_batch import BatchResult
from vigie.server.pages.rows import JobRows
from vigie.server.pages.snapshot import Place, Snapshot, parse_place
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.pages.widgets import OK, UNKNOWN, WARNING, build_stat, build_verdict
from vigie.server.privacy.redactor import Redactor
from vigie.wire.api.pages import JobPage, JobsPage
from vigie.wire.api.rows import FreeGpus, IncidentRow, JobLadder, JobState, Stat, Verdict

STATES = (RUNNING, WAITING, FINISHED)
MAX_JOBS = 1000
LAST_MS = 30_000  # before its end a finished job is looked at: afterwards its GPUs are others'
NONE = BatchResult({}, {})


def build_jobs_page(snapshot: Snapshot, redactor: Redactor, state: str) -> JobsPage:
    """Return the jobs of a state, or all: those that run by GPUs, those that wait by age, then the newest."""
    rows = JobRows(snapshot, redactor)
    running, waiting = snapshot.running(), snapshot.waiting()
    finished = sorted(
        (job for job in snapshot.jobs.values() if snapshot.job_state(job) == FINISHED),
        key=lambda job: -(job.end_ms or 0),
    )
    groups = {RUNNING: running, WAITING: waiting, FINISHED: finished}
    wanted = [job for name, jobs in groups.items() if state in ("", name) for job in jobs]
    odd = sum(bool(rows.build(job).badge) for job in running)
    if snapshot.missing:
        verdict = build_verdict(UNKNOWN, f"No job is known: {snapshot.missing}.")
    elif not snapshot.jobs:
        verdict = build_verdict(UNKNOWN, "No job has been heard of: no source here tells who holds what.")
    else:
        words = f"{pluralize(len(running), 'job')} running, {len(waiting)} waiting."
        verdict = build_verdict(WARNING if odd else OK, words, _odd(odd))
    return JobsPage(snapshot.at_ms, verdict, [rows.build(job) for job in wanted[:MAX_JOBS]])


def _odd(count: int) -> str:
    return f"{pluralize(count, 'job')} {'are' if count != 1 else 'is'} odd." if count else "None is odd."


async def build_job_page(
    snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor, job: JobRecord
) -> JobPage:
    state = snapshot.job_state(job)
    then = snapshot
    if state == FINISHED and job.end_ms is not None:
        then = await snapshots.at(max(job.end_ms - LAST_MS, job.start_ms))
    places, more, life = _places(job), NONE, NONE
    gpus = _count_unseen_gpus(job) if state == FINISHED and not places else 0
    span = sample_times(job.start_ms, then.at_ms)
    if places and state != WAITING:
        more = await snapshots.runner.run(rank_queries(job.nodes), then.at_ms)
        life = await snapshots.runner.run({**ladder_queries(job.nodes), **receipt_queries(job.nodes)}, span)
    rows = JobRows(then, redactor)
    ladder = rows.build_ladder(job) if state != WAITING else JobLadder()
    reports = rank_reports(more, job, places) if redactor.owns(job) else {}
    ranks, medians = build_ranks(then, places, more, reports) if state != WAITING else ([], {})
    incidents = IncidentRows(snapshot, redactor).all(lambda incident: job.id in incident.jobs)
    return JobPage(
        at_ms=snapshot.at_ms,
        verdict=_verdict(snapshot, job, state, ladder, incidents),
        numbers=_numbers(snapshot, then, job, state, ladder, medians),
        job=replace(JobRows(snapshot, redactor).build(job), ladder=ladder),
        ladder=build_steps(ladder, places, life, span.step) if state != WAITING else [],
        receipt=(
            build_receipt(places, _lasted_ms(snapshot, job, state), life, span.step, gpus)
            if places or gpus
            else []
        ),
        ranks=ranks,
        medians=medians,
        incidents=incidents,
        free=count_free(snapshot, job) if state == WAITING else None,
        missing="" if places or state == WAITING else "it holds no GPU",
        unfinished=snapshot.unfinished,
    )


def count_free(snapshot: Snapshot, job: JobRecord) -> FreeGpus:
    """Return what nobody holds where a waiting job wants to run."""
    partition = job.facts.get("partition", "")
    open_nodes = [
        name
        for name, node in snapshot.nodes.items()
        if snapshot.node_state(name) == "up"
        and node.labels.get("partition", partition) == partition
        and not _out_of_service(snapshot, name)
    ]
    spare = Counter(
        card.node
        for name in open_nodes
        for card in snapshot.on_node[name]
        if not snapshot.held.get(card.place) and snapshot.present(card.place)
    )
    whole = sum(spare[name] == len(snapshot.on_node[name]) > 0 for name in open_nodes)
    gpus = sum(spare.values())
    where = f" in partition {partition}" if partition else ""
    sentence = f"{pluralize(gpus, 'GPU')} free{where}, {pluralize(whole, 'whole node')}."
    return FreeGpus(partition, gpus, whole, sentence)


def _out_of_service(snapshot: Snapshot, node: str) -> bool:
    return any(
        name == node and status.startswith(("drain", "down")) for name, status in snapshot.all("slurm")
    )


def _count_unseen_gpus(job: JobRecord) -> int:
    """Return how many GPUs a job had that nobody saw while it ran."""
    text = job.facts.get("gpus", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


def _places(job: JobRecord) -> list[Place]:
    places = [parse_place(text) for text in job.gpus]
    return sorted(
        places, key=lambda place: (place[0], int(place[1]) if place[1].isdecimal() else 0, place[1])
    )


def _verdict(
    snapshot: Snapshot,
    job: JobRecord,
    state: JobState,
    ladder: JobLadder,
    incidents: list[IncidentRow],
) -> Verdict:
    if state == WAITING:
        since = format_duration(snapshot.at_ms - (job.queued_ms or job.start_ms))
        reason = job.facts.get("reason", "")
        why = f" ({reason})" if reason else ""
        return build_verdict(OK, f"Waiting for {since}{why}.", count_free(snapshot, job).sentence)
    if state == FINISHED and job.end_ms is not None:
        how = job.facts.get("state", "")
        bad = WARNING if how not in ("", "COMPLETED", "RUNNING") else OK
        word = "Ended" if not how or how == "RUNNING" else f"Ended as {how}"
        return build_verdict(
            bad, f"{word} after {format_duration(job.end_ms - job.start_ms)}.", _first_summary(incidents)
        )
    if not job.gpus:
        return build_verdict(
            OK, f"Runs on {pluralize(len(job.nodes), 'node')} without a GPU.", _first_summary(incidents)
        )
    busy, held = ladder.busy, ladder.held or 1
    if busy is None:
        return build_verdict(
            UNKNOWN, f"Holds {pluralize(len(job.gpus), 'GPU')}; nothing tells whether they work."
        )
    worst, _ = summarize_incidents(incidents)
    works = f"{pluralize(len(job.gpus), 'GPU')} held, busy {format_value(busy / held, 'ratio')} of the time"
    sm = f", computing {format_value(ladder.sm / held, 'ratio')}" if ladder.sm is not None else ""
    return build_verdict(worst, _first_summary(incidents) or "It works.", f"{works}{sm}.")


def _lasted_ms(snapshot: Snapshot, job: JobRecord, state: JobState) -> int:
    end = job.end_ms if state == FINISHED and job.end_ms is not None else snapshot.at_ms
    return end - job.start_ms


def _first_summary(incidents: list[IncidentRow]) -> str:
    """Return the worst that is open, or else the newest that was."""
    return incidents[0].summary if incidents else ""


def _numbers(
    snapshot: Snapshot,
    then: Snapshot,
    job: JobRecord,
    state: JobState,
    ladder: JobLadder,
    medians: dict[str, float | None],
) -> list[Stat]:
    row = JobRows(snapshot, Redactor(None)).build(job)
    if state == WAITING:
        waited = (snapshot.at_ms - (job.queued_ms or job.start_ms)) / 1000
        return [
            build_stat("waiting", "Waiting", waited, "seconds"),
            build_stat("wanted", "GPUs wanted", row.wanted_gpus, reason="the scheduler does not tell"),
            build_stat("free", "GPUs free", count_free(snapshot, job).gpus),
        ]
    places = _places(job)
    power = [watts for place in places if (watts := then.number("power", *place)) is not None]
    working = sum(then.working(place) is True for place in places)
    held = len(places) or None
    where = nodes_matcher(job.nodes) if job.nodes else ""
    no_gpu = "" if places else "it holds no GPU"
    return [
        build_stat(
            "elapsed",
            "Elapsed",
            _lasted_ms(snapshot, job, state) / 1000,
            "seconds",
            of=row.limit_seconds,
        ),
        build_stat("working", "GPUs working", working if places else None, of=held, reason=no_gpu),
        build_stat(
            "sm",
            "SM active",
            ladder.sm / held if ladder.sm is not None and held else None,
            "ratio",
            query=f"avg(DCGM_FI_PROF_SM_ACTIVE{{{where}}})",
            reason=no_gpu or "these GPUs have no profiling counters, or nobody reads them",
        ),
        build_stat("memory", "GPU memory", medians.get("memory"), "ratio", reason=no_gpu),
        build_stat("power", "Power", sum(power) if power else None, "watts", reason=no_gpu),
        build_stat("nodes", "Nodes" if len(job.nodes) != 1 else "Node", len(job.nodes)),
    ]
