"""An InfiniBand link that was up is down."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    title="InfiniBand link down",
    severity=CRITICAL,
    summary="InfiniBand link {device} on {node} is down.{hurt}",
    action="Check cable and switch port (`ibstat`).",
    # A port that never went down was never up: it is meant to be without a cable.
    query="""max by (instance, device, port) (node_infiniband_state_id < 4)
  and on (instance, device, port) (node_infiniband_link_downed_total > 0)""",
    events=("ib_link_down",),
    badge="link down",
    explained_by=("node-lost", "node-stopped"),
    alert_after="1m",
)
