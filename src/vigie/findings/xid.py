"""NVIDIA's driver reported an error (XID) that is more than a note."""

from __future__ import annotations

from vigie.findings.core.finding import HOUR_MS, WARNING, Finding

FINDING = Finding(
    title="XID error",
    severity=WARNING,
    summary="{node}:{gpu} reported {told}.{hurt}",
    resolved_summary="{node}:{gpu} reported {told}.{hurt}",
    action="Follow NVIDIA's advice. If it recurs, drain {node} and reset the GPU.",
    events=("xid",),
    lasts=False,
    fresh_ms=HOUR_MS,
    badge="XID",
    explained_by=("node-lost", "node-stopped"),
    event_severity=True,
)
