"""A bad row of a GPU's memory could not be replaced: the GPU is not to be used."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    name="row-remap-failed",
    title="row remap failed",
    severity=CRITICAL,
    what="A bad row of memory of {node}:{gpu} could not be remapped: its results cannot be trusted{hurt}.",
    do="Drain {node} and have the GPU replaced.",
    when="max by (instance, gpu) (DCGM_FI_DEV_ROW_REMAP_FAILURE) == 1",
    events=("gpu_row_remap_failed",),
    explains=("xid", "ecc-uncorrected", "row-remap-pending"),
    chip="bad memory",
)
