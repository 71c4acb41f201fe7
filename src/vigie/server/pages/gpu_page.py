"""The GPU page: whether it works, whether it is healthy, and whose it was when."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from msgspec import convert

from vigie.server.pages.cluster_page import summarize_incidents
from vigie.server.pages.gpu_map import GpuCells
from vigie.server.pages.humanize import format_value
from vigie.server.pages.incident_rows import REASONS, IncidentRows
from vigie.server.pages.queries import gpu_matcher
from vigie.server.pages.query_batch import BatchQuery, BatchResult
from vigie.server.pages.snapshot import JOB, Place, Snapshot, parse_place
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.pages.widgets import CRITICAL, OK, UNKNOWN, WARNING, build_stat, build_verdict
from vigie.server.privacy.redactor import Redactor
from vigie.wire.api.pages import GpuPage
from vigie.wire.api.resources import EventRow
from vigie.wire.api.rows import (
    Allocation,
    GpuCell,
    GpuDetails,
    GpuHealth,
    HealthRow,
    IncidentRow,
    Stat,
    State,
    Verdict,
)

HEALTH_QUERIES = {
    "pcie_width": "vigie_gpu_pcie_width{%s}",
    "pcie_width_max": "vigie_gpu_pcie_width_max{%s}",
    "pcie_generation": "vigie_gpu_pcie_generation{%s}",
    "pcie_generation_max": "vigie_gpu_pcie_generation_max{%s}",
    "slowdown": "DCGM_FI_DEV_SLOWDOWN_TEMP{%s}",
    "tensor": "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{%s}",
    "clock_max": "max_over_time(vigie_gpu_clock_hertz{%s}[6h])",
    "ecc_corrected": "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{%s}",
    "ecc_uncorrected": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{%s}",
    "rows_pending": "DCGM_FI_DEV_ROW_REMAP_PENDING{%s}",
    "rows_failed": "DCGM_FI_DEV_ROW_REMAP_FAILURE{%s}",
    "rows_uncorrectable": "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{%s}",
    "rows_correctable": "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS{%s}",
    "replays": "DCGM_FI_DEV_PCIE_REPLAY_COUNTER{%s}",
    "links_up": "sum(vigie_gpu_nvlink_up{%s})",
    "links": "count(vigie_gpu_nvlink_up{%s})",
}
DAY_MS = 86_400_000
MAX_RANKS, MAX_XIDS = 64, 50
SILENT = "the GPU does not say so at this moment"


class HealthFact(NamedTuple):
    """A number that should be zero, and what it means if it is not."""

    key: str
    label: str
    why: str
    state: State = WARNING
    missing: str = "the GPU does not count it, or nobody reads it"


FACTS = (
    HealthFact("ecc_uncorrected", "Uncorrected memory errors", "data were lost: reset the GPU", CRITICAL),
    HealthFact("ecc_corrected", "Corrected memory errors", "harmless while they are few", OK),
    HealthFact("rows_pending", "Row remap pending", "a bad row is replaced at the next reset", CRITICAL),
    HealthFact("rows_failed", "Row remap failed", "replace the GPU", CRITICAL),
    HealthFact("rows_uncorrectable", "Rows remapped after uncorrected errors", "the spare rows are few"),
    HealthFact("rows_correctable", "Rows remapped after corrected errors", "the spare rows are few", OK),
    HealthFact("replays", "PCIe replays", "the link is noisy if they grow", OK),
)


def build_health(found: BatchResult) -> list[HealthRow]:
    """Return the facts; one that nobody tells is absent with its reason."""
    rows = [_health_row(fact, _only(found, fact.key)) for fact in FACTS]
    up, links = _only(found, "links_up"), _only(found, "links")
    if links:
        down = up is not None and up < links
        why = "a link that is down slows every collective" if down else ""
        value = None if up is None else f"{up:.0f} of {links:.0f}"
        state = WARNING if down else OK
        rows.append(HealthRow("NVLinks up", value, "", state, why))
    return rows


def _health_row(fact: HealthFact, value: float | None) -> HealthRow:
    if value is None:
        return HealthRow(fact.label, None, "count", UNKNOWN, fact.missing)
    state = fact.state if value else OK
    return HealthRow(fact.label, value, "count", state, fact.why if value else "")


def _only(found: BatchResult, name: str) -> float | None:
    rows = found.rows.get(name, [])
    return rows[0].value if rows else None


async def build_gpu_page(
    snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor, place: Place
) -> GpuPage:
    here = gpu_matcher(*place)
    queries = {name: BatchQuery(query % here, ()) for name, query in HEALTH_QUERIES.items()}
    found = await snapshots.runner.run(queries, snapshot.at_ms)
    cells = GpuCells(snapshot, redactor)
    cell, card = cells.build(place), snapshot.cards[place]
    incidents = IncidentRows(snapshot, redactor).all(lambda incident: place in incident.gpus)
    siblings = [cells.build(other.place) for other in snapshot.on_node[place[0]] if other.place != place]
    return GpuPage(
        at_ms=snapshot.at_ms,
        verdict=_verdict(cell, snapshot.number("busy_5m", *place), incidents),
        numbers=_numbers(cell, found, here),
        cell=cell,
        info=GpuDetails(**card._asdict(), processes=snapshot.number("processes", *place)),
        holders=await asyncio.to_thread(_holders, snapshots, snapshot, redactor, place),
        health=GpuHealth(
            await asyncio.to_thread(_xids, snapshots, snapshot, redactor, place), build_health(found)
        ),
        siblings=siblings,
        ranks=_ranks(snapshot, cells, place),
        incidents=incidents,
        unfinished=snapshot.unfinished,
    )


def _verdict(cell: GpuCell, lately: float | None, incidents: list[IncidentRow]) -> Verdict:
    name, holder = f"{cell.node}:{cell.gpu}", cell.holder
    whose = f"Held by {holder.kind} {holder.name} of {holder.user}." if holder else "Nobody holds it."
    open_rows = [row for row in incidents if row.until_ms is None]
    if cell.health == "lost":
        return build_verdict(CRITICAL, open_rows[0].summary if open_rows else f"{name} is lost: {cell.why}.")
    state, _ = summarize_incidents(incidents)
    if open_rows:
        return build_verdict(state, open_rows[0].summary, whose)
    if cell.working is None:
        return build_verdict(OK, "It is well; nothing tells whether it works.", whose)
    works = "It works" if cell.working else "It does nothing"
    busy = f", busy {format_value(lately, 'ratio')} of the last 5 min" if lately is not None else ""
    idle = WARNING if holder and not cell.working else OK
    return build_verdict(idle, f"{works}{busy}, and is well.", whose)


def _numbers(cell: GpuCell, found: BatchResult, here: str) -> list[Stat]:
    width, lanes = _only(found, "pcie_width"), _only(found, "pcie_width_max")
    slow = width is not None and lanes is not None and width < lanes
    held = " and ".join(REASONS.get(reason, reason) for reason in cell.throttled)
    clock = build_stat(
        "clock",
        f"Clock, held back: {held}" if held else "Clock",
        cell.clock,
        "hertz",
        of=_only(found, "clock_max"),
        state=WARNING if held else OK,
        query=f"vigie_gpu_clock_hertz{{{here}}}",
        reason=SILENT,
    )
    return [
        build_stat(
            "busy",
            ", ".join(["Busy", *_parts(SM=cell.sm, tensor=_only(found, "tensor"))]),
            cell.busy,
            "ratio",
            query=f"vigie_gpu_busy_ratio{{{here}}}",
            reason=SILENT,
        ),
        build_stat(
            "memory",
            "Memory",
            cell.memory_bytes,
            "bytes",
            of=cell.memory_total_bytes,
            query=f"vigie_gpu_memory_used_bytes{{{here}}}",
            reason=SILENT,
        ),
        build_stat(
            "power",
            "Power",
            cell.power,
            "watts",
            of=cell.power_limit,
            query=f"vigie_gpu_power_watts{{{here}}}",
            reason=SILENT,
        ),
        build_stat(
            "temperature",
            "Temperature",
            cell.temperature,
            "celsius",
            of=_only(found, "slowdown"),
            query=f"vigie_gpu_temperature_celsius{{{here}}}",
            reason=SILENT,
        ),
        clock,
        build_stat(
            "pcie",
            ", ".join(
                [
                    "PCIe lanes",
                    *_generation(_only(found, "pcie_generation"), _only(found, "pcie_generation_max")),
                ]
            ),
            width,
            of=lanes,
            state=WARNING if slow else OK,
            query=f"vigie_gpu_pcie_width{{{here}}}",
            reason=SILENT,
        ),
    ]


def _parts(**shares: float | None) -> list[str]:
    """Return how much of the GPU's parts is at work, as far as that is known."""
    return [f"{name} {format_value(share, 'ratio')}" for name, share in shares.items() if share is not None]


