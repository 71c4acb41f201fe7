"""The health of a GPU as a list of facts: errors of memory, rows, links and PCIe, each with what it means."""

from __future__ import annotations

from typing import Any, NamedTuple

from vigie.server.outlook.asking import Found
from vigie.server.outlook.shapes import CRITICAL, OK, UNKNOWN, WARNING

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


class Fact(NamedTuple):
    """A number that should be zero, and what it means if it is not."""

    key: str
    label: str
    why: str
    state: str = WARNING
    missing: str = "the GPU does not count it, or nobody reads it"


FACTS = (
    Fact("ecc_uncorrected", "Uncorrected memory errors", "data were lost: reset the GPU", CRITICAL),
    Fact("ecc_corrected", "Corrected memory errors", "harmless while they are few", OK),
    Fact("rows_pending", "Row remap pending", "a bad row is replaced at the next reset", CRITICAL),
    Fact("rows_failed", "Row remap failed", "replace the GPU", CRITICAL),
    Fact("rows_uncorrectable", "Rows remapped after uncorrected errors", "the spare rows are few"),
    Fact("rows_correctable", "Rows remapped after corrected errors", "the spare rows are few", OK),
    Fact("replays", "PCIe replays", "the link is noisy if they grow", OK),
)


def facts(found: Found) -> list[dict[str, Any]]:
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


def _fact(fact: Fact, value: float | None) -> dict[str, Any]:
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


def _only(found: Found, name: str) -> float | None:
    rows = found.rows.get(name, [])
    return rows[0].value if rows else None
