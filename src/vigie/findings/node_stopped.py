"""An agent was stopped in order, so its node is not monitored."""

from __future__ import annotations

from vigie.findings.core.finding import INFO, Finding

FINDING = Finding(
    title="Agent stopped",
    severity=INFO,
    summary="{node} is not monitored: its agent was stopped.{hurt}",
    action="After maintenance: `systemctl start vigie-agent`. To retire: `vigie nodes remove {node}`.",
    resolved_action="No action needed.",
    events=("node_stopped",),
    node_wide=True,
    badge="not monitored",
)
