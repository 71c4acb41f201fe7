"""A node has less hardware than before."""

from __future__ import annotations

from vigie.findings.core.finding import HOUR_MS, WARNING, Finding

FINDING = Finding(
    title="Hardware missing",
    severity=WARNING,
    summary="{node} has less hardware than before: {told}.",
    action="Check the BMC inventory. Reseat or replace the part.",
    events=("hardware_missing",),
    lasts=False,
    fresh_ms=HOUR_MS,
)
