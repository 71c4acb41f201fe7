"""The GPU page: whether it works, whether it is healthy, and whose it was when."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from vigie.server.pages.cluster_page import summarize_incidents
from vigie.server.pages.gpu_map import GpuCells
from vigie.server.pages.humanize import format_value
from vigie.server.pages.incident_rows import REASONS, IncidentRows
from vigie.server.pages.queries import gpu_matcher
from vigie.server.pages.query_batch import BatchQuery, BatchResult
from vigie.server.pages.snapshot import JOB, Place, Snapshot, place_of
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.pages.widgets import CRITICAL, OK, UNKNOWN, WARNING, number, verdict
from vigie.server.privacy.redactor import Redactor

HEALTH_ASKS = {
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
MOST_RANKS, MOST_XIDS = 64, 50
SILENT = "the GPU does not say so at this moment"


class HealthFact(NamedTuple):
    """A number that should be zero, and what it means if it is not."""

    key: str
    label: str
    why: str
    state: str = WARNING
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


def facts(found: BatchResult) -> list[dict[str, Any]]:
    """Return the facts; one that nobody tells is absent with its reason."""
    rows = [_fact(fact, _only(found, fact.key)) for fact in FACTS]
    up, links = _only(found, "links_up"), _only(found, "links")
    if links:
        down = up is not None and up < links
        why = "a link that is down slows every collective" if down else ""
        value = None if up is None else f"{up:.0f} of {links:.0f}"
        state = WARNING if down else OK
        rows.append({"label": "NVLinks up", "value": value, "unit": "", "state": state, "why": why})
    return rows


def _fact(fact: HealthFact, value: float | None) -> dict[str, Any]:
    if value is None:
        return {"label": fact.label, "value": None, "unit": "count", "state": UNKNOWN, "why": fact.missing}
    state = fact.state if value else OK
    return {
        "label": fact.label,
        "value": value,
        "unit": "count",
        "state": state,
        "why": fact.why if value else "",
    }


def _only(found: BatchResult, name: str) -> float | None:
    rows = found.rows.get(name, [])
    return rows[0].value if rows else None


async def gpu_page(
    snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor, place: Place
) -> dict[str, Any]:
    here = gpu_matcher(*place)
    asks = {name: BatchQuery(query % here, ()) for name, query in HEALTH_ASKS.items()}
    found = await snapshots.asker.ask(asks, snapshot.at_ms)
    cells = GpuCells(snapshot, redactor)
    cell, card = cells.of(place), snapshot.cards[place]
    incidents = IncidentRows(snapshot, redactor).all(lambda incident: place in incident.gpus)
    siblings = [cells.of(other.place) for other in snapshot.on_node[place[0]] if other.place != place]
    return {
        "at_ms": snapshot.at_ms,
        "verdict": _verdict(cell, snapshot.number("busy_5m", *place), incidents),
        "numbers": _numbers(cell, found, here),
        "cell": cell,
        "info": {**card._asdict(), "processes": snapshot.number("processes", *place)},
        "holders": await asyncio.to_thread(_holders, snapshots, snapshot, redactor, place),
        "health": {
            "xids": await asyncio.to_thread(_xids, snapshots, snapshot, redactor, place),
            "facts": facts(found),
        },
        "siblings": siblings,
        "ranks": _ranks(snapshot, cells, place),
        "incidents": incidents,
    }


def _verdict(cell: dict[str, Any], lately: float | None, incidents: list[dict[str, Any]]) -> dict[str, str]:
    name = f"{cell['node']}:{cell['gpu']}"
    holder = cell["holder"]
    whose = (
        f"Held by {holder['kind']} {holder['name']} of {holder['user']}." if holder else "Nobody holds it."
    )
    open_ones = [row for row in incidents if row["until_ms"] is None]
    if cell["health"] == "lost":
        words = open_ones[0]["summary"] if open_ones else f"{name} is lost: {cell['why']}."
        return verdict(CRITICAL, words)
    state, _ = summarize_incidents(incidents)
    if open_ones:
        return verdict(state, open_ones[0]["summary"], whose)
    if cell["working"] is None:
        return verdict(OK, "It is well; nothing tells whether it works.", whose)
    works = "It works" if cell["working"] else "It does nothing"
    busy = f", busy {format_value(lately, 'ratio')} of the last 5 min" if lately is not None else ""
    idle = WARNING if holder and not cell["working"] else OK
    return verdict(idle, f"{works}{busy}, and is well.", whose)


def _numbers(cell: dict[str, Any], found: BatchResult, here: str) -> list[dict[str, Any]]:
    def asked(name: str) -> float | None:
        rows = found.rows.get(name, [])
        return rows[0].value if rows else None

    width, lanes = asked("pcie_width"), asked("pcie_width_max")
    slow = width is not None and lanes is not None and width < lanes
    held = " and ".join(REASONS.get(reason, reason) for reason in cell["throttled"])
    clock = number(
        "clock",
        f"Clock, held back: {held}" if held else "Clock",
        cell["clock"],
        "hertz",
        of=asked("clock_max"),
        state=WARNING if held else OK,
        query=f"vigie_gpu_clock_hertz{{{here}}}",
        reason=SILENT,
    )
    return [
        number(
            "busy",
            ", ".join(["Busy", *_parts(SM=cell["sm"], tensor=asked("tensor"))]),
            cell["busy"],
            "ratio",
            query=f"vigie_gpu_busy_ratio{{{here}}}",
            reason=SILENT,
        ),
        number(
            "memory",
            "Memory",
            cell["memory_bytes"],
            "bytes",
            of=cell["memory_total_bytes"],
            query=f"vigie_gpu_memory_used_bytes{{{here}}}",
            reason=SILENT,
        ),
        number(
            "power",
            "Power",
            cell["power"],
            "watts",
            of=cell["power_limit"],
            query=f"vigie_gpu_power_watts{{{here}}}",
            reason=SILENT,
        ),
        number(
            "temperature",
            "Temperature",
            cell["temperature"],
            "celsius",
            of=asked("slowdown"),
            query=f"vigie_gpu_temperature_celsius{{{here}}}",
            reason=SILENT,
        ),
        clock,
        number(
            "pcie",
            ", ".join(["PCIe lanes", *_generation(asked("pcie_generation"), asked("pcie_generation_max"))]),
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
) -> list[dict[str, Any]]:
    """Return whose it was in the last day and is, the oldest first."""
    node, gpu = place
    rows = []
    for kept in snapshots.known.held_on(node, gpu, snapshot.at_ms - DAY_MS, snapshot.at_ms):
        told = redactor.binding(kept)
        end = told["to_ms"]
        rows.append(
            {
                "kind": told["kind"],
                "id": told["holder"],
                "name": told["facts"].get("name", "") or told["holder"],
                "user": told["user"],
                "from_ms": told["from_ms"],
                "to_ms": end if end is not None and end <= snapshot.at_ms else None,
            }
        )
    return sorted(rows, key=lambda row: (int(row["from_ms"]), str(row["kind"])))


def _xids(
    snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor, place: Place
) -> list[dict[str, Any]]:
    found = snapshots.known.events(("xid",), 0, snapshot.at_ms)
    mine = [kept for kept in found if (kept.event.where.get("node"), kept.event.where.get("gpu")) == place]
    return [redactor.event(kept.json) for kept in mine[:MOST_XIDS]]


def _ranks(snapshot: Snapshot, cells: GpuCells, place: Place) -> list[dict[str, Any]]:
    """Return the other GPUs of the job that holds it."""
    held = next((kept for kept in snapshot.held.get(place, ()) if kept.binding.holder_kind == JOB), None)
    job = snapshot.jobs.get(held.binding.holder) if held else None
    others = [other for text in (job.gpus if job else ()) if (other := place_of(text)) != place]
    return [cells.of(other) for other in others[:MOST_RANKS] if other in snapshot.cards]
