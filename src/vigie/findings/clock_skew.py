"""A node's clock is wrong."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    name="clock-off",
    title="clock is wrong",
    severity=WARNING,
    what="The clock of {node} is {value} off; its times are corrected.",
    do="Start time synchronisation on {node}: `systemctl restart chrony` (or systemd-timesyncd).",
    when="abs(vigie_node_clock_offset_seconds) > 10",
    unit="seconds",
)
