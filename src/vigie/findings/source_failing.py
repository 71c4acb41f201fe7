"""A source of an agent fails, so its data are missing."""

from __future__ import annotations

from vigie.findings.core.finding import INFO, Finding

FINDING = Finding(
    title="Source failing",
    severity=INFO,
    summary="Source {source} on {node} is failing: {reason}.",
    action="Run `vigie doctor`, or turn it off: `--no-sources {source}`.",
    query='vigie_agent_source_info{state=~"error|hung"}',
    explained_by=("node-lost", "node-stopped"),
)
