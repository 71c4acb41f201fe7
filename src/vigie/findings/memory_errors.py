"""Memory of a node had errors that could not be corrected."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, HOUR_MS, Finding

FINDING = Finding(
    name="memory-errors",
    title="uncorrected memory errors",
    severity=CRITICAL,
    what="The memory of {node} had errors that could not be corrected{hurt}.",
    do="Drain {node}, find the DIMM (`edac-util -v`, the BMC's log) and replace it.",
    when="sum by (instance) (increase(node_edac_uncorrectable_errors_total[1h])) > 0",
    events=("memory_error",),
    lasts=False,
    fresh_ms=HOUR_MS,
)
