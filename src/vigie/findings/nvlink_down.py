"""An NVLink that was up is down."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    title="NVLink down",
    severity=CRITICAL,
    summary="NVLink {link} of {node}:{gpu} is down.{hurt}",
    action="Drain {node}, reset the GPU and its peers. If it stays down, check Fabric Manager.",
    # A link that never was up is not meant to be; one that went down stays so for longer than an hour.
    query="""(vigie_gpu_nvlink_up == 0)
  and (vigie_gpu_nvlink_up offset 1h == 1 or vigie_gpu_nvlink_up offset 1d == 1)""",
    events=("nvlink_down",),
    explains=("xid",),
    badge="NVLink down",
    explained_by=("node-lost", "node-stopped"),
    alert_after="1m",
)
