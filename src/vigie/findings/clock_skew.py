"""The clock of a node is off."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    title="Clock skew",
    severity=WARNING,
    summary="Clock of {node} is off by {value}. Timestamps are corrected.",
    action="On {node}: `systemctl restart chrony` (or systemd-timesyncd).",
    query="abs(vigie_node_clock_offset_seconds) > 10",
    unit="seconds",
    alert_after="10m",
)
