"""A source of an agent fails: what it reads is missing from every page."""

from __future__ import annotations

from vigie.findings.core.finding import INFO, Finding

FINDING = Finding(
    name="source-failing",
    title="a source fails",
    severity=INFO,
    what="The source {source} of {node} fails: {reason}.",
    do="See `vigie doctor` on {node}; without it the source may be switched off: `--no-sources {source}`.",
    when='vigie_agent_source_info{state=~"error|hung"}',
)
