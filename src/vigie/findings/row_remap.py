"""A row of a GPU's memory went bad: it is replaced at the next reset, until then the GPU is at risk."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    name="row-remap-pending",
    title="row remap pending",
    severity=CRITICAL,
    what="A bad row of memory of {node}:{gpu} is to be remapped after an uncorrectable error (ECC); "
    "that needs a reset{hurt}.",
    do="When its job has ended, reset the GPU: `nvidia-smi --gpu-reset -i {gpu}` on {node}.",
    when="max by (instance, gpu) (DCGM_FI_DEV_ROW_REMAP_PENDING) == 1",
    events=("gpu_row_remapped",),
    lasts=False,
    explains=("xid", "ecc-uncorrected"),
    chip="bad memory",
)
