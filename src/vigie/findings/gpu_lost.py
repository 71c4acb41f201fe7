"""A GPU that was there does not answer any more."""

from __future__ import annotations

from vigie.findings._finding import CRITICAL, Finding

FINDING = Finding(
    name="gpu-lost",
    title="GPU lost",
    severity=CRITICAL,
    what="{node}:{gpu} does not answer any more: it has fallen off the bus{hurt}.",
    do="Drain {node}, then power-cycle it; if the GPU is lost again, check its seating and call support.",
    when="""(last_over_time(vigie_gpu_info[2h]) unless on (instance, uuid) vigie_gpu_info)
  and on (instance) (up{job="node"} == 1)""",
    events=("gpu_lost", "gpu_off_bus"),
    explains=("xid", "ecc-uncorrected", "nvlink-down"),
    chip="GPU lost",
)
