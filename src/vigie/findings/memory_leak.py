"""The memory of a node shrinks steadily and will run out."""

from __future__ import annotations

from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

FINDING = Finding(
    title="Memory running out",
    severity=WARNING,
    summary="{node} is on track to run out of memory within 1h.{killed}{hurt}",
    resolved_summary="Memory running out: {node}, resolved after {lasted}.{killed}{hurt}",
    action="Find the growing process: `ps aux --sort=-rss`. Stop it or tell its user.",
    # A job that begins takes much in a few minutes; a leak goes on: in the last ten as in the first.
    query="""max by (instance) ((predict_linear(node_memory_MemAvailable_bytes[30m], 3600) < 0)
  and (node_memory_MemAvailable_bytes < 0.5 * node_memory_MemTotal_bytes)
  and (deriv(node_memory_MemAvailable_bytes[10m]) < 0.3 * deriv(node_memory_MemAvailable_bytes[30m]))
  and (deriv(node_memory_MemAvailable_bytes[10m] offset 20m)
    < 0.3 * deriv(node_memory_MemAvailable_bytes[30m])))""",
    lag_ms=30 * MINUTE_MS,
    explains=("oom-kill",),
    badge="low memory",
    explained_by=("node-lost", "node-stopped"),
    alert_after="5m",
)
