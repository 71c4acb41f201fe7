"""A GPU that was there does not answer any more."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    name="gpu-lost",
    title="GPU lost",
    severity=CRITICAL,
    what="{node}:{gpu} does not answer any more, as one that has fallen off the bus{hurt}.",
    do="See what `nvidia-smi` on {node} says. If the driver is there and the GPU is not, drain {node} and "
    "power-cycle it; if it is lost again, check its seating and call support.",
    # Whoever lets go of the driver (vigie gpus release) has lost nothing.
    when="""(last_over_time(vigie_gpu_info[2h]) unless on (instance, uuid) vigie_gpu_info)
  and on (instance) (up{job="node"} == 1)
  unless on (instance) vigie_agent_source_info{source="nvidia",reason=~"released by .*"}""",
    events=("gpu_lost", "gpu_off_bus"),
    explains=("xid", "ecc-uncorrected", "nvlink-down"),
    chip="GPU lost",
)
