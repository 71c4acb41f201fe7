"""Memory errors of a GPU that could not be corrected."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, HOUR_MS, Finding

FINDING = Finding(
    name="ecc-uncorrected",
    title="uncorrected memory errors",
    severity=CRITICAL,
    what="{node}:{gpu} had memory errors that could not be corrected{hurt}.",
    do="When its job has ended, reset the GPU: `nvidia-smi --gpu-reset -i {gpu}` on {node}; "
    "if they come again have it replaced.",
    when="""max by (instance, gpu) (increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[1h])) > 0
  or sum by (instance, gpu) (increase(vigie_amdgpu_ras_errors_total{kind="uncorrected"}[1h])) > 0""",
    events=("gpu_ecc", "gpu_ras_errors", "gpu_ras"),
    lasts=False,
    fresh_ms=HOUR_MS,
    explains=("xid",),
    chip="bad memory",
)
