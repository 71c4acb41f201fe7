"""An InfiniBand link goes down again and again."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, MINUTE_MS, Finding

FINDING = Finding(
    title="InfiniBand link flapping",
    severity=CRITICAL,
    summary="{device} on {node} went down at least twice in 10m.{hurt}",
    action="Replace the cable. If it recurs, check the switch port.",
    query="max by (instance, device, port) (changes(node_infiniband_link_downed_total[10m])) >= 2",
    lag_ms=2 * MINUTE_MS,
    tail_ms=7 * MINUTE_MS,
    explains=("ib-link-down", "ib-errors"),
    badge="flapping",
    explained_by=("node-lost", "node-stopped"),
    alert_after="0s",
)
