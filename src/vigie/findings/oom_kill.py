"""The kernel ran out of memory and killed a process."""

from __future__ import annotations

from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

FINDING = Finding(
    title="Out-of-memory kill",
    severity=WARNING,
    summary="The kernel killed {process} on {node}: out of memory.{hurt}",
    resolved_summary="The kernel killed {process} on {node}: out of memory.{hurt}",
    action="Request more memory or fix the leak.",
    query="max by (instance) (increase(node_vmstat_oom_kill[10m])) > 0",
    events=("oom_kill",),
    lasts=False,
    tail_ms=10 * MINUTE_MS,
    badge="OOM",
    explained_by=("node-lost", "node-stopped"),
    lends=("process",),
    alert_after="0s",
)
