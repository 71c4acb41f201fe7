"""A node came back with less hardware than it had."""

from __future__ import annotations

from vigie.findings.core.finding import HOUR_MS, WARNING, Finding

FINDING = Finding(
    name="hardware-missing",
    title="hardware missing",
    severity=WARNING,
    what="{node} came back with less than it had: {told}.",
    do="Look at the BMC's inventory of {node}; reseat or replace what is missing.",
    events=("hardware_missing",),
    lasts=False,
    fresh_ms=HOUR_MS,
)
