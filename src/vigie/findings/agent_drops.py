"""An agent's buffer was full, so data were dropped."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    title="Data dropped",
    severity=WARNING,
    summary="Agent on {node} dropped data: its buffer was full.",
    action="Check the network and the server's load, or raise `link.buffer_megabytes`.",
    query="sum by (instance) (increase(vigie_agent_link_dropped_total[15m])) > 0",
)
