"""A GPU of a node that is up no longer responds."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    title="GPU lost",
    severity=CRITICAL,
    summary="{node}:{gpu} is not responding.{hurt}",
    action="Run `nvidia-smi` on {node}. If it is missing, drain and power-cycle {node}. "
    "If it recurs, reseat it.",
    # Whoever lets go of the driver (vigie gpus release) has lost nothing.
    query="""(last_over_time(vigie_gpu_info[2h]) unless on (instance, uuid) vigie_gpu_info)
  and on (instance) (up{job="node"} == 1)
  unless on (instance) vigie_agent_source_info{source="nvidia",reason=~"released by .*"}""",
    events=("gpu_lost", "gpu_off_bus"),
    explains=("xid", "ecc-uncorrected", "nvlink-down"),
    badge="GPU lost",
    explained_by=("node-lost", "node-stopped"),
    alert_after="1m",
)
