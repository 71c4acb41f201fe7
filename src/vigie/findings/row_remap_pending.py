"""A faulty memory row of a GPU is remapped at its next reset."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    title="Row remap pending",
    severity=CRITICAL,
    summary="{node}:{gpu} has a row remap pending and needs a reset.{hurt}",
    action="After its job ends: `nvidia-smi --gpu-reset -i {gpu}` on {node}.",
    query="max by (instance, gpu) (DCGM_FI_DEV_ROW_REMAP_PENDING) == 1",
    events=("gpu_row_remapped",),
    lasts=False,
    explains=("xid", "ecc-uncorrected"),
    badge="remap pending",
    alert_after="5m",
)
