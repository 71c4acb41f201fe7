"""A GPU has uncorrectable memory errors."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, HOUR_MS, Finding

FINDING = Finding(
    title="Uncorrectable GPU errors",
    severity=CRITICAL,
    summary="{node}:{gpu} reported uncorrectable errors in the last hour.{hurt}",
    action="After its job ends, reset it: `nvidia-smi --gpu-reset -i {gpu}` on {node}. "
    "If errors return, replace it.",
    query="""max by (instance, gpu) (increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[1h])) > 0
  or sum by (instance, gpu) (increase(vigie_amdgpu_ras_errors_total{kind="uncorrected"}[1h])) > 0""",
    events=("gpu_ecc", "gpu_ras_errors", "gpu_ras"),
    lasts=False,
    fresh_ms=HOUR_MS,
    explains=("xid",),
    badge="memory errors",
    alert_after="0s",
)
