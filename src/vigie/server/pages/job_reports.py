"""What the ranks of a job report of their training, matched with the GPUs that the job holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vigie.server.cluster.jobs import JobRecord
from vigie.server.pages.queries import nodes_matcher
from vigie.server.pages.query_batch import BatchQuery, BatchResult
from vigie.server.pages.snapshot import Place

MEASURES = ("loss", "step_seconds", "samples_per_second", "mfu")
QUERY = "reported"


class RankReport(NamedTuple):
    """What the process on one GPU reports, and as which rank."""

    values: dict[str, float]
    rank: int | None = None


def report_queries(nodes: Sequence[str]) -> dict[str, BatchQuery]:
    """Return what has to be asked about the reports of processes on these nodes."""
    wanted = f'measure=~"{"|".join(MEASURES)}", {nodes_matcher(nodes)}'
    labels = ("measure", "instance", "gpu", "rank", "job_id", "user")
    return {QUERY: BatchQuery(f"vigie_report_value{{{wanted}}}", labels)}


def rank_reports(found: BatchResult, job: JobRecord, places: Sequence[Place]) -> dict[Place, RankReport]:
    """Return the reports by place: by the GPU of the process, or where no driver tells it by its rank.

    A process may claim any job: what another user's process reports is left out.
    """
    reports: dict[Place, RankReport] = {}
    for (measure, node, gpu, rank, job_id, user), value in found.numbers(QUERY).items():
        if job_id not in ("", job.id) or (job.user and user != job.user):
            continue
        number = int(rank) if rank.isascii() and rank.isdecimal() else None
        place = (node, gpu) if gpu else _place_of_rank(places, node, number if job_id else None)
        if place in places:
            known = reports.setdefault(place, RankReport({}, number))
            known.values[measure] = value
    return reports


def _place_of_rank(places: Sequence[Place], node: str, rank: int | None) -> Place:
    """Return the place that launchers give to a rank: nodes by name, on each the GPUs by number."""
    found = places[rank] if rank is not None and rank < len(places) else ("", "")
    return found if found[0] == node else ("", "")
