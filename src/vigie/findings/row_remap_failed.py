"""A faulty memory row of a GPU could not be remapped."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    title="Row remap failed",
    severity=CRITICAL,
    summary="{node}:{gpu} could not remap a faulty memory row.{hurt}",
    action="Drain {node} and replace the GPU.",
    query="max by (instance, gpu) (DCGM_FI_DEV_ROW_REMAP_FAILURE) == 1",
    events=("gpu_row_remap_failed",),
    explains=("xid", "ecc-uncorrected", "row-remap-pending"),
    badge="remap failed",
    alert_after="0s",
)
