"""A node is unreachable: its agent sends nothing."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, MINUTE_MS, Finding

FINDING = Finding(
    title="Node unreachable",
    severity=CRITICAL,
    summary="{node} is unreachable: no data from its agent.{hurt}",
    action="Check ping and BMC. If it is up: `systemctl status vigie-agent`.",
    resolved_action="If it rebooted: `journalctl -b -1 -e`.",
    # A node that is late for a moment is not lost.
    query='max_over_time(up{job="node"}[2m]) == 0',
    lag_ms=2 * MINUTE_MS,
    events=("node_lost",),
    node_wide=True,
    while_silent=True,
    badge="unreachable",
    explained_by=("node-stopped",),
    alert_after="2m",
)