def _generation(now: float | None, most: float | None) -> list[str]:
    """Return which PCIe is spoken, of which could be; an idle GPU speaks a slower one, and that is well."""
    return [] if now is None else [f"generation {now:g}" + (f" of {most:g}" if most else "")]


def _holders(
    snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor, place: Place
) -> list[Allocation]:
    """Return whose it was in the last day and is, the oldest first."""
    node, gpu = place
    rows = []
    for stored in snapshots.cluster.gpu_bindings(node, gpu, snapshot.at_ms - DAY_MS, snapshot.at_ms):
        row = redactor.binding(stored)
        name, end = row["facts"].get("name", "") or row["holder"], row["to_ms"]
        to_ms = end if end is not None and end <= snapshot.at_ms else None
        rows.append(Allocation(row["kind"], row["holder"], name, row["user"], row["from_ms"], to_ms))
    return sorted(rows, key=lambda row: (row.from_ms, row.kind))


def _xids(snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor, place: Place) -> list[EventRow]:
    found = snapshots.cluster.events(("xid",), 0, snapshot.at_ms)
    mine = [
        stored for stored in found if (stored.event.where.get("node"), stored.event.where.get("gpu")) == place
    ]
    return convert([redactor.event(stored.json) for stored in mine[:MAX_XIDS]], list[EventRow])


def _ranks(snapshot: Snapshot, cells: GpuCells, place: Place) -> list[GpuCell]:
    """Return the other GPUs of the job that holds it."""
    held = next(
        (stored for stored in snapshot.held.get(place, ()) if stored.binding.holder_kind == JOB), None
    )
    job = snapshot.jobs.get(held.binding.holder) if held else None
    others = [other for text in (job.gpus if job else ()) if (other := parse_place(text)) != place]
    return [cells.build(other) for other in others[:MAX_RANKS] if other in snapshot.cards]
