"""The memory of a node has uncorrectable errors."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, HOUR_MS, Finding

FINDING = Finding(
    title="Uncorrectable memory errors",
    severity=CRITICAL,
    summary="{node} reported uncorrectable memory errors in the last hour.{hurt}",
    action="Drain {node}. Find the DIMM (`edac-util -v`, BMC log) and replace it.",
    query="sum by (instance) (increase(node_edac_uncorrectable_errors_total[1h])) > 0",
    events=("memory_error",),
    lasts=False,
    fresh_ms=HOUR_MS,
    badge="memory errors",
    alert_after="0s",
)
